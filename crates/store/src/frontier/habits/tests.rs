//! Announcements as the database takes them, against [`Habit::hear`]; and what many of them cost.

use std::time::{Duration, Instant};

use model::{Change, Frontier, PageUpdate, Release, SignalSource};
use proptest::prelude::*;

use super::{
    super::{
        SqlFrontier,
        suite::{ask, candidate, delta, lease_one, new_page, settlement, url, visited},
    },
    *,
};

const PAGE: &str = "http://a.example/";

fn seen_at(text: &str, at: i64, due: i64) -> PageUpdate {
    let habit = Habit { seen: Some(Timestamp(at)), price: 0.5, ..Habit::default() };
    let fp = url(text).fingerprint();
    PageUpdate { habit: Some(habit), ..visited(fp, at, Change::First, Some(due)) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_database_hears_what_a_habit_hears(
        told in prop::collection::vec((0i64..60, 0usize..3, any::<bool>()), 0..12),
        polls in 1usize..3,
    ) {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.admit(&[candidate(PAGE, 0)], Timestamp(0)).unwrap();
        let lease = lease_one(&mut frontier, 0);
        let mut first = delta(&lease, Release::Renew(Timestamp(1_000)));
        first.updates = vec![seen_at(PAGE, 20, 900)];
        frontier.check_in(&settlement(20, vec![first])).unwrap();
        let fp = url(PAGE).fingerprint();
        let signals: Vec<Signal> = told
            .iter()
            .map(|(at, source, believed)| {
                let source = SignalSource::ALL[*source];
                Signal { fp, at: Timestamp(*at), source, believed: *believed }
            })
            .collect();
        let (mut habit, mut due) =
            (Habit { seen: Some(Timestamp(20)), price: 0.5, ..Habit::default() }, 900);
        for _ in 0..polls {
            let mut delta = delta(&lease, Release::Renew(Timestamp(1_000)));
            delta.signals = signals.clone();
            frontier.check_in(&settlement(40, vec![delta])).unwrap();
            let mut sorted = signals.clone();
            sorted.sort_by_key(|signal| signal.at);
            for signal in &sorted {
                if habit.hear(signal, Timestamp(40)) && signal.believed {
                    due = 40;
                }
            }
        }
        frontier.check_in(&settlement(41, vec![delta(&lease, Release::NotBefore(Timestamp(0)))])).unwrap();
        let page = lease_one(&mut frontier, 2_000).pages.remove(0);
        prop_assert_eq!((page.habit, page.due), (habit, Timestamp(due)));
        prop_assert_eq!(frontier.verify(true).unwrap(), []);
    }
}

#[test]
fn a_hundred_thousand_announcements_are_bounded_work() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    frontier.admit(&[candidate(PAGE, 0)], Timestamp(0)).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut first = delta(&lease, Release::Renew(Timestamp(1_000)));
    let texts: Vec<String> = (0..2_000).map(|n| format!("http://a.example/{n}")).collect();
    first.admitted = texts.iter().map(|text| new_page(text, 1, 0)).collect();
    first.updates = texts.iter().map(|text| seen_at(text, 1, 900)).collect();
    frontier.check_in(&settlement(1, vec![first])).unwrap();
    let mut told = delta(&lease, Release::NotBefore(Timestamp(0)));
    let of = |n: u64| match texts.get(n as usize / 50) {
        Some(text) if n.is_multiple_of(50) => url(text).fingerprint(),
        _ => Fingerprint(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    };
    told.signals = (0..100_000)
        .map(|n| Signal {
            fp: of(n),
            at: Timestamp(5),
            source: SignalSource::Sitemap,
            believed: true,
        })
        .collect();
    let begun = Instant::now();
    frontier.check_in(&settlement(10, vec![told])).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let lease = frontier.check_out(&model::CheckOut { pages_max: 5_000, ..ask(10) }).unwrap();
    assert_eq!(lease[0].pages.iter().filter(|page| page.habit.signals == 1).count(), 2_000);
}

#[test]
fn scattered_numbers_are_each_there_once_and_spread_from_the_first() {
    for count in [1u64, 2, 3, 10, 97, 1_000] {
        for draw in [0, 5, u64::MAX] {
            let mut all: Vec<u64> = scattered(count, draw).collect();
            all.sort_unstable();
            assert_eq!(all, (1..=count).collect::<Vec<_>>());
        }
    }
    let tenth: Vec<u64> = scattered(1_000, 7).take(100).collect();
    for part in 0..10 {
        let within = tenth.iter().filter(|n| (**n - 1) / 100 == part).count();
        assert!((8..=12).contains(&within), "{within} of 10 in part {part}");
    }
    assert_eq!(scattered(0, 3).count(), 0);
}

#[test]
fn a_sample_gives_every_page_the_same_chance_however_often_it_changed() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    // A page of many versions beside many of one.
    let texts: Vec<String> = (0..50).map(|n| format!("http://a.example/{n}")).collect();
    let pages: Vec<_> = texts.iter().map(|text| candidate(text, 0)).collect();
    frontier.admit(&pages, Timestamp(0)).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut seen = delta(&lease, Release::Renew(Timestamp(1_000)));
    seen.updates = texts.iter().map(|text| seen_at(text, 1, 900)).collect();
    for at in 2..60 {
        seen.updates.push(visited(url(&texts[0]).fingerprint(), at, Change::Changed, Some(900)));
    }
    frontier.check_in(&settlement(60, vec![seen])).unwrap();
    let mut drawn = 0;
    for draw in 0..108 {
        let sample = frontier.sample(5, draw).unwrap();
        assert_eq!(sample.len(), 5);
        drawn += sample.iter().filter(|(page, _)| page.url.as_str() == texts[0]).count();
    }
    assert!((4..=18).contains(&drawn), "{drawn} of 540 draws among 50 pages, 10.8 expected");
}

#[test]
fn a_sample_is_of_all_pages_also_where_the_numbers_of_visits_lie_far_apart() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    let texts: Vec<String> = (0..400).map(|n| format!("http://a.example/{n}")).collect();
    let pages: Vec<_> = texts.iter().map(|text| candidate(text, 0)).collect();
    frontier.admit(&pages, Timestamp(0)).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut seen = delta(&lease, Release::Renew(Timestamp(1_000)));
    seen.updates = texts.iter().map(|text| seen_at(text, 1, 900)).collect();
    frontier.check_in(&settlement(60, vec![seen])).unwrap();
    // As if four transactions had written a hundred rows each.
    let apart = "((seq - 1) / 100) * 1000000000 + seq";
    for (table, column) in [("pages", "run"), ("visits", "seq")] {
        let sql = format!("UPDATE {table} SET {column} = -{}", apart.replace("seq", column));
        frontier.connection.execute(&sql, []).unwrap();
        let sql = format!("UPDATE {table} SET {column} = -{column}");
        frontier.connection.execute(&sql, []).unwrap();
    }
    let mut drawn = HashSet::new();
    for draw in 0..100 {
        let sample = frontier.sample(5, draw * 7_919_000_017).unwrap();
        assert!(sample.len() >= 4, "{}", sample.len());
        drawn.extend(sample.into_iter().map(|(page, _)| page.url.as_str().to_owned()));
    }
    assert!(drawn.len() > 200, "{} of 400 pages were ever drawn", drawn.len());
    assert_eq!(frontier.sample(400, 1).unwrap().len(), 400, "all, where all can be looked at");
}
