//! How many words a page has that the pages before it had not: what a counter, a date or a word drawn by lot cannot make.
//!
//! Simhashes compare proportions; on a short page one other word is many bits, on a long one many words are few. Here
//! words are counted: a page of no more than [`THIN_WORDS`] that its likest neighbour lacks is *thin*, however long it
//! is and whatever its title says. Words with digits in them do not count. A page with pictures of its own is never
//! thin: galleries say nothing and show much.

use std::collections::VecDeque;

use memchr::memmem;
use model::WordBits;

/// New words that are a name, a date or a phrase, and no content.
pub const THIN_WORDS: u32 = 4;
/// Longer bodies are not searched for pictures.
const BODY_BYTES_MAX: usize = 512 << 10;
/// Pages that are compared: of one kind of URL at most [`KIND_MAX`], so that no other kind drives them out.
const PAGES_MAX: usize = 12;
const KIND_MAX: usize = 3;

/// The words of a page and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Of its text; a long one is never thin.
    pub words: WordBits,
    /// Of [`shown`].
    pub shown: u64,
}

/// What a page has that those before it had not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Novelty {
    /// A few words at most.
    Thin,
    /// Words enough.
    Own,
    /// A few words at most, and pictures of its own.
    Pictured,
    /// Nothing can be said: there was no page before it, or its text is long.
    Unsaid,
}

/// Pages of a site that came lately.
#[derive(Debug, Default)]
pub struct Lately {
    pages: VecDeque<(u64, Sketch)>,
}

impl Lately {
    /// Compares a page with those before it, and remembers it. `kind`: the pattern of its URL.
    pub fn judge(&mut self, kind: &str, sketch: Option<Sketch>) -> Novelty {
        let Some(sketch) = sketch else { return Novelty::Unsaid };
        let novelty = self.compare(&sketch);
        self.remember(fnv(kind.bytes()), sketch);
        novelty
    }

    fn compare(&self, sketch: &Sketch) -> Novelty {
        let is_near = |page: &&Sketch| sketch.words.beyond(&page.words) <= THIN_WORDS;
        let near: Vec<&Sketch> = self.pages.iter().map(|(_, page)| page).filter(is_near).collect();
        match near.is_empty() {
            true if self.pages.is_empty() => Novelty::Unsaid,
            true => Novelty::Own,
            false if near.iter().any(|page| page.shown == sketch.shown) => Novelty::Thin,
            false => Novelty::Pictured,
        }
    }

    fn remember(&mut self, kind: u64, sketch: Sketch) {
        let of_kind = self.pages.iter().filter(|(other, _)| *other == kind).count();
        let oldest = self.pages.iter().position(|(other, _)| *other == kind);
        match oldest.filter(|_| of_kind >= KIND_MAX) {
            Some(at) => drop(self.pages.remove(at)),
            None if self.pages.len() >= PAGES_MAX => drop(self.pages.pop_front()),
            None => {}
        }
        self.pages.push_back((kind, sketch));
    }
}

