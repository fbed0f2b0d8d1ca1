//! How any Frontier behaves. A backend runs the whole suite with `frontier_suite!(open)`, where `open`
//! gives an empty frontier and something to hold on to (a folder) while it lives.

use std::time::Duration;

use model::{
    Candidate, Change, CheckOut, Counts, CrawlUrl, Decision, Fingerprint, Frontier, Mark, NewPage,
    Origin, Page, PageFacts, PageState, PageTerms, PageUpdate, RecordId, RecordLocation, Refill,
    RefusalReason, Release, RobotsAnswer, RobotsCopy, Settlement, SiteClock, SiteDelta, SiteLease,
    Spent, SpiderId, StoreError, Timestamp, Visit,
};

/// Declares a test for each promise of the suite.
macro_rules! frontier_suite {
    ($open:expr) => {
        $crate::frontier::suite::frontier_suite!(@each $open;
            candidates_are_inserted_once_and_handed_out_for_judgement,
            pages_come_breadth_first,
            a_lease_keeps_others_out_until_it_ends,
            an_old_fence_is_refused_and_nothing_of_its_settlement_happens,
            a_late_check_in_is_taken_when_nobody_took_the_site,
            a_partial_check_in_renews_the_lease,
            a_site_is_due_when_its_earliest_page_is_but_not_before_its_moment,
            new_candidates_do_not_break_a_not_before,
            a_resting_site_sleeps_until_something_is_admitted,
            a_candidate_that_comes_while_its_site_is_in_hand_survives_a_rest,
            an_accepted_candidate_becomes_known_and_a_refused_one_excluded,
            a_shorter_way_lowers_the_level_of_a_page_not_yet_fetched,
            a_seed_that_was_excluded_is_judged_again,
            counters_follow_every_state,
            a_failed_settlement_leaves_everything_as_it_was,
            unchanged_visits_fold_and_keep_the_record_of_their_version,
            same_text_with_other_bytes_is_the_version_to_compare_with_next,
            a_full_spider_is_lent_revisits_and_candidates_only,
            a_site_given_back_without_a_limit_lends_everything_again,
            pages_of_a_paused_spider_stay_until_it_wakes,
            a_site_of_two_spiders_lends_those_of_the_one_awake,
            seeded_sites_come_first_when_asked_for,
            requisites_are_counted_apart_from_pages,
            domains_and_days_are_told_with_the_lease,
            an_accepted_candidate_is_in_on_the_terms_of_its_judgement,
            refill_brings_what_is_not_in_hand,
            named_sites_and_pages_come_due_or_not,
            sites_within_the_slack_come_along,
            fingerprints_are_lent_below_the_bound_only,
            what_a_site_was_given_comes_back_with_the_next_lease,
            refusals_are_counted_by_site_reason_and_rule,
        );
    };
    (@each $open:expr; $($promise:ident,)+) => {
        $(
            #[test]
            fn $promise() {
                let (mut frontier, _guard) = $open;
                $crate::frontier::suite::$promise(&mut frontier);
            }
        )+
    };
}
pub(crate) use frontier_suite;

pub const HOUR: i64 = 3_600_000;

pub fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub fn candidate(text: &str, level: u16) -> Candidate {
    let spider = SpiderId(1);
    Candidate {
        url: url(text),
        spider,
        level,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        referrer: None,
    }
}

pub fn ask(now: i64) -> CheckOut {
    CheckOut {
        now: Timestamp(now),
        holder: "test".into(),
        lease: Duration::from_secs(600),
        sites_max: 100,
        pages_max: 100,
        slack: Duration::ZERO,
        firsts: true,
        again_max: None,
        known_max: 1_000,
        paused: Vec::new(),
        requisites_only: false,
        seeded_first: false,
        only: None,
    }
}

pub fn delta(lease: &SiteLease, release: Release) -> SiteDelta {
    SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
}

pub fn settlement(now: i64, deltas: Vec<SiteDelta>) -> Settlement {
    Settlement { now: Timestamp(now), deltas, ..Settlement::default() }
}

pub fn new_page(text: &str, level: u16, due: i64) -> NewPage {
    let (spider, due) = (SpiderId(1), Timestamp(due));
    NewPage {
        url: url(text),
        spider,
        level,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        due,
    }
}

