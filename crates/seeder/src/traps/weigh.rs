//! A page weighed among those of its pattern: what it says for or against it, and whether that is enough to stop it. The
//! evidence is kept in the pattern's note ([`model::PatternNote`]); what is remembered beside it is the watch's
//! ([`super::watch`]).

use model::{CrawlUrl, Hazard, Looks, Measure, PatternNote, Stop, UrlTraps};

use super::{
    TrapRules,
    copies::{self, Likeness},
    notes,
    pattern::{Pattern, number_of, via},
    watch::{Found, Observation, Tripped},
};

/// Texts of a pattern that are compared: twelve months, seven days.
const SKELETONS: usize = 16;
/// Sets of parameter names from which a path is one of combinations; forums have four or five.
const SETS_MIN: usize = 12;
/// Combinations in a row that lead nowhere new, as a multiple of what a counter may have.
const COMBINATIONS: u32 = 4;

/// A page among those of its pattern.
pub(super) struct Page<'a> {
    pub url: &'a CrawlUrl,
    pub pattern: &'a Pattern,
    pub seen: &'a Observation,
    pub like: Likeness,
}

impl Page<'_> {
    pub fn note(&self, traps: &mut UrlTraps, rules: &TrapRules) -> Option<Tripped> {
        let Found { inside, outside } = self.seen.found;
        let note = notes::note(traps, &self.pattern.text)?;
        note.fruit = note.fruit.saturating_add(outside);
        note.idle = if outside > 0 { 0 } else { note.idle.saturating_add(1) };
        let lead = copies::note(note, self.pattern.name(self.url), self.like, rules);
        let says_something = self.says_something(note);
        let skeleton = self.skeleton();
        if !note.skeletons.contains(&skeleton) {
            note.skeletons.truncate(SKELETONS - 1);
            note.skeletons.insert(0, skeleton);
        }
        // Pages that others list have an end, whatever they lead to.
        let is_found_by_its_like = via::is_same(self.seen.via, note.number);
        if says_something {
            note.barren = note.barren.saturating_sub(2);
        } else if inside > 0 && is_found_by_its_like {
            note.barren = note.barren.saturating_add(1);
        }
        notes::note_listed(note, self.like.duplicate || !says_something);
        let wanted = copies::wanted(note.doubts, rules);
        let hazard = if rules.duplicates > 0 && note.same >= wanted {
            Hazard::ManyDuplicates
        } else if rules.duplicates > 0 && lead >= rules.duplicates {
            return self.stop_name(traps, rules, lead);
        } else if self.pattern.counts && self.is_counter(note, rules) {
            Hazard::Counter
        } else {
            return None;
        };
        self.stop(traps, &self.pattern.text, hazard)
    }

    /// It leads to something else, or has a text, a picture or numbers that those before it had not.
    fn says_something(&self, note: &PatternNote) -> bool {
        let is_familiar = note.skeletons.contains(&self.skeleton());
        self.seen.found.outside > 0 || self.seen.numbered || !is_familiar
    }

    fn is_counter(&self, note: &PatternNote, rules: &TrapRules) -> bool {
        rules.counter > 0 && note.barren >= copies::more(rules.counter, note.doubts)
    }

    /// A page of a pattern that is stopped as a counter says something: then it is none, and believed less.
    pub fn look_again(&self, traps: &mut UrlTraps) -> Option<Stop> {
        let note = traps.patterns.iter_mut().find(|note| note.text == self.pattern.text)?;
        if !self.says_something(note) || self.like.duplicate {
            return None;
        }
        let stop = note.stopped.take_if(|stop| stop.hazard == Hazard::Counter)?;
        (note.barren, note.doubts) = (0, note.doubts.saturating_add(1));
        Some(*stop)
    }

    /// Of the text without its digits, and of what is shown.
    fn skeleton(&self) -> u32 {
        let Looks { skeleton, shown, .. } = self.seen.looks;
        (skeleton ^ shown ^ (shown >> 32)) as u32
    }

    pub fn are_mostly_copies(&self, traps: &UrlTraps) -> bool {
        let note = traps.patterns.iter().find(|note| note.text == self.pattern.text);
        note.is_some_and(|note| note.stopped.is_some() && notes::are_mostly_copies(note))
    }

    /// The same for all combinations of parameters on its path.
    pub fn note_family(&self, traps: &mut UrlTraps, rules: &TrapRules) -> Option<Tripped> {
        let family = self.pattern.family()?;
        let note = notes::note(traps, &family)?;
        note.pages = note.pages.saturating_add(1);
        note.barren = match self.seen.found.outside {
            0 => note.barren.saturating_add(1),
            _ => 0,
        };
        notes::note_listed(note, note.barren > 0);
        let set = number_of(&self.pattern.text);
        if note.sets.len() < SETS_MIN && !note.sets.contains(&set) {
            note.sets.push(set);
        }
        let combines = note.sets.len() >= SETS_MIN;
        let barren = rules.counter > 0 && note.barren >= rules.counter * COMBINATIONS;
        let many = rules.pattern_urls > 0 && note.taken >= rules.pattern_urls;
        let trips = combines && (barren || many);
        trips.then(|| self.stop(traps, &family, Hazard::Variants)).flatten()
    }

    /// Of the pattern only what ends in the page's name.
    fn stop_name(&self, traps: &mut UrlTraps, rules: &TrapRules, lead: u32) -> Option<Tripped> {
        let narrow = self.pattern.narrow(self.url)?;
        let known = traps.patterns.iter().find(|note| note.text == narrow);
        if lead < copies::wanted(known.map_or(0, |note| note.doubts), rules) {
            return None;
        }
        let name = self.pattern.name(self.url)?;
        copies::forget_name(notes::note(traps, &self.pattern.text)?, name);
        let tripped = self.stop(traps, &narrow, Hazard::ManyDuplicates)?;
        if let Some(note) = notes::note(traps, &narrow) {
            note.number = via::of(&self.pattern.text);
            // As many came, and the first that they are copies of.
            note.pages = lead.saturating_add(1);
        }
        Some(tripped)
    }

    fn stop(&self, traps: &mut UrlTraps, pattern: &str, hazard: Hazard) -> Option<Tripped> {
        let stopped = notes::stop_pattern(traps, pattern, hazard, self.url, self.seen.now);
        let (what, measure) = (pattern.to_owned(), Measure::PatternStopped);
        stopped.then_some(Tripped { hazard, what, measure })
    }
}

/// Counts a URL that was taken; of combinations no more than the budget is.
pub fn note_taken(traps: &mut UrlTraps, pattern: &Pattern) {
    for text in [Some(pattern.text.clone()), pattern.family()].into_iter().flatten() {
        // One that is not noted yet is when its first page comes.
        if let Some(note) = traps.patterns.iter_mut().find(|note| note.text == text) {
            note.taken = note.taken.saturating_add(1);
        }
    }
}
