//! From a request and a moment to the bytes of the answer and the manner of sending them.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use model::Timestamp;

use crate::{
    Hazard,
    dice::{Dice, mix},
};

use super::{
    PageId, SimWeb,
    page::Dress,
    reply::{Reply, http_date, small_page},
};

/// What a server reads of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    pub method: &'a str,
    /// As in the `Host` field, port included.
    pub host: &'a str,
    /// Path and query.
    pub target: &'a str,
    pub tls: bool,
    pub agent: &'a str,
    pub if_none_match: Option<&'a str>,
    pub if_modified_since: Option<&'a str>,
    pub cookie: Option<&'a str>,
    pub accepts_gzip: bool,
}

#[derive(Clone, Debug)]
pub struct Answer {
    /// 0 when nothing like a status is sent.
    pub status: u16,
    /// Status line to empty line, exactly as on the wire.
    pub head: Vec<u8>,
    /// As on the wire, chunk framing included.
    pub body: Bytes,
    pub manner: Manner,
    /// How long the client waits for the first byte.
    pub delay: Duration,
    /// The page that was asked for, when it is one of the site's.
    pub page: Option<PageId>,
    /// Seconds, as sent.
    pub retry_after: Option<u32>,
}

/// How an answer is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    Whole,
    /// In pieces with a wait before each; `head` too, byte by byte, when asked.
    Drip {
        head: bool,
        piece: usize,
        every: Duration,
    },
    /// Nothing, and the connection stays open.
    Silent,
    /// A reset after this many bytes of head and body.
    Reset {
        after: usize,
    },
    /// All of it, then the connection is closed.
    Hangup,
    /// The body over and over as chunks.
    Endless,
    /// Header lines over and over.
    Flood,
    /// All of it, and then all of it again.
    Twice,
}

impl<'a> Request<'a> {
    pub fn get(host: &'a str, target: &'a str) -> Request<'a> {
        Request { method: "GET", host, target, ..Request::default() }
    }

    pub fn path(&self) -> &'a str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self) -> &'a str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

impl SimWeb {
    pub fn answer(&self, request: &Request<'_>, now: Timestamp) -> Answer {
        let mut answer = self.route(request, now);
        answer.delay += self.latency(request, now);
        if request.method == "HEAD" {
            answer.body = Bytes::new();
        }
        answer
    }

    fn route(&self, request: &Request<'_>, now: Timestamp) -> Answer {
        let host = bare_host(request.host);
        if self.is_below_wildcard(&host) {
            return self.wildcard_answer(&host, request, now);
        }
        let Some(site) = self.site_of(&host) else { return self.other_host(&host, request, now) };
        if !matches!(request.method, "GET" | "HEAD") {
            return Reply::new(405, now).field("Allow", "GET, HEAD").whole("");
        }
        if self.is_https(site) && !request.tls {
            let to = format!("https://{host}{}", request.target);
            return redirect(301, &to, now);
        }
        if let Some(answer) = self.whole_site(&host, site, request, now) {
            return answer;
        }
        let path = request.path();
        if let Some(placed) = self.hazards.get(&host)
            && let Some(placed) = placed.iter().find(|p| p.covers(path) && !p.hazard.is_of_host())
            && let Some(answer) = self.hazard_answer(placed.hazard, site, request, now)
        {
            return answer;
        }
        self.ordinary(site, request, now, &Dress::default())
    }

    /// What the site answers when nothing is wrong with it.
    pub(super) fn ordinary(
        &self,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
        dress: &Dress,
    ) -> Answer {
        if let Some(index) = self.index_of(site, request.target) {
            return self.page_answer(PageId { site, index }, request, now, dress);
        }
        let path = request.path();
        if path == "/robots.txt" || path.starts_with("/robots-") {
            return self.robots_answer(site, request, now);
        }
        if path.starts_with("/sitemap") {
            return self.sitemap_answer(site, request, now);
        }
        if let Some(answer) = self.notice_answer(site, path, now) {
            return answer;
        }
        if let Some(rest) = path.strip_prefix("/go/") {
            return self.go(site, rest, now);
        }
        if let Some(answer) = self.part_answer(site, path, now) {
            return answer;
        }
        if path == "/style.css" {
            let css = "body{font:16px/1.5 serif;max-width:40em;margin:auto}\n";
            return Reply::new(200, now).field("Content-Type", "text/css").whole(css);
        }
        if path.starts_with("/img/") && path.ends_with(".png") {
            return Reply::new(200, now).field("Content-Type", "image/png").whole(PNG);
        }
        if self.forbidden_places(site).iter().any(|prefix| path.starts_with(prefix.as_str())) {
            let body = small_page("Private", "<p>Nobody should have come here.</p>");
            return Reply::new(200, now).html().whole(body);
        }
        not_found(now)
    }

