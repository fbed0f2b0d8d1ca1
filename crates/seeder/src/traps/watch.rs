//! One site in hand: each page that comes is compared with those before, and what they show together is noted.
//!
//! Evidence, not guesses:
//! - *many-duplicates*: most of the pages of a pattern have the content of others; then the pattern is stopped,
//!   as narrowly as can be ([`super::copies`]). Where copies are more than other pages on the whole site, whatever their
//!   patterns, links that stand on copies are left.
//! - *counter*: page after page of a pattern, found by its like, leads to nothing but more of the pattern, and their
//!   texts are those of the ones before but for digits, and so is what they show: a gallery has a picture on each.
//! - *variants*: many combinations of parameters on one path, of which page after page leads nowhere new, or
//!   which are too many.
//! - *session-ids*: parts of URLs that make no difference ([`super::token`]).
//! - *tarpit*: a site that no seed names, whose slow pages have taken their share of time.
//!
//! A page of another kind in between takes evidence back, so that an ordinary site with some empty pages is left
//! alone; later on it takes verdicts back ([`super::recheck`]). Linear in nothing but the pages remembered, which are few.

use std::{collections::VecDeque, time::Duration};

use model::{
    CrawlUrl, Fingerprint, Hazard, Looks, Measure, MissingPage, Stop, Timestamp, UrlTraps,
};

use super::{
    TrapRules,
    copies::{self, Likeness},
    looks::{TEXT_BYTES_MIN, TEXT_BYTES_SURE, are_alike, have_one_text, may_be_missing},
    notes,
    pattern::Pattern,
    recheck::Recheck,
    token::{self, Trials},
    weigh::Page,
};

/// Pages remembered for good: the first ones are those that everything links to …
const FIRST: usize = 256;
/// … and lately.
const MEMORY: usize = 512;
/// Pages a site must have shown before it is asked for one that cannot be …
const PROBE_PAGES: u32 = 20;
/// … and those of them that were like others.
const PROBE_SUSPECTS: u32 = 3;
/// Pages that are the same, before one more is nothing but a copy: documents have as many versions, and their links,
/// though written alike, lead to others.
const COPIES_MIN: usize = 10;
/// URLs that are not wanted and are remembered: a menu has a few of them on every page.
const BARRED: usize = 256;
/// New ones of them that make a page a list …
const BARRED_LIST: u32 = 3;
/// … and such pages in a row, after which they are none: somebody may have blocked the days of a calendar.
const BARRED_ROW: u32 = 200;
/// Refusals after which their counts are written down again; a site's traps are some kilobytes.
const TOLD_EVERY: u64 = 256;
/// Pages are slow that take this part of the time their site may have, each: 5 s of ten minutes.
const SLOW_PART: u32 = 120;

/// What is remembered of a site while it is in hand; the rest is in its [`UrlTraps`].
#[derive(Clone, Debug, Default)]
pub struct Watch {
    memory: Vec<Seen>,
    /// Where the next page is put, once the memory is full.
    next: usize,
    trials: Trials,
    recheck: Recheck,
    pages: u32,
    suspects: u32,
    time: Duration,
    /// URLs that were met and are not wanted, the last ones.
    barred: VecDeque<Fingerprint>,
    /// Pages in a row that led to nothing else.
    barred_row: u32,
    /// Links and pages that were refused for a trap.
    refused: u64,
    /// What was left out may be asked for again, though no verdict was wrong.
    again: bool,
    /// Something was learned that must be written down now.
    news: bool,
}

/// A page that came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub url: CrawlUrl,
    pub looks: Looks,
}

/// What a visit brought.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    pub looks: Looks,
    /// What kind of page led to it ([`super::pattern::via`]).
    pub via: u32,
    /// It has numbers of its own, many ([`crate::Novelty::Numbered`]).
    pub numbered: bool,
    pub seed: bool,
    /// A seed names the site.
    pub seeded: bool,
    pub found: Found,
    pub elapsed: Duration,
    pub now: Timestamp,
}

/// URLs that nobody knew before, by whether they are of the page's own pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub inside: u32,
    pub outside: u32,
}

