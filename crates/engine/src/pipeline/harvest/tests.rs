//! The loop by itself: the orders it gives, and what it does when the writer takes none.

use std::sync::mpsc::{Receiver, sync_channel};

use harvester::workbench;
use model::{
    CrawlUrl, NormalForm, Site, SiteClock, SiteCounters, SiteId, SiteLease, WallStep,
    testing::TestClock,
};
use seeder::{Blocks, SpiderRules, UrlForm};
use simweb::{LogOptions, SimFetcher, SimResolver, SimWeb, WebOptions};
use store::control::Command;

use super::*;
use crate::pipeline::{
    spiders::Spider,
    tests::{Steady, spider},
};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

#[test]
fn beats_and_renewals_do_not_pile_up_before_a_writer_that_is_stuck() {
    let (mut harvest, clock, orders) = harvest(16);
    harvest.state.hand.add(&lease(), NOW);
    for _ in 0..100 {
        clock.advance(limits::LEASE);
        harvest.beat(false);
    }
    assert!(harvest.over().is_none(), "nothing was lost");
    let waiting = orders.try_iter().count();
    assert_eq!(waiting, 2, "one heartbeat, one renewal");
    harvest.beat(false);
    assert_eq!(orders.try_iter().count(), 2, "and again when they were taken");
}

#[test]
fn a_check_out_comes_behind_the_renewal_of_the_leases_in_hand() {
    let (mut harvest, clock, orders) = harvest(16);
    harvest.state.hand.add(&lease(), NOW);
    clock.advance(limits::LEASE * 2);
    harvest.state.check_at = Some(NOW);
    harvest.check_out(clock.now());
    let given: Vec<Order> = orders.try_iter().map(|order| *order).collect();
    let [Order::Settle(renewal), Order::CheckOut(..)] = &given[..] else { panic!("another order") };
    assert_eq!(
        renewal.deltas[0].release,
        Release::Renew(crate::pipeline::hand::lease_end(clock.now()))
    );
}

#[test]
fn sites_are_asked_for_until_the_hand_is_full_and_then_not_one_by_one() {
    let (mut harvest, clock, orders) = harvest(64);
    harvest.plan.sites_in_hand = 10;
    for number in 0..10 {
        harvest.state.check_at = Some(NOW);
        harvest.check_out(clock.now());
        assert_eq!(check_outs(&orders), 1, "there is room after {number}");
        harvest.checked_out(vec![lease_of(number)], true, model::NextDue::default());
    }
    harvest.check_out(clock.now());
    harvest.state.hand.remove(&lease_of(0).site.key);
    harvest.check_out(clock.now());
    assert_eq!(check_outs(&orders), 0, "one that goes is no reason");
}

#[test]
fn with_plenty_in_hand_sites_are_asked_for_once_a_second_and_with_nothing_at_once() {
    let (mut harvest, clock, orders) = harvest(4_096);
    harvest.plan.sites_in_hand = 1_000;
    let plenty = limits::CHECK_OUT_SITES as i64;
    harvest.state.check_at = Some(NOW);
    harvest.check_out(NOW);
    harvest.checked_out(Vec::new(), false, model::NextDue::default());
    assert_eq!(check_outs(&orders), 1);
    (1..=plenty + 50).for_each(|number| harvest.state.hand.add(&lease_of(number), NOW));
    let mut asked = 0;
    for number in 1..=50 {
        clock.advance(Duration::from_millis(50));
        harvest.give_back(&lease_of(number).site.key, Release::NotBefore(clock.now()), clock.now());
        harvest.check_out(clock.now());
        if check_outs(&orders) > 0 {
            asked += 1;
            harvest.checked_out(Vec::new(), false, model::NextDue::default());
        } else {
            let at = harvest.state.check_at.expect("somebody has to wake the loop");
            assert!(at > clock.now() && at <= clock.now().plus(limits::SETTLE_EVERY));
        }
    }
    assert_eq!(asked, 2, "in two and a half seconds");
    // One fewer is no longer plenty.
    harvest.give_back(&lease_of(51).site.key, Release::NotBefore(clock.now()), clock.now());
    harvest.check_out(clock.now());
    assert_eq!(check_outs(&orders), 1);
}

#[test]
fn a_check_in_that_cannot_be_given_to_the_writer_ends_the_crawl() {
    let (mut harvest, _clock, _orders) = harvest(1);
    harvest.settle(Settle::default());
    assert!(harvest.over().is_none());
    harvest.settle(Settle::default());
    assert!(matches!(harvest.over(), Some(Ended::Fault(_))));
}

