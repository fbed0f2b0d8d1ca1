//! Patterns whose pages are copies of each other, stopped as narrowly as the evidence is.
//!
//! `/f/*/license` may be one text for all files and `/f/*/view` another for each, though both are of `/f/*/*`. So
//! copies are counted by the name they end in as well:
//! - a page that is the same only under its own name (`license` of one file and of another) counts against the name;
//! - one that is the same under other names too (an error that is shown for everything) counts against the pattern,
//!   until its name has had [`NAME_COPIES`] of them.
//!
//! A page with a content of its own takes half of what stops it back. A pattern that is stopped is tried now and then
//! ([`is_sample`]), and goes on when something else comes than what was known of it; it is believed less then.

use model::{CrawlUrl, Hazard, Looks, NameNote, PatternNote, Stop, UrlTraps};

use super::{
    TrapObjection, TrapRules,
    looks::TEXT_BYTES_SURE,
    pattern::{Pattern, number_of},
    watch::Seen,
};

/// Names of a pattern that are told apart at a time; sites with more have no end of names.
const NAMES_MAX: usize = 16;
/// Copies of one name that count against the whole pattern.
const NAME_COPIES: u32 = 2;
/// Contents that are remembered of a stopped pattern.
const CONTENTS_MAX: usize = 16;
/// Refusals up to which squares are sampled.
const SQUARES_MAX: u64 = 4_096;
/// One of so many is sampled of what is listed elsewhere, up to so many: lists have an end, most of them a near one, and
/// their last part may be another.
const LISTED_EVERY: u64 = 4;
const LISTED_MAX: u64 = 64;
/// Each doubt doubles what is wanted; no more than eightfold, for there must be an end.
const DOUBTS_MAX: u32 = 3;

/// How a page that came stands to those before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Likeness {
    /// It has what an earlier page has …
    pub duplicate: bool,
    /// … that ends in another name.
    pub abroad: bool,
}

/// Notes a page; says how far copies lead among those that end in its name.
pub(super) fn note(
    note: &mut PatternNote,
    name: Option<&str>,
    like: Likeness,
    rules: &TrapRules,
) -> u32 {
    let taken_back = (rules.duplicates / 2).max(1);
    let own = name.map(|name| note_name(note, number_of(name), like.duplicate, taken_back));
    let is_of_name = own
        .is_some_and(|(own, is_crowded)| !is_crowded && (!like.abroad || own.copies > NAME_COPIES));
    let counts = like.duplicate && !is_of_name;
    note.same = match like.duplicate {
        true => note.same.saturating_add(u32::from(counts)),
        false => note.same.saturating_sub(taken_back),
    };
    note.pages = note.pages.saturating_add(1);
    note.copies = note.copies.saturating_add(u32::from(counts));
    own.map_or(0, |(own, _)| own.lead)
}

/// The note on a name, and whether one that had copies made room for it: so many names are none.
fn note_name(
    note: &mut PatternNote,
    name: u32,
    duplicate: bool,
    taken_back: u32,
) -> (NameNote, bool) {
    let at = note.names.iter().position(|known| known.name == name);
    let mut own = match at {
        Some(at) => note.names.remove(at),
        None => NameNote { name, ..NameNote::default() },
    };
    match duplicate {
        true => (own.lead, own.copies) = (own.lead + 1, own.copies + 1),
        false => own.lead = own.lead.saturating_sub(taken_back),
    }
    let mut is_crowded = false;
    if duplicate || at.is_some() {
        is_crowded = note.names.get(NAMES_MAX - 1).is_some_and(|last| last.lead > 0);
        note.names.truncate(NAMES_MAX - 1);
        note.names.insert(0, own);
    }
    (own, is_crowded)
}

/// Copies by which a pattern is stopped: more where that was wrong before.
pub(super) fn wanted(doubts: u32, rules: &TrapRules) -> u32 {
    more(rules.duplicates, doubts)
}

/// More of what is wanted for a verdict that was wrong so often.
pub(super) fn more(wanted: u32, doubts: u32) -> u32 {
    wanted.saturating_mul(1 << doubts.min(DOUBTS_MAX))
}

/// That pages were alike has another name now: patterns that are not stopped begin anew.
pub(super) fn forget(traps: &mut UrlTraps) {
    for note in traps.patterns.iter_mut().filter(|note| note.stopped.is_none()) {
        (note.same, note.copies) = (0, 0);
        note.names.clear();
    }
}

/// And one that is stopped for them goes on.
pub(super) fn explain(traps: &mut UrlTraps, text: &str) -> Option<Stop> {
    let note = traps.patterns.iter_mut().find(|note| note.text == text)?;
    let stop = note.stopped.take_if(|stop| stop.hazard == Hazard::ManyDuplicates)?;
    (note.same, note.copies) = (0, 0);
    note.contents.clear();
    Some(*stop)
}

/// The name has its own stop now.
pub(super) fn forget_name(note: &mut PatternNote, name: &str) {
    let number = number_of(name);
    note.names.retain(|known| known.name != number);
}

/// Remembers what the pages of a pattern had that is stopped for it: the next ones are held against that, also when
/// the site comes in hand again.
pub(super) fn keep_contents(traps: &mut UrlTraps, text: &str, memory: &[Seen], last: &Looks) {
    let is_of = |url: &CrawlUrl| {
        let pattern = Pattern::of(url);
        pattern.text == text || pattern.narrow(url).is_some_and(|narrow| narrow == text)
    };
    let Some(note) = traps.patterns.iter_mut().find(|note| note.text == text) else { return };
    let seen = memory.iter().rev().filter(|seen| is_of(&seen.url)).map(|seen| &seen.looks);
    for looks in [last].into_iter().chain(seen) {
        let text = (looks.text_bytes >= TEXT_BYTES_SURE).then_some(looks.text);
        for content in [Some(looks.content), text].into_iter().flatten() {
            if note.contents.len() < CONTENTS_MAX && !note.contents.contains(&content) {
                note.contents.push(content);
            }
        }
    }
}

/// A page of a pattern that is stopped for its copies came all the same. When it is none, the pattern goes on.
pub(super) fn look_again(
    traps: &mut UrlTraps,
    text: &str,
    duplicate: bool,
    looks: &Looks,
) -> Option<Stop> {
    let note = traps.patterns.iter_mut().find(|note| note.text == text)?;
    let is_long = looks.text_bytes >= TEXT_BYTES_SURE;
    let known = |content: u64| note.contents.contains(&content);
    if duplicate || known(looks.content) || is_long && known(looks.text) {
        return None;
    }
    (note.same, note.copies, note.pages) = (0, 0, 0);
    note.doubts = note.doubts.saturating_add(1);
    note.contents.clear();
    note.names.clear();
    note.stopped.take().map(|stop| *stop)
}

/// Whether a URL that is refused for this is taken all the same, as the so many-th: ever fewer, for there may be no
/// end of them. Squares are even and odd by turns, and some lie near every end; where each page leads to so many more
/// that they go on for long, powers of two.
pub fn is_sample(objection: &TrapObjection, count: u64) -> bool {
    let is_pattern = objection.pattern != UrlTraps::SITE;
    let is_copies = objection.hazard == Hazard::ManyDuplicates;
    let is_square = count.isqrt().pow(2) == count;
    let is_due = match count {
        _ if objection.listed && count <= LISTED_MAX => count.is_multiple_of(LISTED_EVERY),
        ..=SQUARES_MAX => is_square,
        _ => count.is_power_of_two(),
    };
    is_pattern && is_copies && count > 1 && is_due
}