/// Something was found to be a trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tripped {
    pub hazard: Hazard,
    /// The pattern or the part of URLs.
    pub what: String,
    pub measure: Measure,
}

impl Watch {
    /// A page with content was seen for the first time.
    pub fn observe(
        &mut self,
        traps: &mut UrlTraps,
        rules: &TrapRules,
        url: &CrawlUrl,
        seen: &Observation,
    ) -> Vec<Tripped> {
        if !rules.on {
            return Vec::new();
        }
        if self.recheck.answered(traps, url, &seen.looks) {
            self.news |= self.recheck.has_cleared();
            return Vec::new();
        }
        self.pages = self.pages.saturating_add(1);
        self.time += seen.elapsed;
        let mut tripped = Vec::new();
        let twin = self.twin(url, &seen.looks);
        let duplicate = twin.as_ref().is_some_and(|twin| is_same_page(&twin.looks, &seen.looks));
        self.suspects += u32::from(twin.is_some() || self.has_seen_like(url, &seen.looks));
        let explained = self.recheck.spelling(traps, url, &seen.looks, &self.memory);
        if let Some(twin) = &twin {
            tripped.extend(self.learn_token(traps, &twin.url, url, seen.now));
        }
        if !explained {
            tripped.extend(self.judge(traps, rules, url, seen, duplicate));
        }
        self.remember(url, &seen.looks);
        self.news |= !tripped.is_empty() || self.recheck.has_cleared();
        tripped
    }

    /// What the page says of its pattern and of its site.
    fn judge(
        &mut self,
        traps: &mut UrlTraps,
        rules: &TrapRules,
        url: &CrawlUrl,
        seen: &Observation,
        duplicate: bool,
    ) -> Vec<Tripped> {
        let mut tripped = Vec::new();
        let objection =
            |traps: &_, waits| notes::objection_to(url, Some(seen.via), traps, rules, waits);
        let stopped = objection(traps, true);
        // What was on its way when its pattern was stopped says nothing of the rest of the site.
        let tells = match objection(traps, false) {
            Some(by) => by.pattern == UrlTraps::SITE && by.hazard == Hazard::ManyDuplicates,
            None => true,
        };
        match stopped {
            Some(by) if by.hazard == Hazard::ManyDuplicates => {
                let wrong = copies::look_again(traps, &by.pattern, duplicate, &seen.looks);
                if let Some(stop) = wrong {
                    self.recheck.clear(by.pattern, stop);
                }
            }
            Some(_) => {}
            None if seen.seed => {}
            None => {
                let pattern = Pattern::of(url);
                let abroad = duplicate && self.is_abroad(url, &pattern, seen);
                let like = Likeness { duplicate, abroad };
                let page = Page { url, pattern: &pattern, seen, like };
                if let Some(stop) = page.look_again(traps) {
                    self.recheck.clear(pattern.text.clone(), stop);
                }
                let before = page.are_mostly_copies(traps);
                tripped.extend(page.note(traps, rules));
                self.news |= before != page.are_mostly_copies(traps);
                tripped.extend(page.note_family(traps, rules));
                for trap in tripped.iter().filter(|trap| trap.hazard == Hazard::ManyDuplicates) {
                    copies::keep_contents(traps, &trap.what, &self.memory, &seen.looks);
                }
            }
        }
        if tells {
            tripped.extend(self.whole_site(traps, rules, url, seen));
        }
        tripped
    }

    /// Whether an earlier page with the same content ends in another name.
    fn is_abroad(&self, url: &CrawlUrl, pattern: &Pattern, seen: &Observation) -> bool {
        let Some(name) = pattern.name(url) else { return true };
        let ends_so =
            |url: &CrawlUrl| url.path().trim_end_matches('/').rsplit('/').next() == Some(name);
        let is_other =
            |other: &Seen| is_same_page(&other.looks, &seen.looks) && !ends_so(&other.url);
        self.memory.iter().any(is_other)
    }