#[test]
fn another_visit_to_a_page_is_paid_for_and_given_back_if_it_is_not_made() {
    let (mut harvest, clock, _orders) = harvest_with_purse(visits(864_000.0));
    clock.advance(Duration::from_secs(60));
    let (now, lease) = (clock.now(), lease());
    harvest.state.hand.add(&lease, now);
    let asked = |harvest: &mut Harvest| harvest.planning.ask(now).again_max;
    assert_eq!(asked(&mut harvest), Some(1_200), "twice what can be paid for");
    let page = model::Page { state: model::PageState::Fetched, ..pages(1).remove(0) };
    harvest.visit_once_more(&lease.site.key, page, now);
    assert_eq!(asked(&mut harvest), Some(1_198));
    harvest.give_back(&lease.site.key, Release::NotBefore(now), now);
    assert_eq!(asked(&mut harvest), Some(1_200));
}

#[test]
fn the_time_limit_holds_although_the_disk_is_full() {
    let (mut harvest, _clock, _orders) = harvest(16);
    harvest.state.paused = Some("no space left".to_owned());
    harvest.state.unsettled = 1;
    harvest.stop(Stopping::Time);
    assert!(matches!(harvest.over(), Some(Ended::TimeLimit)));
}

#[test]
fn a_rest_waits_for_room_on_the_disk_and_gives_way_to_whoever_stops_the_crawl() {
    let (mut harvest, clock, _orders) = harvest(16);
    harvest.plan.rest_at = Some(clock.now());
    harvest.state.paused = Some("no space left".to_owned());
    harvest.advance();
    assert_eq!(harvest.state.stopping, None);
    harvest.state.paused = None;
    harvest.advance();
    assert_eq!(harvest.state.stopping, Some(Stopping::Rest));
    harvest.state.unsettled = 0;
    assert!(matches!(harvest.over(), Some(Ended::Rest { .. })));
    harvest.stop(Stopping::Asked);
    assert!(matches!(harvest.over(), Some(Ended::Stopped)));
}

#[test]
fn everything_is_put_down_when_the_wall_clock_was_set() {
    let (mut harvest, clock, _orders) = harvest(16);
    harvest.plan.beat = Some(BEAT);
    clock.advance(Duration::from_secs(3_600));
    harvest.advance();
    assert_eq!(harvest.state.stopping, None);
    let step = WallStep { ahead_ms: -86_400_000, slept: Duration::ZERO };
    clock.set_wall_step(Some(step));
    harvest.state.paused = Some("no space left".to_owned());
    clock.advance(Duration::from_secs(3_600));
    harvest.advance();
    assert_eq!(harvest.state.stopping, None, "nothing can be put down now");
    harvest.state.paused = None;
    clock.advance(Duration::from_secs(3_600));
    harvest.advance();
    assert_eq!(harvest.state.stopping, Some(Stopping::Clock));
    harvest.state.unsettled = 0;
    assert!(matches!(harvest.over(), Some(Ended::Clock { .. })));
}

#[test]
fn what_was_set_and_reached_in_a_run_holds_after_its_daily_rest() {
    let (mut harvest, clock, _orders) = harvest(16);
    let time = Some(Duration::from_secs(60));
    let (limits, spent) = (workbench::SpiderLimits::default(), model::Spent::default());
    let bounds = Bounds { time, limits, spent };
    harvest.state.started = clock.now();
    harvest.state.bounds.insert(SpiderId(1), bounds);
    assert!(!harvest.is_paused(SpiderId(1), clock.now()), "its time has just begun");
    harvest.plan.begun = Some(clock.now().minus(Duration::from_secs(61)));
    assert!(harvest.is_paused(SpiderId(1), clock.now()), "it was over before the rest");
    harvest.set_fetches(7);
    harvest.stop(Stopping::Rest);
    harvest.state.released = true;
    let Some(Ended::Rest { fetches }) = harvest.over() else { panic!("it goes on") };
    assert_eq!(fetches, Some(7));
}

#[test]
fn until_when_visits_wait_for_the_budget_is_told_anew_as_it_moves() {
    let (mut harvest, clock, _orders) = harvest_with_purse(visits(24.0));
    let told = |harvest: &mut Harvest, now: Timestamp| {
        harvest.planning.cannot_pay(now);
        let text = harvest.planner_state(false, now)?;
        serde_json::from_str::<collection::planner::PlannerSnapshot>(&text).unwrap().waits
    };
    let first = told(&mut harvest, clock.now()).expect("visits begin to wait");
    assert_eq!(told(&mut harvest, clock.now()), None, "nothing is new");
    clock.advance(Duration::from_secs(2 * 3600));
    assert!(told(&mut harvest, clock.now()).expect("it has moved") > first);
    clock.advance(Duration::from_secs(1));
    assert_eq!(told(&mut harvest, clock.now()), None, "not with every beat");
}

