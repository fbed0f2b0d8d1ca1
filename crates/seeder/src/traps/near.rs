//! Patterns that give near duplicates ([`crate::families`]), and sites that give nothing else: what a page of a
//! family leads to is more of the same when it has a pattern that mostly gives such pages.
//!
//! First the pattern: when it has given [`crate::SpiderRules::near_duplicates_max`] of them in a row, near duplicates lead
//! to no more of it. A page of its own among them, or one that leads to a pattern known for such, begins the row anew,
//! and from then on a longer row is waited for: an archive has empty months. Pages that are no near duplicates and have
//! next to nothing of their own ([`crate::Novelty::Thin`]) are many more before they wear out a pattern: short
//! descriptions of things look like that.
//!
//! Then the site: when page after page is a near duplicate and they have [`SPREAD`] patterns, no count
//! by pattern comes to an end, and near duplicates lead only to patterns known for other pages.
//!
//! What waits because near duplicates led to it is held back likewise ([`holds_back`]).
//!
//! Patterns are told apart by the name they end in where that comes again (`/set/*/cite` of `/set/*/*`).
//!
//! Links that stand on pages of other kinds are always taken: a list is taken to its end, however alike what it lists is.
//! So are links to patterns whose pages lead nowhere: what has no children has an end.

use model::{CrawlUrl, Fingerprint, Hazard, NearRun, PatternNote, Stop, Timestamp, UrlTraps};

use super::{
    notes::{self, TrapObjection},
    pattern::{Pattern, number_of, via},
};

/// What a page of another kind takes back of the run of near duplicates.
const TAKEN_BACK: u32 = 4;
/// A site gives nothing else after so many times as many near duplicates as a pattern may give.
const SITE_TIMES: u32 = 20;
/// A pattern, and a site, gives nothing else after so many times as many pages with next to nothing of their own.
const THIN_TIMES: u32 = 30;
/// After so many times as many pages of next to nothing, small families are none by chance: twelve months, with a name
/// each, are twelve.
const SMALL_TIMES: u32 = 40;
/// Patterns over which the near duplicates of a site are spread before it is stopped as a whole.
const SPREAD: u32 = 16;
/// Answers that bring nothing from which on a pattern is nothing else to lead to.
const FAMILIAR: u32 = 3;
/// Pages of their own from which on a pattern is known for such.
const FRUITS_MIN: u32 = 2;
/// How many times as long a row is waited for, at most, where pages of their own have ended rows before: four years of an
/// empty calendar.
const PATIENCE_MAX: u32 = 5;
/// After so many times as many pages with nothing of their own as a pattern may give near duplicates, those of their own
/// that came before count no more.
const STALE_TIMES: u32 = 3;
/// Names of a pattern that are waited for to come again.
const NAMES_MAX: usize = 16;
/// One of so many pages of a pattern leads to something new: then it may have no end.
const BREEDS: u32 = 4;

/// What an answer brought, the first time it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// A page of its own.
    Own,
    /// A page of no family, of which nothing more can be said.
    Unlike,
    /// A page of no family with next to nothing of its own.
    Thin,
    /// A page of a family of so many, this one included.
    Near(u32),
    /// Something to look at or to keep that is no page: a picture, a document.
    File,
    /// An error, a redirect, a copy.
    Dull,
}

/// What came of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Its pattern has given several near duplicates.
    pub again: bool,
    /// What was held back for near duplicates that is no longer, by the name it was told under.
    pub cleared: Vec<(String, Stop)>,
}

/// The pattern under which a URL is counted here.
pub fn pattern_of(traps: &UrlTraps, url: &CrawlUrl) -> String {
    let pattern = Pattern::of(url);
    let is_noted = |text: &String| traps.patterns.iter().any(|note| note.text == *text);
    pattern.narrow(url).filter(is_noted).unwrap_or(pattern.text)
}

