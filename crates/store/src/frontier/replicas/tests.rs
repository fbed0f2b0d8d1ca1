//! Folding and unfolding: nothing is lost, seeds stand above, and counters stay right.

use std::time::Duration;

use model::{
    Change, CheckOut, Fingerprint, Frontier, PageUpdate, Release, Settlement, SiteDelta, SiteLease,
};

use super::*;
use crate::frontier::suite::visited;

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const AGAIN_MS: u64 = 30 * 86_400_000;

#[test]
fn pages_of_a_folded_site_rest_and_what_was_never_fetched_is_asked_of_the_original() {
    let mut frontier = frontier_with(&["http://r.test/", "http://r.test/a", "http://r.test/b"]);
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    assert_eq!(keys(&lend(&mut frontier, NOW)), ["o.test"]);
    let urls = urls_of(&frontier, "o.test");
    assert_eq!(urls, ["https://o.test/", "https://o.test/a", "https://o.test/b"]);
    assert_eq!(frontier.verify(true).unwrap(), []);

    frontier.change_replicas(&found(ReplicaState::Dropped), NOW).unwrap();
    assert_eq!(keys(&lend(&mut frontier, NOW)), ["r.test"], "it is due as it was");
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_few_pages_of_a_folded_site_are_visited_again_after_the_time_and_no_others() {
    let urls = ["/", "/a", "/b", "/c", "/d", "/e"].map(|path| format!("http://r.test{path}"));
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut frontier = frontier_with(&urls);
    fetch_all(&mut frontier);
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    let until = NOW.plus(Duration::from_millis(AGAIN_MS));
    assert_eq!(keys(&lend(&mut frontier, until.minus(Duration::from_secs(1)))), [""; 0]);
    let leases = lend(&mut frontier, until);
    assert_eq!(leases[0].pages.len(), PROBES as usize);
    assert_eq!(leases[0].pages[0].url.as_str(), "http://r.test/");
}

#[test]
fn the_home_page_is_looked_at_again_wherever_the_site_was_entered() {
    let deep = ["/a", "/b", "/c", "/d", "/e"].map(|path| format!("http://r.test{path}"));
    let mut pages: Vec<Candidate> =
        deep.iter().map(|text| Candidate { level: 0, ..candidate(text, false) }).collect();
    pages.push(Candidate { level: 1, ..candidate("http://r.test/", false) });
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    frontier.admit(&pages, NOW).unwrap();
    fetch_all(&mut frontier);
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    let leases = lend(&mut frontier, NOW.plus(Duration::from_millis(AGAIN_MS)));
    let pages = &leases[0].pages;
    assert_eq!(pages.len(), PROBES as usize);
    assert!(pages.iter().any(|page| page.url.as_str() == "http://r.test/"), "{pages:?}");
}

#[test]
fn neither_fresh_nor_another_policy_nor_a_batch_wakes_what_rests() {
    let urls: Vec<String> = (0..6).map(|n| format!("http://r.test/{n}")).collect();
    let mut frontier = frontier_with(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let lease = lend(&mut frontier, NOW).pop().unwrap();
    // Under a policy that visits once, half of them would not have come by themselves.
    let later = NOW.plus(Duration::from_secs(3_600)).0;
    let fps: Vec<_> = lease.pages.iter().map(|page| page.url.fingerprint()).collect();
    let due = |at: usize| at.is_multiple_of(2).then_some(later);
    let fetched = |(at, fp): (usize, &Fingerprint)| visited(*fp, NOW.0, Change::First, due(at));
    give_back(&mut frontier, &lease, fps.iter().enumerate().map(fetched).collect());
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();

    let day = Timestamp(NOW.0 + 86_400_000);
    frontier.make_all_due(day).unwrap();
    let other = [(SpiderId(1), 2)];
    assert_eq!(frontier.returning_are(&other, &|_| true, day).unwrap(), 0);
    let called: Vec<_> = fps.iter().map(|fp| (lease.site.id, *fp)).collect();
    assert_eq!(frontier.call(&called, NOW, day).unwrap(), 0);
    assert_eq!(keys(&lend(&mut frontier, day)), [""; 0]);

    let lift = ReplicaChange::Lift { site: "r.test".to_owned() };
    frontier.change_replicas(&lift, day).unwrap();
    assert_eq!(lend(&mut frontier, day)[0].pages.len(), 3, "they are due as they were");
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn what_the_user_lifted_is_never_folded_again() {
    let mut frontier = frontier_with(&["http://r.test/"]);
    let lift = ReplicaChange::Lift { site: "r.test".to_owned() };
    frontier.change_replicas(&lift, NOW).unwrap();
    assert_eq!(frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap(), 0);
    assert_eq!(frontier.replicas().unwrap()[0].state, ReplicaState::Lifted);
    assert_eq!(keys(&lend(&mut frontier, NOW)), ["r.test"]);
}

#[test]
fn a_folded_site_is_woken_when_it_is_lifted() {
    let mut frontier = frontier_with(&["http://r.test/"]);
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    let lift = ReplicaChange::Lift { site: "r.test".to_owned() };
    frontier.change_replicas(&lift, NOW).unwrap();
    let mut lent = keys(&lend(&mut frontier, NOW));
    lent.sort();
    assert_eq!(lent, ["o.test", "r.test"]);
}

#[test]
fn a_site_that_a_seed_names_is_told_of_and_not_folded() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    frontier.admit(&[candidate("http://r.test/", true)], NOW).unwrap();
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    assert_eq!(frontier.replicas().unwrap()[0].state, ReplicaState::Reported);
    assert_eq!(keys(&lend(&mut frontier, NOW)), ["r.test"]);
}

#[test]
fn a_site_in_hand_is_put_to_rest_when_it_is_given_back() {
    let mut frontier = frontier_with(&["http://r.test/"]);
    let lease = lend(&mut frontier, NOW).pop().unwrap();
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    give_back(&mut frontier, &lease, Vec::new());
    frontier.change_replicas(&found(ReplicaState::Folded), NOW).unwrap();
    assert_eq!(keys(&lend(&mut frontier, NOW)), ["o.test"]);
}

#[test]
fn the_hazard_is_counted_once_for_each_pair() {
    let mut frontier = frontier_with(&["http://r.test/"]);
    for _ in 0..3 {
        frontier.change_replicas(&found(ReplicaState::Reported), NOW).unwrap();
    }
    let sql = "SELECT count FROM hazards WHERE site = 'r.test' AND hazard = 'mirror-site'";
    let count: i64 = frontier.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}

fn found(state: ReplicaState) -> ReplicaChange {
    let row = ReplicaRow {
        site: "r.test".to_owned(),
        original: "o.test".to_owned(),
        origin: "https://o.test".to_owned(),
        heuristic: "same-home-1doc".to_owned(),
        compared: 2,
        same: 2,
        since: NOW,
        looked: NOW,
        state,
    };
    ReplicaChange::Found { rows: vec![row], again_ms: AGAIN_MS }
}

fn frontier_with(urls: &[&str]) -> SqlFrontier {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    let candidates: Vec<Candidate> = urls.iter().map(|url| candidate(url, false)).collect();
    frontier.admit(&candidates, NOW).unwrap();
    frontier
}

fn candidate(text: &str, seed: bool) -> Candidate {
    Candidate {
        url: CrawlUrl::parse(text).unwrap(),
        spider: SpiderId(1),
        level: u16::from(!text.ends_with('/')),
        hops: 0,
        seed,
        terms: PageTerms::default(),
        referrer: None,
    }
}

fn fetch_all(frontier: &mut SqlFrontier) {
    let lease = lend(frontier, NOW).pop().unwrap();
    let update = |page: &model::Page| PageUpdate {
        fp: page.url.fingerprint(),
        state: model::PageState::Fetched,
        due: Some(NOW.plus(Duration::from_secs(3_600))),
        failures: 0,
        visit: None,
        habit: None,
        children: None,
        facts: None,
    };
    let updates = lease.pages.iter().map(update).collect();
    give_back(frontier, &lease, updates);
}

fn give_back(frontier: &mut SqlFrontier, lease: &SiteLease, updates: Vec<PageUpdate>) {
    let site = &lease.site;
    let release = Release::NotBefore(NOW);
    let delta =
        SiteDelta { updates, ..SiteDelta::empty(site.id, site.key.clone(), lease.fence, release) };
    let settlement = Settlement { now: NOW, deltas: vec![delta], ..Settlement::default() };
    frontier.check_in(&settlement).unwrap();
}

fn lend(frontier: &mut SqlFrontier, now: Timestamp) -> Vec<SiteLease> {
    let request =
        CheckOut { sites_max: 10, pages_max: 100, known_max: 1_000, ..CheckOut::at(now, "test") };
    frontier.check_out(&request).unwrap()
}

fn keys(leases: &[SiteLease]) -> Vec<String> {
    leases.iter().map(|lease| lease.site.key.as_str().to_owned()).collect()
}

fn urls_of(frontier: &SqlFrontier, site: &str) -> Vec<String> {
    let sql =
        "SELECT p.url FROM pages p JOIN sites s ON s.id = p.site WHERE s.key = ?1 ORDER BY url";
    let mut statement = frontier.connection.prepare(sql).unwrap();
    let urls = statement.query_map([site], |row| row.get(0)).unwrap();
    urls.collect::<Result<_, _>>().unwrap()
}
