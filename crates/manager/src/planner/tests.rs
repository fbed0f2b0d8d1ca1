//! The planner by itself, and in a small world of pages that change.

mod world;

use model::{Habit, PageState};
use proptest::prelude::*;

use super::*;
use crate::{
    days::between,
    fixtures::{NOW, after, before, lease, page, site},
};

const TICK: Duration = Duration::from_secs(7200);

fn stake(_: &Page) -> Stake {
    Stake { policy: Policy::Value(Value::default()), importance: 1.0, purse: PurseId::COMMON }
}

fn endless(_: &Site) -> f64 {
    1e9
}

fn planner(visits_per_day: Option<f64>, gated: bool) -> Planner {
    let budget = Budget { visits_per_day, ..Budget::default() };
    let purses = vec![(PurseId::COMMON, budget)];
    Planner::new(PlannerOptions { purses, gated, tick_max: TICK, ..PlannerOptions::default() }, NOW)
}

/// Seen `age` days before now, and due so many days after that.
fn known(url: &str, age: f64, period: f64) -> Page {
    let mut page = page(url);
    let seen = before(age);
    page.habit = Habit { first: Some(seen), seen: Some(seen), price: 1.0, ..page.habit };
    page.due = seen.plus(wait(period));
    page
}

fn many(count: usize, page: impl Fn(usize) -> Page) -> Vec<SiteLease> {
    vec![lease(site(1), (0..count).map(page).collect())]
}

fn url(k: usize) -> String {
    format!("http://s1.example/{k}")
}

#[test]
fn an_empty_purse_says_when_it_pays_again() {
    let mut planner = planner(Some(24.0), true);
    planner.ask(NOW);
    let hour = NOW.plus(Duration::from_secs(3_600));
    assert_eq!(planner.pays_at(NOW), Some(hour), "24 visits a day: one an hour");
    planner.ask(hour);
    assert_eq!(planner.pays_at(hour), None, "one can be made now");
    let mut usual = self::planner(None, true);
    usual.ask(NOW);
    assert_eq!(usual.pays_at(NOW), None, "there is nothing to come back to");
}

#[test]
fn the_best_are_kept_as_far_as_the_purse_goes_and_the_others_stay_due() {
    let mut planner = planner(Some(120.0), true);
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let ask = planner.ask(NOW.plus(TICK));
    assert_eq!(
        ask.again_max,
        Some(64),
        "ten can be paid for: the least choice is more than twice that"
    );
    let mut leases = many(20, |k| known(&url(k), 5.0 + k as f64, 1.0));
    let chosen = planner.choose(&mut leases, &stake, &endless, NOW.plus(TICK));
    assert_eq!((chosen.again, chosen.left, chosen.later.len()), (10, 10, 0));
    let ages: Vec<f64> =
        leases[0].pages.iter().map(|p| between(p.habit.seen.expect("seen"), NOW)).collect();
    assert!(ages.iter().all(|age| *age >= 14.99), "the oldest are worth most: {ages:?}");
    let again = planner.choose(
        &mut many(20, |k| known(&url(k), 5.0, 1.0)),
        &stake,
        &endless,
        NOW.plus(TICK),
    );
    assert_eq!(again.again, 0, "nothing is left");
    planner.unspent(PurseId::COMMON, 3);
    let again = planner.choose(
        &mut many(20, |k| known(&url(k), 5.0, 1.0)),
        &stake,
        &endless,
        NOW.plus(TICK),
    );
    assert_eq!(again.again, 3, "what did not take place is given back");
}

#[test]
fn what_is_not_due_at_the_price_of_the_moment_goes_back() {
    let mut planner = planner(None, false);
    planner.account_mut(PurseId::COMMON).price = 50.0;
    let mut leases = many(4, |k| known(&url(k), 1.0, 1.0));
    let chosen = planner.choose(&mut leases, &stake, &endless, NOW);
    assert_eq!(chosen.later.len(), 4);
    for (lease, update) in &chosen.later {
        assert_eq!(*lease, 0);
        assert!(update.due.expect("due") > NOW && update.visit.is_none());
        assert_eq!(update.habit.expect("a habit").price, 50.0);
        assert_eq!(update.state, PageState::Fetched);
    }
    assert!(leases[0].pages.is_empty());
    // With the price by which it was reckoned, a page is due as it stands.
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let mut leases = many(4, |k| known(&url(k), 1.0, 1.0));
    assert_eq!(planner.choose(&mut leases, &stake, &endless, NOW).again, 4);
}

