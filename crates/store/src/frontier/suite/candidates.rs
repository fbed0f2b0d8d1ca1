//! Candidates: how URLs come in, and how they become pages.

use model::{SignalSource, limits};

use super::*;

pub fn candidates_are_inserted_once_and_handed_out_for_judgement(frontier: &mut impl Frontier) {
    assert_eq!(admit(frontier, &["http://a.example/", "http://b.example/x"], 5), 2);
    assert_eq!(admit(frontier, &["http://a.example/", "http://a.example/y"], 6), 1);
    assert_eq!(admit(frontier, &["http://a.example/y"], 7), 0);
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.sites_known, counts.candidates, counts.pages_known), (2, 3, 0));
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(5)));
    let leases = frontier.check_out(&ask(10)).unwrap();
    assert_eq!(leases.len(), 2);
    let pages: Vec<&Page> = leases.iter().flat_map(|lease| &lease.pages).collect();
    assert_eq!(pages.len(), 3);
    assert!(pages.iter().all(|page| page.state == PageState::Candidate && page.last.is_none()));
    assert_eq!(frontier.next_due().unwrap(), None, "all sites are in hand");
}

pub fn an_accepted_candidate_becomes_known_and_a_refused_one_excluded(
    frontier: &mut impl Frontier,
) {
    admit(frontier, &["http://a.example/", "http://a.example/no"], 0);
    let lease = lease_one(frontier, 0);
    let no = url("http://a.example/no").fingerprint();
    let mut judged = delta(&lease, Release::NotBefore(Timestamp(0)));
    judged.admitted = vec![new_page("http://a.example/", 0, 3)];
    judged.updates = vec![verdict(no, PageState::Excluded, None)];
    settle(frontier, 1, judged);
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.candidates, counts.pages_known, counts.pages_excluded), (0, 1, 1));
    let lease = lease_one(frontier, 3);
    assert_eq!(urls(&lease.pages), ["http://a.example/"]);
    assert_eq!(lease.pages[0].state, PageState::Known);
    assert_eq!((lease.pages[0].due, lease.site.counters.known), (Timestamp(3), 1));
    let mut again = delta(&lease, Release::Rest);
    again.admitted = vec![new_page("http://a.example/no", 0, 4)];
    settle(frontier, 4, again);
    assert_eq!(frontier.counts().unwrap().pages_excluded, 1, "a link does not undo a verdict");
}

pub fn a_shorter_way_lowers_the_level_of_a_page_not_yet_fetched(frontier: &mut impl Frontier) {
    let page = "http://a.example/page";
    frontier.admit(&[candidate(page, 5)], Timestamp(0)).unwrap();
    frontier.admit(&[candidate(page, 7)], Timestamp(0)).unwrap();
    frontier.admit(&[candidate(page, 3)], Timestamp(0)).unwrap();
    frontier.admit(&[candidate(page, 4)], Timestamp(0)).unwrap();
    let lease = lease_one(frontier, 0);
    assert_eq!(lease.pages[0].level, 3);
    let mut known = delta(&lease, Release::NotBefore(Timestamp(0)));
    known.admitted = vec![new_page(page, 2, 0)];
    settle(frontier, 1, known);
    let lease = lease_one(frontier, 1);
    assert_eq!(lease.pages[0].level, 2);
    let mut fetched = delta(&lease, Release::NotBefore(Timestamp(0)));
    fetched.updates = vec![visited(url(page).fingerprint(), 1, Change::First, Some(2))];
    settle(frontier, 1, fetched);
    frontier.admit(&[candidate(page, 1)], Timestamp(1)).unwrap();
    assert_eq!(lease_one(frontier, 2).pages[0].level, 2, "fetched at level 2, and so it stays");
}

