//! HTTP/2 (RFC 9113), where the user asked for it and the server agrees (ALPN).
//!
//! One request at a time on a connection, as with HTTP/1.1: politeness does not change with the version.
//! The same limits hold: for heads, bodies, times and bytes on the wire. An archive keeps HTTP/1.1, so
//! the heads are written as that would have them (`heads.rs`), and the body is what the DATA frames
//! carried; the exchange says [`model::Protocol::Http2`]. Bytes of the answer are counted of that, not of
//! the frames; all that comes over the connection is bounded beside it by the [`meter`], so that frames
//! which carry nothing (PING, SETTINGS, padding, headers without end) end the exchange and not the memory.

mod heads;
mod hop;
mod meter;
mod wire;

pub use self::{hop::run, wire::Wire};
