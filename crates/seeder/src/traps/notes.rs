//! What is known against the patterns of a site: found, noted, stopped, and asked when a link comes.

use model::{
    CrawlUrl, Fingerprint, Hazard, PatternNote, Refusal, RefusalReason, Stop, Timestamp, UrlTraps,
};

use super::{
    TrapRules,
    copies::is_sample,
    growth::growing,
    pattern::{Pattern, via},
};

/// Patterns noted of a site: more of them are open at a time only where parameters are combined, and those are
/// counted together. The one with the least against it makes room.
const PATTERNS_MAX: usize = 64;
/// A site with so many patterns stopped is stopped.
const STOPPED_MAX: usize = 32;
/// Examples of a stop; as many as of a hazard.
const EXAMPLES_MAX: usize = 3;
/// Pages to be read again when it is lifted: enough to find the way back in.
const REFERRERS_MAX: usize = 32;
/// Pages in a row with nothing to say, listed by pages of other kinds, after which lists are believed no more: two
/// patterns may list each other for ever.
const LISTED_MAX: u32 = 500;
/// A pattern that led to something new this many pages ago is worth more of it, though its family is stopped.
const FRUITFUL_WITHIN: u32 = 5;

/// What a trap has against a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrapObjection {
    pub hazard: Hazard,
    /// What lifts it, after the site: a pattern, or the hazard's word; [`UrlTraps::SITE`].
    pub pattern: String,
    /// A page of another kind lists it.
    pub listed: bool,
}

impl TrapObjection {
    pub fn new(hazard: Hazard, pattern: impl Into<String>) -> TrapObjection {
        TrapObjection { hazard, pattern: pattern.into(), listed: false }
    }

    pub fn refusal(&self) -> Refusal {
        Refusal { reason: RefusalReason::Trap, rule: Stop::rule(self.hazard, &self.pattern) }
    }
}

/// Whether the URL may not enter, or, where it is known and waits (`waits`), may not be visited, when a page of its own
/// kind leads to it, or one that is a copy.
pub fn objection(
    url: &CrawlUrl,
    traps: &UrlTraps,
    rules: &TrapRules,
    waits: bool,
) -> Option<TrapObjection> {
    objection_to(url, None, traps, rules, waits)
}

/// The same for what a page of that kind leads to ([`via`]). A list has an end, whatever it lists: what a page of
/// another kind leads to is mostly taken.
pub fn objection_to(
    url: &CrawlUrl,
    led_by: Option<u32>,
    traps: &UrlTraps,
    rules: &TrapRules,
    waits: bool,
) -> Option<TrapObjection> {
    if !rules.on || is_lifted(traps, UrlTraps::SITE) {
        return None;
    }
    let refuse = |hazard, pattern: &str| Some(TrapObjection::new(hazard, pattern));
    if let Some(hazard) = growing(url, rules.repeated_segments)
        && !is_lifted(traps, hazard.word())
    {
        return refuse(hazard, hazard.word());
    }
    let site = traps.stopped.as_deref().filter(|stop| !waits || stop.all);
    if site.is_none() && traps.patterns.iter().all(|note| note.stopped.is_none()) {
        return None;
    }
    let pattern = Pattern::of(url);
    let by = |text: &str| stopped_for(traps, text, led_by);
    if let Some(objection) = by(&pattern.text)
        && !(waits && is_worth_it(url, traps, &pattern))
    {
        return Some(objection);
    }
    if let Some(objection) = pattern.narrow(url).and_then(|narrow| by(&narrow)) {
        return Some(objection);
    }
    if let Some(objection) = pattern.family().and_then(|family| by(&family))
        && !is_fruitful(traps, &pattern.text)
    {
        return Some(objection);
    }
    let leads_astray = |stop: &&Stop| stop.all || led_by.is_none_or(|by| is_stopped(traps, by));
    site.filter(leads_astray).and_then(|stop| refuse(stop.hazard, UrlTraps::SITE))
}

/// Whether pages of that kind are stopped.
fn is_stopped(traps: &UrlTraps, kind: u32) -> bool {
    let mut stopped = traps.patterns.iter().filter(|note| note.stopped.is_some());
    stopped.any(|note| via::is_same(kind, note.number))
}