#[test]
fn one_pass_visits_all_that_is_due_and_asks_for_all_of_it() {
    let mut planner = planner(Some(1.0), false);
    let ask = planner.ask(NOW);
    assert_eq!((ask.firsts, ask.again_max, ask.slack), (true, None, Duration::ZERO));
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let mut leases = many(100, |k| known(&url(k), 2.0, 1.0));
    assert_eq!(planner.choose(&mut leases, &stake, &|_| 0.0, NOW).again, 100);
}

#[test]
fn first_visits_are_free_unless_somebody_has_set_a_budget() {
    let new = |k: usize| Page { state: PageState::Known, habit: Habit::default(), ..page(&url(k)) };
    let mut free = planner(None, true);
    assert!(free.ask(NOW).firsts);
    assert_eq!(free.choose(&mut many(50, new), &stake, &endless, NOW).firsts, 50);
    let mut set = planner(Some(120.0), true);
    assert!(!set.ask(NOW).firsts);
    assert_eq!(set.choose(&mut many(50, new), &stake, &endless, NOW.plus(TICK)).firsts, 10);
}

#[test]
fn first_visits_and_others_each_have_their_share_of_a_budget() {
    let mixed = |importance: f64| {
        let mut planner = planner(Some(1200.0), true);
        let mut firsts = 0;
        let stake = move |page: &Page| {
            let first = page.state == PageState::Known;
            Stake { importance: if first { importance } else { 1.0 }, ..stake(page) }
        };
        for tick in 1..=10_u32 {
            let now = NOW.plus(TICK * tick);
            let mut leases = many(200, |k| known(&url(k), 9.0, 1.0));
            let new =
                |k| Page { state: PageState::Known, habit: Habit::default(), ..page(&url(k)) };
            leases[0].pages.extend((200..400).map(new));
            let chosen = planner.choose(&mut leases, &stake, &endless, now);
            assert_eq!(chosen.firsts + chosen.again, 100);
            for kept in &leases[0].pages {
                planner.spent(PurseId::COMMON, kept.state == PageState::Known, 1000, now);
            }
            firsts += chosen.firsts;
        }
        firsts
    };
    let (worthless, precious) = (mixed(0.0), mixed(1e6));
    assert!((95..=115).contains(&worthless), "a tenth of a thousand: {worthless}");
    assert!((590..=615).contains(&precious), "six tenths of a thousand: {precious}");
}

#[test]
fn a_site_without_allowance_keeps_its_revisits_for_later() {
    let mut planner = planner(Some(1200.0), true);
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let mut leases = many(50, |k| known(&url(k), 5.0, 1.0));
    leases.push(lease(
        site(2),
        (0..20).map(|k| known(&format!("http://s2.example/{k}"), 3.0, 1.0)).collect(),
    ));
    // The first site's clock allows 720 visits a day: revisits have a tenth of it, three in an hour.
    let polite = |site: &Site| if site.id.0 == 1 { 720.0 } else { 1e9 };
    let chosen = planner.choose(&mut leases, &stake, &polite, NOW.plus(TICK));
    assert_eq!((leases[0].pages.len(), leases[1].pages.len()), (3, 20));
    assert_eq!((chosen.left, chosen.later.len()), (0, 47));
    let mut dues: Vec<Timestamp> = chosen.later.iter().filter_map(|(_, u)| u.due).collect();
    dues.sort();
    assert!(dues[0] > NOW.plus(TICK), "not before the site has a visit for it");
    let last = between(NOW.plus(TICK), dues[46]);
    assert!((0.6..=1.0).contains(&last), "47 of 72 a day take most of a day: {last}");
    assert!(leases[0].site.habit.allowance < 1.0);
    assert!(leases[0].site.habit.factor >= leases[1].site.habit.factor);
    let ask = planner.ask(NOW.plus(TICK * 2));
    assert!(ask.again_max > Some(200), "those in the way are asked for besides: {ask:?}");
}