#[test]
fn a_seed_that_comes_while_the_crawl_runs_takes_the_normal_form_of_the_collection() {
    let (mut harvest, _clock, orders) = harvest(16);
    let form = NormalForm { strip_query: vec!["utm_*".to_owned()], ..NormalForm::default() };
    let form = UrlForm::new(form, Vec::new(), Vec::new());
    let rules = SpiderRules { form, ..SpiderRules::default() };
    harvest.spiders.set(Spider { rules, ..spider(&[]) });
    harvest.seed(1, &["http://a.example/?utm_source=x".to_owned()], &[], None);
    let Ok(Order::Apply(apply)) = orders.try_recv().map(|order| *order) else {
        panic!("nothing is written down")
    };
    let Command::Seed { seeds, .. } = &apply.command else { panic!("{:?}", apply.command) };
    assert_eq!((apply.request, &*seeds[0].url), (Some(1), "http://a.example/"));
}

#[test]
fn what_was_lent_and_cannot_be_paid_for_is_asked_for_at_the_next_tick() {
    let (mut harvest, clock, orders) = harvest_with_purse(visits(24.0));
    harvest.state.check_at = Some(NOW);
    harvest.check_out(NOW);
    let lent = SiteLease { pages: pages(5), more: true, ..lease() };
    harvest.checked_out(vec![lent], false, model::NextDue::default());
    assert!(harvest.state.hand.is_empty(), "no room in hand for what cannot be visited");
    let at = harvest.state.check_at.expect("somebody has to wake the loop");
    assert!(at > clock.now() && at <= clock.now().plus(Duration::from_secs(60)));
    let given: Vec<Order> = orders.try_iter().map(|order| *order).collect();
    let Some(Order::Settle(back)) = given.last() else { panic!("it was not given back") };
    assert_eq!(back.deltas[0].release, Release::NotBefore(NOW));
}

#[test]
fn a_page_that_becomes_due_while_the_store_is_asked_is_only_late() {
    let (mut harvest, clock, orders) = harvest_by_interval(manager::Budget::default());
    harvest.state.check_at = Some(NOW);
    harvest.check_out(NOW);
    assert_eq!(check_outs(&orders), 1);
    clock.advance(Duration::from_millis(50));
    let next = model::NextDue { first: None, again: Some(NOW.plus(Duration::from_millis(20))) };
    harvest.checked_out(Vec::new(), false, next);
    let at = harvest.planning.again_at.expect("somebody has to wake the loop");
    assert!(at <= clock.now().plus(Duration::from_secs(1)), "asleep for {:?}", at.since(NOW));
}

#[test]
fn pages_with_an_interval_come_when_they_can_be_paid_for_and_make_no_storm_of_check_outs() {
    // One visit in thirty seconds, for an hour, and five pages that are always due.
    let (mut harvest, clock, orders) = harvest_by_interval(visits(2_880.0));
    let (mut asked, mut moments) = (0, Vec::new());
    harvest.state.check_at = Some(NOW);
    while clock.now() < NOW.plus(Duration::from_secs(3_600)) {
        let now = clock.now();
        harvest.check_out(now);
        if check_outs(&orders) > 0 {
            asked += 1;
            clock.advance(Duration::from_millis(20));
            let lent = SiteLease { pages: fetched(5), ..lease() };
            let next = model::NextDue::default();
            harvest.checked_out(vec![lent], false, next);
            if !harvest.state.hand.is_empty() {
                moments.push(clock.now());
                harvest.pay(&fetched(5)[0], 1_000, now);
                harvest.give_back(&lease().site.key, Release::NotBefore(now), clock.now());
            }
        }
        let at = [harvest.state.check_at, harvest.planning.again_at].into_iter().flatten().min();
        let wait = at.expect("somebody has to wake the loop").since(clock.now());
        clock.advance(wait.max(Duration::from_millis(1)));
    }
    assert!((115..=121).contains(&moments.len()), "{} visits in an hour", moments.len());
    let gaps = moments.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.max().unwrap_or_default() < Duration::from_secs(33), "{moments:?}");
    assert!(asked <= 2 * moments.len(), "{asked} check-outs for {} visits", moments.len());
}

