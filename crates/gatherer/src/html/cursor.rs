//! The only eye on the page's bytes: a position that moves forward.
//!
//! In test builds it counts the bytes it looks at, so that linear time is checked by counting.

use memchr::memchr;

pub(super) struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub(super) at: usize,
    #[cfg(test)]
    pub(super) looked: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            bytes: text.as_bytes(),
            at: 0,
            #[cfg(test)]
            looked: 0,
        }
    }

    pub(super) fn end(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The byte `ahead` places from here.
    #[inline]
    pub(super) fn peek(&mut self, ahead: usize) -> Option<u8> {
        self.count(1);
        self.bytes.get(self.at + ahead).copied()
    }

    #[inline]
    pub(super) fn byte_at(&mut self, place: usize) -> Option<u8> {
        self.count(1);
        self.bytes.get(place).copied()
    }

    /// Both ends lie next to an ASCII byte or an end of the page, so they are character boundaries.
    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Where `byte` is next, from `from` on.
    #[inline]
    pub(super) fn find(&mut self, from: usize, byte: u8) -> Option<usize> {
        let rest = self.bytes.get(from..)?;
        let found = memchr(byte, rest);
        self.count(found.map_or(rest.len(), |i| i + 1));
        found.map(|i| i + from)
    }

    #[inline]
    pub(super) fn find_either(&mut self, from: usize, one: u8, other: u8) -> Option<usize> {
        let rest = self.bytes.get(from..)?;
        let found = memchr::memchr2(one, other, rest);
        self.count(found.map_or(rest.len(), |i| i + 1));
        found.map(|i| i + from)
    }

    /// Goes on while `wanted` holds.
    #[inline]
    pub(super) fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let n = rest.iter().position(|&b| !wanted(b)).unwrap_or(rest.len());
        self.count(n + 1);
        self.at += n;
    }

    /// Whether the bytes at `place` are `word`, without regard to ASCII case.
    pub(super) fn is_word_at(&mut self, place: usize, word: &str) -> bool {
        self.count(word.len());
        self.bytes
            .get(place..place + word.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
    }

    pub(super) fn starts_with(&mut self, word: &[u8]) -> bool {
        self.count(word.len());
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word))
    }

    #[inline]
    fn count(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.looked += _bytes as u64;
        }
    }
}

/// White space of HTML tags.
#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}