#[test]
fn pages_past_their_longest_period_come_first_with_a_fiftieth_of_the_budget() {
    let mut planner = planner(Some(12_000.0), true);
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let careless = |page: &Page| {
        let old = page.url.path().len() == 2;
        Stake { importance: if old { 0.001 } else { 1.0 }, ..stake(page) }
    };
    let mut forced = 0;
    // Not through the hour of their last visit, at which nobody is chosen.
    for tick in 1..=10_u32 {
        let now = NOW.plus(TICK * tick);
        // Two thousand pages that are worth it, and 27 that never are.
        let mut leases = many(2000, |k| known(&url(1000 + k), 30.1, 20.0));
        leases[0].pages.extend((1..10).map(|k| known(&url(k), 95.1, 89.0)));
        leases[0]
            .pages
            .extend((1..10).map(|k| known(&format!("http://t.example/{k}"), 95.1, 89.0)));
        leases[0]
            .pages
            .extend((1..10).map(|k| known(&format!("http://u.example/{k}"), 95.1, 89.0)));
        let chosen = planner.choose(&mut leases, &careless, &endless, now);
        assert_eq!(chosen.again, 1000);
        assert_eq!(chosen.forced + chosen.later.len(), 27, "the others step out of the way");
        assert!(chosen.later.iter().all(|(_, update)| update.due > Some(now.plus(20 * HOUR))));
        forced += chosen.forced;
    }
    assert!((188..=201).contains(&forced), "a fiftieth of 10,000: {forced}");
}

#[test]
fn the_price_rises_when_pages_are_late_and_falls_when_there_is_nothing_to_do() {
    let mut late = planner(Some(120.0), true);
    let start = late.price(PurseId::COMMON);
    late.account_mut(PurseId::COMMON).price = 1.0;
    late.choose(&mut many(20, |k| known(&url(k), 9.0, 1.0)), &stake, &endless, NOW.plus(TICK));
    assert!(late.price(PurseId::COMMON) > 1.0 && start > 0.0);
    let mut idle = planner(Some(120.0), true);
    idle.account_mut(PurseId::COMMON).price = 1.0;
    for tick in 1..100_u32 {
        idle.choose(
            &mut many(1, |k| known(&url(k), 0.5, 5.0)),
            &stake,
            &endless,
            NOW.plus(TICK * tick),
        );
    }
    assert!(idle.price(PurseId::COMMON) < 0.9);
    assert!(idle.slack > 10 * TICK, "and it looks further ahead");
}

#[test]
fn a_purse_that_stays_full_has_its_price_reckoned_anew() {
    let mut planner = planner(Some(480.0), true);
    let sample: Vec<(Page, SiteHabit)> =
        (0..100).map(|k| (known(&url(k), 1.0, 1.0), SiteHabit::default())).collect();
    planner.known(PurseId::COMMON, 100);
    planner.begin(&sample, &stake, NOW);
    let right = planner.price(PurseId::COMMON);
    planner.account_mut(PurseId::COMMON).price = 1_000.0 * right;
    let idle = |planner: &mut Planner, tick: u32| {
        let now = NOW.plus(TICK * tick);
        planner.choose(&mut many(3, |k| known(&url(k), 0.5, 5.0)), &stake, &endless, now);
        planner.is_idle(now)
    };
    let idle: Vec<bool> = (1..=5).map(|tick| idle(&mut planner, tick)).collect();
    assert_eq!(idle, [false, false, false, false, true], "half full for six hours");
    let now = NOW.plus(TICK * 5);
    planner.begin(&sample, &stake, now);
    let price = planner.price(PurseId::COMMON);
    assert!((price / right).ln().abs() < 0.01, "{price} where {right} is right");
    assert!(!planner.is_idle(now));
    planner.begin(&[], &stake, now);
    assert_eq!(planner.price(PurseId::COMMON), price, "and is kept from then on");
}