pub fn a_seed_that_was_excluded_is_judged_again(frontier: &mut impl Frontier) {
    let page = "http://a.example/";
    admit(frontier, &[page], 0);
    let lease = lease_one(frontier, 0);
    assert!(!lease.site.seeded);
    let mut refused = delta(&lease, Release::NotBefore(Timestamp(0)));
    refused.updates = vec![verdict(url(page).fingerprint(), PageState::Excluded, None)];
    settle(frontier, 1, refused);
    let seed = Candidate { seed: true, ..candidate(page, 0) };
    assert_eq!(frontier.admit(&[seed], Timestamp(2)).unwrap(), 0);
    let lease = lease_one(frontier, 2);
    assert!(lease.site.seeded && lease.pages[0].seed);
    assert_eq!(lease.pages[0].state, PageState::Candidate);
}

pub fn an_accepted_candidate_is_in_on_the_terms_of_its_judgement(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut judged = delta(&lease, Release::NotBefore(Timestamp(0)));
    let period = Some(Duration::from_secs(60));
    let terms = PageTerms { outside: 2, depth: Some(3), period, via: 7, ..PageTerms::default() };
    let found = PageTerms { via: u32::MAX, ..PageTerms::default() };
    judged.admitted = vec![
        NewPage { terms, ..new_page("http://a.example/", 0, 0) },
        NewPage { terms: found, ..new_page("http://a.example/x", 1, 0) },
    ];
    settle(frontier, 0, judged);
    let pages = lease_one(frontier, 1).pages;
    assert_eq!((pages[0].terms, pages[1].terms), (terms, found));
}

pub fn a_site_has_only_so_many_notices(frontier: &mut impl Frontier) {
    let max = limits::NOTICES_PER_SITE_MAX;
    let terms =
        PageTerms { requisite: true, notice: Some(SignalSource::Sitemap), ..PageTerms::default() };
    let text = |n: u64| format!("http://a.example/map{n}.xml");
    let notice = |n: u64| Candidate { terms, ..candidate(&text(n), 0) };
    let found: Vec<Candidate> = (0..max - 1).map(notice).collect();
    assert_eq!(frontier.admit(&found, Timestamp(0)).unwrap(), max - 1);
    let lease = lease_one(frontier, 1);
    let mut index = delta(&lease, Release::NotBefore(Timestamp(0)));
    let named = |n: u64| NewPage { terms, ..new_page(&text(n), 0, 1) };
    // One that is known, the last that may come, and two more.
    index.admitted = [0, max, max + 1, max + 2].map(named).to_vec();
    settle(frontier, 1, index);
    assert_eq!(frontier.counts().unwrap().refused, 2);
    frontier.admit(&[notice(max + 3), notice(1)], Timestamp(2)).unwrap();
    assert_eq!(frontier.counts().unwrap().refused, 3);
    let page = candidate("http://a.example/page", 0);
    assert_eq!(frontier.admit(&[page], Timestamp(3)).unwrap(), 1, "pages may come");
}

pub fn a_notice_stays_one_when_it_is_linked_to_and_a_page_can_become_one(
    frontier: &mut impl Frontier,
) {
    let notice = |text| {
        let notice = Some(SignalSource::Feed);
        let terms = PageTerms { requisite: true, notice, ..PageTerms::default() };
        Candidate { terms, ..candidate(text, 0) }
    };
    let (feed, page) = ("http://a.example/feed", "http://a.example/page");
    frontier.admit(&[notice(feed), candidate(page, 0)], Timestamp(0)).unwrap();
    assert_eq!(frontier.counts().unwrap().candidates, 1);
    frontier.admit(&[candidate(feed, 1), notice(page)], Timestamp(1)).unwrap();
    assert_eq!(frontier.counts().unwrap().candidates, 2, "both are linked to: pages");
    let lease = lease_one(frontier, 1);
    let terms: Vec<_> =
        lease.pages.iter().map(|page| (page.terms.requisite, page.terms.notice)).collect();
    assert_eq!(terms, [(false, Some(SignalSource::Feed)); 2]);
}