/// The note under which a page is counted: of its name alone, once that came a second time.
fn note_of<'a>(traps: &'a mut UrlTraps, url: &CrawlUrl) -> Option<&'a mut PatternNote> {
    let pattern = Pattern::of(url);
    // Numbers are no names: months come again each year.
    let name = pattern.name(url).filter(|name| !name.bytes().any(|b| b.is_ascii_digit()));
    let Some((name, narrow)) = name.zip(pattern.narrow(url)) else {
        return notes::note(traps, &pattern.text);
    };
    if traps.patterns.iter().any(|note| note.text == narrow) {
        return notes::note(traps, &narrow);
    }
    let names = &mut notes::note(traps, &pattern.text)?.ends;
    let name = number_of(name);
    if !names.contains(&name) {
        names.truncate(NAMES_MAX - 1);
        names.insert(0, name);
        return notes::note(traps, &pattern.text);
    }
    let note = notes::note(traps, &narrow)?;
    note.number = via::of(&pattern.text);
    Some(note)
}

/// Counts a page.
pub fn note_page(traps: &mut UrlTraps, url: &CrawlUrl, bearing: Bearing) -> Noted {
    let is_dull = matches!(bearing, Bearing::Dull | Bearing::File);
    // Of a site on which nothing repeats it need not be known what leads nowhere.
    if is_dull && !has_suspects(traps) {
        return Noted::default();
    }
    let Some(note) = note_of(traps, url) else { return Noted::default() };
    count(note, bearing);
    let mut cleared = Vec::new();
    if bearing == Bearing::Own {
        let stop = note.worn.take_if(|stop| stop.held_back > 0);
        cleared.extend(stop.map(|stop| (note.text.clone(), *stop)));
    }
    let is_first = own(note) == 0 && note.near.max(note.thin_row) <= 1;
    let again = note.near > 1;
    let is_near = matches!(bearing, Bearing::Near(_));
    step(&mut traps.near_run, is_near, is_first, bearing);
    step(&mut traps.thin_run, is_near || bearing == Bearing::Thin, is_first, bearing);
    if traps.near_run.is_nothing() && traps.thin_run.is_nothing() {
        let stop = traps.worn.take().filter(|stop| stop.held_back > 0);
        cleared.extend(stop.map(|stop| (Hazard::NearDuplicates.word().to_owned(), *stop)));
    }
    // What was held back comes; what was not followed need not be looked for again.
    cleared.iter_mut().for_each(|(_, stop)| stop.referrers.clear());
    Noted { again, cleared }
}

/// What is against visiting a URL that waits, when a page of that kind led to it: it was a near duplicate, and those
/// lead to no more of it. `max` as for [`Worn::of`].
pub fn holds_back(
    url: &CrawlUrl,
    led_by: u32,
    traps: &UrlTraps,
    max: u32,
) -> Option<TrapObjection> {
    if !via::is_poor(led_by) {
        return None;
    }
    // Not more than is held against the links of the smallest family.
    Worn::of(traps, 2, max)?.objection(url)
}

/// One more page, which is of the run or takes from it.
fn step(run: &mut NearRun, is_more: bool, is_first: bool, bearing: Bearing) {
    run.pages = match bearing {
        _ if is_more => run.pages.saturating_add(1),
        Bearing::Dull => run.pages,
        Bearing::File => run.pages.saturating_sub(1),
        _ => run.pages.saturating_sub(TAKEN_BACK),
    };
    run.patterns = run.patterns.saturating_add(u32::from(is_more && is_first));
    if run.pages == 0 {
        *run = NearRun::default();
    }
}