#[test]
fn pages_with_an_interval_of_their_own_need_no_budget_but_a_set_one_holds_them() {
    let weekly = |_: &Page| Stake {
        policy: Policy::Fixed { every: 7 * DAY },
        importance: 1.0,
        purse: PurseId::COMMON,
    };
    let pages = |k: usize| known(&url(k), 7.0, 7.0);
    let mut free = planner(None, true);
    assert_eq!(free.ask(NOW).again_max, Some(0), "none was met yet");
    let sample: Vec<(Page, SiteHabit)> = (0..5).map(|k| (pages(k), SiteHabit::default())).collect();
    free.begin(&sample, &weekly, NOW);
    assert!(free.ask(NOW).again_max >= Some(64));
    assert_eq!(free.choose(&mut many(30, pages), &weekly, &endless, NOW).again, 30);
    let mut set = planner(Some(120.0), true);
    assert_eq!(set.choose(&mut many(30, pages), &weekly, &endless, NOW.plus(TICK)).again, 10);
    // Before its time it is never visited.
    let mut early = many(30, |k| known(&url(k), 6.0, 7.0));
    assert_eq!(free.choose(&mut early, &weekly, &endless, NOW).again, 0);
}

#[test]
fn a_purse_of_its_own_spends_nothing_of_the_common_one() {
    let own = PurseId(7);
    let budget = |per_day| Budget { visits_per_day: Some(per_day), ..Budget::default() };
    let purses = vec![(PurseId::COMMON, budget(120.0)), (own, budget(24.0))];
    let options = PlannerOptions { purses, tick_max: TICK, ..PlannerOptions::default() };
    let mut planner = Planner::new(options, NOW);
    let by_path = |page: &Page| {
        let purse = if page.url.path().len() > 3 { own } else { PurseId::COMMON };
        Stake { purse, ..stake(page) }
    };
    let mut leases = many(50, |k| known(&url(10 + k), 9.0, 1.0));
    leases[0].pages.extend((100..150).map(|k| known(&url(k), 9.0, 1.0)));
    planner.choose(&mut leases, &by_path, &endless, NOW.plus(TICK));
    let of_own = leases[0].pages.iter().filter(|page| by_path(page).purse == own).count();
    assert_eq!((of_own, leases[0].pages.len() - of_own), (2, 10));
}

#[test]
fn who_has_nothing_left_is_told_from_who_needs_no_payment() {
    let own = PurseId(7);
    let budget = Budget { visits_per_day: Some(120.0), ..Budget::default() };
    let purses = vec![(own, budget)];
    let options = PlannerOptions { purses, tick_max: TICK, ..PlannerOptions::default() };
    let mut planner = Planner::new(options, NOW);
    let can =
        |planner: &Planner, purse| [planner.can_pay(purse, true), planner.can_pay(purse, false)];
    assert_eq!(can(&planner, own), [false, false], "a budget holds first visits too");
    assert_eq!(can(&planner, PurseId::COMMON), [true, false]);
    planner.ask(NOW.plus(TICK));
    assert_eq!(can(&planner, own), [true, true]);
    planner.met_own_rules(1);
    assert_eq!(can(&planner, PurseId::COMMON), [true, true], "intervals need no budget");
}

#[test]
fn an_announced_page_is_reckoned_anew_and_a_called_one_is_due_as_it_stands() {
    let mut planner = planner(None, false);
    planner.account_mut(PurseId::COMMON).price = 1.0;
    let mut announced = known(&url(1), 0.5, 9.0);
    announced.habit.announce(model::SignalSource::Sitemap);
    announced.due = NOW;
    let mut called = known(&url(2), 0.5, 9.0);
    called.habit.price = 0.0;
    called.due = NOW;
    let mut leases = vec![lease(site(1), vec![announced, called])];
    let chosen = planner.choose(&mut leases, &stake, &endless, NOW);
    assert_eq!(leases[0].pages[0].url.path(), "/2");
    assert_eq!(chosen.later.len(), 1, "nobody trusts that sitemap");
}

#[test]
fn a_clock_that_jumps_neither_storms_nor_freezes() {
    let mut planner = planner(Some(12_000.0), true);
    for now in [after(365.0), before(365.0), after(1.0), before(1.0)] {
        let ask = planner.ask(now);
        // Pages that come in vain are looked at, not visited.
        assert!(ask.again_max <= Some(2 * 2 * 1000 + VAIN_ROOM_MAX), "{ask:?}");
        assert!(ask.next > now && ask.next <= now.plus(TICK));
        let chosen =
            planner.choose(&mut many(5000, |k| known(&url(k), 9.0, 1.0)), &stake, &endless, now);
        assert!(chosen.again <= 2000);
    }
    planner.ask(before(1.0).plus(TICK));
    let later = planner.ask(before(1.0).plus(TICK * 2));
    assert!(later.again_max > Some(0), "after a jump time passes again");
}

