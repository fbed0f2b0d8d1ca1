//! What a lease brings, and in which order.

use super::*;

pub fn pages_come_breadth_first(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut first = delta(&lease, Release::NotBefore(Timestamp(0)));
    first.updates = vec![visited(lease.pages[0].url.fingerprint(), 1, Change::First, Some(9))];
    first.admitted = vec![
        new_page("http://a.example/deep", 3, 1),
        new_page("http://a.example/late", 1, 8),
        new_page("http://a.example/early", 1, 2),
        new_page("http://a.example/never-now", 0, 50),
    ];
    settle(frontier, 1, first);
    let mut request = ask(10);
    request.pages_max = 3;
    let leases = frontier.check_out(&request).unwrap();
    let wanted = ["http://a.example/", "http://a.example/early", "http://a.example/late"];
    assert_eq!(urls(&leases[0].pages), wanted);
    assert!(leases[0].more);
}

pub fn seeded_sites_come_first_when_asked_for(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/", "http://b.example/"], 0);
    let seed = Candidate { seed: true, ..candidate("http://c.example/", 0) };
    frontier.admit(&[seed], Timestamp(5)).unwrap();
    let one = |now, seeded_first| CheckOut { sites_max: 1, seeded_first, ..ask(now) };
    let mut key = |now, seeded_first| -> String {
        let leases = frontier.check_out(&one(now, seeded_first)).unwrap();
        leases[0].site.key.to_string()
    };
    assert_eq!(key(4, true), "a.example", "nothing of a seeded site is due");
    assert_eq!(key(5, true), "c.example");
    assert_eq!(key(5, true), "b.example");
}

pub fn refill_brings_what_is_not_in_hand(frontier: &mut impl Frontier) {
    let texts: Vec<String> = (0..10).map(|n| format!("http://a.example/{n}")).collect();
    let candidates: Vec<Candidate> =
        (0..).zip(&texts).map(|(n, text)| candidate(text, n)).collect();
    frontier.admit(&candidates, Timestamp(0)).unwrap();
    let mut request = ask(0);
    request.pages_max = 4;
    let lease = frontier.check_out(&request).unwrap().remove(0);
    assert_eq!(urls(&lease.pages), texts[..4]);
    let mut refill = Refill {
        site: lease.site.id,
        fence: lease.fence,
        now: Timestamp(0),
        pages_max: 3,
        again: Some(Timestamp(0)),
        paused: Vec::new(),
        except: lease.pages.iter().map(|page| page.url.fingerprint()).collect(),
        only: Vec::new(),
    };
    assert_eq!(urls(&frontier.refill(&refill).unwrap()), texts[4..7]);
    refill.fence -= 1;
    assert!(matches!(frontier.refill(&refill), Err(StoreError::Fenced { .. })));
}

pub fn named_sites_and_pages_come_due_or_not(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/", "http://b.example/"], 0);
    let mut request = ask(0);
    request.only = Some(vec![url("http://b.example/").site(), url("http://no.example/").site()]);
    let leases = frontier.check_out(&request).unwrap();
    assert_eq!(leases.len(), 1);
    assert_eq!((leases[0].site.key.as_str(), leases[0].pages.len()), ("b.example", 0));
    assert!(leases[0].more);
    assert!(frontier.check_out(&request).unwrap().is_empty(), "it is in hand");
    let mut gone = delta(&leases[0], Release::Renew(Timestamp(HOUR)));
    let fp = url("http://b.example/").fingerprint();
    gone.updates = vec![verdict(fp, PageState::Gone, None)];
    settle(frontier, 0, gone);
    let refill = Refill {
        site: leases[0].site.id,
        fence: leases[0].fence,
        now: Timestamp(0),
        pages_max: 1,
        again: Some(Timestamp(0)),
        paused: Vec::new(),
        except: Vec::new(),
        only: vec![fp, Fingerprint(99)],
    };
    let pages = frontier.refill(&refill).unwrap();
    assert_eq!((urls(&pages), pages[0].state), (vec!["http://b.example/"], PageState::Gone));
}

pub fn sites_within_the_slack_come_along(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    fetch_all(frontier, 0, 1_000);
    assert!(frontier.check_out(&ask(500)).unwrap().is_empty());
    let mut request = ask(500);
    request.slack = Duration::from_millis(499);
    assert!(frontier.check_out(&request).unwrap().is_empty());
    request.slack = Duration::from_millis(500);
    assert_eq!(frontier.check_out(&request).unwrap()[0].pages.len(), 1);
    request.slack = Duration::from_secs(3_000);
    assert!(frontier.check_out(&request).unwrap().is_empty(), "a lease about to end is no due");
}

pub fn no_slack_breaks_a_not_before(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut told = delta(&lease, Release::NotBefore(Timestamp(2_000)));
    let fp = lease.pages[0].url.fingerprint();
    told.updates = vec![visited(fp, 0, Change::First, Some(1_000))];
    settle(frontier, 0, told);
    let slack = Duration::from_secs(10);
    let early = CheckOut { slack, ..ask(1_999) };
    assert!(frontier.check_out(&early).unwrap().is_empty(), "it asked to be left alone");
    let request = CheckOut { slack, ..ask(2_000) };
    assert_eq!(frontier.check_out(&request).unwrap()[0].pages.len(), 1);
}

pub fn a_period_wakes_a_page_that_was_not_to_come_by_itself(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
    let fp = lease.pages[0].url.fingerprint();
    back.updates = vec![visited(fp, 10, Change::First, None)];
    settle(frontier, 10, back);
    assert!(frontier.check_out(&ask(10 * HOUR)).unwrap().is_empty());
    let period = Some(Duration::from_secs(12 * 3_600));
    let terms = PageTerms { period, ..PageTerms::default() };
    let seed = Candidate { seed: true, terms, ..candidate("http://a.example/", 0) };
    frontier.admit(&[seed], Timestamp(10 * HOUR)).unwrap();
    assert!(frontier.check_out(&ask(11 * HOUR)).unwrap().is_empty(), "it was seen meanwhile");
    assert_eq!(lease_one(frontier, 12 * HOUR + 10).pages[0].url.as_str(), "http://a.example/");
}

pub fn fingerprints_are_lent_below_the_bound_only(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/1", "http://a.example/2"], 0);
    let mut request = ask(0);
    request.known_max = 3;
    let lease = frontier.check_out(&request).unwrap().remove(0);
    let mut known = lease.known.clone().unwrap();
    known.sort_unstable();
    let mut wanted =
        ["http://a.example/1", "http://a.example/2"].map(|text| url(text).fingerprint());
    wanted.sort_unstable();
    assert_eq!(known, wanted);
    settle(frontier, 0, delta(&lease, Release::NotBefore(Timestamp(0))));
    request.known_max = 2;
    assert_eq!(frontier.check_out(&request).unwrap()[0].known, None);
}