    fn page_answer(
        &self,
        page: PageId,
        request: &Request<'_>,
        now: Timestamp,
        dress: &Dress,
    ) -> Answer {
        let options = &self.options.page;
        let version = self.version(page, now);
        let noisy = self.is_noisy(page);
        let validates = !noisy && dress.suffix.is_empty() && self.sends_validators(page.site);
        let gzip = options.gzip && request.accepts_gzip;
        let modified = self.modified(page, now);
        let etag = format_args!("\"{:x}-{version}{}\"", self.page_hash(page), coding_mark(gzip))
            .to_string();
        if validates && not_modified(request, &etag, modified) {
            let reply = Reply::new(304, now).field("ETag", &etag);
            let answer = reply.field("Last-Modified", http_date(modified)).bare("");
            return Answer { page: Some(page), ..answer };
        }
        let noise = noisy.then_some(now);
        let mut body = self.render(page, version, &Dress { noise, ..dress.clone() });
        let charset = if self.is_latin1(page) { "iso-8859-1" } else { "utf-8" };
        let media_type = format_args!("text/html; charset={charset}").to_string();
        let mut reply = Reply::new(200, now).field("Content-Type", media_type);
        if validates {
            reply = reply.field("ETag", &etag).field("Last-Modified", http_date(modified));
        }
        if gzip {
            body = gzipped(&body);
            reply = reply.field("Content-Encoding", "gzip").field("Vary", "Accept-Encoding");
        }
        let answer = match self.share_has(page, 0xC407, options.chunked_share) {
            true => reply.chunked(&body),
            false => reply.whole(body),
        };
        Answer { page: Some(page), ..answer }
    }

    fn go(&self, site: usize, rest: &str, now: Timestamp) -> Answer {
        let numbers = rest.split_once('/').and_then(|(hops, index)| {
            Some((hops.parse::<u8>().ok()?, index.parse::<usize>().ok()?))
        });
        match numbers {
            Some((hops @ 1..=9, index)) if index < self.pages(site) => {
                let to = match hops {
                    1 => self.path(site, index),
                    _ => format!("/go/{}/{index}", hops - 1),
                };
                redirect(if index % 2 == 0 { 301 } else { 302 }, &to, now)
            }
            _ => not_found(now),
        }
    }

    fn other_host(&self, host: &str, request: &Request<'_>, now: Timestamp) -> Answer {
        match host.strip_prefix("www.").and_then(|bare| self.site_of(bare)) {
            Some(site) if self.host_hazard(&self.host(site)) == Some(Hazard::WwwTwin) => {
                self.ordinary(site, request, now, &Dress::default())
            }
            Some(site) if self.host_hazard(&self.host(site)) == Some(Hazard::NoWww) => {
                not_found(now)
            }
            Some(site) => {
                let to = format!("{}{}", self.home(site).trim_end_matches('/'), request.target);
                redirect(301, &to, now)
            }
            None => not_found(now),
        }
    }

    fn sends_validators(&self, site: usize) -> bool {
        let share = self.options.page.validator_share;
        share >= 1.0 || crate::dice::unit(mix(self.site_hash(site), 0xE7A6)) < share
    }

    fn latency(&self, request: &Request<'_>, now: Timestamp) -> Duration {
        let latency = self.options.latency;
        if latency.spread.is_zero() {
            return latency.base;
        }
        let hash = request.target.bytes().fold(now.0 as u64, |hash, b| mix(hash, u64::from(b)));
        latency.base + latency.spread.mul_f64(Dice::new(hash).unit())
    }
}

pub(super) fn redirect(status: u16, to: &str, now: Timestamp) -> Answer {
    let body = small_page("Moved", &format!("<p><a href=\"{to}\">here</a></p>"));
    Reply::new(status, now).field("Location", to).html().whole(body)
}

pub(super) fn not_found(now: Timestamp) -> Answer {
    let body = small_page("Not found", "<p>There is no such page. <a href=\"/\">Home</a></p>");
    Reply::new(404, now).html().whole(body)
}

/// RFC 9110, 13.1: If-None-Match decides alone when it is there.
pub(super) fn not_modified(request: &Request<'_>, etag: &str, modified: Timestamp) -> bool {
    if let Some(tags) = request.if_none_match {
        return tags.split(',').map(str::trim).any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag == etag
        });
    }
    let since = request.if_modified_since.and_then(|date| httpdate::parse_http_date(date).ok());
    since.is_some_and(|since| SystemTime::from(http_date(modified)) <= since)
}

pub(super) fn gzipped(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut coder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::fast());
    coder.write_all(bytes).expect("writing to memory cannot fail");
    coder.finish().expect("writing to memory cannot fail")
}

impl Hazard {
    pub(super) fn spell(&self) -> Option<(u16, Duration, Duration)> {
        match *self {
            Hazard::TooManyRequests { every, lasting } => Some((429, every, lasting)),
            Hazard::Unavailable { every, lasting } => Some((503, every, lasting)),
            _ => None,
        }
    }
}

fn coding_mark(gzip: bool) -> &'static str {
    if gzip { "-gz" } else { "" }
}

/// Lower case, without port and trailing dot.
pub(crate) fn bare_host(host: &str) -> String {
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// One grey pixel.
pub(super) const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\
    \x9b\x55\0\0\0\nIDAT\x08\xd7\x63\x68\0\0\0\x82\0\x81\xdd\x43\x6a\xf4\0\0\0\0IEND\xaeB`\x82";
