//! What people are told is what decided.

use model::{Habit, SignalSource, Trust};

use super::*;
use crate::{
    PurseId, Sight, Visited, after_visit,
    fixtures::{NOW, after, page},
};

fn stake() -> Stake {
    Stake { policy: Policy::default(), importance: 1.0, purse: PurseId::COMMON }
}

#[test]
fn the_period_told_is_the_one_by_which_the_page_was_made_due() {
    let mut page = page("http://a.example/");
    let site = SiteHabit::default();
    let visited = Visited {
        page: &page,
        state: PageState::Fetched,
        failures: 0,
        sight: Sight::First { modified: None },
        importance: 1.0,
        site: &site,
        price: 0.5,
        children: None,
        now: NOW,
    };
    let next = after_visit(&stake().policy, &visited);
    page.habit = next.habit;
    page.due = next.due.expect("due");
    let told = appraise(&stake(), &page, &site, 0.5, NOW);
    assert_eq!((told.rule, told.due), (next.rule, next.due));
    let period = told.period.expect("a period").as_secs_f64();
    assert!((page.due.since(NOW).as_secs_f64() / period - 1.0).abs() < 0.2);
    assert_eq!((told.value, told.fresh), (0.0, 1.0), "it was visited just now");
    assert!(told.rate_low < told.rate && told.rate < told.rate_high);
}

#[test]
fn at_the_end_of_its_period_a_page_is_worth_its_price() {
    let page = page("http://a.example/");
    let told = appraise(&stake(), &page, &SiteHabit::default(), 0.5, NOW);
    let period = told.period.expect("a period");
    let then = appraise(&stake(), &page, &SiteHabit::default(), 0.5, NOW.plus(period));
    assert!((then.value / then.price - 1.0).abs() < 0.01, "{then:?}");
}

#[test]
fn a_trusted_announcement_is_named_and_lowers_the_chance_of_being_fresh() {
    let trust = Trust { signals: 20.0, hits: 19.0, changes: 20.0, announced: 18.0 };
    let site = SiteHabit { sitemap: trust, ..SiteHabit::default() };
    let mut page = page("http://a.example/");
    page.habit = Habit { shape: 2.0, rate: 60.0, ..page.habit };
    let quiet = appraise(&stake(), &page, &site, 0.5, after(1.0));
    page.habit.announce(SignalSource::Sitemap);
    let told = appraise(&stake(), &page, &site, 0.5, after(1.0));
    assert_eq!(told.rule, Rule::Announced);
    assert!(told.fresh < 0.3 && quiet.fresh > 0.9 && told.value > quiet.value);
}

#[test]
fn pages_that_do_not_come_back_by_themselves_have_no_next_visit() {
    let page = page("http://a.example/");
    for policy in [Policy::Once, Policy::Profit(crate::Profit::default())] {
        let stake = Stake { policy, ..stake() };
        assert_eq!(appraise(&stake, &page, &SiteHabit::default(), 0.5, NOW).due, None);
    }
}