pub fn verdict(fp: Fingerprint, state: PageState, due: Option<i64>) -> PageUpdate {
    PageUpdate {
        fp,
        state,
        due: due.map(Timestamp),
        failures: 0,
        visit: None,
        habit: None,
        children: None,
        facts: None,
    }
}

pub fn visit(at: i64, change: Change) -> Visit {
    Visit {
        revisit: false,
        at: Timestamp(at),
        status: if change == Change::Failed { 0 } else { 200 },
        failure: None,
        change,
        record: Some(RecordLocation { volume: 1, offset: at as u64, length: 10 }),
        record_id: Some(RecordId(at as u128)),
        wire_bytes: 100,
        body_bytes: 80,
        payload_digest: [7; 20],
        content_hash: u64::MAX,
        text_hash: 2,
        simhash: 3,
        latency: Duration::from_millis(20),
        elapsed: Duration::from_millis(30),
    }
}

pub fn visited(fp: Fingerprint, at: i64, change: Change, due: Option<i64>) -> PageUpdate {
    let state = match change {
        Change::Failed => PageState::Failing,
        Change::Redirected => PageState::Redirected,
        _ => PageState::Fetched,
    };
    PageUpdate { visit: Some(visit(at, change)), ..verdict(fp, state, due) }
}

/// One site, checked out at `now` with all its due pages.
pub fn lease_one(frontier: &mut impl Frontier, now: i64) -> SiteLease {
    let mut leases = frontier.check_out(&ask(now)).unwrap();
    assert_eq!(leases.len(), 1, "one site is due at {now}");
    leases.remove(0)
}

fn admit(frontier: &mut impl Frontier, texts: &[&str], now: i64) -> u64 {
    let candidates: Vec<Candidate> = texts.iter().map(|text| candidate(text, 0)).collect();
    frontier.admit(&candidates, Timestamp(now)).unwrap()
}

fn urls(pages: &[Page]) -> Vec<&str> {
    pages.iter().map(|page| page.url.as_str()).collect()
}

fn settle(frontier: &mut impl Frontier, now: i64, delta: SiteDelta) {
    frontier.check_in(&settlement(now, vec![delta])).unwrap();
}

/// Fetches everything that is due and gives the site back.
fn fetch_all(frontier: &mut impl Frontier, now: i64, next: i64) {
    let lease = lease_one(frontier, now);
    let mut delta = delta(&lease, Release::NotBefore(Timestamp(now)));
    delta.updates = lease
        .pages
        .iter()
        .map(|page| visited(page.url.fingerprint(), now, Change::First, Some(next)))
        .collect();
    settle(frontier, now, delta);
}

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

pub fn counters_follow_every_state(frontier: &mut impl Frontier) {
    let texts: Vec<String> = (0..7).map(|n| format!("http://a.example/{n}")).collect();
    let candidates: Vec<Candidate> = texts.iter().map(|text| candidate(text, 0)).collect();
    frontier.admit(&candidates, Timestamp(0)).unwrap();
    let mut previous = [PageState::Candidate; 7];
    for round in 0..7i64 {
        let lease = lease_one(frontier, round);
        let mut moved = delta(&lease, Release::NotBefore(Timestamp(0)));
        for (n, text) in texts.iter().enumerate() {
            previous[n] = PageState::ALL[(n + round as usize) % 7];
            moved.updates.push(verdict(url(text).fingerprint(), previous[n], Some(0)));
        }
        settle(frontier, round, moved);
        let counts = frontier.counts().unwrap();
        assert_eq!((counts.candidates, counts.pages_waiting, counts.pages_fetched), (1, 1, 1));
        assert_eq!((counts.pages_redirected, counts.pages_failed, counts.pages_gone), (1, 1, 1));
        assert_eq!((counts.pages_excluded, counts.pages_known), (1, 5));
    }
    let counters = lease_one(frontier, 9).site.counters;
    assert_eq!((counters.known, counters.failed), (5, 1));
    assert_eq!(counters.fetched, 7, "each has answered with content once");
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

pub fn unchanged_visits_fold_and_keep_the_record_of_their_version(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let fp = url("http://a.example/").fingerprint();
    let changes = [Change::First, Change::Unchanged, Change::NotModified, Change::Failed];
    // More than one row can hold, to see that the record is carried on.
    for n in 0..700 {
        let now = n * HOUR;
        let lease = lease_one(frontier, now);
        let change = *changes.get(n as usize).unwrap_or(&Change::NotModified);
        let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
        seen.updates = vec![visited(fp, now + 1, change, Some(now + HOUR))];
        if change == Change::First {
            let etag = Some("\"tag\"".to_owned());
            seen.updates[0].facts = Some(PageFacts { etag, ..PageFacts::default() });
        }
        settle(frontier, now + 1, seen);
    }
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.visits, counts.versions, counts.bytes), (700, 1, 70_000));
    let last = lease_one(frontier, 700 * HOUR).pages[0].last.clone().unwrap();
    assert_eq!(last.record, Some(RecordLocation { volume: 1, offset: 1, length: 10 }));
    assert_eq!(last.record_date, Timestamp(1));
    assert_eq!(last.visited, Timestamp(699 * HOUR + 1));
    assert_eq!((last.payload_digest, last.content_hash), ([7; 20], u64::MAX));
    assert_eq!(last.condition.etag.as_deref(), Some("\"tag\""));
}

