//! What is known against the patterns of a site: found, noted, stopped, and asked when a link comes.

use model::{
    CrawlUrl, Fingerprint, Hazard, PatternNote, Refusal, RefusalReason, Stop, Timestamp, UrlTraps,
};

use super::{TrapRules, copies::is_sample, growth::growing, pattern::Pattern};

/// Patterns noted of a site: more of them are open at a time only where parameters are combined, and those are
/// counted together. The one with the least against it makes room.
const PATTERNS_MAX: usize = 64;
/// A site with so many patterns stopped is stopped.
const STOPPED_MAX: usize = 32;
/// Examples of a stop; as many as of a hazard.
const EXAMPLES_MAX: usize = 3;
/// Pages to be read again when it is lifted: enough to find the way back in.
const REFERRERS_MAX: usize = 32;
/// A pattern that led to something new this many pages ago is worth more of it, though its family is stopped.
const FRUITFUL_WITHIN: u32 = 5;

/// What a trap has against a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrapObjection {
    pub hazard: Hazard,
    /// What lifts it, after the site: a pattern, or the hazard's word; [`UrlTraps::SITE`].
    pub pattern: String,
}

impl TrapObjection {
    pub fn refusal(&self) -> Refusal {
        Refusal { reason: RefusalReason::Trap, rule: Stop::rule(self.hazard, &self.pattern) }
    }
}

/// Whether the URL may not enter, or, where it is known and waits (`waits`), may not be visited.
pub fn objection(
    url: &CrawlUrl,
    traps: &UrlTraps,
    rules: &TrapRules,
    waits: bool,
) -> Option<TrapObjection> {
    if !rules.on || is_lifted(traps, UrlTraps::SITE) {
        return None;
    }
    let refuse =
        |hazard, pattern: &str| Some(TrapObjection { hazard, pattern: pattern.to_owned() });
    if let Some(hazard) = growing(url, rules.repeated_segments)
        && !is_lifted(traps, hazard.word())
    {
        return refuse(hazard, hazard.word());
    }
    let site = traps.stopped.as_ref().filter(|stop| !waits || stop.all);
    if site.is_none() && traps.patterns.iter().all(|note| note.stopped.is_none()) {
        return None;
    }
    let pattern = Pattern::of(url);
    if let Some(stop) = stop_of(traps, &pattern.text)
        && !(waits && is_worth_it(url, traps, &pattern))
    {
        return refuse(stop.hazard, &pattern.text);
    }
    if let Some(narrow) = pattern.narrow(url)
        && let Some(stop) = stop_of(traps, &narrow)
    {
        return refuse(stop.hazard, &narrow);
    }
    if let Some(family) = pattern.family()
        && let Some(stop) = stop_of(traps, &family)
        && !is_fruitful(traps, &pattern.text)
    {
        return refuse(stop.hazard, &family);
    }
    site.and_then(|stop| refuse(stop.hazard, UrlTraps::SITE))
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
    let patterns = traps
        .patterns
        .iter_mut()
        .filter_map(|note| Some((note.text.as_str(), note.stopped.as_mut()?)));
    let mut stops = site.chain(patterns);
    if let Some((_, stop)) = stops.find(|(name, stop)| Stop::rule(stop.hazard, name) == rule) {
        stop.held_back += 1;
    }
}

/// The stop that an objection speaks of.
fn stop_for<'a>(traps: &'a mut UrlTraps, objection: &TrapObjection) -> Option<&'a mut Stop> {
    let is_near = objection.hazard == Hazard::NearDuplicates;
    match objection.pattern.as_str() {
        UrlTraps::SITE => traps.stopped.as_mut(),
        word if is_near && word == Hazard::NearDuplicates.word() => traps.worn.as_mut(),
        pattern => {
            let note = find(&mut traps.patterns, pattern)?;
            if is_near { note.worn.as_mut() } else { note.stopped.as_mut() }
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
            patterns.push(PatternNote { text: text.to_owned(), ..PatternNote::default() });
            patterns.len() - 1
        }
    };
    patterns.get_mut(at)
}

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
    copies + note.barren + note.fruit.min(20) + note.sets.len() as u32 * 8 + near
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
    note.stopped = Some(stop(hazard, note.taken, example, now));
    if is_crowded(traps) && traps.stopped.is_none() {
        let taken = traps.patterns.iter().map(|note| note.taken.max(note.pages)).sum();
        traps.stopped = Some(stop(hazard, taken, example, now));
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
    traps.stopped = Some(Stop { all, ..stop(hazard, taken, example, now) });
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
    if traps.same.count < 3 {
        traps.same = model::Same::default();
    }
}

pub(super) fn stop(hazard: Hazard, taken: u32, example: &CrawlUrl, since: Timestamp) -> Stop {
    let (examples, referrers) = (vec![example.as_str().to_owned()], Vec::new());
    Stop { hazard, since, taken, refused: 0, held_back: 0, examples, referrers, all: false }
}

fn stop_of<'a>(traps: &'a UrlTraps, text: &str) -> Option<&'a Stop> {
    traps.patterns.iter().find(|note| note.text == text)?.stopped.as_ref()
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
