//! Patterns that give nothing but what is not wanted: every event of a site has its file for calendars, and each is asked
//! for to learn that its media type is refused. After [`ROW`] of them in a row those that wait are left, but for samples;
//! one that is wanted brings all of them back.
//!
//! Known only while the site is in hand: the next crawl may want something else.

use model::{CrawlUrl, Refusal, RefusalReason, UrlTraps};

use super::{notes, pattern::Pattern};

/// Refusals in a row: a site may begin with its files.
const ROW: u32 = 50;
/// Pages left up to which squares are asked for all the same.
const SQUARES_MAX: u64 = 4_096;

/// What an answer changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Nothing,
    /// From now on pages of its pattern are left.
    Left,
    /// From now on they are asked for again.
    Back,
}

/// An answer came for the first time, and was refused by its media type or not.
pub fn note_answer(traps: &mut UrlTraps, url: &CrawlUrl, is_unwanted: bool) -> Turn {
    if !is_unwanted && traps.patterns.iter().all(|note| note.unwanted == 0) {
        return Turn::Nothing;
    }
    let text = Pattern::of(url).text;
    if !is_unwanted {
        let note = traps.patterns.iter_mut().find(|note| note.text == text);
        let before = note.map_or(0, |note| std::mem::take(&mut note.unwanted));
        return if before >= ROW { Turn::Back } else { Turn::Nothing };
    }
    let Some(note) = notes::note(traps, &text) else { return Turn::Nothing };
    note.unwanted = note.unwanted.saturating_add(1);
    if note.unwanted == ROW { Turn::Left } else { Turn::Nothing }
}

/// Whether pages of any pattern are left.
pub fn is_any(traps: &UrlTraps) -> bool {
    traps.patterns.iter().any(|note| note.unwanted >= ROW)
}

/// The pattern of a URL, if its pages are left.
pub fn pattern_of(url: &CrawlUrl, traps: &UrlTraps) -> Option<String> {
    if !is_any(traps) {
        return None;
    }
    let text = Pattern::of(url).text;
    let is_left = traps.patterns.iter().any(|note| note.unwanted >= ROW && note.text == text);
    is_left.then_some(text)
}

/// Whether the so many-th that is left is asked for all the same.
pub fn is_sample(count: u64) -> bool {
    if count <= SQUARES_MAX { count.isqrt().pow(2) == count } else { count.is_power_of_two() }
}

pub fn refusal(pattern: &str) -> Refusal {
    let rule = format!("fetch.media_types has nothing of what {pattern} gave so far");
    Refusal { reason: RefusalReason::MediaType, rule }
}

#[cfg(test)]
mod tests {
    use model::testing::example as url;

    use super::*;

    #[test]
    fn fifty_files_in_a_row_are_enough_and_one_page_brings_the_rest_back() {
        let mut traps = UrlTraps::default();
        assert_eq!(note_answer(&mut traps, &url("/get/0"), false), Turn::Nothing);
        assert_eq!(traps, UrlTraps::default(), "nothing is noted of wanted pages");
        for n in 1..ROW {
            assert_eq!(note_answer(&mut traps, &url(&format!("/get/{n}")), true), Turn::Nothing);
        }
        assert_eq!(pattern_of(&url("/get/99"), &traps), None);
        assert_eq!(note_answer(&mut traps, &url("/get/50"), true), Turn::Left);
        assert_eq!(pattern_of(&url("/get/99"), &traps).as_deref(), Some("/get/*"));
        assert_eq!(pattern_of(&url("/page/99"), &traps), None);
        assert_eq!(note_answer(&mut traps, &url("/page/99"), false), Turn::Nothing);
        assert_eq!(note_answer(&mut traps, &url("/get/99"), false), Turn::Back);
        assert!(!is_any(&traps));
        assert!((1..=10_000).filter(|n| is_sample(*n)).count() < 80);
    }
}
