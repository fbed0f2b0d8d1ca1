//! The loop by itself: the orders it gives, and what it does when the writer takes none.

use std::sync::{
    Mutex,
    mpsc::{Receiver, sync_channel},
};

use harvester::workbench;
use model::{
    BoxFuture, Busy, CrawlUrl, NormalForm, Site, SiteClock, SiteCounters, SiteId, SiteLease,
};
use seeder::{Blocks, SpiderRules, UrlForm};
use simweb::{LogOptions, SimFetcher, SimResolver, SimWeb, WebOptions};

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
    let given: Vec<Order> = orders.try_iter().collect();
    let [Order::Settle(renewal), Order::CheckOut(..)] = &given[..] else { panic!("another order") };
    assert_eq!(renewal.deltas[0].release, Release::Renew(clock.now().plus(limits::LEASE)));
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
fn the_time_limit_holds_although_the_disk_is_full() {
    let (mut harvest, _clock, _orders) = harvest(16);
    harvest.state.paused = Some("no space left".to_owned());
    harvest.state.unsettled = 1;
    harvest.stop(Stopping::Time);
    assert!(matches!(harvest.over(), Some(Ended::TimeLimit)));
}

#[test]
fn a_seed_that_comes_while_the_crawl_runs_takes_the_normal_form_of_the_collection() {
    let (mut harvest, _clock, orders) = harvest(16);
    let form = NormalForm { strip_query: vec!["utm_*".to_owned()], ..NormalForm::default() };
    let form = UrlForm::new(form, Vec::new(), Vec::new());
    let rules = SpiderRules { form, ..SpiderRules::default() };
    harvest.spiders.set(Spider { rules, ..spider(&[]) });
    assert_eq!(harvest.seed(&["http://a.example/?utm_source=x".to_owned()], &[], None), "1 taken");
    let Ok(Order::Settle(share)) = orders.try_recv() else { panic!("nothing is settled") };
    assert_eq!(share.candidates[0].url.as_str(), "http://a.example/");
}

/// A loop with nothing under way, and the orders it gives.
fn harvest(room: usize) -> (Harvest, Arc<Dial>, Receiver<Order>) {
    let dial = Arc::new(Dial(Mutex::new(NOW)));
    let clock: Arc<dyn Clock> = dial.clone();
    let web = Arc::new(SimWeb::new(WebOptions { sites: 1, ..WebOptions::default() }));
    let log = LogOptions::default();
    let (events, _) = tokio::sync::mpsc::channel(1);
    let spawner = Spawner {
        fetch: Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap()),
        resolve: Arc::new(SimResolver::new(web, clock.clone())),
        clock: clock.clone(),
        events,
    };
    let (orders, given) = sync_channel(room);
    let limits = Arc::new(crate::pipeline::tests::fetch_limits());
    let spiders = Arc::new(Spiders::new(Blocks::default(), [spider(&[])]));
    let harvest = Harvest {
        plan: crate::pipeline::tests::plan(),
        workbench: Workbench::new(workbench::Options::default(), Default::default()),
        clock,
        spawner,
        jobs: sync_channel(1).0,
        orders,
        spiders,
        helm: Box::new(Steady(Vec::new())),
        robots_limits: limits,
        progress: watch::channel(Progress::default()).0,
        planning: Planning::new(true, None, NOW),
        state: State::default(),
    };
    (harvest, dial, given)
}

fn lease() -> SiteLease {
    let site = Site {
        habit: model::SiteHabit::default(),
        id: SiteId(1),
        key: CrawlUrl::parse("http://a.example/").unwrap().site(),
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

/// A clock that stands still until it is turned.
struct Dial(Mutex<Timestamp>);

impl Dial {
    fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = now.plus(by);
    }
}

impl Clock for Dial {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, _: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn busy(&self) -> Busy {
        Busy::none()
    }
}