/// A number for what a page shows beside its text: pictures, frames, players. 0 where there is nothing. `whole`: of the
/// body, for a page without words that a script may paint.
pub fn shown(body: &[u8], text: &str, whole: u64) -> u64 {
    let is_painted = || text.is_empty() && (has(body, b"<script") || has(body, b"<SCRIPT"));
    if body.len() > BODY_BYTES_MAX || is_painted() {
        return whole;
    }
    // Written small or large; nobody mixes them.
    let sources = memmem::find_iter(body, b"src").chain(memmem::find_iter(body, b"SRC"));
    let values = sources.filter_map(|at| value_of(&body[at + 3..]));
    // Scripts and styles are the same on all pages, but for the number of their version.
    let is_style = |value: &&[u8]| has(value, b".js") || has(value, b".css");
    // What is made for the moment: banners and counters.
    let is_made = |value: &&[u8]| has(value, b"?");
    let shown = values.filter(|value| !is_style(value) && !is_made(value));
    shown.fold(0, |sum: u64, value| {
        (sum.rotate_left(5) ^ fnv(value.iter().copied())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// What stands behind the name of an attribute: up to its closing quote, or to the next space. `src` and `srcset`.
fn value_of(behind: &[u8]) -> Option<&[u8]> {
    let behind = behind.strip_prefix(b"set").unwrap_or(behind).trim_ascii_start();
    let value = behind.strip_prefix(b"=")?.trim_ascii_start();
    let ends_at = |value: &[u8], is_end: &dyn Fn(&u8) -> bool| {
        value.iter().position(is_end).unwrap_or(value.len())
    };
    match value.split_first()? {
        (quote @ (b'"' | b'\''), value) => Some(&value[..ends_at(value, &|b| b == quote)]),
        _ => Some(&value[..ends_at(value, &|b| b.is_ascii_whitespace() || *b == b'>')]),
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    memmem::find(bytes, part).is_some()
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The last byte reaches the lower bits only.
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = "Welcome to the calendar of our town, where all that happens is announced. Home, \
        search, contact, help, imprint. Whoever knows of more may write to the office.";

    /// As the gatherer makes it: words without digits, whatever their case.
    fn sketch_with(text: &str, shown: u64) -> Option<Sketch> {
        let mut words = WordBits::for_text(text.len())?;
        for word in text.split_whitespace().filter(|word| !word.contains(char::is_numeric)) {
            words.add(fnv(word.to_ascii_lowercase().bytes()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        Some(Sketch { words, shown })
    }

    fn sketch(text: &str) -> Option<Sketch> {
        sketch_with(text, 0)
    }

    #[test]
    fn a_name_a_date_or_a_word_drawn_by_lot_is_thin_and_a_sentence_is_not() {
        let mut lately = Lately::default();
        let page = |said: &str| sketch(&format!("{said} {FRAME}"));
        assert_eq!(lately.judge("/a/*", page("Tuesday, 3 November")), Novelty::Unsaid, "the first");
        assert_eq!(lately.judge("/a/*", page("Wednesday, 4 November")), Novelty::Thin);
        assert_eq!(lately.judge("/a/*", page("Cheap basu-mido-reka 8f3a")), Novelty::Thin);
        let event = "The brass band plays waltzes behind the old fire station at eight";
        assert_eq!(lately.judge("/a/*", page(event)), Novelty::Own);
        assert_eq!(lately.judge("/a/*", page("")), Novelty::Thin, "less is not more");
        assert_eq!(lately.judge("/b/*", page("Friday")), Novelty::Thin, "whatever its URL");
        assert_eq!(lately.judge("/a/*", sketch(&FRAME.repeat(60))), Novelty::Unsaid, "a long text");
    }

    #[test]
    fn pictures_of_its_own_make_a_page_no_thin_one() {
        let shown = |body: &str| shown(body.as_bytes(), "next", 1);
        let (one, two) = (shown("<img src=/i/1.jpg>"), shown("<IMG SRC = '/i/2.jpg'>"));
        assert_ne!(one, two);
        assert_eq!(shown("<a href='/q?id=1'>next</a>"), 0);
        assert_eq!(shown("<a href=/q?id=1><img alt=x src=\"/i/1.jpg\"></a>"), one);
        assert_eq!(shown("<script src=/app.js?v=17></script>"), 0);
        assert_eq!(shown("<img src='/banner?now=1731'>"), 0);
        let mut lately = Lately::default();
        let mut page = |shown| lately.judge("/p/*", sketch_with("next", shown));
        assert_eq!(
            [page(one), page(two), page(two)],
            [Novelty::Unsaid, Novelty::Pictured, Novelty::Thin]
        );
        assert_eq!(
            super::shown(b"<script>paint(1)</script>", "", 7),
            7,
            "who knows what it paints"
        );
    }

    #[test]
    fn one_kind_of_page_does_not_drive_out_the_others() {
        let mut lately = Lately::default();
        lately.judge("/month/*", sketch(FRAME));
        for n in 0..50 {
            lately.judge("/day/*", sketch(&format!("word{} other", "x".repeat(n))));
        }
        assert!(lately.pages.len() <= PAGES_MAX);
        assert_eq!(lately.judge("/month/*", sketch(FRAME)), Novelty::Thin);
    }
}
