//! `Content-Length` as the Fetch standard reads it ("extract a length"): all values are one literally, or
//! the answer is refused; one that is no number says nothing, and the body lasts until the server hangs up.
//!
//! hyper refuses what is no number and takes `030` and `30` for one. So lines that say nothing are hidden
//! from it ([`lines_without_meaning`], used by the tape), and differing ones are refused here.

use model::{Hazard, Headers, Measure, Met};

/// What the lines of an answer say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Nothing, or one number.
    Clear,
    /// Something that is no number.
    Meaningless,
    /// Not the same.
    Differ,
}

pub const DIFFERING: Met = Met::new(Hazard::BadLength, Measure::Refused).of("lengths that differ");
pub const MEANINGLESS: Met =
    Met::new(Hazard::BadLength, Measure::Mended).of("a length that is no number");
/// Whoever stands between us and the server may have believed the other one.
pub const BESIDE_CHUNKS: Met =
    Met::new(Hazard::BadLength, Measure::Noted).of("a length beside chunks");
pub const TOO_SHORT: Met =
    Met::new(Hazard::BadLength, Measure::Cut).of("more came than was announced");

pub fn lengths(headers: &Headers) -> Lengths {
    let lines = headers.all("content-length");
    let mut values = lines.flat_map(|line| line.split(',')).map(str::trim);
    let Some(first) = values.next() else { return Lengths::Clear };
    if values.any(|value| value != first) {
        return Lengths::Differ;
    }
    let is_number = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    if is_number { Lengths::Clear } else { Lengths::Meaningless }
}

/// Where the `Content-Length` lines of a head begin, when they say nothing.
pub fn lines_without_meaning(head: &[u8]) -> Vec<usize> {
    const NAME: &[u8] = b"content-length";
    let mut places = Vec::new();
    let mut numbers = true;
    let mut start = 0;
    for line in head.split_inclusive(|&b| b == b'\n') {
        let is_length = line.get(..NAME.len()).is_some_and(|n| n.eq_ignore_ascii_case(NAME))
            && line[NAME.len()..].trim_ascii_start().starts_with(b":");
        if is_length {
            places.push(start);
            let value = line[NAME.len()..].trim_ascii_start()[1..].trim_ascii();
            numbers &= !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        }
        start += line.len();
    }
    // Nearly all heads have one line with a number; the others are read with care.
    if numbers || lengths(&Headers::parse(head)) != Lengths::Meaningless {
        places.clear();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_one_literally_or_differ() {
        for (lines, expected) in [
            ("", Lengths::Clear),
            ("Content-Length: 42\r\ncontent-length: 42, 42\r\n", Lengths::Clear),
            ("Content-Length: 030\r\n", Lengths::Clear),
            ("Content-Length: 030, 30\r\n", Lengths::Differ),
            ("Content-Length: 30,\r\n", Lengths::Differ),
            ("Content-Length: -1\r\n", Lengths::Meaningless),
            ("Content-Length:\r\n", Lengths::Meaningless),
            ("Content-Length: x\r\nContent-Length: x\r\n", Lengths::Meaningless),
        ] {
            let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
            assert_eq!(lengths(&Headers::parse(head.as_bytes())), expected, "{lines}");
            let hidden = lines_without_meaning(head.as_bytes());
            let meaningless = expected == Lengths::Meaningless;
            assert_eq!(hidden.len(), if meaningless { lines.matches(':').count() } else { 0 });
            assert!(hidden.iter().all(|&at| head[at..].starts_with("Content-Length")));
        }
    }
}
