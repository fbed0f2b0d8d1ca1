//! The two queues of a site: first visits never wait for revisits, and of these no more come than were asked for.

use model::NextDue;

use super::*;

const SITES: [&str; 3] = ["a.example", "b.example", "c.example"];

/// Sites of three pages each, all fetched at 0 and due at 1, 2 and 3.
fn fetch_three_of_each(frontier: &mut impl Frontier) {
    for site in SITES {
        for n in 1..=3u16 {
            // The deeper, the earlier they are due again.
            frontier
                .admit(&[candidate(&format!("http://{site}/{n}"), 4 - n)], Timestamp(0))
                .unwrap();
        }
    }
    for lease in frontier.check_out(&ask(0)).unwrap() {
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        back.updates = lease
            .pages
            .iter()
            .map(|page| {
                let due = 4 - i64::from(page.level);
                visited(page.url.fingerprint(), 0, Change::First, Some(due))
            })
            .collect();
        settle(frontier, 0, back);
    }
}

fn revisits(now: i64, again_max: usize) -> CheckOut {
    CheckOut { firsts: false, again_max: Some(again_max), ..ask(now) }
}

fn again(leases: &[SiteLease]) -> usize {
    leases.iter().flat_map(|lease| &lease.pages).filter(|page| page.last.is_some()).count()
}

pub fn first_visits_do_not_wait_for_revisits(frontier: &mut impl Frontier) {
    fetch_three_of_each(frontier);
    admit(frontier, &["http://new.example/"], HOUR);
    let one = CheckOut { sites_max: 1, ..ask(HOUR) };
    let key = |leases: Vec<SiteLease>| leases[0].site.key.to_string();
    assert_eq!(key(frontier.check_out(&one).unwrap()), "new.example");
    assert_eq!(key(frontier.check_out(&one).unwrap()), "a.example");
}

pub fn only_so_many_revisits_are_lent_as_asked_for(frontier: &mut impl Frontier) {
    fetch_three_of_each(frontier);
    assert!(frontier.check_out(&revisits(HOUR, 0)).unwrap().is_empty());
    let leases = frontier.check_out(&revisits(HOUR, 4)).unwrap();
    assert_eq!((leases.len(), again(&leases)), (2, 4));
    assert!(!leases[1].more, "what was not asked for is not told of");
    assert_eq!(again(&frontier.check_out(&revisits(HOUR, 100)).unwrap()), 3, "the third site");
}

pub fn revisits_come_by_their_due_whatever_their_level(frontier: &mut impl Frontier) {
    fetch_three_of_each(frontier);
    let leases = frontier.check_out(&CheckOut { sites_max: 1, ..revisits(HOUR, 2) }).unwrap();
    let mut levels: Vec<u16> = leases[0].pages.iter().map(|page| page.level).collect();
    levels.sort_unstable();
    assert_eq!(levels, [2, 3]);
}

pub fn a_site_brings_what_is_due_of_either_sort(frontier: &mut impl Frontier) {
    fetch_three_of_each(frontier);
    admit(frontier, &["http://a.example/new"], 5);
    let of = |firsts, again_max| CheckOut { sites_max: 1, firsts, again_max, ..ask(HOUR) };
    let mut lent = |request: CheckOut| {
        let lease = frontier.check_out(&request).unwrap().remove(0);
        give_back(frontier, &lease, HOUR, &[]);
        assert_eq!(lease.site.key.as_str(), "a.example");
        let again = again(std::slice::from_ref(&lease));
        (lease.pages.len() - again, again, lease.known.is_some())
    };
    assert_eq!(lent(of(true, None)), (1, 3, true));
    assert_eq!(lent(of(true, Some(0))), (1, 0, true));
    assert_eq!(lent(of(true, Some(2))), (1, 2, true));
    assert_eq!(lent(of(false, None)), (0, 3, false), "a revisit does not read the whole site");
    let few = CheckOut { pages_max: 2, ..of(true, None) };
    assert_eq!(lent(few), (1, 1, true), "half of the room for each");
}

