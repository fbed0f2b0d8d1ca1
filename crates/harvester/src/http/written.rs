//! A request as it is written on an HTTP/1.1 connection: its head and, for a form, the fields behind it, in one
//! piece, so that one write sends it. Names are in title case, as browsers write them.

use std::io::Write;

use bytes::Bytes;
use http::{HeaderMap, Request};

/// `old`: the server has shown to speak HTTP/1.0, and is asked in it to keep the connection.
pub fn written(request: &Request<Bytes>, old: bool) -> Vec<u8> {
    let body = request.body();
    let mut out = Vec::with_capacity(512 + body.len());
    let version = if old { "HTTP/1.0" } else { "HTTP/1.1" };
    // A vector takes all that is written to it.
    let _ = write!(out, "{} {} {version}\r\n", request.method(), request.uri());
    lines(request.headers(), &mut out);
    if old {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    if !body.is_empty() {
        let _ = write!(out, "Content-Length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

fn lines(headers: &HeaderMap, out: &mut Vec<u8>) {
    for (name, value) in headers {
        let start = out.len();
        out.extend_from_slice(name.as_str().as_bytes());
        for part in out[start..].split_mut(|&b| b == b'-') {
            if let Some(first) = part.first_mut() {
                first.make_ascii_uppercase();
            }
        }
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_line_by_line_in_title_case() {
        let request = Request::get("/a?b").header("host", "a").header("x--one-2b", "C d");
        let request = request.body(Bytes::new()).unwrap();
        let text = String::from_utf8(written(&request, false)).unwrap();
        assert_eq!(text, "GET /a?b HTTP/1.1\r\nHost: a\r\nX--One-2b: C d\r\n\r\n");
        let text = String::from_utf8(written(&request, true)).unwrap();
        assert_eq!(
            text,
            "GET /a?b HTTP/1.0\r\nHost: a\r\nX--One-2b: C d\r\nConnection: keep-alive\r\n\r\n"
        );
    }

    #[test]
    fn a_form_follows_its_length() {
        let request = Request::post("http://a/b").header("host", "a").body(Bytes::from("x=y"));
        let text = String::from_utf8(written(&request.unwrap(), false)).unwrap();
        assert_eq!(text, "POST http://a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nx=y");
    }
}
