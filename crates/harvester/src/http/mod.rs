//! Fetching over HTTP: names, addresses, connections, bodies.
//!
//! Start with [`HttpFetcher`] (`fetcher.rs`), which takes an idle connection from the pool or has the
//! connector make one past the [`Guard`], and runs one hop on it (`hop.rs`). HTTP/1.1 is spoken by ourselves, on
//! the tape (`tape.rs`), which keeps what went over the wire for the archive. HTTP/2 is spoken on request
//! (`http2/`). How a spider shows itself and gets in is its [`HttpProfile`]. [`DnsResolver`] turns names into
//! addresses before, [`CookieJar`] keeps a site's cookies for the time of its check-out.
//!
//! What is refused although some browsers take it (`framing.rs`): `Transfer-Encoding` in an HTTP/1.0 answer,
//! HTTP/0.9, status lines without a number of three digits. Such answers are
//! [`model::FailureKind::BadHttp`]. `Content-Length` is read as in browsers (`lengths.rs`). A chunked body
//! with broken framing ends like one whose server hung up, and a `Transfer-Encoding` other than chunked is
//! taken to last until the server does. What a server does that it should not has a name
//! ([`model::Met`]) in the exchange or the failure.

mod basic;
mod body;
mod bounds;
mod budget;
mod chunks;
mod connect;
mod cookie_date;
mod cookies;
pub mod cookies_file;
mod decode;
mod decode_body;
mod dns;
mod engine;
mod failure;
mod fetcher;
mod framing;
mod guard;
mod head;
mod hop;
mod http2;
mod intake;
mod lengths;
mod line;
mod name_cache;
mod options;
mod overrides;
mod pool;
mod profile;
mod profiles;
mod proxy;
mod race;
mod ranges;
mod request;
mod socks;
mod stream;
mod tape;
mod tls;
mod whole_gzip;
mod wire;
mod withheld;
mod written;

#[cfg(test)]
mod tests;

pub use cookies::{CookieJar, refused_cookies};
pub use cookies_file::{CookiesFileError, PresetCookie};
pub use decode_body::decode_body;
pub use dns::{DnsOptions, DnsResolver};
pub use fetcher::{HttpFetcher, NamesBy};
pub use guard::{AddressRefused, Guard};
pub use model::{Cidr, CidrError};
pub use options::{HttpOptions, HttpSetupError};
pub use overrides::{Override, OverrideError, Overrides};
pub use profile::{AuthScheme, ClientCertificate, Credential, HttpProfile};
pub use proxy::{Proxy, ProxyError, ProxyKind};
pub use tls::TlsSetupError;
