//! A request as it is written on an HTTP/1.1 connection: its head and, for a form, the fields behind it, in one
//! piece, so that one write sends it. Names are in title case, as browsers write them.

use bytes::Bytes;
use http::{HeaderMap, Request, Uri};

pub struct Written {
    pub bytes: Vec<u8>,
    /// Where the head ends, which is all that an archive keeps.
    pub head_end: usize,
}

impl Written {
    /// `old`: the server has shown to speak HTTP/1.0, and is asked in it to keep the connection.
    pub fn new(request: &Request<Bytes>, old: bool) -> Written {
        let body = request.body();
        let mut bytes = Vec::with_capacity(512 + body.len());
        bytes.extend_from_slice(request.method().as_str().as_bytes());
        bytes.push(b' ');
        target(request.uri(), &mut bytes);
        let version: &[u8] = if old { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" };
        bytes.extend_from_slice(version);
        lines(request.headers(), &mut bytes);
        if old {
            bytes.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        if !body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        let head_end = bytes.len();
        bytes.extend_from_slice(body);
        Written { bytes, head_end }
    }
}

/// Path and query for a server, the whole URL for a proxy.
fn target(uri: &Uri, out: &mut Vec<u8>) {
    match uri.path_and_query().filter(|_| uri.scheme().is_none()) {
        Some(path) => out.extend_from_slice(path.as_str().as_bytes()),
        None => out.extend_from_slice(uri.to_string().as_bytes()),
    }
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
        let text = String::from_utf8(Written::new(&request, false).bytes).unwrap();
        assert_eq!(text, "GET /a?b HTTP/1.1\r\nHost: a\r\nX--One-2b: C d\r\n\r\n");
        let text = String::from_utf8(Written::new(&request, true).bytes).unwrap();
        assert_eq!(
            text,
            "GET /a?b HTTP/1.0\r\nHost: a\r\nX--One-2b: C d\r\nConnection: keep-alive\r\n\r\n"
        );
    }

    #[test]
    fn a_form_follows_its_length() {
        let request = Request::post("http://a/b").header("host", "a").body(Bytes::from("x=y"));
        let written = Written::new(&request.unwrap(), false);
        let text = String::from_utf8(written.bytes).unwrap();
        assert_eq!(text, "POST http://a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nx=y");
        assert_eq!(&text[written.head_end..], "x=y");
    }
}
