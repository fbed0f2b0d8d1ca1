//! The fetching seam: one request in, what went over the wire or a failure out. Both answers are data.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{BoxFuture, CrawlUrl, Headers, Met, Refusal, SpiderId, Timestamp, TypeGate};

pub trait Fetch: Send + Sync {
    /// One hop: redirects are answers here, never followed.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Exchange, FetchFailure>>;
}

#[derive(Clone, Debug)]
pub struct FetchRequest {
    pub url: CrawlUrl,
    pub purpose: Purpose,
    /// Where to connect; already resolved. The fetcher checks each against the address guard at connect time.
    pub addresses: Vec<IpAddr>,
    pub condition: Option<Condition>,
    /// Whose request it is: spiders differ in headers, logins and proxies.
    pub spider: SpiderId,
    /// Value of the `Cookie` header, when there is one to send.
    pub cookies: Option<String>,
    /// Some of the cookies came from the user or a login: the archived request says only that there
    /// were some.
    pub withhold_cookies: bool,
    /// Sent by POST: the fields of a form (`application/x-www-form-urlencoded`) of a login, or what the
    /// profile's `Content-Type` says, for those who are told of changes.
    pub post: Option<Bytes>,
    pub limits: Arc<FetchLimits>,
    /// Asked about an answer with content, besides [`FetchLimits::media_types`].
    pub type_gate: Option<Arc<dyn TypeGate>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    Page,
    Robots,
    Sitemap,
    /// A step of a form login; never archived.
    Login,
}

/// What was spoken on the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    #[default]
    Http1,
    /// The heads of the exchange are written as HTTP/1.1 would have them, names in lower case.
    Http2,
}

/// What the last visit left behind for a conditional request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

#[derive(Clone, Debug)]
pub struct FetchLimits {
    /// Bytes of a body after content decoding; the rest is cut and said.
    pub body_bytes_max: u64,
    pub head_bytes_max: usize,
    pub connect: Duration,
    pub tls: Duration,
    pub first_byte: Duration,
    /// Longest silence while a body comes.
    pub idle: Duration,
    /// From the first connect to the last byte.
    pub total: Duration,
    /// Wanted media types, lower case: `text/html`, `text/*`, `*/*`. Others stop after the head.
    /// An answer without a media type is wanted.
    pub media_types: Vec<String>,
    /// Decoded bytes per wire byte above which a body is a bomb and cut (only counted past 1 MB decoded).
    pub ratio_max: u32,
    /// Bytes of the answer as they come over the wire, head included: what goes beyond is cut and said.
    pub wire_bytes_max: Option<u64>,
}

/// What went over the wire for one hop: enough for a faithful WARC pair. Immutable, cheap to clone.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub url: CrawlUrl,
    pub purpose: Purpose,
    /// When the request was sent.
    pub started: Timestamp,
    pub address: Option<IpAddr>,
    /// As sent, ending in an empty line; what proves who we are (passwords, tokens, a user's cookies)
    /// is replaced by `[withheld]`.
    pub request_head: Bytes,
    /// Exactly as received (order, case, duplicates), ending in an empty line; but cookies that were set in
    /// answer to a private one ([`FetchRequest::withhold_cookies`]) are overwritten with `*`.
    pub response_head: Bytes,
    pub status: u16,
    pub headers: Headers,
    /// As on the wire, chunk framing included.
    pub wire_body: Bytes,
    /// Transfer coding removed, content coding kept: what payload digests are made of.
    /// Shares its memory with `wire_body` when there was no transfer coding.
    pub entity: Bytes,
    /// Content coding removed as well: what parsers see. Shares memory where nothing was coded.
    pub body: Bytes,
    pub stopped: Option<Stopped>,
    /// What the wire did that it should not, as far as `stopped` does not say it all.
    pub met: Vec<Met>,
    pub timing: Timing,
    pub protocol: Protocol,
}