fn count(note: &mut PatternNote, bearing: Bearing) {
    let add = |count: &mut u32, more: u32| *count = count.saturating_add(more);
    match bearing {
        Bearing::Own => {
            add(&mut note.unlike, 1);
            add(&mut note.led, 1);
            add(&mut note.owns, 1);
            (note.near_row, note.thin_row, note.stale) = (0, 0, 0);
        }
        Bearing::Unlike | Bearing::File => add(&mut note.unlike, 1),
        Bearing::Thin => {
            note.near_row = note.near_row.saturating_sub(1);
            add(&mut note.unlike, 1);
            add(&mut note.thin_row, 1);
            add(&mut note.stale, 1);
        }
        Bearing::Near(family) => {
            // The first was taken for a page of its own, most likely at the same pattern.
            let both = family == 2 && note.unlike > 0;
            note.unlike -= u32::from(both);
            note.led = note.led.saturating_sub(u32::from(both));
            note.owns = note.owns.saturating_sub(u32::from(both));
            add(&mut note.stale, 1);
            add(&mut note.near, 1 + u32::from(both));
            add(&mut note.near_row, 1 + u32::from(both));
            add(&mut note.thin_row, 1);
        }
        Bearing::Dull => add(&mut note.dull, 1),
    }
}

fn has_suspects(traps: &UrlTraps) -> bool {
    traps.patterns.iter().any(|note| note.near >= FAMILIAR || note.thin_row >= FAMILIAR)
}

/// The page leads to URLs that nobody knew.
pub fn note_breed(traps: &mut UrlTraps, url: &CrawlUrl) {
    let text = pattern_of(traps, url);
    if let Some(note) = traps.patterns.iter_mut().find(|note| note.text == text) {
        note.bred = note.bred.saturating_add(1);
    }
}

/// A near duplicate leads to a pattern known for pages of their own.
pub fn note_lead(traps: &mut UrlTraps, url: &CrawlUrl) {
    let text = pattern_of(traps, url);
    if let Some(note) = traps.patterns.iter_mut().find(|note| note.text == text) {
        note.led = note.led.saturating_add(1);
        (note.near_row, note.thin_row) = (0, 0);
    }
}

/// Whether pages of the URL's pattern, which is not `from`, are known to be of their own: most of them, or some of late.
/// `max` as for [`Worn::of`].
pub fn is_fruitful(traps: &UrlTraps, url: &CrawlUrl, from: &str, max: u32) -> bool {
    let text = pattern_of(traps, url);
    let note = traps.patterns.iter().find(|note| note.text == text && note.text != from);
    note.is_some_and(|note| {
        // What its pages lead to does not count: two patterns would keep each other alive.
        let is_alive = note.owns >= FRUITS_MIN && note.stale < max.saturating_mul(STALE_TIMES);
        own(note) >= FRUITS_MIN && own(note) > poor(note) || is_alive
    })
}

/// What near duplicates of a site do not lead to any more.
pub struct Worn<'a> {
    traps: &'a UrlTraps,
    max: u32,
    site: bool,
    /// For a page that is like others only in having nothing to say.
    thin: bool,
    /// The pattern of the page on which the links stand.
    from: Option<String>,
}

impl<'a> Worn<'a> {
    /// For a page of a family of so many pages: small ones come about by chance, and are followed unless the site
    /// gives little else. 1: a thin page without a family. `max`: near duplicates
    /// that a pattern may give; 0: no end. `None`: nothing is worn out.
    pub fn of(traps: &'a UrlTraps, family: u32, max: u32) -> Option<Worn<'a>> {
        if max == 0 || notes::is_lifted(traps, Hazard::NearDuplicates.word()) {
            return None;
        }
        let is_all = |run: NearRun, times: u32| run.pages >= max.saturating_mul(times);
        let is_site = |run: NearRun, times: u32| run.patterns >= SPREAD && is_all(run, times);
        let is_poor = is_all(traps.near_run, SITE_TIMES) || is_all(traps.thin_run, SMALL_TIMES);
        let thin = family < max && (family < 2 || !is_poor);
        let by_near = || traps.worn.is_some() || is_site(traps.near_run, SITE_TIMES);
        let site = is_site(traps.thin_run, THIN_TIMES) || !thin && by_near();
        let worn = Worn { traps, max, site, thin, from: None };
        let any = site || traps.patterns.iter().any(|note| worn.is_worn(note));
        any.then_some(worn)
    }

    /// For the links of this page.
    #[must_use]
    pub fn on(self, page: &CrawlUrl) -> Worn<'a> {
        Worn { from: Some(pattern_of(self.traps, page)), ..self }
    }