pub fn same_text_with_other_bytes_is_the_version_to_compare_with_next(
    frontier: &mut impl Frontier,
) {
    admit(frontier, &["http://a.example/"], 0);
    fetch_all(frontier, 0, 10);
    let lease = lease_one(frontier, 10);
    let mut seen = delta(&lease, Release::NotBefore(Timestamp(0)));
    let mut update = visited(lease.pages[0].url.fingerprint(), 10, Change::Unchanged, Some(20));
    update.visit.as_mut().unwrap().payload_digest = [8; 20];
    seen.updates = vec![update];
    settle(frontier, 10, seen);
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.visits, counts.versions), (2, 1));
    let last = lease_one(frontier, 20).pages[0].last.clone().unwrap();
    assert_eq!((last.payload_digest, last.record_date), ([8; 20], Timestamp(10)));
}

/// Gives the site back; `full` spiders have reached a limit on it.
fn give_back(frontier: &mut impl Frontier, lease: &SiteLease, now: i64, full: &[u32]) {
    let mut back = delta(lease, Release::NotBefore(Timestamp(0)));
    back.full = full.iter().copied().map(SpiderId).collect();
    settle(frontier, now, back);
}

fn of_spider(text: &str, spider: u32) -> Candidate {
    Candidate { spider: SpiderId(spider), ..candidate(text, 0) }
}

fn refill_of(lease: &SiteLease, now: i64) -> Refill {
    Refill {
        site: lease.site.id,
        fence: lease.fence,
        now: Timestamp(now),
        pages_max: 10,
        again: true,
        paused: Vec::new(),
        except: lease.pages.iter().map(|page| page.url.fingerprint()).collect(),
        only: Vec::new(),
    }
}

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

pub fn requisites_are_counted_apart_from_pages(frontier: &mut impl Frontier) {
    let part = |text| {
        let terms = PageTerms { requisite: true, ..PageTerms::default() };
        Candidate { terms, ..candidate(text, 0) }
    };
    let found = [candidate("http://a.example/", 0), part("http://a.example/logo")];
    frontier.admit(&found, Timestamp(0)).unwrap();
    assert_eq!(frontier.counts().unwrap().candidates, 1);
    fetch_all(frontier, 0, 10);
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.pages_known, counts.pages_fetched, counts.requisites), (1, 1, 1));
    assert_eq!((counts.visits, counts.bytes), (2, 200), "but bytes are bytes");
    let lease = lease_one(frontier, 10);
    let counters = lease.site.counters;
    assert_eq!((counters.known, counters.fetched, counters.requisites), (1, 1, 1));
    assert_eq!((lease.domain.pages, lease.domain.bytes), (1, 200));
    give_back(frontier, &lease, 10, &[]);
    let seed = Candidate { seed: true, ..candidate("http://a.example/logo", 0) };
    frontier.admit(&[seed], Timestamp(11)).unwrap();
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.pages_fetched, counts.requisites), (1, 0), "who is a seed is a page");
    assert_eq!(lease_one(frontier, 11).domain.pages, 1, "still to be fetched as one");
}

