//! How many words a page has that the pages before it had not: what a counter, a date or a word drawn by lot cannot make.
//!
//! Simhashes compare proportions; on a short page one other word is many bits, on a long one many words are few. Here
//! words are counted: a page of no more than [`THIN_WORDS`] that its likest neighbour lacks is *thin*, however long it
//! is and whatever its title says. Words with digits in them do not count. A page with pictures of its own is never
//! thin: galleries say nothing and show much. Nor is one with more than [`THIN_NUMBERS`] that its neighbours lack and that
//! its URL does not tell: a census, results, prices. A clock, a counter and the page's own number are fewer, and calendars
//! have the same numbers over and over.

use std::{collections::VecDeque, hash::BuildHasher};

use foldhash::quality::FixedState;
use memchr::memmem;
use model::{CrawlUrl, WordBits};

/// New words that are a name, a date or a phrase, and no content.
pub const THIN_WORDS: u32 = 4;
/// New numbers that are a time, a place in a row, a count of visitors, the weeks of a month, and no content.
pub const THIN_NUMBERS: u32 = 5;
/// Numbers of a URL that are looked for in its page; more are of no use to anybody.
const URL_NUMBERS_MAX: usize = 8;
/// Longer bodies are not searched for pictures.
const BODY_BYTES_MAX: usize = 512 << 10;
/// Pages that are compared: of one kind of URL at most [`KIND_MAX`], so that no other kind drives them out.
const PAGES_MAX: usize = 12;
const KIND_MAX: usize = 3;

/// The words and numbers of a page and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gist {
    /// Of its text; none of a long one, which is never thin.
    pub words: Option<WordBits>,
    /// None where there are none.
    pub numbers: Option<WordBits>,
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
    /// A few words at most, and numbers of its own.
    Numbered,
    /// A few words at most, and pictures of its own.
    Pictured,
    /// Nothing can be said: there was no page before it, or its text is long.
    Unsaid,
}

/// Pages of a site that came lately.
#[derive(Debug, Default)]
pub struct Lately {
    pages: VecDeque<(u64, Gist)>,
}

impl Lately {
    /// Compares a page with those before it, and remembers it. `kind`: the pattern of its URL.
    pub fn judge(&mut self, kind: &str, url: &CrawlUrl, gist: Option<Gist>) -> Novelty {
        let Some(gist) = gist else { return Novelty::Unsaid };
        let kind = number_of(kind.as_bytes());
        let novelty = self.compare(kind, url, &gist);
        self.remember(kind, gist);
        novelty
    }

    fn compare(&self, kind: u64, url: &CrawlUrl, gist: &Gist) -> Novelty {
        let near: Vec<&Gist> = self.near(kind, gist).collect();
        match (near.is_empty(), &gist.words) {
            (true, Some(_)) if !self.pages.is_empty() => Novelty::Own,
            (true, _) => Novelty::Unsaid,
            _ if has_own_numbers(gist, &near, url) => Novelty::Numbered,
            (false, None) => Novelty::Unsaid,
            _ if near.iter().any(|page| page.shown == gist.shown) => Novelty::Thin,
            _ => Novelty::Pictured,
        }
    }

    /// The pages whose words are nearly all of this one's; of a long text, those of its kind.
    fn near(&self, kind: u64, gist: &Gist) -> impl Iterator<Item = &Gist> {
        let is_near = move |(other, page): &&(u64, Gist)| match (&gist.words, &page.words) {
            (Some(own), Some(theirs)) => own.beyond(theirs) <= THIN_WORDS,
            (None, None) => kind == *other,
            _ => false,
        };
        self.pages.iter().filter(is_near).map(|(_, page)| page)
    }

    fn remember(&mut self, kind: u64, gist: Gist) {
        let of_kind = self.pages.iter().filter(|(other, _)| *other == kind).count();
        let oldest = self.pages.iter().position(|(other, _)| *other == kind);
        match oldest.filter(|_| of_kind >= KIND_MAX) {
            Some(at) => drop(self.pages.remove(at)),
            None if self.pages.len() >= PAGES_MAX => drop(self.pages.pop_front()),
            None => {}
        }
        self.pages.push_back((kind, gist));
    }
}

/// Whether each of the others lacks more than a few of the page's numbers.
fn has_own_numbers(gist: &Gist, others: &[&Gist], url: &CrawlUrl) -> bool {
    let Some(numbers) = &gist.numbers else { return false };
    let (told, none) = (numbers_of(url), WordBits::for_numbers());
    let of = |page: &Gist| numbers.beyond_both(page.numbers.as_ref().unwrap_or(&none), &told);
    others.iter().all(|page| of(page) > THIN_NUMBERS)
}