/// Whether the stop of a pattern, if there is one, goes for what a page of that kind leads to.
fn stopped_for(traps: &UrlTraps, text: &str, led_by: Option<u32>) -> Option<TrapObjection> {
    let note = traps.patterns.iter().find(|note| note.text == text)?;
    let hazard = note.stopped.as_ref()?.hazard;
    let listed = led_by.is_some_and(|led_by| !is_led_astray(traps, note, hazard, led_by));
    // Copies are few among what is listed only once one of them turned out to be none.
    let is_taken =
        listed && note.listed < LISTED_MAX && (hazard != Hazard::ManyDuplicates || note.doubts > 0);
    (!is_taken).then(|| TrapObjection { listed, ..TrapObjection::new(hazard, text) })
}

/// Whether a page of that kind is one of what is stopped, here or elsewhere on the site.
fn is_led_astray(traps: &UrlTraps, note: &PatternNote, hazard: Hazard, led_by: u32) -> bool {
    let is_own = match hazard {
        Hazard::Variants => via::is_same_path(led_by, note.number),
        _ => via::is_same(led_by, note.number),
    };
    is_own || is_stopped(traps, led_by)
}

/// A page of a pattern that is stopped came because a page of another kind lists it.
pub(super) fn note_listed(note: &mut PatternNote, is_poor: bool) {
    if note.stopped.is_some() {
        note.listed = if is_poor { note.listed.saturating_add(1) } else { 0 };
    }
}

/// A link was refused for it: counted, with examples and the pages it stands on. Says whether it is taken all the
/// same, as a sample.
pub fn note_refusal(
    traps: &mut UrlTraps,
    objection: &TrapObjection,
    url: &CrawlUrl,
    referrer: Option<Fingerprint>,
) -> bool {
    let Some(stop) = stop_for(traps, objection) else { return false };
    stop.refused += 1;
    let is_told = stop.examples.iter().any(|example| example == url.as_str());
    if stop.examples.len() < EXAMPLES_MAX && !is_told {
        stop.examples.push(url.as_str().to_owned());
    }
    if let Some(referrer) = referrer.filter(|page| !stop.referrers.contains(page))
        && stop.referrers.len() < REFERRERS_MAX
    {
        stop.referrers.push(referrer);
    }
    is_sample(objection, stop.refused)
}

/// A page that waited is not visited for it. `rule` is that of the refusal.
pub fn note_held_back(traps: &mut UrlTraps, rule: &str) {
    let site = traps.stopped.iter_mut().map(|stop| (UrlTraps::SITE, stop));
    let worn = traps.worn.iter_mut().map(|stop| (Hazard::NearDuplicates.word(), stop));
    let patterns = traps.patterns.iter_mut().flat_map(|note| {
        let stops = note.stopped.iter_mut().chain(&mut note.worn);
        stops.map(|stop| (note.text.as_str(), stop))
    });
    let mut stops = site.chain(worn).chain(patterns);
    if let Some((_, stop)) = stops.find(|(name, stop)| Stop::rule(stop.hazard, name) == rule) {
        stop.held_back += 1;
    }
}

/// The stop that an objection speaks of.
fn stop_for<'a>(traps: &'a mut UrlTraps, objection: &TrapObjection) -> Option<&'a mut Stop> {
    let is_near = objection.hazard == Hazard::NearDuplicates;
    match objection.pattern.as_str() {
        UrlTraps::SITE => traps.stopped.as_deref_mut(),
        word if is_near && word == Hazard::NearDuplicates.word() => traps.worn.as_deref_mut(),
        pattern => {
            let note = find(&mut traps.patterns, pattern)?;
            if is_near { note.worn.as_deref_mut() } else { note.stopped.as_deref_mut() }
        }
    }
}

pub(super) fn is_lifted(traps: &UrlTraps, pattern: &str) -> bool {
    traps.is_lifted(pattern)
}

/// The note on a pattern; made when there is none and room is.
pub(super) fn note<'a>(traps: &'a mut UrlTraps, text: &str) -> Option<&'a mut PatternNote> {
    let patterns = &mut traps.patterns;
    let at = match patterns.iter().position(|note| note.text == text) {
        Some(at) => at,
        None => {
            make_room(patterns)?;
            let (number, text) = (via::of(text), text.to_owned());
            // A note is large, and every site in hand has some: twice as much room would be mostly empty.
            if patterns.len() == patterns.capacity() {
                patterns.reserve_exact(NOTES_AT_ONCE);
            }
            patterns.push(PatternNote { text, number, ..PatternNote::default() });
            patterns.len() - 1
        }
    };
    patterns.get_mut(at)
}

const NOTES_AT_ONCE: usize = 8;

fn make_room(patterns: &mut Vec<PatternNote>) -> Option<()> {
    if patterns.len() < PATTERNS_MAX {
        return Some(());
    }
    let is_open = |note: &PatternNote| note.stopped.is_none() && note.worn.is_none();
    let open = patterns.iter().enumerate().filter(|(_, note)| is_open(note));
    // The older of those that weigh the same: it has had its time.
    let (least, _) = open.min_by_key(|(_, note)| weight(note))?;
    patterns.remove(least);
    Some(())
}