    /// What is against a link on a near duplicate.
    pub fn objection(&self, url: &CrawlUrl) -> Option<TrapObjection> {
        let pattern = pattern_of(self.traps, url);
        let (hazard, note) = (Hazard::NearDuplicates, self.note(&pattern));
        if note.is_some_and(|note| self.is_worn(note) && self.comes_back(note)) {
            return Some(TrapObjection::new(hazard, pattern));
        }
        let is_other = note.is_some_and(|note| note.unlike > 0 && !mostly_near(note));
        let refused = self.site && !is_other && !notes::is_lifted(self.traps, &pattern);
        refused.then(|| TrapObjection::new(hazard, hazard.word()))
    }

    /// Whether a link that is not refused leads to something else than near duplicates, as far as is known. Nothing is
    /// hoped for of what nobody knows where a site has given little but near duplicates.
    pub fn leads_on(&self, url: &CrawlUrl) -> bool {
        match self.note(&pattern_of(self.traps, url)) {
            Some(note) => poor(note) < FAMILIAR || poor(note) <= own(note),
            None => self.traps.thin_run.pages < self.max.saturating_mul(SITE_TIMES),
        }
    }

    fn note(&self, text: &str) -> Option<&PatternNote> {
        self.traps.patterns.iter().find(|note| note.text == text)
    }

    fn is_worn(&self, note: &PatternNote) -> bool {
        let near = !self.thin
            && note.near >= self.max
            && mostly_near(note)
            && note.near_row >= self.max.saturating_mul(patience(note));
        let thin = note.thin_row >= self.max.saturating_mul(THIN_TIMES);
        (near || thin) && !notes::is_lifted(self.traps, &note.text)
    }

    /// Whether the pattern leads to more than its own pages: a link from one to the other says so, and so do pages of it
    /// that led to something new.
    fn comes_back(&self, note: &PatternNote) -> bool {
        match &self.from {
            Some(from) if *from == note.text => true,
            Some(_) => breeds(note),
            None => note.worn.is_some() || breeds(note),
        }
    }
}

/// A link was refused for it: counted; says whether it is the first.
pub fn note_refusal(
    traps: &mut UrlTraps,
    objection: &TrapObjection,
    url: &CrawlUrl,
    referrer: Fingerprint,
    now: Timestamp,
) -> bool {
    let word = Hazard::NearDuplicates.word();
    let (near, run) = (Hazard::NearDuplicates, traps.near_run.pages.max(traps.thin_run.pages));
    let slot = match objection.pattern.as_str() {
        pattern if pattern == word => Some((&mut traps.worn, run)),
        pattern => {
            let note = traps.patterns.iter_mut().find(|note| note.text == pattern);
            note.map(|note| (&mut note.worn, note.near))
        }
    };
    let Some((slot, pages)) = slot else { return false };
    let is_first = slot.is_none();
    slot.get_or_insert_with(|| Box::new(notes::stop(near, pages, url, now)));
    notes::note_refusal(traps, objection, url, Some(referrer));
    is_first
}

/// More of its pages that say something are near duplicates than not.
fn mostly_near(note: &PatternNote) -> bool {
    note.near > note.unlike
}

/// Answers of it that brought nothing, or nothing new.
fn poor(note: &PatternNote) -> u32 {
    let repeated = note.near.max(note.thin_row);
    repeated.saturating_add(note.dull)
}

/// Answers of it that were of their own, but for those of late that had next to nothing.
fn own(note: &PatternNote) -> u32 {
    note.unlike.saturating_sub(note.thin_row)
}

/// By how much longer a row may be.
fn patience(note: &PatternNote) -> u32 {
    note.led.saturating_add(1).min(PATIENCE_MAX)
}

fn breeds(note: &PatternNote) -> bool {
    let pages = note.near.saturating_add(note.unlike).max(note.thin_row);
    note.bred.saturating_mul(BREEDS) >= pages
}

#[cfg(test)]
mod tests;
