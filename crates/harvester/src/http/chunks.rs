//! The chunked coding (RFC 9112 section 7.1), undone as the bytes come, each looked at once.
//!
//! As strict as servers can be held to: lines end in CR LF, a size is at least one digit and fits 64 bits,
//! blanks may follow it, extensions are passed over up to a bound in all, trailers must be good header
//! lines. What breaks these rules breaks the body: nobody knows where the next chunk would begin.

use std::ops::Range;

use super::bounds::HEADER_LINES_MAX;

/// For all chunks of a body together: nobody uses extensions, but some use them to cost us time.
const EXTENSION_BYTES_MAX: usize = 16 * 1024;
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Where in the framing the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// The first digit of a size, …
    #[default]
    Size,
    /// … another one or what ends it, …
    MoreSize,
    /// … or blanks behind it.
    Blanks,
    Extension,
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    /// Behind the last chunk: an empty line, or a trailer.
    LineStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    Ended,
    Broken,
}

/// What the bytes at hand brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Content lies here.
    Data(Range<usize>),
    /// The body is whole.
    End,
    /// The body cannot be told any further.
    Broken,
    /// All is looked at, and the body goes on.
    More,
}

#[derive(Debug, Default)]
pub struct Chunks {
    place: Place,
    /// Of the chunk: its size while that is read, then what is still to come.
    left: u64,
    extension: usize,
    trailers: Vec<u8>,
    trailer_lines: usize,
}

impl Chunks {
    /// Reads on in `wire` from `at`, which is moved over what was read; data in pieces of `most` at most.
    pub fn next(&mut self, wire: &[u8], at: &mut usize, most: usize) -> Step {
        loop {
            match self.place {
                Place::Ended => return Step::End,
                Place::Broken => return Step::Broken,
                Place::Data if *at < wire.len() => return Step::Data(self.data(wire, at, most)),
                _ => {}
            }
            let Some(&byte) = wire.get(*at) else { return Step::More };
            *at += 1;
            self.place = self.framing(byte);
        }
    }