#[test]
fn what_is_saved_is_restored_and_nonsense_is_not() {
    let mut first = planner(Some(120.0), true);
    let sample: Vec<(Page, SiteHabit)> =
        (0..100).map(|k| (known(&url(k), 1.0, 1.0), SiteHabit::default())).collect();
    first.known(PurseId::COMMON, 100);
    first.begin(&sample, &stake, NOW);
    first.account_mut(PurseId::COMMON).price *= 1.7;
    let text = serde_json::to_string(&first.save()).expect("JSON");
    let state: PlannerState = serde_json::from_str(&text).expect("a state");
    assert_eq!(state, first.save());
    let mut second = planner(Some(120.0), true);
    second.restore(&state);
    second.known(PurseId::COMMON, 100);
    second.begin(&sample, &stake, NOW);
    assert_eq!(second.price(PurseId::COMMON), first.price(PurseId::COMMON));
    // With another budget it is reckoned anew.
    let mut richer = planner(Some(1200.0), true);
    richer.restore(&state);
    richer.begin(&sample, &stake, NOW);
    assert!(richer.price(PurseId::COMMON) < first.price(PurseId::COMMON) / 2.0);
    for price in [f64::NAN, -1.0, f64::INFINITY, 0.0] {
        let mut odd = state.clone();
        odd.purses[0].price = price;
        odd.purses[0].bytes_mean = price;
        let mut third = planner(Some(120.0), true);
        third.restore(&odd);
        assert!(third.price(PurseId::COMMON).is_finite() && third.price(PurseId::COMMON) > 0.0);
    }
}

#[test]
fn another_budget_leaves_what_was_learned_and_what_is_left() {
    let mut planner = planner(Some(120.0), true);
    planner.known(PurseId::COMMON, 700);
    planner.account_mut(PurseId::COMMON).price = 1.7;
    planner.slack = 5 * DAY;
    planner.own_rule_room = 77;
    planner.ask(NOW.plus(TICK));
    let own = PurseId(3);
    let budget = |per_day| Budget { visits_per_day: Some(per_day), ..Budget::default() };
    let purses = vec![(PurseId::COMMON, budget(240.0)), (own, budget(24.0))];
    planner.set_purses(purses, 0.2, NOW.plus(TICK));
    assert_eq!((planner.slack, planner.own_rule_room), (5 * DAY, 77));
    assert_eq!(planner.price(PurseId::COMMON), 1.7);
    assert_eq!((planner.rate(PurseId::COMMON), planner.rate(own)), (240.0, 24.0));
    assert_eq!(planner.account(PurseId::COMMON).purse.capacity(), 10, "of the tick before");
    assert_eq!(planner.account(own).purse.capacity(), 0);
    planner.set_purses(Vec::new(), 0.2, NOW.plus(TICK));
    assert_eq!(planner.rate(PurseId::COMMON), 100.0, "a seventh of what is known");
    assert_eq!(planner.account(own).id, PurseId::COMMON, "that purse is gone");
}

#[test]
fn a_page_that_never_answered_is_still_to_be_visited_for_the_first_time() {
    for state in [PageState::Excluded, PageState::Failing] {
        let mut planner = planner(None, true);
        let never = |k| Page { state, habit: Habit::default(), ..page(&url(k)) };
        let chosen = planner.choose(&mut many(3, never), &stake, &endless, NOW.plus(TICK));
        assert_eq!(chosen.firsts, 3, "{state:?}: nothing is known that could pay for it");
        let before = |k| Page { state, ..known(&url(k), 9.0, 1.0) };
        let chosen = planner.choose(&mut many(3, before), &stake, &endless, NOW.plus(TICK));
        assert_eq!((chosen.firsts, chosen.again), (0, 0), "{state:?}: held to the budget");
    }
}

