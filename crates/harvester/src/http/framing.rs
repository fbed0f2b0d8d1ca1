//! What a head says about the connection: whether it is good HTTP at all, how its body is framed (RFC 9112
//! section 6.3), and whether another request may follow.
//!
//! Whether bytes are a head is httparse's judgement, told to take what browsers take: folded lines, blanks
//! before the colon, and lines that are no header lines, which are passed over. So a line counts here only if it is
//! one; `Headers` is the archive's reader and more generous. Refused are: other versions than 1.0 and 1.1, a status
//! that is no number of three digits, a `Transfer-Encoding` in an HTTP/1.0 answer, a length over 64 bits.

use std::{borrow::Cow, mem::MaybeUninit};

use httparse::{Header, ParserConfig, Response, Status};

use super::{bounds::HEADER_LINES_MAX, lengths::Lengths};

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// The body's length on the wire, where it is known beforehand.
    pub fn length(self) -> Option<u64> {
        match self {
            Framing::Empty => Some(0),
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::UntilClose => None,
        }
    }
}

/// What is said of the connection in the head of a final answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub status: u16,
    /// The server speaks HTTP/1.0.
    pub old: bool,
    /// Another request may follow.
    pub keeps: bool,
    /// Whether the last transfer coding is chunked; `None` where there is none at all.
    chunked: Option<bool>,
    length: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Unsaid,
    Number(u64),
    Bad,
}

impl Said {
    /// Reads the final head that `received` begins with, behind empty lines and interim answers. `Ok(None)`
    /// when it is good as far as it goes, but not all there.
    pub fn read(mut received: &[u8]) -> Result<Option<Said>, String> {
        loop {
            let mut lines = [MaybeUninit::uninit(); HEADER_LINES_MAX];
            let mut head = Response::new(&mut []);
            let parsed =
                lenient().parse_response_with_uninit_headers(&mut head, received, &mut lines);
            let end = match parsed.map_err(|error| error.to_string())? {
                Status::Complete(end) => end,
                Status::Partial => return Ok(None),
            };
            let (status, old) = (head.code.unwrap_or_default(), head.version == Some(0));
            match status {
                0..100 => return Err("invalid status code".to_owned()),
                100 | 102..200 => received = &received[end..],
                _ => return Ok(Some(Said::of(status, old, head.headers))),
            }
        }
    }

    fn of(status: u16, old: bool, lines: &[Header<'_>]) -> Said {
        Said {
            status,
            old,
            keeps: keeps(old, lines) && status != 101,
            chunked: values(lines, "transfer-encoding").last().map(|value| ends_chunked(&value)),
            length: length(lines),
        }
    }

    /// How the body is framed; lengths that mean nothing are as good as none.
    pub fn framing(&self, lengths: Lengths) -> Result<Framing, String> {
        match (self.status, self.chunked, self.length) {
            (101 | 204 | 304, ..) => Ok(Framing::Empty),
            (_, Some(_), _) if self.old => Err("unexpected transfer-encoding".to_owned()),
            (_, Some(true), _) => Ok(Framing::Chunked),
            (_, Some(false), _) | (.., Length::Unsaid) => Ok(Framing::UntilClose),
            _ if lengths == Lengths::Meaningless => Ok(Framing::UntilClose),
            (.., Length::Number(0)) => Ok(Framing::Empty),
            (.., Length::Number(length)) => Ok(Framing::Length(length)),
            (.., Length::Bad) => Err("invalid content-length".to_owned()),
        }
    }
}

fn lenient() -> ParserConfig {
    let mut config = ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

/// HTTP/1.1 goes on unless it says otherwise, HTTP/1.0 ends unless it says otherwise, and once `close` was said,
/// nothing takes it back.
fn keeps(old: bool, lines: &[Header<'_>]) -> bool {
    let said = |word: &str| {
        values(lines, "connection").any(|value| {
            let words = text(&value).unwrap_or_default().split(',');
            words.map(str::trim).any(|found| found.eq_ignore_ascii_case(word))
        })
    };
    !said("close") && (!old || said("keep-alive"))
}

fn ends_chunked(value: &[u8]) -> bool {
    let last = text(value).and_then(|text| text.rsplit(',').next());
    last.is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

fn length(lines: &[Header<'_>]) -> Length {
    let mut found = Length::Unsaid;
    for value in values(lines, "content-length") {
        let Some(text) = text(&value) else { return Length::Bad };
        for number in text.split(',') {
            let read = match number.trim() {
                digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
                _ => None,
            };
            match (read, found) {
                (Some(number), Length::Unsaid) => found = Length::Number(number),
                (Some(number), Length::Number(before)) if number == before => {}
                _ => return Length::Bad,
            }
        }
    }
    found
}

fn values<'a>(
    lines: &'a [Header<'a>],
    name: &'static str,
) -> impl DoubleEndedIterator<Item = Cow<'a, [u8]>> {
    let named = lines.iter().filter(move |line| line.name.eq_ignore_ascii_case(name));
    named.map(|line| unfolded(line.value))
}

/// A fold is read as one blank (RFC 9112 section 5.2).
fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\n') {
        return Cow::Borrowed(value);
    }
    let lines: Vec<&[u8]> = value.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).collect();
    Cow::Owned(lines.join(&b' '))
}