    fn data(&mut self, wire: &[u8], at: &mut usize, most: usize) -> Range<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = left.min(wire.len() - *at).min(most);
        let data = *at..*at + count;
        *at = data.end;
        self.left -= count as u64;
        if self.left == 0 {
            self.place = Place::DataReturn;
        }
        data
    }

    fn framing(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (Place::Size | Place::MoreSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(byte)
            }
            (Place::MoreSize | Place::Blanks, b' ' | b'\t') => Place::Blanks,
            (Place::MoreSize | Place::Blanks, b';') => Place::Extension,
            (Place::MoreSize | Place::Blanks | Place::Extension, b'\r') => Place::SizeEnd,
            (Place::Extension, _) => self.extended(byte),
            (Place::SizeEnd, b'\n') if self.left == 0 => Place::LineStart,
            (Place::SizeEnd, b'\n') => Place::Data,
            (Place::DataReturn, b'\r') => Place::DataEnd,
            (Place::DataEnd, b'\n') => Place::Size,
            (Place::LineStart | Place::Trailer | Place::TrailerEnd | Place::LastEnd, _) => {
                self.behind(byte)
            }
            _ => Place::Broken,
        }
    }

    fn digit(&mut self, byte: u8) -> Place {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        let size = self.left.checked_mul(16).zip(digit);
        match size.and_then(|(high, low)| high.checked_add(low)) {
            Some(size) => {
                self.left = size;
                Place::MoreSize
            }
            None => Place::Broken,
        }
    }

    fn extended(&mut self, byte: u8) -> Place {
        self.extension += 1;
        // A bare line end would be the end of the line to a reader less strict than this one.
        if byte == b'\n' || self.extension >= EXTENSION_BYTES_MAX {
            return Place::Broken;
        }
        Place::Extension
    }

    /// The lines behind the last chunk, up to the empty one.
    fn behind(&mut self, byte: u8) -> Place {
        let next = match (self.place, byte) {
            (Place::LineStart, b'\r') => Place::LastEnd,
            (Place::Trailer, b'\r') => Place::TrailerEnd,
            (Place::LineStart | Place::Trailer, _) => Place::Trailer,
            (Place::TrailerEnd, b'\n') if self.trailer_lines < HEADER_LINES_MAX => {
                self.trailer_lines += 1;
                Place::LineStart
            }
            (Place::LastEnd, b'\n') => Place::Ended,
            _ => return Place::Broken,
        };
        let ending = matches!(next, Place::LastEnd | Place::Ended);
        // Nearly all bodies have no trailers; those need no memory for them.
        if ending && self.trailers.is_empty() {
            return next;
        }
        self.trailers.push(byte);
        let too_long = self.trailers.len() >= TRAILER_BYTES_MAX;
        let bad = too_long || next == Place::Ended && !self.good_trailers();
        if bad { Place::Broken } else { next }
    }

    /// They say nothing a crawler needs, but what is no header line is no end of a body either.
    fn good_trailers(&self) -> bool {
        let mut lines = vec![httparse::EMPTY_HEADER; self.trailer_lines];
        matches!(
            httparse::parse_headers(&self.trailers, &mut lines),
            Ok(httparse::Status::Complete(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of all that is there, and how it ended.
    fn undone(wire: &[u8]) -> (Vec<u8>, Step, usize) {
        let (mut chunks, mut at, mut content) = (Chunks::default(), 0, Vec::new());
        loop {
            match chunks.next(wire, &mut at, 3) {
                Step::Data(data) => content.extend_from_slice(&wire[data]),
                step => return (content, step, at),
            }
        }
    }

    #[test]
    fn content_is_found_between_sizes_extensions_and_trailers() {
        for (wire, content, end) in [
            ("5\r\nhello\r\n0\r\n\r\nnext", "hello", Step::End),
            ("5 \t\r\nhello\r\n0 ;a\r\n\r\nnext", "hello", Step::End),
            ("0a;x=\"y\"\r\n0123456789\r\n00\r\nA: b\r\nC: d\r\n\r\nnext", "0123456789", Step::End),
            ("5\r\nhel", "hel", Step::More),
            ("5\r\nhello\r\n0\r\n\r", "hello", Step::More),
            ("", "", Step::More),
        ] {
            let (found, step, at) = undone(wire.as_bytes());
            assert_eq!((found.as_slice(), &step), (content.as_bytes(), &end), "{wire:?}");
            let behind = if end == Step::End { "next" } else { "" };
            assert_eq!(&wire[at..], behind, "{wire:?}");
        }
    }

    #[test]
    fn what_breaks_the_framing_breaks_the_body_there() {
        for (wire, content) in [
            ("\r\n", ""),
            ("x\r\n", ""),
            ("-1\r\n", ""),
            (" 1\r\n", ""),
            ("1 1\r\n", ""),
            ("1\nx\r\n", ""),
            ("1\r\rx\r\n", ""),
            ("1;a\nb\r\n", ""),
            ("1\r\nxy\r\n", "x"),
            ("1\r\nx\n0\r\n\r\n", "x"),
            ("1\r\nx\r\r\n", "x"),
            ("10000000000000000\r\nx", ""),
            ("1\r\nx\r\n0\r\nno colon\r\n\r\n", "x"),
            ("1\r\nx\r\n0\r\nA: b\r\n folded\r\n\r\n", "x"),
            ("1\r\nx\r\n0\r\nA: b\r\r\n\r\n", "x"),
            ("1\r\nx\r\n0\r\n\r\r\n", "x"),
        ] {
            let (found, step, _) = undone(wire.as_bytes());
            assert_eq!((found.as_slice(), step), (content.as_bytes(), Step::Broken), "{wire:?}");
        }
        let (found, step, _) = undone(b"ffffffffffffffff\r\nx");
        assert_eq!((&found[..], step), (&b"x"[..], Step::More), "a size of 64 bits is one");
    }

    #[test]
    fn extensions_and_trailers_are_bounded() {
        let step_of = |wire: String| undone(wire.as_bytes()).1;
        let long = |count| "x".repeat(count);
        assert_eq!(step_of(format!("1;{}\r\nx", long(EXTENSION_BYTES_MAX - 1))), Step::More);
        assert_eq!(step_of(format!("1;{}\r\nx", long(EXTENSION_BYTES_MAX))), Step::Broken);
        let crumbs = format!("1;{}\r\nx\r\n", long(100)).repeat(200);
        assert_eq!(step_of(crumbs), Step::Broken, "all chunks together");
        assert_eq!(step_of(format!("0\r\nA: {}\r\n\r\n", long(16_000))), Step::End);
        assert_eq!(step_of(format!("0\r\nA: {}\r\n\r\n", long(16_384))), Step::Broken);
        assert_eq!(step_of(format!("0\r\n{}\r\n", "A:\r\n".repeat(HEADER_LINES_MAX))), Step::End);
        let more = format!("0\r\n{}\r\n", "A:\r\n".repeat(HEADER_LINES_MAX + 1));
        assert_eq!(step_of(more), Step::Broken);
    }
}
