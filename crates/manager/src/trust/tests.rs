//! Sources that prove right are believed, others not, and for no longer than they do.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{NOW, after};

fn announced() -> Habit {
    let mut habit = Habit { shape: 2.0, rate: 40.0, seen: Some(NOW), ..Habit::default() };
    habit.compared = 10;
    habit.sources = remembered(SignalSource::Sitemap.bit());
    habit.announce(SignalSource::Sitemap);
    habit
}

fn visit(site: &mut SiteHabit, habit: &Habit, days: f64, changed: bool) {
    let sight = if changed { Sight::Changed { modified: None } } else { Sight::Unchanged };
    learn(site, habit, sight, after(days));
}

#[test]
fn trust_starts_at_none_and_is_earned_by_announcements_that_come_true() {
    let mut site = SiteHabit::default();
    let habit = announced();
    assert_eq!(heard(&habit, &site), None);
    visit(&mut site, &habit, 1.0, true);
    assert_eq!(heard(&habit, &site), None, "one says nothing");
    visit(&mut site, &habit, 1.0, true);
    visit(&mut site, &habit, 1.0, true);
    assert_eq!(heard(&habit, &site), None, "three may be luck");
    for _ in 0..17 {
        visit(&mut site, &habit, 1.0, true);
    }
    let heard = heard(&habit, &site).expect("trusted");
    assert!(heard.precision > 0.8 && heard.recall > 0.6 && heard.count == 1, "{heard:?}");
}

#[test]
fn a_host_that_begins_to_lie_loses_its_trust_within_some_tens_of_visits() {
    let mut site = SiteHabit::default();
    let habit = announced();
    for _ in 0..1000 {
        visit(&mut site, &habit, 1.0, true);
    }
    assert!(believed(&site.sitemap));
    let lies = (0..).take_while(|_| {
        visit(&mut site, &habit, 1.0, false);
        believed(&site.sitemap)
    });
    let lies = lies.count();
    assert!((5..40).contains(&lies), "{lies}");
}

#[test]
fn announcing_everything_every_day_earns_nothing_however_busy_the_pages_are() {
    let mut site = SiteHabit::default();
    // One change a day, seen every two days: 86 in a hundred visits find a change without any announcement.
    let habit = Habit { shape: 10.0, rate: 10.0, ..announced() };
    for k in 0..1000 {
        visit(&mut site, &habit, 2.0, k % 100 < 82);
    }
    assert!(!believed(&site.sitemap), "{:?}", site.sitemap);
}

#[test]
fn recall_counts_only_pages_that_the_source_speaks_of() {
    let mut site = SiteHabit::default();
    let silent = Habit { signals: 0, sources: 0, ..announced() };
    visit(&mut site, &silent, 1.0, true);
    assert_eq!(site.sitemap.changes, 0.0);
    let known = Habit { signals: 0, sources: remembered(1), ..announced() };
    visit(&mut site, &known, 1.0, true);
    assert_eq!((site.sitemap.changes, site.sitemap.announced), (1.0, 0.0));
}

#[test]
fn a_visit_deals_with_what_was_said_and_remembers_who_speaks() {
    let sources = remembered(SignalSource::Feed.bit());
    assert_eq!(sources & 0b1111, 0);
    assert_eq!(remembered(sources), sources);
    let habit = Habit { sources, ..Habit::default() };
    assert!(spoke_ever(&habit, SignalSource::Feed) && !spoke_ever(&habit, SignalSource::Sitemap));
}

#[test]
fn only_the_first_visits_of_pages_tell_what_is_usual_on_a_site() {
    let mut site = SiteHabit::default();
    let mut habit = Habit { seen: Some(NOW), ..Habit::default() };
    visit(&mut site, &habit, 2.0, true);
    habit.compared = PRIOR_VISITS;
    visit(&mut site, &habit, 2.0, true);
    assert_eq!((site.prior_changes, site.prior_days), (1.0, 2.0));
    // A clock that was set back teaches nothing.
    habit.compared = 0;
    visit(&mut site, &habit, -400.0, true);
    assert_eq!(site.prior_days, 2.0);
}

proptest! {
    #[test]
    fn counts_stay_numbers_within_their_bounds(
        visits in prop::collection::vec((-1000.0_f64..1000.0, any::<bool>(), 0_u8..8, any::<u8>()), 0..200),
    ) {
        let mut site = SiteHabit::default();
        for (days, changed, signals, sources) in visits {
            let habit = Habit { signals, sources, ..announced() };
            visit(&mut site, &habit, days, changed);
            for source in SignalSource::ALL {
                let trust = site.trust(source);
                prop_assert!((0.0..=COUNT_MAX).contains(&trust.signals) && trust.hits <= trust.signals);
                prop_assert!((0.0..1.0).contains(&precision(trust)));
                prop_assert!((0.0..1.0).contains(&recall(trust)));
            }
            if let Some(heard) = heard(&habit, &site) {
                prop_assert!(heard.count <= Habit::SIGNALS_MAX);
            }
        }
    }
}