/// Codings, lengths and options are of visible characters; what else is there means nothing.
fn text(value: &[u8]) -> Option<&str> {
    let plain = value.iter().all(|&b| matches!(b, b'\t' | b' '..=b'~'));
    std::str::from_utf8(value).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &str) -> Result<Option<Said>, String> {
        Said::read(head.as_bytes())
    }

    #[test]
    fn bodies_end_as_the_head_says() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\n", Framing::UntilClose),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Framing::Length(5)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 005\r\nContent-Length: 5\r\n", Framing::Length(5)),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\t5,\r\n 5\r\n", Framing::Length(5)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", Framing::Empty),
            ("HTTP/1.1 204 No\r\nContent-Length: 5\r\n", Framing::Empty),
            ("HTTP/1.0 304 No\r\nTransfer-Encoding: chunked\r\n", Framing::Empty),
            ("HTTP/1.1 101 Go\r\nContent-Length: 5\r\n", Framing::Empty),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                Framing::Chunked,
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n CHUNKED\r\n", Framing::Chunked),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n", Framing::UntilClose),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\nContent-Length: 5\r\n",
                Framing::UntilClose,
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\u{1}\r\n", Framing::UntilClose),
        ] {
            let found = said(&format!("{head}\r\n")).unwrap().unwrap();
            assert_eq!(found.framing(Lengths::Clear), Ok(expected), "{head:?}");
        }
    }

    #[test]
    fn heads_that_frame_nothing_we_know_are_refused() {
        let refused = |head: &str, lengths| said(head).unwrap().unwrap().framing(lengths).is_err();
        let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(refused(old, Lengths::Clear));
        let over = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n";
        assert!(refused(over, Lengths::Clear));
        let nonsense = "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n";
        assert!(!refused(nonsense, Lengths::Meaningless));
    }

    #[test]
    fn connections_are_kept_by_version_and_word() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\n", true),
            ("HTTP/1.0 200 OK\r\n", false),
            ("HTTP/1.0 200 OK\r\nConnection: x, Keep-Alive\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: Close\r\n", false),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n", false),
            ("HTTP/1.1 200 OK\r\nConnection: closed\r\n", true),
            ("HTTP/1.1 101 Go\r\n", false),
        ] {
            let found = said(&format!("{head}\r\n")).unwrap().unwrap();
            assert_eq!(found.keeps, expected, "{head:?}");
        }
    }

    #[test]
    fn what_is_no_head_is_told_from_what_is_not_all_there() {
        for head in [
            "HTTP/9.1 ",
            "HTTP/1.2 200",
            "http/1.1 200",
            " HTTP/1.1 200",
            "\r\rHTTP/1.1 200",
            "HTTP/1.1  200",
            "HTTP/1.1 2x",
            "HTTP/1.1 20\r",
            "HTTP/1.1 2000",
            "HTTP/1.1 099 x\r\n\r\n",
            "HTTP/1.1 200 a\u{1}",
            "HTTP/1.1 200 OK\r\nA: b\rc",
            "HTTP/1.1 200 OK\r\nA: \0",
            "HTTP/1.1 100 Go\r\n\r\n<html>",
        ] {
            assert!(said(head).is_err(), "{head:?}");
        }
        for head in
            ["", "\r\n", "HT", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nA", "HTTP/1.1 100 \r\n\r\n"]
        {
            assert_eq!(said(head), Ok(None), "{head:?}");
        }
    }
}