/// The numbers that a URL tells, and those before and after them: a page says where it is, and what comes next.
fn numbers_of(url: &CrawlUrl) -> WordBits {
    let mut told = WordBits::for_numbers();
    let numbers = url.path_and_query().split(|c: char| !c.is_ascii_digit());
    for number in numbers.filter_map(|n| n.parse::<u64>().ok()).take(URL_NUMBERS_MAX) {
        for near in number.saturating_sub(1)..=number.saturating_add(1) {
            told.add_number(near.to_string().as_bytes());
        }
    }
    told
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
        (sum.rotate_left(5) ^ number_of(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
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

fn number_of(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use model::testing::example as url;

    use super::*;

    const FRAME: &str = "Welcome to the calendar of our town, where all that happens is announced. Home, \
        search, contact, help, imprint. Whoever knows of more may write to the office.";

    /// As the gatherer makes it: words without digits, whatever their case, and numbers.
    fn gist_with(text: &str, shown: u64) -> Option<Gist> {
        let (mut words, mut numbers) = (WordBits::for_text(text.len()), WordBits::for_numbers());
        for word in text.split_whitespace() {
            if word.contains(char::is_numeric) {
                numbers.add_number(word.as_bytes());
            } else if let Some(words) = &mut words {
                words.add(number_of(word.to_ascii_lowercase().as_bytes()));
            }
        }
        Some(Gist { words, numbers: Some(numbers), shown })
    }

    fn gist(text: &str) -> Option<Gist> {
        gist_with(text, 0)
    }

    /// As most of these tests do not look at URLs.
    impl Lately {
        fn judge_kind(&mut self, kind: &str, gist: Option<Gist>) -> Novelty {
            self.judge(kind, &url("/"), gist)
        }
    }

    #[test]
    fn a_name_a_date_or_a_word_drawn_by_lot_is_thin_and_a_sentence_is_not() {
        let mut lately = Lately::default();
        let page = |said: &str| gist(&format!("{said} {FRAME}"));
        assert_eq!(
            lately.judge_kind("/a/*", page("Tuesday, 3 November")),
            Novelty::Unsaid,
            "the first"
        );
        assert_eq!(lately.judge_kind("/a/*", page("Wednesday, 4 November")), Novelty::Thin);
        assert_eq!(lately.judge_kind("/a/*", page("Cheap basu-mido-reka 8f3a")), Novelty::Thin);
        let event = "The brass band plays waltzes behind the old fire station at eight";
        assert_eq!(lately.judge_kind("/a/*", page(event)), Novelty::Own);
        assert_eq!(lately.judge_kind("/a/*", page("")), Novelty::Thin, "less is not more");
        assert_eq!(lately.judge_kind("/b/*", page("Friday")), Novelty::Thin, "whatever its URL");
        assert_eq!(
            lately.judge_kind("/a/*", gist(&FRAME.repeat(60))),
            Novelty::Unsaid,
            "a long text"
        );
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
        let mut page = |shown| lately.judge_kind("/p/*", gist_with("next", shown));
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
        lately.judge_kind("/month/*", gist(FRAME));
        for n in 0..50 {
            lately.judge_kind("/day/*", gist(&format!("word{} other", "x".repeat(n))));
        }
        assert!(lately.pages.len() <= PAGES_MAX);
        assert_eq!(lately.judge_kind("/month/*", gist(FRAME)), Novelty::Thin);
    }

    #[test]
    fn numbers_are_content_but_for_those_of_a_calendar_a_clock_and_the_page_itself() {
        let mut lately = Lately::default();
        let mut page = |n: u64, said: &str| {
            let text = format!("{FRAME} Region {n} after {} {said}", n - 1);
            lately.judge("/r/*", &url(&format!("/r/{n}")), gist(&text))
        };
        let census = |n: u64| (1..8).map(|k| format!("{} ", n * 7_919 * k)).collect::<String>();
        assert_eq!(page(10, &census(10)), Novelty::Unsaid, "the first");
        assert_eq!(page(11, &census(11)), Novelty::Numbered);
        assert_eq!(page(12, &census(11)), Novelty::Thin, "those were there");
        assert_eq!(page(17, "12:33:01 18235 0.0023 61 70"), Novelty::Thin, "made for the moment");
        let month = |days: u64| (1..=days).map(|day| format!("{day} ")).collect::<String>();
        assert_eq!(page(20, &month(31)), Novelty::Numbered, "the first month");
        assert_eq!(page(21, &month(30)), Novelty::Thin);
        assert_eq!(page(22, &month(31)), Novelty::Thin);
        let long = |said: &str| gist(&format!("{} {said}", FRAME.repeat(60)));
        let mut lately = Lately::default();
        let mut page = |said: &str| lately.judge("/r/*", &url("/r/1"), long(said));
        assert_eq!(page(&census(10)), Novelty::Unsaid);
        assert_eq!(page(&census(11)), Novelty::Numbered, "in a long text too");
        assert_eq!(page(&census(11)), Novelty::Unsaid);
    }
}
