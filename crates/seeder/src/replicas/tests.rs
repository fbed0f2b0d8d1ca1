//! Replicas by hand: each heuristic, the pass over many sites, the choice, and the list in force.

use model::CrawlUrl;

use super::*;

fn documents(list: &[(&str, u64)]) -> Vec<Document> {
    let one = |(path, hash): &(&str, u64)| {
        let hash = (*hash != 0).then_some(*hash);
        Document { path: (*path).to_owned(), hash }
    };
    list.iter().map(one).collect()
}

fn by(one: &[(&str, u64)], other: &[(&str, u64)]) -> Vec<&'static str> {
    let seen = Comparison::of(&documents(one), &documents(other)).seen;
    let holds = Heuristic::ALL.iter().filter(|heuristic| heuristic.holds(&seen));
    holds.map(|heuristic| heuristic.word()).collect()
}

#[test]
fn each_heuristic_holds_where_the_paper_says_so() {
    let site = [("/", 1), ("/a", 2), ("/b", 3), ("/c", 4), ("/d", 5)];
    assert_eq!(by(&site, &site), ["same-home", "same-home-1doc", "dups-60", "dups-80", "dups-100"]);
    assert_eq!(
        by(&[("/", 1)], &[("/", 1)]),
        ["same-home"],
        "one page is too little for the others"
    );
    let other_inside = [("/", 1), ("/a", 12), ("/b", 13), ("/c", 14), ("/d", 15)];
    assert_eq!(by(&site, &other_inside), ["same-home"]);
    let changing_home = [("/", 11), ("/a", 2), ("/b", 3), ("/c", 4), ("/d", 5)];
    assert_eq!(by(&site, &changing_home), ["dups-60", "dups-80"]);
    let more = [("/", 1), ("/a", 2), ("/b", 3), ("/e", 6), ("/f", 7)];
    assert_eq!(by(&site, &more), ["same-home", "same-home-1doc", "dups-60"]);
    assert_eq!(by(&site, &[("/", 9), ("/x", 8)]), [""; 0]);
}

#[test]
fn a_page_under_many_urls_is_one_content() {
    let default = [("/", 1), ("/a", 1), ("/b", 1)];
    assert_eq!(by(&default, &default), ["same-home"]);
}

#[test]
fn what_has_no_home_page_has_no_equal_one() {
    assert_eq!(by(&[("/a", 2)], &[("/a", 2)]), [""; 0]);
    assert_eq!(by(&[("/", 0), ("/a", 2)], &[("/", 0), ("/a", 2)]), [""; 0]);
}

#[test]
fn only_sites_whose_paths_agree_may_be_folded() {
    let may = |one: &[(&str, u64)], other: &[(&str, u64)]| {
        Comparison::of(&documents(one), &documents(other)).may_fold()
    };
    let site = [("/", 1), ("/a", 2), ("/b", 3)];
    assert!(may(&site, &site));
    assert!(may(&site, &[("/", 1), ("/a", 2)]), "what one was not asked for says nothing");
    assert!(!may(&site, &[("/", 1)]), "a home page alone is nothing");
    assert!(!may(&site, &[("/", 1), ("/x", 2), ("/y", 3)]), "the same contents elsewhere");
    assert!(!may(&site, &[("/", 1), ("/a", 2), ("/b", 4)]), "one of three differs");
    assert!(!may(&site, &[("/", 1), ("/a", 2), ("/b", 0)]), "one of three is not there");
    let comparison = Comparison::of(&documents(&site), &documents(&[("/", 1), ("/a", 5)]));
    assert_eq!((comparison.compared, comparison.same, comparison.share()), (2, 1, 50));
}

#[test]
fn one_pass_in_the_order_of_hashes_finds_all_that_is_shared() {
    let mut matching = Matching::default();
    // Sites 1 and 2 are equal, 3 shares an inner page of theirs as its home.
    for (hash, site, home) in [
        (5, 1, true),
        (5, 2, true),
        (7, 1, false),
        (7, 1, false),
        (7, 2, false),
        (7, 3, true),
        (9, 3, false),
    ] {
        matching.take(hash, site, home);
    }
    let (pairs, cut) = matching.finish();
    let shared = |home, equal, contents| Evidence { home, equal, contents };
    let found: Vec<_> = pairs.iter().map(|pair| (pair.sites, pair.seen)).collect();
    assert_eq!(
        found,
        [
            ((1, 2), shared(true, 2, (2, 2))),
            ((1, 3), shared(false, 1, (2, 2))),
            ((2, 3), shared(false, 1, (2, 2))),
        ]
    );
    assert!(!cut);
}

#[test]
fn of_a_thousand_equal_sites_none_is_missed_and_the_pairs_stay_few() {
    let mut matching = Matching::default();
    for hash in 1..=5 {
        (0..1_000).for_each(|site| matching.take(hash, site, hash == 1));
    }
    let (pairs, _) = matching.finish();
    assert_eq!(pairs.len(), 999);
    assert!(pairs.iter().all(|pair| Heuristic::Dups100.holds(&pair.seen) && pair.seen.home));
}

#[test]
fn a_content_that_sites_have_very_often_costs_one_step_for_each() {
    let mut matching = Matching::default();
    // Looking through the sites for each page would be 2 × 10¹⁰ steps.
    (0..200_000).for_each(|site| (0..2).for_each(|page| matching.take(1, site, page == 1)));
    let (pairs, _) = matching.finish();
    assert_eq!(pairs.len(), 199_999);
    assert!(pairs.iter().all(|pair| pair.seen.equal == 1 && pair.seen.home));
}

#[test]
fn equal_homes_are_seen_among_many_pages_that_are_none() {
    let mut matching = Matching::default();
    (0..100).for_each(|site| matching.take(1, site, site >= 98));
    let (pairs, _) = matching.finish();
    let homes: Vec<_> = pairs.iter().filter(|pair| pair.seen.home).map(|pair| pair.sites).collect();
    assert_eq!(homes, [(98, 99)]);
}

#[test]
fn the_original_is_the_one_that_people_mean() {
    let site = |key: &str, seeded, known| Standing { site: 1, key: key.to_owned(), seeded, known };
    let chosen = |sites: &[Standing]| choose_original(sites).map(|site| site.key.clone());
    let (www, bare) = (site("www.h.test", false, 5), site("h.test", false, 5));
    assert_eq!(chosen(&[www.clone(), bare.clone()]).unwrap(), "h.test");
    assert_eq!(chosen(&[site("www.h.test", false, 6), bare.clone()]).unwrap(), "www.h.test");
    assert_eq!(chosen(&[site("www.h.test", true, 1), bare]).unwrap(), "www.h.test");
    assert_eq!(chosen(&[]), None);
}

#[test]
fn a_url_is_folded_by_its_path_to_the_scheme_and_port_of_the_original() {
    let folds = Folds::default();
    let url = |text: &str| CrawlUrl::parse(text).unwrap();
    assert_eq!(folds.fold(&url("http://r.test/a")), None);
    folds.add("r.test", "https://o.test:8443");
    folds.add("www.o.test:8080", "http://o.test");
    let folded = |text: &str| folds.fold(&url(text)).map(|url| url.as_str().to_owned());
    assert_eq!(folded("http://r.test/a?b=c").unwrap(), "https://o.test:8443/a?b=c");
    assert_eq!(folded("http://www.o.test:8080/").unwrap(), "http://o.test/");
    assert_eq!(folded("http://www.o.test/"), None, "another port is another site");
    folds.remove("r.test");
    assert_eq!(folded("http://r.test/a"), None);
}
