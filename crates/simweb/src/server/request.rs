//! Reading request heads: only what the simulated servers need.

use crate::Request;

/// A request with what matters for the connection.
pub(super) struct Received<'a> {
    pub request: Request<'a>,
    pub body_bytes: usize,
    /// The client wants the connection closed after the answer.
    pub close: bool,
}

/// Reads a whole head; `None` when it is not HTTP.
pub(super) fn read(head: &[u8], tls: bool) -> Option<Received<'_>> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    let (host, target) = split_absolute(target);
    let mut request = Request { method, host, target, tls, ..Request::default() };
    let mut received_close = version == "HTTP/1.0";
    let mut body_bytes = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        // The length tells most names apart without comparing letters.
        match name.len() {
            4 if is(name, "host") && request.host.is_empty() => request.host = value,
            6 if is(name, "cookie") => request.cookie = Some(value),
            10 if is(name, "user-agent") => request.agent = value,
            10 if is(name, "connection") => received_close = is(value, "close"),
            13 if is(name, "if-none-match") => request.if_none_match = Some(value),
            14 if is(name, "content-length") => body_bytes = value.parse().ok()?,
            15 if is(name, "accept-encoding") => request.accepts_gzip = value.contains("gzip"),
            17 if is(name, "if-modified-since") => request.if_modified_since = Some(value),
            _ => {}
        }
    }
    Some(Received { request, body_bytes, close: received_close })
}

/// `http://host/path`, as sent to proxies, is host and path.
fn split_absolute(target: &str) -> (&str, &str) {
    let Some(rest) = target.strip_prefix("http://") else { return ("", target) };
    match rest.find('/') {
        Some(slash) => (&rest[..slash], &rest[slash..]),
        None => (rest, "/"),
    }
}

fn is(text: &str, lower: &str) -> bool {
    text.eq_ignore_ascii_case(lower)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn names_are_read_without_regard_to_case_and_absolute_targets_are_split() {
        let head = b"GET http://a.test/b?c HTTP/1.1\r\nhOST: other\r\nUSER-AGENT: x y\r\n\
            connection: Close\r\nif-none-match: \"e\"\r\n\r\n";
        let received = read(head, false).unwrap();
        assert_eq!((received.request.host, received.request.target), ("a.test", "/b?c"));
        assert_eq!(received.request.agent, "x y");
        assert_eq!(received.request.if_none_match, Some("\"e\""));
        assert!(received.close);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(head in proptest::collection::vec(0u8.., 0..200)) {
            let _ = read(&head, true);
        }
    }
}
