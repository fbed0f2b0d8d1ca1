//! What the archive does not learn: the values of lines that prove who asks.
//!
//! An archive is passed on, and whoever reads it must not be able to log in with it. The line itself
//! stays, so that a reader sees that the answer was given to somebody known: `Authorization: [withheld]`.
//! Cookies are withheld as a whole where one of them came from the user or a login; those that a server
//! gave to everybody are kept, and so are those that it sets, but for answers to a private cookie.

use bytes::{BufMut, Bytes, BytesMut};
use http::header::HeaderName;

const WITHHELD: &[u8] = b"[withheld]";
const SETTING: &[u8] = b"set-cookie:";

/// Which lines of a request are secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    pub authorization: bool,
    pub cookies: bool,
    /// Headers of other names that carry a credential.
    pub others: Vec<HeaderName>,
}

impl Secrets {
    /// The head of a request for the archive.
    pub fn withhold(&self, head: Bytes) -> Bytes {
        if *self == Secrets::default() {
            return head;
        }
        let mut kept = BytesMut::with_capacity(head.len());
        for line in head.split_inclusive(|&b| b == b'\n') {
            match line.iter().position(|&b| b == b':').filter(|&end| self.hides(&line[..end])) {
                Some(colon) => {
                    kept.put_slice(&line[..=colon]);
                    kept.put_slice(b" ");
                    kept.put_slice(WITHHELD);
                    kept.put_slice(b"\r\n");
                }
                None => kept.put_slice(line),
            }
        }
        kept.freeze()
    }

    /// The head of an answer for the archive: cookies that come in answer to a secret may be the next
    /// one of a session. Overwritten, so that the head stays as long as it was on the wire.
    pub fn withhold_answer(&self, head: Bytes) -> Bytes {
        let secret = self.cookies || self.authorization || !self.others.is_empty();
        if !secret || memchr::memmem::find(&head.to_ascii_lowercase(), SETTING).is_none() {
            return head;
        }
        let mut kept = BytesMut::from(&head[..]);
        let mut start = 0;
        for line in head.split_inclusive(|&b| b == b'\n') {
            if line.get(..SETTING.len()).is_some_and(|name| name.eq_ignore_ascii_case(SETTING)) {
                let value = &mut kept[start + SETTING.len()..start + line.len()];
                let hidden = value.iter_mut().filter(|byte| !b" \r\n".contains(byte));
                hidden.for_each(|byte| *byte = b'*');
            }
            start += line.len();
        }
        kept.freeze()
    }

    fn hides(&self, name: &[u8]) -> bool {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        self.authorization && (is("authorization") || is("proxy-authorization"))
            || self.cookies && is("cookie")
            || self.others.iter().any(|other| is(other.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_lines_lose_their_values_and_all_else_stays() {
        let head = "GET /Authorization: HTTP/1.1\r\nHost: a:1\r\nAuthorization: Basic c2VjcmV0\r\n\
            proxy-authorization: Basic c2VjcmV0\r\nCookie: id=c2VjcmV0\r\nX-Key: c2VjcmV0\r\nX: 1\r\n\r\n";
        let others = vec![HeaderName::from_static("x-key")];
        let both = Secrets { authorization: true, cookies: true, others };
        let kept = both.withhold(Bytes::from_static(head.as_bytes()));
        assert_eq!(
            kept,
            "GET /Authorization: HTTP/1.1\r\nHost: a:1\r\nAuthorization: [withheld]\r\n\
             proxy-authorization: [withheld]\r\nCookie: [withheld]\r\nX-Key: [withheld]\r\nX: 1\r\n\r\n"
                .as_bytes()
        );
        let none = Secrets::default().withhold(Bytes::from_static(head.as_bytes()));
        assert_eq!(none, head.as_bytes());
    }

    #[test]
    fn cookies_set_in_answer_to_private_ones_are_overwritten_at_the_same_length() {
        let head = Bytes::from_static(
            b"HTTP/1.1 200 OK\r\nset-COOKIE: id=secret; Path=/\r\nX: Set-Cookie: a=b\r\n\r\n",
        );
        let kept = Secrets { cookies: true, ..Secrets::default() }.withhold_answer(head.clone());
        let wanted =
            b"HTTP/1.1 200 OK\r\nset-COOKIE: ********** ******\r\nX: Set-Cookie: a=b\r\n\r\n";
        assert_eq!(&kept[..], &wanted[..]);
        assert_eq!(Secrets::default().withhold_answer(head.clone()), head);
    }
}
