//! Leases and fences: who has a site, until when, and what becomes of it afterwards.

use super::*;

pub fn a_lease_keeps_others_out_until_it_ends(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    assert_eq!(lease.until, Timestamp(600_000));
    assert!(frontier.check_out(&ask(599_999)).unwrap().is_empty());
    assert_eq!(frontier.release_expired(Timestamp(599_999)).unwrap(), 0);
    assert_eq!(frontier.release_expired(Timestamp(600_000)).unwrap(), 1);
    let again = lease_one(frontier, 600_001);
    assert_eq!(again.fence, lease.fence + 1);
    assert!(again.site.clock.interrupted, "nobody said how the last visit ended");
    assert_eq!(urls(&again.pages), urls(&lease.pages));
}

pub fn an_old_fence_is_refused_and_nothing_of_its_settlement_happens(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/", "http://b.example/"], 0);
    let old = frontier.check_out(&ask(0)).unwrap();
    let new = frontier.check_out(&ask(HOUR)).unwrap();
    let before = frontier.counts().unwrap();
    let deltas = [&new[0], old.iter().find(|l| l.site.id != new[0].site.id).unwrap()];
    let deltas = deltas.map(|lease| {
        let mut delta = delta(lease, Release::Rest);
        delta.updates =
            vec![visited(lease.pages[0].url.fingerprint(), 5, Change::First, Some(HOUR))];
        delta
    });
    let mut late = settlement(HOUR, deltas.to_vec());
    late.candidates = vec![candidate("http://c.example/", 0)];
    let error = frontier.check_in(&late).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert_eq!(frontier.counts().unwrap(), before);
    assert_eq!(admit(frontier, &["http://c.example/"], HOUR), 1, "it was not there");
}

pub fn a_late_check_in_is_taken_when_nobody_took_the_site(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    frontier.release_expired(Timestamp(HOUR)).unwrap();
    let mut late = delta(&lease, Release::Renew(Timestamp(3 * HOUR)));
    late.updates = vec![visited(lease.pages[0].url.fingerprint(), 5, Change::First, None)];
    settle(frontier, 2 * HOUR, late);
    assert_eq!(frontier.counts().unwrap().pages_fetched, 1);
    assert!(frontier.check_out(&ask(2 * HOUR)).unwrap().is_empty(), "it is in hand again");
}

pub fn a_partial_check_in_renews_the_lease(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/", "http://a.example/2"], 0);
    let lease = lease_one(frontier, 0);
    let mut part = delta(&lease, Release::Renew(Timestamp(HOUR)));
    part.updates = vec![visited(lease.pages[0].url.fingerprint(), 5, Change::First, None)];
    settle(frontier, 10, part);
    assert!(frontier.check_out(&ask(HOUR - 1)).unwrap().is_empty());
    let again = lease_one(frontier, HOUR);
    assert_eq!(urls(&again.pages), urls(&lease.pages[1..]));
}

pub fn a_site_is_due_when_its_earliest_page_is_but_not_before_its_moment(
    frontier: &mut impl Frontier,
) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut first = delta(&lease, Release::NotBefore(Timestamp(20)));
    first.admitted =
        vec![new_page("http://a.example/1", 1, 10), new_page("http://a.example/2", 5, 7)];
    first.updates = vec![visited(lease.pages[0].url.fingerprint(), 1, Change::First, Some(HOUR))];
    settle(frontier, 1, first);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(20)));
    assert!(frontier.check_out(&ask(19)).unwrap().is_empty());
    let lease = lease_one(frontier, 20);
    let mut second = delta(&lease, Release::NotBefore(Timestamp(0)));
    second.updates = lease
        .pages
        .iter()
        .map(|page| verdict(page.url.fingerprint(), PageState::Excluded, None))
        .collect();
    settle(frontier, 21, second);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(HOUR)), "only the revisit is left");
}

pub fn new_candidates_do_not_break_a_not_before(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut back = delta(&lease, Release::NotBefore(Timestamp(HOUR)));
    back.updates = vec![verdict(lease.pages[0].url.fingerprint(), PageState::Excluded, None)];
    settle(frontier, 1, back);
    assert_eq!(frontier.next_due().unwrap(), None, "no page has a due");
    admit(frontier, &["http://a.example/new"], 2);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(HOUR)));
}

pub fn a_resting_site_sleeps_until_something_is_admitted(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/", "http://a.example/2"], 0);
    let lease = lease_one(frontier, 0);
    settle(frontier, 1, delta(&lease, Release::Rest));
    assert_eq!(frontier.next_due().unwrap(), None);
    assert!(frontier.check_out(&ask(HOUR)).unwrap().is_empty());
    admit(frontier, &["http://a.example/2"], HOUR);
    assert_eq!(frontier.next_due().unwrap(), None, "that page was known");
    admit(frontier, &["http://a.example/3"], HOUR);
    assert_eq!(lease_one(frontier, HOUR).pages.len(), 3);
}

pub fn a_candidate_that_comes_while_its_site_is_in_hand_survives_a_rest(
    frontier: &mut impl Frontier,
) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    admit(frontier, &["http://a.example/meanwhile"], 1);
    let mut rest = delta(&lease, Release::Rest);
    rest.updates = vec![verdict(lease.pages[0].url.fingerprint(), PageState::Excluded, None)];
    settle(frontier, 2, rest);
    assert_eq!(urls(&lease_one(frontier, 3).pages), ["http://a.example/meanwhile"]);
}

pub fn a_failed_settlement_leaves_everything_as_it_was(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let before = frontier.counts().unwrap();
    let fp = lease.pages[0].url.fingerprint();
    let mut wrong = delta(&lease, Release::NotBefore(Timestamp(0)));
    wrong.admitted = vec![new_page("http://a.example/x", 1, 0)];
    wrong.updates = vec![
        visited(fp, 1, Change::First, Some(5)),
        verdict(Fingerprint(1), PageState::Fetched, None),
    ];
    let mut whole = settlement(1, vec![wrong.clone()]);
    whole.candidates = vec![candidate("http://new.example/", 0)];
    frontier.check_in(&whole).unwrap_err();
    assert_eq!(frontier.counts().unwrap(), before);
    wrong.updates.pop();
    whole.deltas = vec![wrong];
    frontier.check_in(&whole).unwrap();
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.sites_known, counts.candidates, counts.pages_known), (2, 1, 2));
    assert_eq!((counts.visits, counts.pages_fetched, counts.pages_waiting), (1, 1, 1));
}
