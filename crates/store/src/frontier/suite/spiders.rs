//! Limits that spiders reached, and spiders that sleep.

use super::*;

pub fn a_full_spider_is_lent_revisits_and_candidates_only(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/1"], 0);
    let lease = lease_one(frontier, 0);
    let mut first = delta(&lease, Release::NotBefore(Timestamp(0)));
    first.updates = vec![visited(lease.pages[0].url.fingerprint(), 0, Change::First, Some(100))];
    first.admitted = vec![new_page("http://a.example/2", 1, 0)];
    first.full = vec![SpiderId(1)];
    settle(frontier, 0, first);
    assert!(frontier.check_out(&ask(50)).unwrap().is_empty());
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(100)), "the next revisit");

    admit(frontier, &["http://a.example/3"], 51);
    let lease = lease_one(frontier, 51);
    assert_eq!(urls(&lease.pages), ["http://a.example/3"], "it waits for its judgement");
    let mut judged = delta(&lease, Release::NotBefore(Timestamp(0)));
    judged.admitted = vec![new_page("http://a.example/3", 0, 51)];
    judged.full = vec![SpiderId(1)];
    settle(frontier, 52, judged);
    assert!(frontier.check_out(&ask(60)).unwrap().is_empty());

    let lease = lease_one(frontier, 100);
    assert_eq!(urls(&lease.pages), ["http://a.example/1"]);
    assert!(frontier.refill(&refill_of(&lease, 100)).unwrap().is_empty());
}

pub fn a_site_given_back_without_a_limit_lends_everything_again(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/1", "http://a.example/2"], 0);
    let lease = lease_one(frontier, 0);
    let mut known = delta(&lease, Release::NotBefore(Timestamp(0)));
    known.admitted = vec![new_page("http://a.example/1", 0, 1)];
    known.full = vec![SpiderId(1), SpiderId(2)];
    settle(frontier, 0, known);
    let lease = lease_one(frontier, 1);
    assert_eq!(urls(&lease.pages), ["http://a.example/2"]);
    give_back(frontier, &lease, 1, &[]);
    assert_eq!(lease_one(frontier, 2).pages.len(), 2);
}

pub fn pages_of_a_paused_spider_stay_until_it_wakes(frontier: &mut impl Frontier) {
    let both = [of_spider("http://a.example/", 2), of_spider("http://b.example/", 1)];
    frontier.admit(&both, Timestamp(0)).unwrap();
    let paused = |now| CheckOut { paused: vec![SpiderId(2)], ..ask(now) };
    let leases = frontier.check_out(&paused(0)).unwrap();
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].site.key.as_str(), "b.example");
    assert_eq!(frontier.next_due().unwrap(), None, "its site does not come up again and again");
    frontier.admit(&[of_spider("http://a.example/2", 2)], Timestamp(1)).unwrap();
    assert!(frontier.check_out(&paused(1)).unwrap().is_empty());
    assert_eq!(frontier.next_due().unwrap(), None);
    assert_eq!(lease_one(frontier, 2).pages.len(), 2, "nobody asks for it to be left out");
}

pub fn a_site_of_two_spiders_lends_those_of_the_one_awake(frontier: &mut impl Frontier) {
    let texts = ["http://a.example/0", "http://a.example/1", "http://a.example/2"];
    let pages: Vec<Candidate> =
        (0..).zip(texts).map(|(n, text)| of_spider(text, 1 + n % 2)).collect();
    frontier.admit(&pages, Timestamp(0)).unwrap();
    let paused = vec![SpiderId(1)];
    let request = CheckOut { paused: paused.clone(), ..ask(0) };
    let lease = frontier.check_out(&request).unwrap().remove(0);
    assert_eq!(urls(&lease.pages), [texts[1]]);
    assert!(!lease.more);
    assert_eq!(lease.known.as_ref().map(Vec::len), Some(3));
    let refill = refill_of(&lease, 0);
    assert!(frontier.refill(&Refill { paused, ..refill.clone() }).unwrap().is_empty());
    let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
    seen.updates = vec![visited(lease.pages[0].url.fingerprint(), 0, Change::First, Some(HOUR))];
    settle(frontier, 1, seen);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(HOUR)));
    let lease = lease_one(frontier, 2);
    let mut back = urls(&lease.pages);
    back.sort_unstable();
    assert_eq!(back, [texts[0], texts[2]]);
}

pub fn pages_of_a_spider_that_cannot_pay_make_room_for_others(frontier: &mut impl Frontier) {
    // The first spider's pages are due earlier, on sites of its own and on one that both have.
    let text = |site: &str, n: usize| format!("http://{site}.example/{n}");
    let of = |spider: u32, site: &str| -> Vec<Candidate> {
        (0..4).map(|n| of_spider(&text(site, n + 10 * spider as usize), spider)).collect()
    };
    for site in ["a", "b", "both"] {
        frontier.admit(&of(1, site), Timestamp(0)).unwrap();
    }
    frontier.admit(&of(2, "both"), Timestamp(5)).unwrap();
    let poor = vec![SpiderId(1)];
    let few = |unpaid| CheckOut { sites_max: 1, pages_max: 3, unpaid, ..ask(HOUR) };
    let unpaid = Unpaid { firsts: poor.clone(), again: Vec::new() };
    let lease = frontier.check_out(&few(unpaid.clone())).unwrap().remove(0);
    assert!(lease.pages.iter().all(|page| page.spider == SpiderId(2)));
    assert_eq!((lease.site.key.as_str(), lease.pages.len()), ("both.example", 3));
    assert!(frontier.check_out(&few(unpaid)).unwrap().is_empty(), "no other site has any");
    give_back(frontier, &lease, HOUR, &[]);

    // All are fetched, and due again in the same order.
    for lease in frontier.check_out(&ask(HOUR)).unwrap() {
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let fetched = |page: &Page| {
            let due = Some(2 * HOUR + i64::from(page.spider.0));
            visited(page.url.fingerprint(), HOUR, Change::First, due)
        };
        back.updates = lease.pages.iter().map(fetched).collect();
        settle(frontier, HOUR, back);
    }
    let again = |unpaid| CheckOut { again_max: Some(3), unpaid, ..ask(3 * HOUR) };
    let leases = frontier.check_out(&again(Unpaid { firsts: Vec::new(), again: poor })).unwrap();
    assert_eq!(leases.len(), 1);
    assert!(leases[0].pages.iter().all(|page| page.spider == SpiderId(2)));
    assert_eq!(leases[0].pages.len(), 3);
    // Who can pay again is lent for at once.
    let leases = frontier.check_out(&again(Unpaid::default())).unwrap();
    assert_eq!(leases[0].site.key.as_str(), "a.example");
}