    /// Whether a page with links to these, which somebody does not want, lists something: some of them were not met
    /// before. It leads to something then, though that is not taken. One or two are what every page of a trap may have,
    /// and there is an end to what is believed of them.
    pub fn lists_barred(&mut self, urls: &[Fingerprint]) -> bool {
        let mut new = 0;
        for url in urls {
            if !self.barred.contains(url) {
                self.barred.truncate(BARRED - 1);
                self.barred.push_front(*url);
                new += 1;
            }
        }
        new >= BARRED_LIST && self.barred_row < BARRED_ROW
    }

    /// Whether any page had such links.
    pub fn has_barred(&self) -> bool {
        !self.barred.is_empty()
    }

    /// What a page led to, with that.
    pub fn with_barred(&mut self, found: Found, lists_barred: bool) -> Found {
        match found.outside {
            0 if lists_barred => self.barred_row += 1,
            0 => return found,
            _ => self.barred_row = 0,
        }
        Found { outside: found.outside + u32::from(lists_barred), ..found }
    }

    /// Verdicts that turned out to be wrong: what was left out for them may come.
    pub fn take_cleared(&mut self) -> Vec<(String, Stop)> {
        self.recheck.take_cleared()
    }

    /// What was left out, whatever for, may be judged anew; says so once.
    pub fn judge_again(&mut self) {
        self.again = true;
    }

    pub fn take_judge_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// One more was refused. Says whether the counts are to be written down: often at first, for people look at them
    /// while a crawl runs.
    pub fn count_refusal(&mut self) -> bool {
        self.refused += 1;
        self.refused.is_power_of_two() || self.refused.is_multiple_of(TOLD_EVERY)
    }

    /// The same, found elsewhere.
    pub fn take_back(&mut self, cleared: Vec<(String, Stop)>) {
        cleared.into_iter().for_each(|(name, stop)| self.recheck.clear(name, stop));
    }

    /// Whether the page that came last is to be asked for once more, to see whether it is the same each time.
    pub fn wants_again(&mut self) -> bool {
        self.recheck.take_again()
    }

    /// Says whether something must be written down, once.
    pub fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Whether anything was seen at all.
    pub fn has_seen(&self) -> bool {
        self.pages > 0
    }

    /// Pages that came lately, and the first ones.
    pub fn remembered(&self) -> impl Iterator<Item = &CrawlUrl> {
        self.memory.iter().map(|seen| &seen.url)
    }

    /// Whether many earlier pages are the same, byte for byte: so are their links, then.
    pub fn is_copy(&self, url: &CrawlUrl, looks: &Looks) -> bool {
        let is_same = |seen: &&Seen| seen.looks.content == looks.content && seen.url != *url;
        self.memory.iter().filter(is_same).nth(COPIES_MIN - 1).is_some()
    }

    /// Whether the site is to be asked for a page that cannot exist: pages were alike that should not be.
    pub fn wants_probe(&self, traps: &UrlTraps, rules: &TrapRules) -> bool {
        let suspicious = self.pages >= PROBE_PAGES && self.suspects >= PROBE_SUSPECTS;
        looks_for_missing(traps, rules) && traps.missing.is_none() && suspicious
    }

    pub fn probe_asked(&mut self, traps: &mut UrlTraps, now: Timestamp) {
        traps.missing = Some(MissingPage { asked: now, looks: None });
        self.news = true;
    }

    /// What the site said to that; nothing, where it said that there is no such page. What was held against
    /// patterns because of this page is forgotten: it has another name now.
    pub fn probe_answered(&mut self, traps: &mut UrlTraps, looks: Option<Looks>, now: Timestamp) {
        // It may have been lifted while the question was on its way.
        let looks = looks.filter(|_| !notes::is_lifted(traps, Hazard::Soft404.word()));
        traps.missing = Some(MissingPage { asked: now, looks });
        self.news = true;
        if let Some(looks) = looks {
            self.memory.retain(|seen| !are_alike(&looks, &seen.looks));
            self.next = FIRST.min(self.memory.len());
            traps.copies_ahead = 0;
            copies::forget(traps);
        }
    }