#[test]
fn a_first_visit_that_was_paid_for_and_not_made_is_paid_back() {
    let (mut harvest, clock, _orders) = harvest_with_purse(visits(24.0));
    clock.advance(Duration::from_secs(86_400));
    let now = clock.now();
    let lend = |harvest: &mut Harvest| {
        let kept = harvest.choose(vec![SiteLease { pages: pages(50), ..lease() }], now);
        kept.into_iter().next()
    };
    let lent = lend(&mut harvest).expect("eight can be paid for");
    assert_eq!(lent.pages.len(), 8);
    assert!(lend(&mut harvest).is_none(), "no more than that");
    harvest.state.hand.add(&lent, now);
    harvest.note_paid(&lent);
    harvest.refund(&lent.pages[0]);
    harvest.refund(&lent.pages[0]);
    harvest.pay(&lent.pages[1], 1_000, now);
    let site = lent.site.key.clone();
    assert_eq!(lend(&mut harvest).expect("one was paid back").pages.len(), 1);
    harvest.give_back(&site, Release::NotBefore(now), now);
    assert_eq!(lend(&mut harvest).expect("the others, too").pages.len(), 6);
}

#[test]
fn a_candidate_that_is_refused_costs_no_visit() {
    let (mut harvest, clock, _orders) = harvest_with_purse(visits(24.0));
    clock.advance(Duration::from_secs(86_400));
    let mut candidates = pages(50);
    candidates.iter_mut().for_each(|page| page.state = model::PageState::Candidate);
    let lent = SiteLease { pages: candidates, ..lease() };
    let mut kept = harvest.choose(vec![lent.clone()], clock.now());
    let lease = kept.pop().expect("eight can be paid for");
    harvest.state.hand.add(&lease, clock.now());
    harvest.note_paid(&lease);
    // Nothing of the spider leads here.
    let site = lease.site.key.clone();
    assert!(harvest.judge_candidates(&site, lease.pages).is_empty());
    assert_eq!(harvest.choose(vec![lent], clock.now())[0].pages.len(), 8);
}

#[test]
fn a_batch_of_a_time_to_come_does_not_hold_up_the_next() {
    let (mut harvest, _clock, orders) = harvest(16);
    let mut config = config::Config::defaults();
    config.revisit.policy = config::Policy::Profit;
    let returns = config::setup::returns::Returns::new(&config, config::setup::returns::COMMON);
    harvest.spiders.set(Spider { returns, ..spider(&[]) });
    let year = Duration::from_secs(365 * 86_400);
    let saved = collection::planner::PlannerSnapshot {
        batches: [(1, NOW.plus(year))].into_iter().collect(),
        ..collection::planner::PlannerSnapshot::default()
    };
    harvest.planning = Planning::new(true, Some(saved), NOW);
    harvest.make_batches(NOW);
    assert!(matches!(orders.try_recv().as_deref(), Ok(Order::Batch(..))));
    harvest.make_batches(NOW.plus(Duration::from_secs(3_600)));
    assert!(orders.try_recv().is_err(), "and then not before its time");
    let next = harvest.next_batch().expect("the spider goes by batches");
    assert!(next > NOW && next < NOW.plus(Duration::from_secs(86_400 - 3_000)), "not this hour");
    harvest.make_batches(next);
    assert!(matches!(orders.try_recv().as_deref(), Ok(Order::Batch(..))));
}

#[test]
fn a_purse_of_a_spider_hears_how_many_pages_it_has() {
    let (mut harvest, _clock, _orders) = harvest_with_purse(manager::Budget::default());
    let counts = store::spiders::SpiderCounts { known: 700, ..Default::default() };
    let id = model::SpiderId(1);
    harvest.state.rows = vec![SpiderRow { id, counts, ..SpiderRow::default() }];
    harvest.state.counts.pages_known = 1_400;
    harvest.count_known();
    assert_eq!(harvest.planning.rate(manager::PurseId(1)), 100.0);
    assert_eq!(harvest.planning.rate(config::setup::returns::COMMON), 100.0);
}

/// The spider has a purse of its own, with this budget.
fn harvest_with_purse(budget: manager::Budget) -> (Harvest, Arc<TestClock>, Receiver<Box<Order>>) {
    let (mut harvest, clock, orders) = harvest(64);
    let own = manager::PurseId(1);
    let mut spider = spider(&[]);
    spider.returns.purse = own;
    harvest.spiders.set(spider);
    let purses = vec![(config::setup::returns::COMMON, manager::Budget::default()), (own, budget)];
    let budgets = crate::pipeline::course::Budgets { purses, site_share: 0.1 };
    harvest.planning.set_budgets(budgets, true, NOW);
    (harvest, clock, orders)
}

