//! How any Frontier behaves. A backend runs the whole suite with `frontier_suite!(open)`, where `open`
//! gives an empty frontier and something to hold on to (a folder) while it lives. The promises stand in the
//! rooms below, by topic; what they share is here.

mod candidates;
mod habits;
mod leases;
mod lending;
mod queues;
mod records;
mod spiders;

use std::time::Duration;

use model::{
    Candidate, Change, CheckOut, Counts, CrawlUrl, Decision, Fingerprint, Frontier, Mark,
    Milestone, NewPage, Origin, Page, PageFacts, PageState, PageTerms, PageUpdate, RecordId,
    RecordLocation, Refill, RefusalReason, Release, RobotsAnswer, RobotsCopy, Settlement,
    SiteClock, SiteDelta, SiteLease, Spent, SpiderId, StoreError, Timestamp, Unpaid, Visit,
};

/// Declares a test for each promise of the suite; after `core:` only for those that planning goes by.
macro_rules! frontier_suite {
    (core: $open:expr) => {
        $crate::frontier::suite::frontier_suite!(@each $open;
            a_lease_keeps_others_out_until_it_ends,
            an_old_fence_is_refused_and_nothing_of_its_settlement_happens,
            a_late_check_in_is_taken_when_nobody_took_the_site,
            a_partial_check_in_renews_the_lease,
            a_site_is_due_when_its_earliest_page_is_but_not_before_its_moment,
            new_candidates_do_not_break_a_not_before,
            a_resting_site_sleeps_until_something_is_admitted,
            a_candidate_that_comes_while_its_site_is_in_hand_survives_a_rest,
            a_failed_settlement_leaves_everything_as_it_was,
            candidates_are_inserted_once_and_handed_out_for_judgement,
            an_accepted_candidate_becomes_known_and_a_refused_one_excluded,
            a_shorter_way_lowers_the_level_of_a_page_not_yet_fetched,
            a_seed_that_was_excluded_is_judged_again,
            an_accepted_candidate_is_in_on_the_terms_of_its_judgement,
            a_site_has_only_so_many_notices,
            a_notice_stays_one_when_it_is_linked_to_and_a_page_can_become_one,
            pages_come_breadth_first,
            seeded_sites_come_first_when_asked_for,
            refill_brings_what_is_not_in_hand,
            named_sites_and_pages_come_due_or_not,
            sites_within_the_slack_come_along,
            no_slack_breaks_a_not_before,
            a_period_wakes_a_page_that_was_not_to_come_by_itself,
            fingerprints_are_lent_below_the_bound_only,
            a_full_spider_is_lent_revisits_and_candidates_only,
            a_site_given_back_without_a_limit_lends_everything_again,
            pages_of_a_paused_spider_stay_until_it_wakes,
            a_site_of_two_spiders_lends_those_of_the_one_awake,
            pages_of_a_spider_that_cannot_pay_make_room_for_others,
            first_visits_do_not_wait_for_revisits,
            only_so_many_revisits_are_lent_as_asked_for,
            revisits_come_by_their_due_whatever_their_level,
            a_site_brings_what_is_due_of_either_sort,
            a_refill_brings_revisits_when_asked_for,
            each_queue_says_when_it_is_due_next,
            a_part_never_fetched_is_a_first_visit,
            a_page_that_only_redirects_or_is_gone_is_seen_again,
            a_habit_comes_back_with_its_page_and_its_site,
            an_announcement_is_news_once,
            a_believed_announcement_makes_the_page_due,
            an_announcement_hurries_no_page_that_fails_is_gone_or_has_no_price,
            a_visit_keeps_what_was_announced_and_no_later_poll_counts_it_again,
            pages_that_are_called_are_due,
            a_survey_shows_every_page_of_a_spider_once,
            a_survey_in_parts_shows_what_one_at_once_does,
            what_was_visited_since_the_survey_is_not_called,
            a_sample_is_of_pages_that_were_fetched,
            children_are_counted_since_their_parent_was_seen_and_called_with_it,
        );
    };
    ($open:expr) => {
        $crate::frontier::suite::frontier_suite!(core: $open);
        $crate::frontier::suite::frontier_suite!(@each $open;
            counters_follow_every_state,
            unchanged_visits_fold_and_keep_the_record_of_their_version,
            same_text_with_other_bytes_is_the_version_to_compare_with_next,
            a_page_that_stays_gone_is_told_once_until_it_returns,
            requisites_are_counted_apart_from_pages,
            domains_and_days_are_told_with_the_lease,
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

pub use self::{
    candidates::*, habits::*, leases::*, lending::*, queues::*, records::*, spiders::*,
};

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
        lease: Duration::from_secs(600),
        sites_max: 100,
        pages_max: 100,
        known_max: 1_000,
        ..CheckOut::at(Timestamp(now), "test")
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
        lost_before: false,
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
        Change::Gone => PageState::Gone,
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
        again: Some(Timestamp(now)),
        paused: Vec::new(),
        except: lease.pages.iter().map(|page| page.url.fingerprint()).collect(),
        only: Vec::new(),
    }
}