    /// The page looks like the one for what does not exist. Never the entry page: many sites show that instead.
    /// Nor where the page's spider does not ask, or somebody lifted it.
    pub fn is_missing(&self, traps: &UrlTraps, rules: &TrapRules, looks: &Looks) -> bool {
        let missing = traps.missing.and_then(|missing| missing.looks);
        looks_for_missing(traps, rules) && missing.is_some_and(|missing| are_alike(&missing, looks))
    }

    /// An earlier page with the same text.
    fn twin(&self, url: &CrawlUrl, looks: &Looks) -> Option<Seen> {
        let is_twin = |seen: &&Seen| {
            let same_text = looks.text_bytes >= TEXT_BYTES_MIN && have_one_text(&seen.looks, looks);
            (seen.looks.content == looks.content || same_text) && seen.url != *url
        };
        // The last one is the likeliest to differ in one part only.
        self.memory.iter().rev().find(is_twin).cloned()
    }

    /// Whether an earlier page differs in nothing but numbers and what it repeats of its address.
    fn has_seen_like(&self, url: &CrawlUrl, looks: &Looks) -> bool {
        let is_like = |seen: &Seen| may_be_missing(&seen.looks, looks) && seen.url != *url;
        looks.text_bytes >= TEXT_BYTES_MIN && self.memory.iter().any(is_like)
    }

    fn learn_token(
        &mut self,
        traps: &mut UrlTraps,
        before: &CrawlUrl,
        after: &CrawlUrl,
        now: Timestamp,
    ) -> Option<Tripped> {
        let learned = self.trials.hear((before, after), &self.memory, now)?;
        let what = learned.place.to_string();
        let is_known = traps.tokens.iter().any(|token| token.place == learned.place);
        if notes::is_lifted(traps, &what) || !token::keep(&mut traps.tokens, learned.clone()) {
            return None;
        }
        self.news = true;
        // That pages were alike is explained by it.
        copies::forget(traps);
        let text = Pattern::of(after).text;
        if let Some(stop) = copies::explain(traps, &text) {
            self.recheck.clear(text, stop);
        }
        let tripped = Tripped { hazard: learned.hazard(), what, measure: Measure::Corrected };
        (!is_known).then_some(tripped)
    }

    fn whole_site(
        &mut self,
        traps: &mut UrlTraps,
        rules: &TrapRules,
        url: &CrawlUrl,
        seen: &Observation,
    ) -> Option<Tripped> {
        let lead = match self.is_copy(url, &seen.looks) {
            true => traps.copies_ahead.saturating_add(1),
            false => traps.copies_ahead.saturating_sub(1),
        };
        traps.copies_ahead = lead;
        let mean = self.time / self.pages.max(1);
        let slow = self.time >= rules.slow_time && mean >= rules.slow_time / SLOW_PART;
        let (hazard, all) = match () {
            () if lead >= rules.site_duplicates && rules.site_duplicates > 0 => {
                (Hazard::ManyDuplicates, false)
            }
            () if slow && !seen.seeded && self.pages >= PROBE_PAGES => (Hazard::Tarpit, true),
            () => return None,
        };
        let stopped = notes::stop_site(traps, (hazard, all), self.pages, url, seen.now);
        let what = String::new();
        stopped.then_some(Tripped { hazard, what, measure: Measure::SiteStopped })
    }

    fn remember(&mut self, url: &CrawlUrl, looks: &Looks) {
        let seen = Seen { url: url.clone(), looks: *looks };
        if self.memory.len() < MEMORY {
            self.memory.push(seen);
            self.next = FIRST;
            return;
        }
        self.memory[self.next] = seen;
        self.next = if self.next + 1 < MEMORY { self.next + 1 } else { FIRST };
    }
}

fn looks_for_missing(traps: &UrlTraps, rules: &TrapRules) -> bool {
    rules.on && rules.soft_404 && !notes::is_lifted(traps, Hazard::Soft404.word())
}

/// The same bytes; or a long text that is the same, whatever markup stands around it.
fn is_same_page(a: &Looks, b: &Looks) -> bool {
    a.content == b.content || a.text_bytes >= TEXT_BYTES_SURE && a.text == b.text
}