/// All pages come back after an interval, and share this budget.
fn harvest_by_interval(budget: manager::Budget) -> (Harvest, Arc<TestClock>, Receiver<Box<Order>>) {
    let (mut harvest, clock, orders) = harvest(64);
    let mut config = config::Config::defaults();
    config.revisit.policy = config::Policy::Fixed;
    let returns = config::setup::returns::Returns::new(&config, config::setup::returns::COMMON);
    harvest.spiders.set(Spider { returns, ..spider(&[]) });
    let purses = vec![(config::setup::returns::COMMON, budget)];
    let budgets = crate::pipeline::course::Budgets { purses, site_share: 1.0 };
    harvest.planning.set_budgets(budgets, false, NOW);
    harvest.state.counts.pages_known = 20;
    harvest.count_known();
    let sample = fetched(5).into_iter().map(|page| (page, model::SiteHabit::default()));
    harvest.sampled(&sample.collect::<Vec<_>>());
    (harvest, clock, orders)
}

/// How many were given since they were last counted.
fn check_outs(orders: &Receiver<Box<Order>>) -> usize {
    orders.try_iter().filter(|order| matches!(**order, Order::CheckOut(..))).count()
}

/// To be seen again, since a while.
fn fetched(count: usize) -> Vec<model::Page> {
    let seen = |page| model::Page { state: model::PageState::Fetched, ..page };
    pages(count).into_iter().map(seen).collect()
}

fn visits(per_day: f64) -> manager::Budget {
    manager::Budget { visits_per_day: Some(per_day), ..manager::Budget::default() }
}

/// Never fetched.
fn pages(count: usize) -> Vec<model::Page> {
    let candidate = |k: usize| {
        let url = CrawlUrl::parse(&format!("http://a.example/{k}")).unwrap();
        model::Candidate { seed: false, ..seed_candidate(seeder::Seed::from(url), &spider(&[])) }
    };
    (0..count).map(|k| admit::new_page(candidate(k), NOW)).collect()
}

/// A loop with nothing under way, and the orders it gives.
fn harvest(room: usize) -> (Harvest, Arc<TestClock>, Receiver<Box<Order>>) {
    let dial = Arc::new(TestClock::at(NOW).without_waking());
    let clock: Arc<dyn Clock> = dial.clone();
    let web = Arc::new(SimWeb::new(WebOptions { sites: 1, ..WebOptions::default() }));
    let log = LogOptions::default();
    let (events, _) = tokio::sync::mpsc::channel(1);
    let spiders = Arc::new(Spiders::new(Blocks::default(), [spider(&[])]));
    let spawner = Spawner {
        fetch: Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap()),
        resolve: Arc::new(SimResolver::new(web, clock.clone())),
        clock: clock.clone(),
        events,
        spiders: spiders.clone(),
        blocked: watch::Sender::new(()),
        patience: None,
    };
    let (orders, given) = sync_channel(room);
    let limits = Arc::new(crate::pipeline::tests::fetch_limits());
    let harvest = Harvest {
        plan: crate::pipeline::tests::plan(),
        workbench: Workbench::new(workbench::Options::default(), Default::default()),
        clock,
        archive: Arc::new(crate::pipeline::tests::Broken),
        spawner,
        jobs: sync_channel(1).0,
        orders,
        spiders,
        helm: Box::new(Steady(Vec::new())),
        robots_limits: limits,
        progress: watch::channel(Progress::default()).0,
        planning: Planning::new(true, None, NOW),
        state: State::default(),
        watch: Arc::default(),
    };
    (harvest, dial, given)
}

fn lease() -> SiteLease {
    lease_of(1)
}

fn lease_of(number: i64) -> SiteLease {
    let host = if number == 1 { "a.example".to_owned() } else { format!("a{number}.example") };
    let site = Site {
        habit: model::SiteHabit::default(),
        traps: model::SiteTraps::default(),
        id: SiteId(number),
        key: CrawlUrl::parse(&format!("http://{host}/")).unwrap().site(),
        seeded: true,
        counters: SiteCounters::default(),
        clock: SiteClock::default(),
        robots: Vec::new(),
    };
    let until = NOW.plus(limits::LEASE);
    SiteLease {
        site,
        fence: 1,
        until,
        pages: Vec::new(),
        known: None,
        more: false,
        domain: Default::default(),
        worked_today: Default::default(),
    }
}
