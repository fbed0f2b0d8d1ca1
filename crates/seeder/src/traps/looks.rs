//! What a page looks like, as far as traps are concerned, and the page a site shows for what it does not have.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use memchr::memmem;
use model::{CrawlUrl, Looks, UrlTraps, WordLooks};

use super::session::is_identifier;

/// Texts that are shorter are alike by chance: "next", "photo".
pub const TEXT_BYTES_MIN: u64 = 40;
/// A text of this length that is the same is the same page, whatever stands around it.
pub const TEXT_BYTES_SURE: u64 = 200;
/// So much of a text is looked at: pages of one making differ before.
const READ_MAX: usize = 64 << 10;
/// What a site says of something that it does not have is shorter; the words of every page would be dear.
const MISSING_BYTES_MAX: usize = 4 << 10;

/// Words that must be left of a text to be compared: below that, pages are alike by chance.
const WORDS_MIN: usize = 4;
/// Parts of a URL that are looked for in its text; more are of no use to anybody.
const PARTS_MAX: usize = 32;

/// The words of a text, without those that differ on pages that are the same: numbers and identifiers, and what the
/// page repeats of its own address.
pub fn words(text: &str, url: &CrawlUrl) -> WordLooks {
    let text = &text[..text.floor_char_boundary(READ_MAX)];
    // A page that repeats none of them is compared by its whole text, which costs nothing more.
    let is_said = |mark: &&str| memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    let marks: Vec<&str> = marks_of(url).take(PARTS_MAX).filter(is_said).collect();
    let is_short = text.len() <= MISSING_BYTES_MAX;
    if !is_short && marks.is_empty() {
        return WordLooks::default();
    }
    let parts: Vec<&str> =
        last_segment(url).into_iter().chain(parts_of(url)).take(PARTS_MAX).collect();
    let (mut plain, mut echoless, mut unmarked) =
        (Words::default(), Words::default(), Words::default());
    let hashes = FixedState::default();
    for word in text.split_whitespace() {
        let hash = hashes.hash_one(word);
        if !marks.is_empty() && !marks.iter().any(|mark| word.contains(mark)) {
            unmarked.add(hash);
        }
        if !is_short || word.bytes().any(|b| b.is_ascii_digit() || b == b'/') {
            continue;
        }
        plain.add(hash);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_echo = |part: &&str| part.eq_ignore_ascii_case(bare);
        if !parts.iter().any(is_echo) {
            echoless.add(hash);
        }
    }
    WordLooks { plain: plain.number(), echoless: echoless.number(), unmarked: unmarked.number() }
}

/// A number for words in their order.
#[derive(Default)]
struct Words {
    sum: u64,
    count: usize,
}

impl Words {
    fn add(&mut self, word: u64) {
        self.sum = (self.sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.count += 1;
    }

    fn number(&self) -> u64 {
        if self.count < WORDS_MIN { 0 } else { self.sum }
    }
}

/// The words of which a URL's path and query are made.
fn parts_of(url: &CrawlUrl) -> impl Iterator<Item = &str> {
    let parts = url.path_and_query().split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|part| part.len() > 2)
}

fn last_segment(url: &CrawlUrl) -> Option<&str> {
    url.path().trim_end_matches('/').rsplit('/').next().filter(|last| last.len() > 2)
}

/// What in a URL looks like an identifier.
fn marks_of(url: &CrawlUrl) -> impl Iterator<Item = &str> {
    let marks = url.path_and_query().split(['/', '?', '&', '=', ';', '(', ')']);
    marks.filter(|mark| is_identifier(mark))
}

/// Where nothing can be: to be asked once, to learn what the site says then. The same for every crawl, so that
/// nobody's server is asked for ever new ones.
pub fn probe(home: &CrawlUrl) -> Option<CrawlUrl> {
    // FNV-1a: the same in every version of this program.
    let step = |hash: u64, b: u8| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    let number = home.site_text().bytes().fold(0xcbf2_9ce4_8422_2325, step);
    home.join(&format!("{}{number:016x}", UrlTraps::PROBE_PATH)).ok()
}

pub fn is_probe(url: &CrawlUrl) -> bool {
    let number = url.path_and_query().strip_prefix(UrlTraps::PROBE_PATH);
    number.is_some_and(|number| number.len() == 16 && probe(url).as_ref() == Some(url))
}

/// Whether a page is that for what does not exist: the same bytes, the same text, or the same but for its digits,
/// or but for numbers, identifiers and the address that was asked for.
pub fn are_alike(missing: &Looks, page: &Looks) -> bool {
    let by_words = || {
        let plain = missing.words.plain;
        plain != 0 && (page.words.plain == plain || page.words.echoless == plain)
    };
    missing.content == page.content
        || missing.text_bytes >= TEXT_BYTES_MIN
            && (missing.text == page.text || missing.skeleton == page.skeleton || by_words())
}

/// Whether two pages may both be the page for what does not exist, which shows what was asked for.
pub fn may_be_missing(a: &Looks, b: &Looks) -> bool {
    let (one, other) = (a.words, b.words);
    let is_same = |one: u64, other: u64| one != 0 && one == other;
    is_same(one.plain, other.plain) || is_same(one.echoless, other.echoless)
}

/// Whether two pages have one text, apart from identifiers of their URLs that it repeats.
pub fn have_one_text(a: &Looks, b: &Looks) -> bool {
    a.text == b.text || a.words.unmarked != 0 && a.words.unmarked == b.words.unmarked
}
