//! Visible text as it grows: white space folded to one space, blocks to one line end.
//!
//! No-break spaces fold like spaces (pages use them for layout), NULs vanish as in the standard's
//! body. Invariant: the text neither begins nor ends with white space, and never has two in a row.

use memchr::memchr;

use crate::html::Break;

#[derive(Debug)]
pub(crate) struct FoldedText {
    out: String,
    pending: Break,
}

impl FoldedText {
    pub(crate) fn with_capacity(bytes: usize) -> FoldedText {
        FoldedText { out: String::with_capacity(bytes), pending: Break::None }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            at = self.skip_space(bytes, at);
            if at >= bytes.len() {
                return;
            }
            let end = run_end(bytes, at);
            self.write_break();
            self.out.push_str(&text[at..end]);
            at = end;
        }
    }

    /// What comes next is parted from what came before by at least this.
    #[inline]
    pub(crate) fn part(&mut self, by: Break) {
        self.pending = self.pending.max(by);
    }

    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// The text since `start`, on one line, of at most `chars_max` characters.
    pub(crate) fn since(&self, start: usize, chars_max: usize) -> String {
        let text = self.out.get(start..).unwrap_or_default().trim_start();
        // A character has a byte or more: a short text need not be counted.
        let beyond = (text.len() > chars_max).then(|| text.char_indices().nth(chars_max)).flatten();
        let text = &text[..beyond.map_or(text.len(), |(end, _)| end)];
        match memchr(b'\n', text.as_bytes()) {
            Some(_) => text.replace('\n', " "),
            None => text.to_owned(),
        }
    }

    pub(crate) fn into_string(self) -> String {
        self.out
    }

    fn write_break(&mut self) {
        if !self.out.is_empty() {
            match self.pending {
                Break::None => {}
                Break::Space => self.out.push(' '),
                Break::Line => self.out.push('\n'),
            }
        }
        self.pending = Break::None;
    }

    fn skip_space(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' | b'\x0c' => at += 1,
                0xc2 if bytes.get(at + 1) == Some(&0xa0) => at += 2,
                0 => {
                    at += 1;
                    continue;
                }
                _ => break,
            }
            self.part(Break::Space);
        }
        at
    }
}

/// How many bytes are looked at together; the compiler makes vector code of it.
const BLOCK: usize = 16;

/// Where the run of already folded text that begins at `at` ends: words with single spaces between.
fn run_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while let Some(block) = bytes.get(at..=at + BLOCK)
            && is_folded(block)
        {
            at += BLOCK;
        }
        if bytes.len() <= at + BLOCK && ends_folded(bytes) {
            return bytes.len();
        }
        // The block holds something to fold, or is the last: byte by byte, at most a block's
        // length.
        for _ in 0..BLOCK {
            match (bytes.get(at), bytes.get(at + 1)) {
                (None, _) => return at,
                (Some(b' '), next) if next.is_none_or(|&b| b <= b' ' || b == 0xc2) => return at,
                (Some(0xc2), Some(0xa0)) => return at,
                (Some(&byte), _) if is_control(byte) => return at,
                _ => at += 1,
            }
        }
    }
}

/// Whether the last bytes can stay as they are: a block, and the one behind it. What of it lies before the place at hand
/// is looked at once more, which costs less than the rest byte by byte.
fn ends_folded(bytes: &[u8]) -> bool {
    let Some(block) = bytes.last_chunk::<{ BLOCK + 1 }>() else { return false };
    block[BLOCK] > b' ' && is_folded(block)
}

/// Whether the first [`BLOCK`] bytes can stay as they are, given the one behind them. May say no
/// too often (any control character), never yes.
fn is_folded(block: &[u8]) -> bool {
    let (Some(first), Some(next)) = (block.first_chunk::<BLOCK>(), block.last_chunk::<BLOCK>())
    else {
        return false;
    };
    let mut odd = false;
    for i in 0..BLOCK {
        let space_pair = (first[i] == b' ') & ((next[i] <= b' ') | (next[i] == 0xc2));
        odd |= (first[i] < b' ') | (first[i] == 0xc2) | space_pair;
    }
    !odd
}

/// NUL, and white space other than the space.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0 | b'\n' | b'\t' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::FoldedText;
    use crate::html::Break;

    fn folded(text: &str) -> String {
        let mut out = FoldedText::with_capacity(0);
        out.push(text);
        out.into_string()
    }

    #[test]
    fn white_space_of_all_kinds_becomes_one_space() {
        assert_eq!(folded("  a\t\r\nb\u{a0}\u{a0} c\0d ¡e\u{a0}"), "a b cd ¡e");
        assert_eq!(folded("\0 \0"), "");
        assert_eq!(
            folded("one two three four five six  seven eight nine ten\neleven "),
            "one two three four five six seven eight nine ten eleven"
        );
    }

    #[test]
    fn a_line_wins_over_a_space_and_nothing_stands_at_the_ends() {
        let mut text = FoldedText::with_capacity(0);
        text.part(Break::Line);
        text.push("a ");
        text.part(Break::Line);
        text.push(" b");
        text.part(Break::Space);
        text.push("c");
        text.part(Break::Line);
        assert_eq!(text.since(1, 100), "b c");
        assert_eq!(text.since(0, 2), "a ");
        assert_eq!(text.into_string(), "a\nb c");
    }

    proptest! {
        #[test]
        fn folding_is_splitting_at_white_space_wherever_the_pieces_are_cut(
            pieces in prop::collection::vec("[ a-c\u{a0}\n\té¡]{0,40}|([a-c]{1,9} ?){0,9}", 0..6)
        ) {
            let whole = pieces.concat();
            let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{a0}';
            let expected =
                whole.split(is_space).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
            let mut text = FoldedText::with_capacity(0);
            for piece in &pieces {
                text.push(piece);
            }
            prop_assert_eq!(text.into_string(), expected);
        }
    }
}
