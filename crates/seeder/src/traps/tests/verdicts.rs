//! Verdicts that are as narrow as what was seen, and are taken back when something else comes.

use model::Fingerprint;

use super::*;

fn id(k: u64) -> String {
    format!("{:016x}", hash(&k.to_string()))
}

#[test]
fn a_session_in_the_midst_of_a_segment_is_found_whatever_its_shape() {
    for form in [
        "/p{n};tok={id}",
        "/p{n},sid={id}",
        "/p{n}-{id}.html",
        "/p{n}&s={id}",
        "/p{n}?a=1&amp;s={id}",
        "/p{n}?a=1;s={id}",
        "/p{n}?{id}",
        "/p{n}/{id}.html",
    ] {
        let at = |n: u64, k: u64| form.replace("{n}", &n.to_string()).replace("{id}", &id(k));
        let mut site = Site::new();
        for k in 0..3 {
            for n in 0..4 {
                let text = format!("Page {n}: {}", prose(n));
                site.page_of(&at(n, k), &text, &format!("{text}{k}"), 1, 0);
            }
        }
        assert_eq!(site.hazards(), [Hazard::SessionIds], "{form}");
        let rewritten = token::rewrite(&url(&at(9, 77)), &site.traps.tokens);
        assert_eq!(rewritten.map(|(url, _)| url), Some(url(&at(9, 0))), "{form}");
        let named = url("/p9-a-page-with-a-name.html?a=1;s=2");
        assert_eq!(token::rewrite(&named, &site.traps.tokens), None, "{form}");
        let mut files = Site::new();
        for k in 0..60 {
            files.page(&at(k % 4, k), &prose(k), 0, 0);
        }
        assert_eq!(files.tripped, [], "{form}: here they are the names of things");
    }
}

#[test]
fn copies_that_a_session_explains_are_held_against_nobody() {
    let mut site = Site::new();
    let text = |n: u64| format!("Page {n}: {}", prose(n));
    let at = |n: u64, k: u64| format!("/p{n};tok={}", id(k));
    site.rules.duplicates = 2;
    for k in 0..3 {
        (0..6).for_each(|n| site.page_of(&at(n, k), &text(n), &format!("{n}{k}"), 1, 0));
    }
    assert!(site.hazards().contains(&Hazard::ManyDuplicates), "that came first");
    assert_eq!(site.tripped.last().unwrap().hazard, Hazard::SessionIds);
    assert_eq!(site.refuses(&at(9, 0)), None);
    assert_eq!(site.watch.take_cleared()[0].0, "/p*;tok=*");
}

/// What the watch wants to see again is asked for again.
fn shown(site: &mut Site, rest: &str, text: &str) {
    site.page(rest, text, 0, 0);
    if site.watch.wants_again() {
        site.page(rest, text, 0, 0);
    }
}

#[test]
fn an_identifier_that_matters_on_other_pages_is_none_of_theirs_once_two_were_compared() {
    let mut site = Site::new();
    for k in 0..12 {
        let text = format!("License {}: {}", k % 3, prose(k % 3));
        site.page(&format!("/license{}?file={}", k % 3, id(k)), &text, 0, 0);
    }
    assert_eq!(site.hazards(), [Hazard::SessionIds]);
    let view = |k: u64| url(&format!("/view?file={}", id(k)));
    let is_idle = |site: &Site| token::rewrite(&view(99), &site.traps.tokens).is_some();
    assert!(is_idle(&site), "nobody has compared any");
    let token = &mut site.traps.tokens[0];
    assert!(token::note_mended(token, &view(1), Some(Fingerprint(7)), true), "so it is tried");
    assert!(!token::note_mended(token, &view(2), Some(Fingerprint(8)), true), "once");
    for k in 0..2 {
        shown(&mut site, &format!("/view?file={}", id(k)), &prose(k + 1_000));
    }
    assert!(!is_idle(&site));
    let licence = url(&format!("/license1?file={}", id(99)));
    assert!(token::rewrite(&licence, &site.traps.tokens).is_some(), "there it makes none");
    let cleared = site.watch.take_cleared();
    assert_eq!(cleared[0].0, "?file=*");
    assert_eq!(cleared[0].1.referrers, [Fingerprint(7), Fingerprint(8)], "to be read again");
    assert!(site.watch.has_news());
}