pub fn a_refill_brings_revisits_when_asked_for(frontier: &mut impl Frontier) {
    fetch_three_of_each(frontier);
    admit(frontier, &["http://a.example/new"], 5);
    let none = CheckOut { only: Some(vec![url("http://a.example/").site()]), ..ask(HOUR) };
    let lease = frontier.check_out(&none).unwrap().remove(0);
    let refill = refill_of(&lease, HOUR);
    assert_eq!(frontier.refill(&refill).unwrap().len(), 4);
    let firsts = frontier.refill(&Refill { again: None, ..refill }).unwrap();
    assert_eq!(urls(&firsts), ["http://a.example/new"]);
}

pub fn each_queue_says_when_it_is_due_next(frontier: &mut impl Frontier) {
    assert_eq!(frontier.next_dues().unwrap(), NextDue::default());
    fetch_three_of_each(frontier);
    let dues = |first: Option<i64>, again: Option<i64>| NextDue {
        first: first.map(Timestamp),
        again: again.map(Timestamp),
    };
    assert_eq!(frontier.next_dues().unwrap(), dues(None, Some(1)));
    admit(frontier, &["http://a.example/new"], 5);
    assert_eq!(frontier.next_dues().unwrap(), dues(Some(5), Some(1)));
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(1)));
    frontier.check_out(&ask(HOUR)).unwrap();
    assert_eq!(frontier.next_dues().unwrap(), NextDue::default(), "all is in hand");
    frontier.release_expired(Timestamp(2 * HOUR)).unwrap();
    assert_eq!(frontier.next_dues().unwrap(), dues(Some(5), Some(1)), "as if nothing had been");
}

pub fn a_part_never_fetched_is_a_first_visit(frontier: &mut impl Frontier) {
    let terms = PageTerms { requisite: true, ..PageTerms::default() };
    let part = Candidate { terms, ..candidate("http://a.example/logo", 0) };
    frontier.admit(&[part], Timestamp(0)).unwrap();
    let firsts = |now| CheckOut { again_max: Some(0), ..ask(now) };
    let lease = frontier.check_out(&firsts(0)).unwrap().remove(0);
    let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
    seen.admitted = vec![NewPage { terms, ..new_page("http://a.example/logo", 0, 0) }];
    seen.updates = vec![visited(lease.pages[0].url.fingerprint(), 0, Change::First, Some(9))];
    settle(frontier, 0, seen);
    assert!(frontier.check_out(&firsts(9)).unwrap().is_empty());
    assert_eq!(frontier.check_out(&revisits(9, 1)).unwrap().len(), 1);
}

pub fn a_page_that_only_redirects_or_is_gone_is_seen_again(frontier: &mut impl Frontier) {
    let part = PageTerms { requisite: true, ..PageTerms::default() };
    admit(frontier, &["http://a.example/moved", "http://a.example/gone"], 0);
    let logo = Candidate { terms: part, ..candidate("http://a.example/logo", 0) };
    frontier.admit(&[logo], Timestamp(0)).unwrap();
    let lease = lease_one(frontier, 0);
    let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
    for page in &lease.pages {
        let (text, terms) = (page.url.as_str(), page.terms);
        let change = if text.ends_with("moved") { Change::Redirected } else { Change::Gone };
        seen.admitted.push(NewPage { terms, ..new_page(text, 0, 0) });
        seen.updates.push(visited(page.url.fingerprint(), 0, change, Some(9)));
    }
    settle(frontier, 0, seen);
    let dues = NextDue { first: None, again: Some(Timestamp(9)) };
    assert_eq!(frontier.next_dues().unwrap(), dues);
    let firsts = CheckOut { again_max: Some(0), ..ask(9) };
    assert!(frontier.check_out(&firsts).unwrap().is_empty(), "nothing to be discovered");
    let lease = frontier.check_out(&revisits(9, 5)).unwrap().remove(0);
    assert_eq!(lease.pages.len(), 3);

    // Content would be their first, which a limit on pages holds back; of a part it does not.
    give_back(frontier, &lease, 9, &[1]);
    let lease = frontier.check_out(&revisits(9, 5)).unwrap().remove(0);
    assert_eq!(urls(&lease.pages), ["http://a.example/logo"]);
    give_back(frontier, &lease, 9, &[]);
    assert_eq!(frontier.check_out(&revisits(9, 5)).unwrap()[0].pages.len(), 3);
}
