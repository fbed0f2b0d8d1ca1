//! Patterns that give near duplicates ([`crate::families`]), and sites that give nothing else: what a page of a
//! family leads to is more of the same when it has a pattern that mostly gives such pages.
//!
//! First the pattern: when it has given [`crate::SpiderRules::near_duplicates_max`] of them, near duplicates lead to no
//! more of it. Then the site: when page after page is a near duplicate and they have [`SPREAD`] patterns, no count
//! by pattern comes to an end, and near duplicates lead only to patterns known for other pages. Links that stand
//! on pages of other kinds are always taken: a list is taken to its end, however alike what it lists is.

use model::{CrawlUrl, Fingerprint, Hazard, NearRun, PatternNote, Timestamp, UrlTraps};

use super::{
    notes::{self, TrapObjection},
    pattern::Pattern,
};

/// What a page of another kind takes back of the run of near duplicates.
const TAKEN_BACK: u32 = 4;
/// A site gives nothing else after so many times as many near duplicates as a pattern may give.
const SITE_TIMES: u32 = 20;
/// Patterns over which the near duplicates of a site are spread before it is stopped as a whole.
const SPREAD: u32 = 16;
/// Near duplicates from which on a pattern is nothing else to lead to.
const FAMILIAR: u32 = 3;

/// A page came for the first time. `family`: the pages of its family, this one included; 1 where it has none. Says
/// whether its pattern has given several near duplicates.
pub fn note_page(traps: &mut UrlTraps, url: &CrawlUrl, family: u32) -> bool {
    let pattern = Pattern::of(url);
    let Some(note) = notes::note(traps, &pattern.text) else { return false };
    match family {
        0 | 1 => note.unlike = note.unlike.saturating_add(1),
        // The first was taken for a page of its own, most likely at the same pattern.
        2 if note.unlike > 0 => {
            note.unlike -= 1;
            note.near = note.near.saturating_add(2);
        }
        _ => note.near = note.near.saturating_add(1),
    }
    let (is_new, again) = (note.near == 1 && note.unlike == 0, note.near > 1);
    let run = &mut traps.near_run;
    match family {
        0 | 1 => run.pages = run.pages.saturating_sub(TAKEN_BACK),
        _ => run.pages = run.pages.saturating_add(1),
    }
    run.patterns = run.patterns.saturating_add(u32::from(is_new));
    if run.pages == 0 {
        (traps.near_run, traps.worn) = (NearRun::default(), None);
    }
    again
}

/// What near duplicates of a site do not lead to any more.
pub struct Worn<'a> {
    traps: &'a UrlTraps,
    max: u32,
    site: bool,
}

