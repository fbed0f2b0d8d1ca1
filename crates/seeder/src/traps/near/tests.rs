//! What wears out and what does not: traps, and the honest archives beside them.

use model::testing::example as url;

use super::*;

fn refused(traps: &UrlTraps, path: &str) -> Option<String> {
    Worn::of(traps, 10, 10)?.objection(&url(path)).map(|objection| objection.pattern)
}

/// A page that leads to something new.
fn page(traps: &mut UrlTraps, path: &str, bearing: Bearing) {
    note_page(traps, &url(path), bearing);
    note_breed(traps, &url(path));
}

fn family(pages: u32) -> Bearing {
    if pages < 2 { Bearing::Unlike } else { Bearing::Near(pages) }
}

#[test]
fn a_pattern_is_worn_out_when_it_has_given_enough_near_duplicates() {
    let mut traps = UrlTraps::default();
    for n in 1..10 {
        page(&mut traps, &format!("/cal?y=2026&m={n}"), family(n));
        assert!(Worn::of(&traps, 10, 10).is_none(), "after {n}");
    }
    page(&mut traps, "/cal?y=2026&m=10", family(10));
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
        page(&mut traps, &format!("/page?id={n}"), family(if n % 2 == 0 { 1 } else { n }));
    }
    assert_eq!(refused(&traps, "/page?id=1000"), None);
}

#[test]
fn an_archive_with_an_event_now_and_then_is_kept_and_ends_a_while_after_its_last() {
    let mut traps = UrlTraps::default();
    for month in 0..240u32 {
        let bearing = if month % 12 == 6 { Bearing::Own } else { Bearing::Near(month + 10) };
        page(&mut traps, &format!("/cal/{}/{}", month / 12, month % 12), bearing);
        assert_eq!(refused(&traps, "/cal/1/1"), None, "month {month}");
    }
    let more = (0..1_000).take_while(|n| {
        page(&mut traps, &format!("/cal/90/{n}"), Bearing::Near(300 + n));
        refused(&traps, "/cal/1/1").is_none()
    });
    let more = more.count();
    assert!((20..60).contains(&more), "{more} empty months after the last event");
}

#[test]
fn months_that_lead_to_events_are_no_row() {
    let mut traps = UrlTraps::default();
    for n in 0..2 {
        page(&mut traps, &format!("/event/{n}"), Bearing::Own);
    }
    assert!(is_fruitful(&traps, &url("/event/77"), "/cal/*", 10));
    for month in 0..200 {
        page(&mut traps, &format!("/cal/{month}"), Bearing::Near(month + 2));
        if month % 9 == 0 {
            note_lead(&mut traps, &url(&format!("/cal/{month}")));
        }
        assert_eq!(refused(&traps, "/cal/999"), None, "month {month}");
    }
}

#[test]
fn what_answers_with_errors_redirects_or_copies_is_nothing_to_lead_to() {
    let mut traps = UrlTraps::default();
    page(&mut traps, "/note?day=0", Bearing::Dull);
    assert!(traps.patterns.is_empty(), "nothing repeats here yet");
    for n in 0..20 {
        page(&mut traps, &format!("/cal?day={n}"), family(n + 1));
        note_page(&mut traps, &url(&format!("/ics/{n}.ics")), Bearing::Dull);
        note_page(&mut traps, &url(&format!("/paper/{n}.pdf")), Bearing::File);
    }
    let worn = Worn::of(&traps, 20, 10).unwrap();
    assert!(!worn.leads_on(&url("/ics/77.ics")));
    assert!(worn.leads_on(&url("/paper/77.pdf")), "a paper is worth a page");
    assert!(worn.leads_on(&url("/unknown/1")), "who knows");
    for n in 0..300 {
        page(&mut traps, &format!("/cal?day={n}"), family(n + 20));
    }
    let worn = Worn::of(&traps, 20, 10).unwrap();
    assert!(!worn.leads_on(&url("/unknown/1")), "by now it is known");
}