pub fn domains_and_days_are_told_with_the_lease(frontier: &mut impl Frontier) {
    const DAY: i64 = 24 * HOUR;
    admit(frontier, &["http://www.a.example/", "http://www.a.example/2"], 0);
    let lease = lease_one(frontier, 0);
    assert_eq!((lease.domain, lease.worked_today), (Spent::default(), Duration::ZERO));
    for now in [1, 2] {
        let mut part = delta(&lease, Release::Renew(Timestamp(HOUR)));
        let fp = lease.pages[now as usize - 1].url.fingerprint();
        part.updates = vec![visited(fp, now, Change::First, Some(DAY))];
        part.worked = Duration::from_secs(30);
        settle(frontier, now, part);
    }
    give_back(frontier, &lease, 3, &[]);
    admit(frontier, &["http://other.a.example/", "http://www.a.example/3"], 4);
    let mut leases = frontier.check_out(&ask(DAY - 1)).unwrap();
    leases.sort_by_key(|lease| lease.site.key.clone());
    let spent = Spent { pages: 2, bytes: 200 };
    assert_eq!([leases[0].domain, leases[1].domain], [spent, spent], "of the whole domain");
    assert_eq!(leases[0].worked_today, Duration::ZERO);
    assert_eq!(leases[1].worked_today, Duration::from_secs(60));
    let mut next = delta(&leases[1], Release::NotBefore(Timestamp(0)));
    next.worked = Duration::from_secs(1);
    settle(frontier, DAY, next);
    leases = frontier.check_out(&ask(DAY + 1)).unwrap();
    leases.retain(|lease| lease.site.key.as_str() == "www.a.example");
    assert_eq!(leases[0].worked_today, Duration::from_secs(1), "a new day");
}

pub fn an_accepted_candidate_is_in_on_the_terms_of_its_judgement(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let mut judged = delta(&lease, Release::NotBefore(Timestamp(0)));
    let period = Some(Duration::from_secs(60));
    let terms = PageTerms { requisite: false, outside: 2, depth: Some(3), period };
    judged.admitted = vec![NewPage { terms, ..new_page("http://a.example/", 0, 0) }];
    settle(frontier, 0, judged);
    assert_eq!(lease_one(frontier, 1).pages[0].terms, terms);
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
        again: true,
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
        again: true,
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

pub fn what_a_site_was_given_comes_back_with_the_next_lease(frontier: &mut impl Frontier) {
    admit(frontier, &["http://a.example/"], 0);
    let lease = lease_one(frontier, 0);
    let robots = |origin: &str, answer| RobotsCopy {
        origin: Origin::stored(origin),
        answer,
        fetched: Timestamp(1),
        expires: Timestamp(2),
        unreachable_since: Some(Timestamp(3)),
        etag: Some("e".into()),
        last_modified: Some("m".into()),
    };
    let mut given = delta(&lease, Release::NotBefore(Timestamp(0)));
    given.robots = vec![
        robots("http://a.example", RobotsAnswer::Unreachable { why: "no".into() }),
        robots("https://a.example", RobotsAnswer::Unavailable { status: 404 }),
        robots("http://a.example", RobotsAnswer::Rules("User-agent: *".into())),
    ];
    let clock = SiteClock {
        remaining: Duration::from_millis(1_500),
        saved: Timestamp(77),
        backoff: 3,
        last_response: Duration::from_millis(250),
        interrupted: false,
    };
    (given.clock, given.seeded, given.duplicates) = (Some(clock), true, 4);
    settle(frontier, 1, given.clone());
    let site = lease_one(frontier, 1).site;
    assert_eq!(site.clock, clock);
    assert_eq!(site.robots, given.robots[1..].iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!((site.seeded, site.counters.duplicates), (true, 4));
}

pub fn refusals_are_counted_by_site_reason_and_rule(frontier: &mut impl Frontier) {
    let decision = |count| Decision {
        site: "a.example".into(),
        reason: RefusalReason::Scope,
        rule: "scope = \"site\"".into(),
        count,
        example: "x".repeat(100_000),
        referrer: None,
    };
    let mut refused = settlement(1, Vec::new());
    refused.decisions = vec![decision(2), decision(3)];
    refused.mark = Some(Mark { volume: 1, offset: 2, above: vec![(1, 9)] });
    frontier.check_in(&refused).unwrap();
    assert_eq!(frontier.counts().unwrap(), Counts { refused: 5, ..Counts::default() });
}
