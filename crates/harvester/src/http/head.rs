//! Where the final head lies in what has come, and whether its body is wanted.

use std::ops::Range;

use model::{FetchRequest, Headers, Stopped, TypeGate};

/// Looks for the final head in what has come, each byte once however slowly they come.
#[derive(Debug, Default)]
pub struct HeadSeeker {
    /// Where the head begins that is looked at …
    start: usize,
    /// … the line of it …
    line: usize,
    /// … and what was not looked at yet.
    at: usize,
    begun: bool,
    /// Interim answers (1xx) that came before.
    pub interims: usize,
}

impl HeadSeeker {
    /// Where the head begins that is waited for, as far as it has come.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The final head in what was received, from its status line to its empty line; interim answers and
    /// empty lines before it are left out. `None` when it is not all there: then it is called again with
    /// more.
    pub fn seek(&mut self, received: &[u8]) -> Option<Range<usize>> {
        loop {
            if !self.begun {
                let rest = received.get(self.start..)?;
                self.start += rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
                self.begun = self.start < received.len();
                (self.line, self.at) = (self.start, self.start);
            }
            let Some(newline) = memchr::memchr(b'\n', received.get(self.at..)?) else {
                self.at = received.len();
                return None;
            };
            let end = self.at + newline + 1;
            let empty = matches!(&received[self.line..end - 1], b"" | b"\r");
            (self.line, self.at) = (end, end);
            if empty {
                let head = self.start..end;
                if !is_interim(&received[head.clone()]) {
                    return Some(head);
                }
                self.interims += 1;
                (self.start, self.begun) = (end, false);
            }
        }
    }
}

/// Whether to stop after the head. `length` is what is known of the body's length on the wire; one that is over the
/// limit is no reason: such a body is read up to there, as one is that does not say how long it is.
pub fn unwanted(headers: &Headers, length: Option<u64>, asked: &FetchRequest) -> Option<Stopped> {
    let limits = &asked.limits;
    if length == Some(0) {
        return None;
    }
    (!media_type_wanted(headers, &limits.media_types)).then_some(Stopped::Type)
}

/// Whether to stop after the head because of the request's own gate; only content has a type that counts.
pub fn refused(
    headers: &Headers,
    status: u16,
    length: Option<u64>,
    gate: Option<&dyn TypeGate>,
) -> Option<Stopped> {
    let gate = gate.filter(|_| (200..300).contains(&status) && length != Some(0))?;
    gate.refuses_type(media_type(headers)?).then_some(Stopped::Type)
}

fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|&b| b == b' ').nth(1).unwrap_or_default();
    status.starts_with(b"1") && !status.starts_with(b"101")
}

fn media_type_wanted(headers: &Headers, wanted: &[String]) -> bool {
    let Some(media_type) = media_type(headers) else { return true };
    let Some((main, _)) = media_type.split_once('/') else { return true };
    wanted.iter().any(|wanted| match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => main.eq_ignore_ascii_case(group),
        None => media_type.eq_ignore_ascii_case(wanted),
    })
}

fn media_type(headers: &Headers) -> Option<&str> {
    // Of several the last counts, as in browsers.
    let value = headers.all("content-type").last()?;
    Some(value.split(';').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_final_head_is_found_behind_interim_answers() {
        let check = |text: &str, expected: Option<&str>| {
            let found = HeadSeeker::default().seek(text.as_bytes()).map(|range| &text[range]);
            assert_eq!(found, expected, "{text:?}");
            let mut seeker = HeadSeeker::default();
            let bit_by_bit = (0..=text.len()).find_map(|end| seeker.seek(&text.as_bytes()[..end]));
            assert_eq!(bit_by_bit.map(|range| &text[range]), expected, "{text:?}");
        };
        check("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\n\n", Some("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"));
        check("\r\n\r\nHTTP/1.1 200\r\n\r\n", Some("HTTP/1.1 200\r\n\r\n"));
        check("HTTP/1.1 200 OK\nA: b\n\nbody", Some("HTTP/1.1 200 OK\nA: b\n\n"));
        check(
            "HTTP/1.1 200 OK\r\nA: b\r\n  more\r\n\r\n",
            Some("HTTP/1.1 200 OK\r\nA: b\r\n  more\r\n\r\n"),
        );
        check(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go\r\n\r\nHTTP/1.1 404 No\r\n\r\n",
            Some("HTTP/1.1 404 No\r\n\r\n"),
        );
        check("HTTP/1.1 101 Switch\r\n\r\n", Some("HTTP/1.1 101 Switch\r\n\r\n"));
        check("HTTP/1.1 100 Go\r\n\r\n", None);
        check("HTTP/1.1 200 OK\r\nA: b\r\n", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn any_bytes_hold_a_whole_head_or_none(
            bytes in prop::collection::vec(prop::sample::select(b"HTP/1. 20\r\n\r\n:a\xff\0".to_vec()), 0..200),
        ) {
            if let Some(head) = HeadSeeker::default().seek(&bytes) {
                prop_assert!(head.start < head.end && head.end <= bytes.len());
                prop_assert!(bytes[head.clone()].ends_with(b"\n"));
                prop_assert!(!is_interim(&bytes[head]));
            }
        }
    }

    #[test]
    fn interim_answers_without_end_are_counted_and_looked_at_once() {
        let flood = b"HTTP/1.1 103 a\r\nLink: x\r\n\r\n".repeat(40_000);
        let mut seeker = HeadSeeker::default();
        assert_eq!(seeker.seek(&flood), None);
        assert_eq!((seeker.interims, seeker.at), (40_000, flood.len()));
    }

    #[test]
    fn media_types_are_wanted_by_name_group_or_all() {
        let check = |value: &str, wanted: &[&str], expected: bool| {
            let mut headers = Headers::new();
            headers.push("Content-Type", value);
            let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
            assert_eq!(media_type_wanted(&headers, &wanted), expected, "{value} in {wanted:?}");
        };
        check("text/html; charset=utf-8", &["text/html"], true);
        check("Text/HTML;charset=x", &["text/html"], true);
        check("text/plain", &["text/html"], false);
        check("text/plain", &["text/*"], true);
        check("image/png", &["text/*"], false);
        check("image/png", &["*/*"], true);
        check("", &["text/html"], true);
        check("html", &["text/html"], true);
        assert!(media_type_wanted(&Headers::new(), &[]), "no media type is wanted");
    }

    #[test]
    fn a_gate_is_asked_about_the_type_of_content_alone() {
        #[derive(Debug)]
        struct NoImages;
        impl TypeGate for NoImages {
            fn refuses_type(&self, media_type: &str) -> bool {
                media_type == "image/png"
            }
        }
        let check = |field: &str, status, length, expected| {
            let mut headers = Headers::new();
            headers.push("Content-Type", field);
            let found = refused(&headers, status, length, Some(&NoImages));
            assert_eq!(found, expected, "{field} {status} {length:?}");
        };
        check("image/png; x=y", 200, None, Some(Stopped::Type));
        check("image/png", 206, Some(5), Some(Stopped::Type));
        check("text/html", 200, None, None);
        check("image/png", 404, None, None);
        check("image/png", 302, None, None);
        check("image/png", 200, Some(0), None);
        assert_eq!(refused(&Headers::new(), 200, None, Some(&NoImages)), None);
    }
}
