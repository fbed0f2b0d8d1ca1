//! Heads as HTTP/1.1 would write them, for the archive: the pseudo-fields become the first line and
//! `host`, the other fields stay as they are, names in lower case.

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};

pub fn request_head(method: &Method, target: &str, host: &str, headers: &HeaderMap) -> Bytes {
    let mut head = BytesMut::with_capacity(512);
    head.put_slice(format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n").as_bytes());
    fields(headers, &mut head);
    head.freeze()
}

pub fn response_head(status: StatusCode, headers: &HeaderMap) -> Bytes {
    let mut head = BytesMut::with_capacity(512);
    // HTTP/2 has no words beside the number; HTTP/1.1 may leave them out, not the space before.
    let words = status.canonical_reason().unwrap_or_default();
    head.put_slice(format!("HTTP/1.1 {} {words}\r\n", status.as_str()).as_bytes());
    fields(headers, &mut head);
    head.freeze()
}

fn fields(headers: &HeaderMap, head: &mut BytesMut) {
    for (name, value) in headers {
        head.put_slice(name.as_str().as_bytes());
        head.put_slice(b": ");
        head.put_slice(value.as_bytes());
        head.put_slice(b"\r\n");
    }
    head.put_slice(b"\r\n");
}
