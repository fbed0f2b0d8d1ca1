//! How one spider shows itself and gets in: headers, proxy, credentials, client certificates, HTTP/2.
//!
//! A profile is a spider's own and can be replaced while the fetcher is at work; what protects us and
//! others (the address guard, limits, trusted roots) is the fetcher's and the same for all.

use std::{fmt, path::PathBuf};

use model::{CrawlUrl, Origin};

use super::{basic::basic, proxy::Proxy};

#[derive(Clone, Debug)]
pub struct HttpProfile {
    pub user_agent: String,
    pub accept: String,
    /// Empty sends no `Accept-Encoding`; what comes is decoded whatever was asked for. Only gzip by
    /// default: a page of 17 KB costs 30 us to gunzip, 34 from zstd and 72 from brotli, every server has
    /// it, and so has every reader of archives.
    pub accept_encoding: String,
    pub accept_language: Option<String>,
    /// The operator's address, for servers that look at it.
    pub from: Option<String>,
    /// Sent with every request, to whomever it goes, after our own; names are written in title case. Of
    /// these the archive withholds `Authorization` and `Cookie`. No place for secrets: those are bound to
    /// an origin by a [`Credential`].
    pub headers: Vec<(String, String)>,
    /// Blocks of addresses cannot hold behind a proxy that resolves names itself; see [`Proxy`].
    pub proxy: Option<Proxy>,
    pub credentials: Vec<Credential>,
    pub client_certificates: Vec<ClientCertificate>,
    /// Offers HTTP/2 to https servers; those that do not take it are asked by HTTP/1.1. Off by default:
    /// an HTTP/2 answer has no bytes of its own on the wire that an archive could keep.
    pub http2: bool,
}

impl Default for HttpProfile {
    fn default() -> HttpProfile {
        HttpProfile {
            user_agent: concat!("harvestman/", env!("CARGO_PKG_VERSION")).to_owned(),
            accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".to_owned(),
            accept_encoding: "gzip".to_owned(),
            accept_language: None,
            from: None,
            headers: Vec::new(),
            proxy: None,
            credentials: Vec::new(),
            client_certificates: Vec::new(),
            http2: false,
        }
    }
}

const AUTHORIZATION: &str = "authorization";

/// What proves to one origin who asks. It is sent with every request to exactly that origin (scheme,
/// host and port), without waiting for a 401, and never to another one, wherever a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub origin: Origin,
    pub scheme: AuthScheme,
}

#[derive(Clone, PartialEq, Eq)]
pub enum AuthScheme {
    /// RFC 7617.
    Basic { user: String, password: String },
    /// RFC 6750.
    Bearer { token: String },
    /// In a header of the server's own: `X-Api-Key`.
    Header { name: String, value: String },
}

impl Credential {
    pub(super) fn is_for(&self, url: &CrawlUrl) -> bool {
        self.origin.as_str() == origin_of(url)
    }

    /// The header it is sent in, and its value; `Err` says what is wrong with it.
    pub(super) fn line(&self) -> Result<(&str, String), &'static str> {
        match &self.scheme {
            AuthScheme::Basic { user, .. } if user.contains(':') => {
                Err("a user's name cannot hold a colon")
            }
            AuthScheme::Basic { user, password } => Ok((AUTHORIZATION, basic(user, password))),
            AuthScheme::Bearer { token } if token.is_empty() => Err("the token is empty"),
            AuthScheme::Bearer { token } => Ok((AUTHORIZATION, format!("Bearer {token}"))),
            AuthScheme::Header { value, .. } if value.is_empty() => Err("the header is empty"),
            AuthScheme::Header { name, value } => Ok((name, value.clone())),
        }
    }
}

/// Secrets stay out of logs.
impl fmt::Debug for AuthScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthScheme::Basic { .. } => "Basic",
            AuthScheme::Bearer { .. } => "Bearer",
            AuthScheme::Header { .. } => "Header",
        })
    }
}

/// A certificate with its key that is shown to these origins when they ask for one. It says who we are as surely as
/// a password does: nobody else sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM: the certificate, then those that lead from it to its authority.
    pub certificate: PathBuf,
    /// PEM; may be the same file.
    pub key: PathBuf,
    /// Where it is shown; empty: nowhere.
    pub origins: Vec<Origin>,
}

/// Scheme, host and port, as [`Origin`] writes them.
pub(super) fn origin_of(url: &CrawlUrl) -> &str {
    let text = url.as_str();
    &text[..text.len() - url.path_and_query().len()]
}