#[test]
fn pages_with_a_word_of_their_own_are_many_before_they_wear_out_a_pattern() {
    let mut traps = UrlTraps::default();
    let thin = |traps: &UrlTraps| Worn::of(traps, 1, 10)?.objection(&url("/w/x")).map(|_| ());
    for n in 0..299 {
        page(&mut traps, &format!("/w/{n}"), Bearing::Thin);
        assert_eq!(thin(&traps), None, "after {n}");
    }
    let mut ended = traps.clone();
    page(&mut ended, "/w/x", Bearing::Own);
    page(&mut ended, "/w/y", Bearing::Thin);
    assert_eq!(thin(&ended), None, "one with words of its own begins the row anew");
    page(&mut traps, "/w/y", Bearing::Thin);
    assert_eq!(thin(&traps), Some(()));
}

#[test]
fn what_leads_nowhere_is_taken_however_alike_it_is() {
    let mut traps = UrlTraps::default();
    for n in 1..1_000 {
        page(&mut traps, &format!("/part/{n}"), family(n));
        note_page(&mut traps, &url(&format!("/sheet/{n}")), family(n));
    }
    let refused = |from: &str, to: &str| {
        Worn::of(&traps, 20, 10)
            .is_some_and(|worn| worn.on(&url(from)).objection(&url(to)).is_some())
    };
    assert!(!refused("/part/7", "/sheet/7777"), "a sheet has no children");
    assert!(refused("/part/7", "/part/7777") && refused("/sheet/7", "/part/7777"));
    assert!(refused("/sheet/7", "/sheet/7777"), "until it has");
}

#[test]
fn twelve_families_of_one_pattern_are_worn_out_as_well_as_one() {
    let mut traps = UrlTraps::default();
    let mut pages = 0;
    let months = (0..200u32).take_while(|month| {
        let bearing = if *month < 12 { Bearing::Thin } else { Bearing::Near(month / 12 + 1) };
        page(&mut traps, &format!("/m/{}/{}", month / 12, month % 12), bearing);
        for day in 0..28 {
            note_page(&mut traps, &url(&format!("/d/{month}/{day}/x")), Bearing::Thin);
        }
        pages += 29;
        let worn = Worn::of(&traps, month / 12 + 1, 10);
        worn.is_none_or(|worn| worn.on(&url("/m/1/1")).objection(&url("/m/9/9")).is_none())
    });
    let months = months.count();
    assert!((15..40).contains(&months), "{months} months with names, {pages} pages");
}

#[test]
fn near_duplicates_over_patterns_without_end_wear_out_the_site_but_not_what_has_other_pages() {
    let mut traps = UrlTraps::default();
    for n in 0..5 {
        page(&mut traps, &format!("/article/{n}"), Bearing::Own);
    }
    for n in 0..199u32 {
        page(&mut traps, &format!("/{}/x/1", "y".repeat(n as usize + 1)), family(n + 2));
        assert_eq!(refused(&traps, "/new/x/1"), None, "after {n}");
    }
    for n in 0..10u32 {
        page(&mut traps, &format!("/z/{}/1", "y".repeat(n as usize + 1)), family(n + 200));
    }
    assert_eq!(refused(&traps, "/new/x/1").as_deref(), Some("near-duplicates"));
    assert_eq!(refused(&traps, "/article/2"), None);
    let url = url("/new/x/1");
    let objection = Worn::of(&traps, 10, 10).unwrap().objection(&url).unwrap();
    let mut noted = traps.clone();
    assert!(note_refusal(&mut noted, &objection, &url, Fingerprint(1), Timestamp(1)));
    assert!(!note_refusal(&mut noted, &objection, &url, Fingerprint(1), Timestamp(1)));
    let stop = noted.worn.clone().unwrap();
    assert_eq!((stop.refused, stop.examples.len()), (2, 1), "an example is told once");
    assert_eq!(noted.lift(Some("near-duplicates")).len(), 1);
    assert_eq!(refused(&noted, "/new/x/1"), None);
}