/// Why a body is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stopped {
    /// The media type is not wanted: only the head was read.
    Type,
    /// `Content-Length` said it is over the limit: only the head was read.
    Announced,
    /// Cut at the size limit.
    Length,
    /// Cut at the time limit.
    Time,
    /// The server hung up early.
    Disconnect,
    /// The content coding could not be undone any further; `body` holds what could.
    Coding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    pub connect: Duration,
    pub tls: Duration,
    /// From the request's last byte to the answer's first.
    pub first_byte: Duration,
    /// From the answer's first byte to its last.
    pub download: Duration,
    /// The whole hop.
    pub total: Duration,
    /// A kept-alive connection was used.
    pub reused: bool,
}

#[derive(Clone, Debug)]
pub struct FetchFailure {
    pub kind: FailureKind,
    /// For people: lower case, no full stop, what happened.
    pub detail: String,
    /// What it was by name, where that is more than the kind says.
    pub met: Option<Met>,
    pub address: Option<IpAddr>,
    /// The rule of ours that forbids the visit: no request was made.
    pub refusal: Option<Box<Refusal>>,
    /// Of an answer that was none all the same: they count against limits on bytes.
    pub wire_bytes: u64,
    pub timing: Timing,
}

impl FetchFailure {
    /// One that happened before anything was said on the wire.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> FetchFailure {
        let (detail, timing) = (detail.into(), Timing::default());
        let (met, address, refusal) = (None, None, None);
        FetchFailure { kind, detail, met, address, refusal, wire_bytes: 0, timing }
    }
}

/// The classes of failure; one table in the harvester maps each to wait and retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The name does not exist.
    DnsUnknown,
    /// The name servers did not answer.
    DnsTrouble,
    /// The guard forbids this address.
    AddressRefused,
    ConnectRefused,
    ConnectTimeout,
    Tls,
    Proxy,
    /// The connection broke before a whole head came.
    Reset,
    /// A connection kept from an earlier request ended without an answer, after at least part of this request was
    /// sent. The server may have closed it for its age, or may have seen the request: nobody can tell.
    StaleConnection,
    /// No first byte in time, or the total time ran out before a head.
    Timeout,
    /// What came is not HTTP, or its head is over the limit.
    BadHttp,
    /// We gave up ourselves (stopping).
    Aborted,
}

impl FailureKind {
    pub const ALL: [FailureKind; 12] = [
        FailureKind::DnsUnknown,
        FailureKind::DnsTrouble,
        FailureKind::AddressRefused,
        FailureKind::ConnectRefused,
        FailureKind::ConnectTimeout,
        FailureKind::Tls,
        FailureKind::Proxy,
        FailureKind::Reset,
        FailureKind::StaleConnection,
        FailureKind::Timeout,
        FailureKind::BadHttp,
        FailureKind::Aborted,
    ];

    pub fn from_word(word: &str) -> Option<FailureKind> {
        // Those of earlier versions, which stand in batches and backups.
        let word = match word {
            "dns-unknown" => "unknown-host",
            "dns-trouble" => "dns-error",
            "connect-refused" => "connection-refused",
            "tls" => "tls-error",
            "proxy" => "proxy-error",
            "reset" => "connection-reset",
            word => word,
        };
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// In one word, as the database and the display have it.
    pub fn word(self) -> &'static str {
        match self {
            FailureKind::DnsUnknown => "unknown-host",
            FailureKind::DnsTrouble => "dns-error",
            FailureKind::AddressRefused => "address-refused",
            FailureKind::ConnectRefused => "connection-refused",
            FailureKind::ConnectTimeout => "connect-timeout",
            FailureKind::Tls => "tls-error",
            FailureKind::Proxy => "proxy-error",
            FailureKind::Reset => "connection-reset",
            FailureKind::StaleConnection => "stale-connection",
            FailureKind::Timeout => "timeout",
            FailureKind::BadHttp => "bad-http",
            FailureKind::Aborted => "aborted",
        }
    }
}