fn weight(note: &PatternNote) -> u32 {
    let near = note.near.max(note.thin_row).min(20) * 2 + note.unlike.min(20) + note.dull.min(20);
    let names = note.names.iter().map(|name| name.lead).max().unwrap_or(0);
    let copies = note.same.max(names) * 4 + note.doubts * 8;
    let unwanted = note.unwanted.min(50);
    unwanted + copies + note.barren + note.fruit.min(20) + note.sets.len() as u32 * 8 + near
}

/// Stops a pattern, unless the user has lifted it; says whether.
pub(super) fn stop_pattern(
    traps: &mut UrlTraps,
    text: &str,
    hazard: Hazard,
    example: &CrawlUrl,
    now: Timestamp,
) -> bool {
    if is_lifted(traps, text) || stop_of(traps, text).is_some() {
        return false;
    }
    let Some(note) = note(traps, text) else { return false };
    note.stopped = Some(Box::new(stop(hazard, note.taken, example, now)));
    note.listed = 0;
    if is_crowded(traps) && traps.stopped.is_none() {
        let taken = traps.patterns.iter().map(|note| note.taken.max(note.pages)).sum();
        traps.stopped = Some(Box::new(stop(hazard, taken, example, now)));
    }
    true
}

/// So many patterns are stopped that the site is.
pub(super) fn is_crowded(traps: &UrlTraps) -> bool {
    traps.patterns.iter().filter(|note| note.stopped.is_some()).count() >= STOPPED_MAX
}

/// Stops the site; `all`: what is known and waits is not visited either.
pub(super) fn stop_site(
    traps: &mut UrlTraps,
    (hazard, all): (Hazard, bool),
    taken: u32,
    example: &CrawlUrl,
    now: Timestamp,
) -> bool {
    if is_lifted(traps, UrlTraps::SITE) || traps.stopped.is_some() {
        return false;
    }
    traps.stopped = Some(Box::new(Stop { all, ..stop(hazard, taken, example, now) }));
    true
}

/// What need not outlive the lease: patterns with nothing against them.
pub fn trim(traps: &mut UrlTraps) {
    let tells = |note: &PatternNote| {
        let is_stopped = note.stopped.is_some() || note.worn.is_some();
        let is_doubted = note.doubts > 0 || note.names.iter().any(|name| name.lead > 1);
        let repeats = note.near > 0 || note.thin_row > 4 || note.dull > 2;
        let is_told = note.same > 1 || note.barren > 4 || note.sets.len() > 5;
        is_stopped || is_doubted || repeats || is_told
    };
    traps.patterns.retain(tells);
    if traps.copies_ahead < 3 {
        traps.copies_ahead = 0;
    }
}

pub(super) fn stop(hazard: Hazard, taken: u32, example: &CrawlUrl, since: Timestamp) -> Stop {
    let (examples, referrers) = (vec![example.as_str().to_owned()], Vec::new());
    Stop { hazard, since, taken, refused: 0, held_back: 0, examples, referrers, all: false }
}

fn stop_of<'a>(traps: &'a UrlTraps, text: &str) -> Option<&'a Stop> {
    traps.patterns.iter().find(|note| note.text == text)?.stopped.as_deref()
}

fn find<'a>(patterns: &'a mut [PatternNote], text: &str) -> Option<&'a mut PatternNote> {
    patterns.iter_mut().find(|note| note.text == text)
}

/// A page with a name of its own shares its pattern with whatever lies beside it (`/about` and all the rest at
/// `/*`): one that waits is visited all the same, unless most that came of the pattern were copies of others.
fn is_worth_it(url: &CrawlUrl, traps: &UrlTraps, pattern: &Pattern) -> bool {
    let is_named = !pattern.counts || matches!(pattern.text.as_str(), "/*" | "/*/");
    let note = traps.patterns.iter().find(|note| note.text == pattern.text);
    url.query().is_none() && is_named && note.is_some_and(|note| !are_mostly_copies(note))
}

pub(super) fn are_mostly_copies(note: &PatternNote) -> bool {
    note.copies.saturating_mul(2) > note.pages
}

fn is_fruitful(traps: &UrlTraps, text: &str) -> bool {
    let note = traps.patterns.iter().find(|note| note.text == text);
    note.is_some_and(|note| note.fruit > 0 && note.idle < FRUITFUL_WITHIN)
}