#[test]
fn a_page_that_is_another_each_time_says_nothing_against_a_session() {
    let mut site = Site::new();
    for k in 0..4 {
        for n in 0..4 {
            let text = format!("Page {n}: {}", prose(n));
            site.page_of(&format!("/p{n}?visit={}", id(k)), &text, &format!("{text}{k}"), 1, 0);
        }
    }
    for k in 0..8 {
        site.page(&format!("/quote?visit={}", id(k)), &prose(k + 50), 1, 0);
        if site.watch.wants_again() {
            site.page(&format!("/quote?visit={}", id(k)), &prose(k + 500), 1, 0);
        }
    }
    let quote = url(&format!("/quote?visit={}", id(99)));
    assert!(token::rewrite(&quote, &site.traps.tokens).is_some());
    assert_eq!(site.watch.take_cleared(), []);
}

#[test]
fn a_language_that_came_later_is_found_by_the_first_page_in_it() {
    let mut site = Site::new();
    let text = |n: u64, german: bool| {
        let seed = if german && n >= 12 { n + 1_000 } else { n };
        format!("Article {n}: {}", prose(seed))
    };
    for n in 0..20 {
        site.page(&format!("/a/{n}"), &text(n, false), 1, 0);
    }
    let german = |n: u64| format!("/a/{n}?lang=de");
    for n in 0..6 {
        site.page(&german(n), &text(n, true), 0, 0);
    }
    let left_out = |site: &Site| token::rewrite(&url(&german(19)), &site.traps.tokens).is_some();
    assert!(left_out(&site));
    site.page(&german(8), &text(8, true), 0, 0);
    assert!(left_out(&site) && site.watch.take_cleared().is_empty());
    site.page(&german(13), &text(13, true), 0, 0);
    assert!(!left_out(&site));
    assert_eq!(site.watch.take_cleared()[0].0, "?lang=de");
}

#[test]
fn copies_stop_the_name_they_end_in_and_not_what_lies_beside_it() {
    let mut site = Site::new();
    for k in 0..12 {
        site.page(
            &format!("/f/{}/license", id(k)),
            "one license for all the files of the site",
            0,
            0,
        );
    }
    assert_eq!(site.hazards(), [Hazard::ManyDuplicates]);
    assert_eq!(site.tripped[0].what, "/f/*/license");
    assert!(site.refuses(&format!("/f/{}/license", id(99))).is_some());
    assert_eq!(site.refuses(&format!("/f/{}/view", id(99))), None);
    let mut git = Site::new();
    for k in 0..8 {
        for n in 0..12u64 {
            shown(&mut git, &format!("/blob/{}/same-{n}", id(k)), &prose(n));
        }
        shown(&mut git, &format!("/blob/{}/notes", id(k)), &prose(k + 1_000));
    }
    assert_eq!(git.hazards(), [Hazard::SessionIds], "the same under each of eight versions");
    let notes = url(&format!("/blob/{}/notes", id(99)));
    assert_eq!(token::rewrite(&notes, &git.traps.tokens), None, "these are not");
    let mut docs = Site::new();
    for k in 0..8 {
        for n in 0..25 {
            let seed = if n % 5 == 0 { 100 * k + n } else { n };
            docs.page(&format!("/v{k}/p{n}.html"), &prose(seed), 0, 0);
        }
    }
    assert_eq!(docs.tripped, [], "eight are not ten");
    let mut broken = Site::new();
    for k in 0..12 {
        broken.page(
            &format!("/shop/{k}/{}", ["a", "b", "c", "d", "e", "f"][k % 6]),
            "sorry, the shop is closed",
            0,
            0,
        );
    }
    assert_eq!(broken.tripped[0].what, "/shop/*/*", "one error for everything");
}

#[test]
fn a_pattern_that_was_stopped_goes_on_when_something_else_comes() {
    let mut site = Site::new();
    let item = |k: u64| format!("/item?id={}", id(k));
    for k in 0..11 {
        site.page(&item(k), "This item was sold. Thanks for your visit.", 0, 0);
    }
    assert!(site.refuses(&item(99)).is_some());
    for n in 0..600 {
        // What they were copies of is forgotten, but not what they had.
        site.page(&format!("/news/{n}"), &prose(n + 5_000), 0, 1);
    }
    site.watch = Watch::default();
    site.page(&item(20), "This item was sold. Thanks for your visit.", 0, 0);
    assert!(site.refuses(&item(99)).is_some());
    site.page(&item(21), &prose(21), 0, 0);
    assert_eq!(site.refuses(&item(99)), None);
    assert_eq!(site.watch.take_cleared()[0].0, "/item?id=*");
    for k in 22..34 {
        site.page(&item(k), "This item was sold. Thanks for your visit.", 0, 0);
    }
    assert_eq!(site.refuses(&item(99)), None, "it takes more the next time");
    for k in 34..50 {
        site.page(&item(k), "This item was sold. Thanks for your visit.", 0, 0);
    }
    assert!(site.refuses(&item(99)).is_some(), "but it comes to an end");
}

