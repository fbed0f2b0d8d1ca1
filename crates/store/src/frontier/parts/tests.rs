//! Parts of pages beside pages, and what becomes of one that is linked to.

use model::{
    Candidate, Change, CheckOut, Frontier, NewPage, PageState, PageTerms, Release, Timestamp,
};

use super::super::{
    SqlFrontier,
    suite::{HOUR, ask, candidate, delta, lease_one, new_page, settlement, visited},
};

const PART: PageTerms = PageTerms {
    requisite: true,
    notice: None,
    outside: 0,
    depth: None,
    period: None,
    kinship: model::Kinship::Unsaid,
    via: 0,
};

fn part(url: &str, level: u16) -> Candidate {
    Candidate { terms: PART, ..candidate(url, level) }
}

fn parts_only(now: i64) -> CheckOut {
    CheckOut { requisites_only: true, ..ask(now) }
}

fn open() -> SqlFrontier {
    SqlFrontier::open_in_memory().unwrap()
}

/// A site of a page and a part, both fetched at 0 and due again in an hour.
fn fetched() -> SqlFrontier {
    let mut frontier = open();
    frontier.admit(&[candidate("http://a.example/", 0)], Timestamp(0)).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let row = NewPage { terms: PART, ..new_page("http://a.example/x", 0, 0) };
    let mut first = delta(&lease, Release::Renew(Timestamp(HOUR)));
    first.updates = vec![visited(lease.pages[0].url.fingerprint(), 0, Change::First, Some(HOUR))];
    first.admitted = vec![row.clone()];
    let mut second = delta(&lease, Release::NotBefore(Timestamp(0)));
    second.updates = vec![visited(row.url.fingerprint(), 0, Change::First, Some(HOUR))];
    frontier.check_in(&settlement(0, vec![first])).unwrap();
    frontier.check_in(&settlement(0, vec![second])).unwrap();
    frontier
}

#[test]
fn parts_are_no_fetched_pages_and_no_limit_on_pages_holds_them_back() {
    let mut frontier = fetched();
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.pages_fetched, counts.requisites), (1, 1));
    let lease = frontier.check_out(&ask(HOUR)).unwrap().remove(0);
    let mut full = delta(&lease, Release::NotBefore(Timestamp(0)));
    let more = NewPage { terms: PART, ..new_page("http://a.example/y", 0, HOUR) };
    full.admitted = vec![more, new_page("http://a.example/page", 0, HOUR)];
    full.full = vec![lease.pages[0].spider];
    frontier.check_in(&settlement(HOUR, vec![full])).unwrap();
    let leases = frontier.check_out(&ask(HOUR)).unwrap();
    let mut paths: Vec<&str> = leases[0].pages.iter().map(|page| page.url.path()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/", "/x", "/y"]);
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn only_what_is_due_of_parts_is_lent_when_asked_so() {
    let mut frontier = fetched();
    assert!(frontier.check_out(&parts_only(1)).unwrap().is_empty());
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(HOUR)));
    let found = [part("http://b.example/y", 3), candidate("http://b.example/page", 0)];
    frontier.admit(&found, Timestamp(2)).unwrap();
    frontier.admit(&[candidate("http://c.example/", 0)], Timestamp(2)).unwrap();
    let leases = frontier.check_out(&parts_only(2)).unwrap();
    assert_eq!(leases.len(), 1);
    let [page] = &leases[0].pages[..] else { panic!("{leases:?}") };
    assert_eq!((page.url.as_str(), page.terms, page.level), ("http://b.example/y", PART, 3));
    assert!(frontier.check_out(&parts_only(2)).unwrap().is_empty(), "in hand");
    // The others are where they were.
    assert_eq!(frontier.check_out(&ask(2)).unwrap()[0].site.key.as_str(), "c.example");
}

#[test]
fn a_part_that_is_linked_to_becomes_a_page_to_be_fetched_as_one() {
    let mut frontier = fetched();
    frontier.admit(&[candidate("http://a.example/new", 0)], Timestamp(HOUR)).unwrap();
    let lease = lease_one(&mut frontier, HOUR);
    let x = lease.pages.iter().find(|page| page.terms.requisite).unwrap().url.fingerprint();
    assert!(!lease.known.as_ref().unwrap().contains(&x), "the holder must ask the store");
    let mut linked = delta(&lease, Release::NotBefore(Timestamp(0)));
    linked.admitted = vec![new_page("http://a.example/x", 1, HOUR)];
    frontier.check_in(&settlement(HOUR, vec![linked])).unwrap();
    let lease = lease_one(&mut frontier, HOUR);
    let page = lease.pages.iter().find(|page| page.url.fingerprint() == x).unwrap();
    assert_eq!((page.state, page.level, page.terms), (PageState::Known, 1, PageTerms::default()));
    assert!(lease.known.unwrap().contains(&x));
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_part_of_a_site_not_in_hand_becomes_a_candidate_and_a_page_never_a_part() {
    let mut frontier = fetched();
    let again = [part("http://a.example/x", 0), part("http://a.example/", 0)];
    assert_eq!(frontier.admit(&again, Timestamp(1)).unwrap(), 0);
    assert!(frontier.check_out(&ask(1)).unwrap().is_empty(), "nothing new");
    frontier.admit(&[candidate("http://a.example/x", 5)], Timestamp(2)).unwrap();
    let lease = lease_one(&mut frontier, 2);
    let [page] = &lease.pages[..] else { panic!("{lease:?}") };
    assert_eq!((page.url.path(), page.state, page.level), ("/x", PageState::Candidate, 5));
    assert!(!page.terms.requisite);
    assert_eq!(frontier.verify(true).unwrap(), []);
}
