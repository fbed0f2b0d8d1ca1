//! Heads of HTTP answers, written once and in one piece.

use std::{
    fmt::Display,
    io::Write,
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use model::Timestamp;

use super::{Answer, Manner};

/// An answer in the making.
pub(super) struct Reply {
    status: u16,
    head: Vec<u8>,
}

impl Reply {
    pub fn new(status: u16, now: Timestamp) -> Reply {
        let mut head = Vec::with_capacity(320);
        write!(head, "HTTP/1.1 {status} {}\r\nServer: simweb\r\n", reason(status))
            .expect("writing to memory cannot fail");
        Reply { status, head }.field("Date", http_date(now))
    }

    pub fn field(mut self, name: &str, value: impl Display) -> Reply {
        write!(self.head, "{name}: {value}\r\n").expect("writing to memory cannot fail");
        self
    }

    pub fn html(self) -> Reply {
        self.field("Content-Type", "text/html; charset=utf-8")
    }

    /// Ends the head as it is: no length is added.
    pub fn bare(mut self, body: impl Into<Bytes>) -> Answer {
        self.head.extend_from_slice(b"\r\n");
        Answer {
            status: self.status,
            head: self.head,
            body: body.into(),
            manner: Manner::Whole,
            delay: Duration::ZERO,
            page: None,
            retry_after: None,
        }
    }

    pub fn whole(self, body: impl Into<Bytes>) -> Answer {
        let body = body.into();
        self.field("Content-Length", body.len()).bare(body)
    }

    /// In chunks of 4 KB.
    pub fn chunked(self, body: &[u8]) -> Answer {
        let mut wire = Vec::with_capacity(body.len() + 64);
        for piece in body.chunks(4096) {
            write!(wire, "{:x}\r\n", piece.len()).expect("writing to memory cannot fail");
            wire.extend_from_slice(piece);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        self.field("Transfer-Encoding", "chunked").bare(wire)
    }
}

pub(super) fn http_date(at: Timestamp) -> httpdate::HttpDate {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
    httpdate::HttpDate::from(UNIX_EPOCH + since)
}

/// A small page of its own, outside the sites' prose.
pub(super) fn small_page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>{title}</title></head>\n\
         <body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
