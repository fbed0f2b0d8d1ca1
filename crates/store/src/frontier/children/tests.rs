//! What is kept of a page's internal links, and for how long.

use model::{Change, CheckOut, Frontier, PageUpdate, Release};

use super::{
    super::{
        SqlFrontier,
        suite::{ask, candidate, delta, lease_one, settlement, url, visited},
    },
    *,
};

const PAGE: &str = "http://a.example/";

fn visit_with(frontier: &mut SqlFrontier, now: i64, children: Option<Vec<Fingerprint>>) {
    let lease = lease_one(frontier, now);
    let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
    let visit = visited(url(PAGE).fingerprint(), now, Change::First, Some(now + 1));
    seen.updates = vec![PageUpdate { children, ..visit }];
    frontier.check_in(&settlement(now, vec![seen])).unwrap();
}

fn kept(frontier: &SqlFrontier) -> Option<i64> {
    let length = "SELECT length(children) FROM page_children";
    frontier.connection.query_row(length, [], |row| row.get(0)).optional().unwrap()
}

#[test]
fn children_are_replaced_bounded_and_taken_away() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    frontier.admit(&[candidate(PAGE, 0)], Timestamp(0)).unwrap();
    visit_with(&mut frontier, 0, None);
    assert_eq!(kept(&frontier), None);
    visit_with(&mut frontier, 1, Some((1..=9_000).map(Fingerprint).collect()));
    assert_eq!(kept(&frontier), Some(8 * Children::MAX as i64));
    visit_with(&mut frontier, 2, Some(vec![Fingerprint(5)]));
    visit_with(&mut frontier, 3, None);
    assert_eq!(kept(&frontier), Some(8), "a visit that says nothing of them leaves them");
    let lease = frontier.check_out(&CheckOut { known_max: 0, ..ask(4) }).unwrap().remove(0);
    assert_eq!(lease.pages[0].children, Some(Children::default()), "none of them is known");
    let mut none = delta(&lease, Release::NotBefore(Timestamp(0)));
    let visit = visited(url(PAGE).fingerprint(), 4, Change::Changed, Some(5));
    none.updates = vec![PageUpdate { children: Some(Vec::new()), ..visit }];
    frontier.check_in(&settlement(4, vec![none])).unwrap();
    assert_eq!(kept(&frontier), None);
    assert_eq!(lease_one(&mut frontier, 5).pages[0].children, None);
}