#[test]
fn thin_pages_over_patterns_without_end_wear_out_the_site() {
    let mut traps = UrlTraps::default();
    let pages = (0..5_000usize).take_while(|n| {
        page(&mut traps, &format!("/{}/x", "y".repeat(n % 190 + 1)), Bearing::Thin);
        Worn::of(&traps, 1, 10).is_none_or(|worn| worn.objection(&url("/new/x/1")).is_none())
    });
    let pages = pages.count();
    assert!((280..400).contains(&pages), "{pages}");
}

#[test]
fn a_long_list_of_near_duplicates_of_one_pattern_leads_on_to_what_nobody_knows() {
    let mut traps = UrlTraps::default();
    for n in 1..150 {
        page(&mut traps, &format!("/part/{n}"), family(n));
    }
    assert_eq!(refused(&traps, "/details/1"), None);
    assert!(Worn::of(&traps, 10, 10).is_some_and(|worn| worn.leads_on(&url("/details/1"))));
}

#[test]
fn names_that_come_again_are_counted_by_themselves_and_numbers_are_no_names() {
    let mut traps = UrlTraps::default();
    for n in 1..30 {
        page(&mut traps, &format!("/set/{n}/cite"), family(n));
        page(&mut traps, &format!("/set/{n}/view"), Bearing::Own);
    }
    assert_eq!(refused(&traps, "/set/77/cite").as_deref(), Some("/set/*/cite"));
    assert_eq!(refused(&traps, "/set/77/view"), None);
    let mut traps = UrlTraps::default();
    for n in 1..20 {
        page(&mut traps, &format!("/cal/{}/{}", n / 5, n % 5), family(n));
    }
    assert_eq!(refused(&traps, "/cal/9/3").as_deref(), Some("/cal/*/*"));
}

#[test]
fn what_near_duplicates_led_to_is_held_back_until_one_of_its_pattern_is_of_its_own() {
    let mut traps = UrlTraps::default();
    for n in 1..300 {
        page(&mut traps, &format!("/cal?y=2026&m={n}"), family(n));
    }
    let next = url("/cal?m=777&y=1");
    let (poor, fair) = (via::of("/cal?m=*&y=*") | via::POOR, via::of("/cal?m=*&y=*"));
    let objection = holds_back(&next, poor, &traps, 10).unwrap();
    assert_eq!(holds_back(&next, fair, &traps, 10), None);
    assert_eq!(holds_back(&next, 0, &traps, 10), None);
    assert_eq!(holds_back(&url("/event/1"), poor, &traps, 10), None);
    note_refusal(&mut traps, &objection, &next, Fingerprint(1), Timestamp(0));
    notes::note_held_back(&mut traps, &objection.refusal().rule);
    let noted = note_page(&mut traps, &url("/cal?m=8&y=9"), Bearing::Own);
    assert_eq!(noted.cleared.len(), 1);
    assert!(noted.cleared[0].1.referrers.is_empty());
    assert_eq!(holds_back(&next, poor, &traps, 10), None);
}

#[test]
fn two_patterns_do_not_keep_each_other_alive() {
    let mut traps = UrlTraps::default();
    for n in 1..4 {
        page(&mut traps, &format!("/day/{n}"), Bearing::Own);
        page(&mut traps, &format!("/month/{n}"), Bearing::Own);
    }
    let is_day = |traps: &UrlTraps| is_fruitful(traps, &url("/day/999"), "/month/*", 10);
    let mut pages = 0;
    while is_day(&traps) && pages < 500 {
        pages += 1;
        page(&mut traps, &format!("/day/{}", pages + 10), Bearing::Near(pages + 10));
        note_lead(&mut traps, &url("/day/1"));
        note_lead(&mut traps, &url("/month/1"));
    }
    assert_eq!(pages, 30);
}