impl<'a> Worn<'a> {
    /// For a page of a family of so many pages: small ones come about by chance, and are followed unless the site
    /// gives little else. `max`: near duplicates that a pattern may give; 0: no end. `None`: nothing is worn out.
    pub fn of(traps: &'a UrlTraps, family: u32, max: u32) -> Option<Worn<'a>> {
        if max == 0 || notes::is_lifted(traps, Hazard::NearDuplicates.word()) {
            return None;
        }
        let is_all = traps.near_run.pages >= max.saturating_mul(SITE_TIMES);
        if family < max && !is_all {
            return None;
        }
        let site = traps.worn.is_some() || is_all && traps.near_run.patterns >= SPREAD;
        let worn = Worn { traps, max, site };
        let any = site || traps.patterns.iter().any(|note| worn.is_worn(note));
        any.then_some(worn)
    }

    /// What is against a link on a near duplicate.
    pub fn objection(&self, url: &CrawlUrl) -> Option<TrapObjection> {
        let pattern = Pattern::of(url);
        let (hazard, note) = (Hazard::NearDuplicates, self.note(&pattern.text));
        if note.is_some_and(|note| self.is_worn(note)) {
            return Some(TrapObjection { hazard, pattern: pattern.text });
        }
        let is_other = note.is_some_and(|note| note.unlike > 0 && !mostly_near(note));
        let refused = self.site && !is_other && !notes::is_lifted(self.traps, &pattern.text);
        refused.then(|| TrapObjection { hazard, pattern: hazard.word().to_owned() })
    }

    /// Whether a link that is not refused leads to something else than near duplicates, as far as is known.
    pub fn leads_on(&self, url: &CrawlUrl) -> bool {
        let pattern = Pattern::of(url);
        let note = self.note(&pattern.text);
        !note.is_some_and(|note| note.near >= FAMILIAR && mostly_near(note))
    }

    fn note(&self, text: &str) -> Option<&PatternNote> {
        self.traps.patterns.iter().find(|note| note.text == text)
    }

    fn is_worn(&self, note: &PatternNote) -> bool {
        note.near >= self.max && mostly_near(note) && !notes::is_lifted(self.traps, &note.text)
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
    let (near, run) = (Hazard::NearDuplicates, traps.near_run.pages);
    let slot = match objection.pattern.as_str() {
        pattern if pattern == word => Some((&mut traps.worn, run)),
        pattern => {
            let note = traps.patterns.iter_mut().find(|note| note.text == pattern);
            note.map(|note| (&mut note.worn, note.near))
        }
    };
    let Some((slot, pages)) = slot else { return false };
    let is_first = slot.is_none();
    slot.get_or_insert_with(|| notes::stop(near, pages, url, now));
    notes::note_refusal(traps, objection, url, Some(referrer));
    is_first
}

/// More of its pages that say something are near duplicates than not.
fn mostly_near(note: &PatternNote) -> bool {
    note.near > note.unlike
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://a.example{path}")).unwrap()
    }

    fn refused(traps: &UrlTraps, path: &str) -> Option<String> {
        Worn::of(traps, 10, 10)?.objection(&url(path)).map(|objection| objection.pattern)
    }

    #[test]
    fn a_pattern_is_worn_out_when_it_has_given_enough_near_duplicates() {
        let mut traps = UrlTraps::default();
        for n in 1..10 {
            note_page(&mut traps, &url(&format!("/cal?y=2026&m={n}")), n);
            assert!(Worn::of(&traps, 10, 10).is_none(), "after {n}");
        }
        note_page(&mut traps, &url("/cal?y=2026&m=10"), 10);
        assert_eq!(refused(&traps, "/cal?m=77&y=1999").as_deref(), Some("/cal?m=*&y=*"));
        assert_eq!(refused(&traps, "/about"), None);
        assert!(Worn::of(&traps, 9, 10).is_none(), "its own family is a small one");
        assert!(Worn::of(&traps, 10, 0).is_none(), "no end was asked for");
        let lifted = vec!["/cal?m=*&y=*".to_owned()];
        assert_eq!(refused(&UrlTraps { lifted, ..traps.clone() }, "/cal?m=7&y=1"), None);
        let worn = Worn::of(&traps, 10, 10).unwrap();
        assert!(worn.leads_on(&url("/about")) && !worn.leads_on(&url("/cal?y=1&m=1")));
    }

    #[test]
    fn a_pattern_with_more_pages_of_their_own_than_near_duplicates_is_never_worn_out() {
        let mut traps = UrlTraps::default();
        for n in 0..100 {
            note_page(&mut traps, &url(&format!("/page?id={n}")), if n % 2 == 0 { 1 } else { n });
        }
        assert_eq!(refused(&traps, "/page?id=1000"), None);
    }

    #[test]
    fn near_duplicates_over_patterns_without_end_wear_out_the_site_but_not_what_has_other_pages() {
        let mut traps = UrlTraps::default();
        for n in 0..5 {
            note_page(&mut traps, &url(&format!("/article/{n}")), 1);
        }
        for n in 0..199u32 {
            note_page(&mut traps, &url(&format!("/{}/x/1", "y".repeat(n as usize + 1))), n + 2);
            assert_eq!(refused(&traps, "/new/x/1"), None, "after {n}");
        }
        for n in 0..10u32 {
            note_page(&mut traps, &url(&format!("/z/{}/1", "y".repeat(n as usize + 1))), n + 200);
        }
        assert_eq!(refused(&traps, "/new/x/1").as_deref(), Some("near-duplicates"));
        assert_eq!(refused(&traps, "/article/2"), None);
        let url = url("/new/x/1");
        let objection = Worn::of(&traps, 10, 10).unwrap().objection(&url).unwrap();
        let mut noted = traps.clone();
        assert!(note_refusal(&mut noted, &objection, &url, Fingerprint(1), Timestamp(1)));
        assert!(!note_refusal(&mut noted, &objection, &url, Fingerprint(1), Timestamp(1)));
        assert_eq!(noted.worn.as_ref().map(|stop| stop.refused), Some(2));
        assert_eq!(noted.lift(Some("near-duplicates")).len(), 1);
        assert_eq!(refused(&noted, "/new/x/1"), None);
    }

    #[test]
    fn a_long_list_of_near_duplicates_of_one_pattern_leads_on_to_what_nobody_knows() {
        let mut traps = UrlTraps::default();
        for n in 1..1_000 {
            note_page(&mut traps, &url(&format!("/part/{n}")), n);
        }
        assert_eq!(refused(&traps, "/details/1"), None);
        assert!(Worn::of(&traps, 10, 10).is_some_and(|worn| worn.leads_on(&url("/details/1"))));
    }
}
