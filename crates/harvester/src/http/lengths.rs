//! `Content-Length` as the Fetch standard reads it ("extract a length"): all values are one literally, or
//! the answer is refused; one that is no number says nothing, and the body lasts until the server hangs up.

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
    Met::new(Hazard::BadLength, Measure::Corrected).of("a length that is no number");
/// Whoever stands between us and the server may have believed the other one.
pub const BESIDE_CHUNKS: Met =
    Met::new(Hazard::BadLength, Measure::Noted).of("a length beside chunks");
pub const TOO_SHORT: Met =
    Met::new(Hazard::BadLength, Measure::Truncated).of("more came than was announced");

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
        }
    }
}