#[test]
fn a_page_that_is_elsewhere_or_gone_is_held_to_the_budget_of_revisits() {
    for state in [PageState::Gone, PageState::Redirected] {
        let mut planner = planner(None, true);
        let page = |k| Page { state, habit: Habit::default(), ..page(&url(k)) };
        let chosen = planner.choose(&mut many(30, page), &stake, &endless, NOW.plus(TICK));
        assert_eq!((chosen.firsts, chosen.again), (0, 0), "{state:?}: nothing is known to pay for");
        planner.known(PurseId::COMMON, 840);
        let now = NOW.plus(TICK * 2);
        let chosen = planner.choose(&mut many(30, page), &stake, &endless, now);
        assert_eq!((chosen.firsts, chosen.again), (0, 10), "{state:?}: 120 a day, 10 in a tick");
    }
}

#[test]
fn an_empty_collection_has_a_price_too() {
    let mut planner = planner(None, true);
    planner.begin(&[], &stake, NOW);
    let price = planner.price(PurseId::COMMON);
    assert!(price.is_finite() && price > 0.0);
    assert_eq!(planner.choose(&mut [], &stake, &endless, NOW).again, 0);
}

#[test]
fn pages_that_were_seen_in_a_time_to_come_are_visited_all_the_same() {
    let mut planner = planner(Some(120.0), true);
    let mut leases = many(5, |k| Page { due: NOW, ..known(&url(k), -365.0, 3.0) });
    assert_eq!(planner.choose(&mut leases, &stake, &endless, NOW.plus(TICK)).again, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_habit_and_no_number_breaks_a_choice(
        pages in prop::collection::vec(
            (prop::num::f32::ANY, prop::num::f32::ANY, prop::num::f32::ANY, any::<i64>(), any::<i64>(), 0_u8..8),
            0..40,
        ),
        importance in prop::num::f64::ANY, polite in prop::num::f64::ANY,
        factor in prop::num::f32::ANY, allowance in prop::num::f32::ANY,
        state in prop::sample::select(PageState::ALL.to_vec()), gated: bool,
        jumps in prop::collection::vec(-40_000_000_000_i64..40_000_000_000, 1..5),
    ) {
        let mut planner = planner(Some(120.0), gated);
        let mut now = NOW;
        for jump in jumps {
            now = Timestamp(now.0 + jump);
            let mut lent = many(pages.len(), |k| {
                let (shape, rate, price, seen, due, signals) = pages[k];
                let mut page = known(&url(k), 1.0, 1.0);
                page.habit = Habit {
                    shape, rate, price, signals, sources: 0x11, seen: Some(Timestamp(seen)), ..page.habit
                };
                Page { due: Timestamp(due), state, ..page }
            });
            lent[0].site.habit.factor = factor;
            lent[0].site.habit.allowance = allowance;
            lent[0].site.habit.allowance_at = NOW;
            let stake = |page: &Page| Stake { importance, ..stake(page) };
            let chosen = planner.choose(&mut lent, &stake, &|_| polite, now);
            let kept = chosen.firsts + chosen.again;
            prop_assert_eq!(kept + chosen.left + chosen.later.len(), pages.len());
            prop_assert_eq!(kept, lent[0].pages.len());
            prop_assert!(!gated || kept <= 20, "two ticks of ten");
            let price = planner.price(PurseId::COMMON);
            prop_assert!(price.is_finite() && price > 0.0);
            let site = &lent[0].site.habit;
            prop_assert!(!gated || site.allowance.is_finite() && site.allowance >= 0.0);
            for (_, update) in &chosen.later {
                prop_assert!(update.habit.is_some_and(|habit| habit.price.is_finite()));
                prop_assert!(update.due.is_some_and(|due| due > now));
            }
        }
    }
}

#[test]
fn first_visits_that_a_budget_holds_are_asked_for_as_soon_as_one_can_be_paid() {
    let mut planner = planner(Some(20_000.0), true);
    let soon = NOW.plus(Duration::from_secs(5));
    assert!(planner.ask(soon).firsts);
    let new = |k| Page { state: PageState::Known, habit: Habit::default(), ..page(&url(k)) };
    let mut leases = many(3, new);
    let chosen = planner.choose(&mut leases, &stake, &endless, soon);
    assert_eq!((chosen.firsts, chosen.again), (1, 0));
    let next = planner.ask(soon).next;
    assert!(next <= soon.plus(Duration::from_secs(5)), "in {:?}", next.since(soon));
}