#[test]
fn on_a_site_of_copies_the_links_of_copies_are_left_and_those_of_others_taken() {
    let mut site = Site::new();
    for n in 0..60 {
        let (name, text) =
            (letters(n), format!("One of three pages that are everywhere: {}.", n % 3));
        site.page(&format!("/s{name}/{name}"), &text, 0, 1);
    }
    assert_eq!(site.refuses("/else"), Some(Hazard::ManyDuplicates));
    let led_by = Some(via::of("/news/*"));
    let refusal = objection_to(&url("/else"), led_by, &site.traps, &site.rules, false);
    assert_eq!(refusal, None, "a page of its own leads there");
    let looks = |text: &str| Looks { content: hash(text), ..Looks::default() };
    let copy = looks("One of three pages that are everywhere: 2.");
    assert!(
        site.watch.is_copy(&url("/x"), &copy) && !site.watch.is_copy(&url("/x"), &looks("own"))
    );
}

/// A number without digits.
fn letters(n: u64) -> String {
    n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[test]
fn samples_of_what_has_no_end_are_few() {
    let objection = TrapObjection::new(Hazard::ManyDuplicates, "/a/*");
    let taken = (1..=100_000).filter(|count| copies::is_sample(&objection, *count)).count();
    assert!((60..70).contains(&taken), "{taken}");
    let last_part = (140..=200).filter(|count| copies::is_sample(&objection, *count));
    assert_eq!(last_part.collect::<Vec<_>>(), [144, 169, 196], "even and odd, and near the end");
    let counter = TrapObjection { hazard: Hazard::Counter, ..objection };
    assert!((1..1_000).all(|count| !copies::is_sample(&counter, count)));
}

proptest! {
    #[test]
    fn a_part_is_found_again_and_written_as_it_was(rest in "[a-z0-9;=?&/.,-]{0,40}", a in 0u64..99, b in 0u64..99) {
        let of = |k: u64| CrawlUrl::parse(&format!("http://a.example/{rest}{}", id(k)));
        let (Ok(a), Ok(b)) = (of(a), of(b)) else { return Ok(()) };
        for (place, _) in place::readings(&a, &b) {
            let (one, two) = (place::rest_of(&a, &place), place::rest_of(&b, &place));
            let (Some((value, rest)), Some((_, other))) = (one, two) else {
                return Err(TestCaseError::fail("the part is not found"));
            };
            prop_assert_eq!(rest, other);
            if !matches!(place, TokenPlace::Pair(..)) {
                let Some(written) = place::with_value(&b, &place, value) else {
                    return Err(TestCaseError::fail("the part cannot be written"));
                };
                prop_assert_eq!(place::rest_of(&written, &place), Some((value, rest)));
            }
        }
    }
}

/// What a page of another kind leads to.
fn listed(site: &Site, rest: &str) -> Option<Hazard> {
    let list = Some(via::of("/list/*"));
    let found = objection_to(&url(rest), list, &site.traps, &site.rules, false);
    found.map(|objection| objection.hazard)
}

#[test]
fn a_counter_is_made_of_pages_that_its_like_led_to_and_lists_are_taken_to_their_end() {
    let entry = |n: u64| (format!("/entry?n={n}"), format!("This is entry {n}, which is empty."));
    let mut site = Site { via: Some(via::of("/list/*")), ..Site::new() };
    for n in 0..300 {
        let (rest, text) = entry(n);
        site.page(&rest, &text, 1, 0);
    }
    assert_eq!(site.tripped, [], "all of them are listed");
    site.via = None;
    for n in 300..360 {
        let (rest, text) = entry(n);
        site.page(&rest, &text, 1, 0);
    }
    assert_eq!(site.hazards(), [Hazard::Counter]);
    assert_eq!(site.refuses("/entry?n=999"), Some(Hazard::Counter));
    assert_eq!(listed(&site, "/entry?n=999"), None);
    let by_seed = objection_to(&url("/entry?n=999"), Some(0), &site.traps, &site.rules, true);
    assert_eq!(by_seed, None);
    site.via = Some(via::of("/list/*"));
    for n in 360..900 {
        let (rest, text) = entry(n);
        site.page(&rest, &text, 1, 0);
    }
    assert_eq!(
        listed(&site, "/entry?n=999"),
        Some(Hazard::Counter),
        "lists may have no end either"
    );
}

#[test]
fn a_counter_that_says_something_after_all_goes_on_and_is_believed_less() {
    let mut site = Site::new();
    let count = |site: &mut Site, from: u64, to: u64| {
        for n in from..to {
            site.page(
                &format!("/q?id={n}"),
                &format!("Number {n}, and nothing else to say."),
                1,
                0,
            );
        }
    };
    count(&mut site, 0, 60);
    assert_eq!(site.hazards(), [Hazard::Counter]);
    site.via = Some(via::of("/list/*"));
    site.page("/q?id=500", &prose(7), 1, 0);
    assert_eq!(site.watch.take_cleared().len(), 1);
    assert_eq!(site.refuses("/q?id=77"), None);
    site.via = None;
    count(&mut site, 1_000, 1_090);
    assert_eq!(site.refuses("/q?id=77"), None);
    count(&mut site, 1_090, 1_120);
    assert_eq!(site.refuses("/q?id=77"), Some(Hazard::Counter));
}

#[test]
fn copies_that_are_listed_are_sampled_more_often_and_all_taken_once_one_was_none() {
    let mut site = Site { via: Some(via::of("/list/*")), ..Site::new() };
    for n in 0..12 {
        site.page(&format!("/de/{n}"), "Diese Seite ist noch nicht zu haben.", 0, 0);
    }
    assert_eq!(site.hazards(), [Hazard::ManyDuplicates]);
    let list = Some(via::of("/list/*"));
    let found = objection_to(&url("/de/99"), list, &site.traps, &site.rules, true).unwrap();
    let samples = (1..=100).filter(|n| copies::is_sample(&found, *n)).count();
    assert_eq!(samples, 18);
    let own = objection(&url("/de/99"), &site.traps, &site.rules, true).unwrap();
    assert!((1..=100).filter(|n| copies::is_sample(&own, *n)).count() < 12);
    site.page("/de/50", &prose(3), 0, 0);
    for n in 60..100 {
        site.page(&format!("/de/{n}"), "Diese Seite ist noch nicht zu haben.", 0, 0);
        site.page(&format!("/en/{n}"), &prose(n + 1_000), 0, 0);
    }
    assert_eq!(site.refuses("/de/200"), Some(Hazard::ManyDuplicates));
    assert_eq!(listed(&site, "/de/200"), None);
}

#[test]
fn copies_under_more_names_than_are_told_apart_stop_the_pattern() {
    let mut site = Site::new();
    for round in 0..4u64 {
        for name in 0..40u64 {
            let rest = format!("/{}/art/{name}", 1_763_300_000_123_456 + round * 40 + name);
            site.page(&rest, &prose(name + 100), 3, 0);
        }
    }
    assert_eq!(site.refuses("/1763300099123456/art/7"), Some(Hazard::ManyDuplicates));
}

#[test]
fn a_list_of_what_is_not_wanted_leads_to_something_and_a_menu_does_not() {
    let mut watch = Watch::default();
    let list = |from: u64| (from..from + 5).map(Fingerprint).collect::<Vec<_>>();
    let (none, some) = (Found::default(), Found { inside: 0, outside: 1 });
    assert!(watch.lists_barred(&list(1)));
    assert!(!watch.lists_barred(&list(1)), "they are known");
    assert!(!watch.lists_barred(&list(4)[..4]), "two are new, the rest is a menu");
    assert_eq!(watch.with_barred(none, false), none);
    for n in 1..=200 {
        let lists = watch.lists_barred(&list(n * 10));
        assert!(lists, "{n}");
        assert_eq!(watch.with_barred(none, lists), some);
    }
    assert!(!watch.lists_barred(&list(9_000)), "there is an end to it");
    watch.with_barred(some, false);
    assert!(watch.lists_barred(&list(9_500)), "until something else comes");
}
