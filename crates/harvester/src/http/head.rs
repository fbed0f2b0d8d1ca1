//! What is read from a head beside hyper: where the final head lies on the tape, and whether its body
//! is wanted.

use std::ops::Range;

use model::{FetchLimits, Headers, Stopped};

/// The final head in what was received, from its status line to its empty line; interim answers (1xx)
/// and empty lines before it are left out. `None` when it is not all there.
pub fn final_head(received: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    loop {
        start += received[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let end = start + head_length(&received[start..])?;
        if !is_interim(&received[start..end]) {
            return Some(start..end);
        }
        start = end;
    }
}

/// Whether to stop after the head. `length` is what is known of the body's length on the wire.
pub fn unwanted(headers: &Headers, length: Option<u64>, limits: &FetchLimits) -> Option<Stopped> {
    if length == Some(0) {
        return None;
    }
    if !media_type_wanted(headers, &limits.media_types) {
        return Some(Stopped::Type);
    }
    length.is_some_and(|length| length > limits.body_bytes_max).then_some(Stopped::Announced)
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    let mut line_start = 0;
    for newline in memchr::memchr_iter(b'\n', bytes) {
        if matches!(&bytes[line_start..newline], b"" | b"\r") {
            return Some(newline + 1);
        }
        line_start = newline + 1;
    }
    None
}

fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|&b| b == b' ').nth(1).unwrap_or_default();
    status.starts_with(b"1") && !status.starts_with(b"101")
}

fn media_type_wanted(headers: &Headers, wanted: &[String]) -> bool {
    // Of several the last counts, as in browsers.
    let Some(value) = headers.all("content-type").last() else { return true };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    let Some((main, _)) = media_type.split_once('/') else { return true };
    wanted.iter().any(|wanted| match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => main.eq_ignore_ascii_case(group),
        None => media_type.eq_ignore_ascii_case(wanted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_final_head_is_found_behind_interim_answers() {
        let check = |text: &str, expected: Option<&str>| {
            let found = final_head(text.as_bytes()).map(|range| &text[range]);
            assert_eq!(found, expected, "{text:?}");
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
}
