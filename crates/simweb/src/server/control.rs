//! `http://control.SUFFIX/`: what tests in other processes ask a running server. Never logged.
//!
//! `/counts` JSON, `/log` JSON lines, `/reset`, `/checks?pause_ms=N&address_ms=N` the findings of the checkers
//! as text.

use std::{fmt::Write, time::Duration};

use bytes::Bytes;

use crate::{Answer, Manner, Request, checks};

use super::Hall;

/// `None` when the request is for another host.
pub(super) fn answer(request: &Request<'_>, hall: &Hall) -> Option<Answer> {
    let host = request.host.split(':').next().unwrap_or_default();
    let suffix = host.strip_prefix("control")?;
    if suffix != hall.web.options().host_suffix {
        return None;
    }
    let (status, body) = match request.path() {
        "/counts" => (200, serde_json::to_string(&hall.log.counts()).unwrap_or_default() + "\n"),
        "/log" => (200, log_lines(hall)),
        "/reset" => {
            hall.log.reset();
            (200, "reset\n".to_owned())
        }
        "/checks" => (200, findings(request.query(), hall)),
        _ => (404, "there are /counts, /log, /reset and /checks?pause_ms=N\n".to_owned()),
    };
    Some(plain(status, body))
}

fn log_lines(hall: &Hall) -> String {
    let mut lines = String::new();
    for entry in hall.log.entries() {
        lines.push_str(&serde_json::to_string(&entry).unwrap_or_default());
        lines.push('\n');
    }
    lines
}

fn findings(query: &str, hall: &Hall) -> String {
    let given = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        Duration::from_millis(value.and_then(|ms| ms.parse().ok()).unwrap_or(0))
    };
    let log = hall.log.entries();
    let slack = Duration::from_millis(5);
    let mut found = checks::pauses(&log, given("pause_ms"), slack);
    found.extend(checks::address_pauses(&log, given("address_ms"), slack));
    found.extend(checks::robots_too_often(&log));
    found.extend(checks::disallowed(&log, &hall.web));
    found.extend(checks::repeats(&log));
    found.extend(checks::retry_after(&log, slack));
    found.iter().fold(String::new(), |mut text, violation| {
        let _ = writeln!(text, "{violation}");
        text
    })
}

fn plain(status: u16, body: String) -> Answer {
    let head = format!(
        "HTTP/1.1 {status} Control\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    Answer {
        status,
        head: head.into_bytes(),
        body: Bytes::from(body),
        manner: Manner::Whole,
        delay: Duration::ZERO,
        page: None,
        retry_after: None,
    }
}
