//! How pages change: what is kept, announced, looked at and called.

use model::{Children, Habit, Signal, SignalSource, SiteHabit};

use super::*;

const PAGE: &str = "http://a.example/";

/// The page, fetched at 10 and due in an hour, with a habit that says so.
fn fetch_one(frontier: &mut impl Frontier) {
    admit(frontier, &[PAGE], 0);
    let lease = lease_one(frontier, 0);
    let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
    back.updates = vec![seen_at(PAGE, 10, HOUR)];
    settle(frontier, 10, back);
}

fn seen_at(text: &str, at: i64, due: i64) -> PageUpdate {
    let seen = Some(Timestamp(at));
    let habit = Habit { shape: 0.5, rate: 2.5, first: seen, seen, price: 0.5, ..Habit::default() };
    let fp = url(text).fingerprint();
    PageUpdate { habit: Some(habit), ..visited(fp, at, Change::First, Some(due)) }
}

fn signal(at: i64, believed: bool) -> Signal {
    let (fp, source) = (url(PAGE).fingerprint(), SignalSource::Feed);
    Signal { fp, at: Timestamp(at), source, believed }
}

/// Takes the site in hand by name, checks in with these announcements, and gives it back.
fn announce(frontier: &mut impl Frontier, now: i64, signals: Vec<Signal>) {
    let lease = hold(frontier, now);
    let mut told = delta(&lease, Release::NotBefore(Timestamp(0)));
    told.signals = signals;
    settle(frontier, now, told);
}

fn hold(frontier: &mut impl Frontier, now: i64) -> SiteLease {
    let only = Some(vec![url(PAGE).site()]);
    frontier.check_out(&CheckOut { only, ..ask(now) }).unwrap().remove(0)
}

/// The page as it is stored.
fn stored(frontier: &mut impl Frontier, now: i64) -> Page {
    let lease = hold(frontier, now);
    let only = vec![url(PAGE).fingerprint()];
    let page = frontier.refill(&Refill { only, ..refill_of(&lease, now) }).unwrap().remove(0);
    give_back(frontier, &lease, now, &[]);
    page
}

pub fn a_habit_comes_back_with_its_page_and_its_site(frontier: &mut impl Frontier) {
    admit(frontier, &[PAGE], 0);
    let lease = lease_one(frontier, 0);
    assert_eq!(
        (lease.pages[0].habit, &lease.site.habit),
        (Habit::default(), &SiteHabit::default())
    );
    let at = |n| Some(Timestamp(n));
    let habit = Habit {
        shape: 1.5,
        rate: 30.25,
        first: at(1),
        seen: at(2),
        changed: at(3),
        compared: 4,
        changes: 5,
        recent: u32::MAX,
        fr_max: 7,
        theta: 40,
        signals: 3,
        sources: 5,
        announced: at(4),
        price: 0.125,
    };
    let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
    back.updates = vec![PageUpdate { habit: Some(habit), ..seen_at(PAGE, 1, 2) }];
    let site = SiteHabit { factor: 2.5, allowance: 7.0, ..SiteHabit::default() };
    back.habit = Some(site.clone());
    settle(frontier, 1, back);
    let lease = lease_one(frontier, 2);
    assert_eq!((lease.pages[0].habit, &lease.site.habit), (habit, &site));
    let sample = frontier.sample(5, 1).unwrap();
    assert_eq!(sample.len(), 1);
    assert_eq!((sample[0].0.habit, &sample[0].1), (habit, &site));
}

pub fn an_announcement_is_news_once(frontier: &mut impl Frontier) {
    fetch_one(frontier);
    announce(frontier, 100, vec![signal(10, true), signal(101, true)]);
    let page = stored(frontier, 100);
    assert_eq!((page.habit.signals, page.due), (0, Timestamp(HOUR)), "old, and of the future");
    announce(frontier, 100, vec![signal(50, false), signal(50, false)]);
    announce(frontier, 200, vec![signal(50, false), signal(40, false)]);
    let page = stored(frontier, 200);
    assert_eq!((page.habit.signals, page.habit.sources), (1, SignalSource::Feed.bit()));
    assert_eq!((page.habit.announced, page.due), (Some(Timestamp(50)), Timestamp(HOUR)));
    announce(frontier, 300, (60..90).map(|at| signal(at, false)).collect());
    assert_eq!(stored(frontier, 300).habit.signals, Habit::SIGNALS_MAX);
    let unknown = Signal { fp: Fingerprint(7), ..signal(99, true) };
    announce(frontier, 300, vec![unknown]);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(HOUR)));
}

pub fn a_believed_announcement_makes_the_page_due(frontier: &mut impl Frontier) {
    fetch_one(frontier);
    announce(frontier, 100, vec![signal(50, true)]);
    assert_eq!(frontier.next_dues().unwrap().again, Some(Timestamp(100)));
    assert_eq!(lease_one(frontier, 100).pages[0].habit.signals, 1);
}

pub fn an_announcement_hurries_no_page_that_fails_is_gone_or_has_no_price(
    frontier: &mut impl Frontier,
) {
    fetch_one(frontier);
    let cases = [
        (PageState::Fetched, 0.0, HOUR),
        (PageState::Failing, 0.5, HOUR),
        (PageState::Gone, 0.5, HOUR),
        (PageState::Redirected, 0.5, 500),
    ];
    for (n, (state, price, due)) in cases.into_iter().enumerate() {
        let now = 20 + n as i64 * 10;
        let lease = hold(frontier, now);
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let mut update = PageUpdate { state, ..seen_at(PAGE, now, HOUR) };
        update.habit.as_mut().unwrap().price = price;
        back.updates = vec![update];
        settle(frontier, now, back);
        announce(frontier, 500, vec![signal(now + 5, true)]);
        let page = stored(frontier, 500);
        assert_eq!((page.habit.signals, page.due), (1, Timestamp(due)), "{state:?}, {price}");
    }
}

pub fn a_visit_keeps_what_was_announced_and_no_later_poll_counts_it_again(
    frontier: &mut impl Frontier,
) {
    fetch_one(frontier);
    announce(frontier, 100, vec![signal(50, true)]);
    let lease = lease_one(frontier, 100);
    // A visit that failed shows nothing: the page was last seen at 10.
    let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
    let habit = Habit { signals: 0, announced: None, ..lease.pages[0].habit };
    back.updates = vec![PageUpdate { habit: Some(habit), ..seen_at(PAGE, 100, HOUR) }];
    settle(frontier, 100, back);
    announce(frontier, 200, vec![signal(50, true)]);
    assert_eq!(stored(frontier, 200).habit.signals, 0);
}

pub fn pages_that_are_called_are_due(frontier: &mut impl Frontier) {
    fetch_one(frontier);
    let lease = hold(frontier, 20);
    let named = [
        (lease.site.id, url(PAGE).fingerprint()),
        (lease.site.id, Fingerprint(7)),
        (model::SiteId(77), url(PAGE).fingerprint()),
    ];
    assert_eq!(frontier.call(&named, Timestamp(29), Timestamp(30)).unwrap(), 1);
    assert_eq!(frontier.next_due().unwrap(), None, "in hand");
    give_back(frontier, &lease, 40, &[]);
    assert_eq!(frontier.next_dues().unwrap().again, Some(Timestamp(30)));
    assert_eq!(
        frontier.call(&named, Timestamp(50), Timestamp(50)).unwrap(),
        0,
        "it is due already"
    );
    fetch_all(frontier, 50, HOUR);
    assert_eq!(frontier.call(&named, Timestamp(60), Timestamp(60)).unwrap(), 1);
    assert_eq!(lease_one(frontier, 60).pages.len(), 1);
}

pub fn a_survey_shows_every_page_of_a_spider_once(frontier: &mut impl Frontier) {
    fetch_one(frontier);
    admit(frontier, &["http://b.example/candidate"], 20);
    let other = of_spider("http://b.example/other", 2);
    frontier.admit(&[other], Timestamp(20)).unwrap();
    let lease = lease_one(frontier, 20);
    let mut judged = delta(&lease, Release::NotBefore(Timestamp(0)));
    judged.admitted = vec![new_page("http://b.example/known", 0, 30)];
    settle(frontier, 20, judged);
    let mut shown = Vec::new();
    let mut look = |site: &model::Site, page: &Page| {
        assert_eq!(site.key, page.url.site());
        shown.push(page.url.to_string());
    };
    frontier.survey(SpiderId(1), &mut look).unwrap();
    shown.sort_unstable();
    assert_eq!(shown, [PAGE, "http://b.example/known"]);
}

pub fn a_survey_in_parts_shows_what_one_at_once_does(frontier: &mut impl Frontier) {
    for n in 0..30 {
        admit(frontier, &[&format!("http://s{}.example/{n}", n % 4)], 0);
    }
    for lease in frontier.check_out(&ask(0)).unwrap() {
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let seen = lease.pages.iter().map(|page| seen_at(page.url.as_str(), 1, HOUR));
        back.updates = seen.collect();
        settle(frontier, 1, back);
    }
    let mut at_once = Vec::new();
    frontier.survey(SpiderId(1), &mut |_, page| at_once.push(page.url.to_string())).unwrap();
    let (mut in_parts, mut parts, mut place) = (Vec::new(), 0, Some(Milestone::default()));
    while let Some(from) = place {
        let mut look = |_: &model::Site, page: &Page| in_parts.push(page.url.to_string());
        place = frontier.survey_part(SpiderId(1), from, 3, &mut look).unwrap();
        parts += 1;
    }
    assert!(parts > 8 && at_once.len() == 30, "{parts} parts of {} pages", at_once.len());
    assert_eq!(in_parts, at_once);
}

pub fn what_was_visited_since_the_survey_is_not_called(frontier: &mut impl Frontier) {
    fetch_one(frontier);
    let lease = hold(frontier, 10);
    let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
    back.updates = vec![visited(url(PAGE).fingerprint(), 20, Change::Unchanged, None)];
    settle(frontier, 20, back);
    let named = [(lease.site.id, url(PAGE).fingerprint())];
    assert_eq!(frontier.call(&named, Timestamp(15), Timestamp(30)).unwrap(), 0);
    assert_eq!(frontier.call(&named, Timestamp(20), Timestamp(30)).unwrap(), 1);
}

pub fn a_sample_is_of_pages_that_were_fetched(frontier: &mut impl Frontier) {
    assert!(frontier.sample(5, 3).unwrap().is_empty());
    let texts: Vec<String> = (0..20).map(|n| format!("http://s{}.example/{n}", n % 3)).collect();
    let candidates: Vec<Candidate> = texts.iter().map(|text| candidate(text, 0)).collect();
    frontier.admit(&candidates, Timestamp(0)).unwrap();
    for lease in frontier.check_out(&ask(0)).unwrap() {
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let fetched = lease.pages.iter().skip(1);
        back.updates = fetched.map(|page| seen_at(page.url.as_str(), 1, HOUR)).collect();
        settle(frontier, 1, back);
    }
    for draw in [0, 1, u64::MAX] {
        let mut all: Vec<String> = frontier
            .sample(100, draw)
            .unwrap()
            .iter()
            .map(|(page, _)| page.url.to_string())
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 17, "all but the three that were not");
        assert_eq!(frontier.sample(5, draw).unwrap().len(), 5);
    }
}

pub fn children_are_counted_since_their_parent_was_seen_and_called_with_it(
    frontier: &mut impl Frontier,
) {
    let children: Vec<String> = (0..4).map(|n| format!("http://a.example/{n}")).collect();
    fetch_one(frontier);
    let lease = hold(frontier, 20);
    let mut noted = delta(&lease, Release::Renew(Timestamp(HOUR)));
    noted.admitted = children.iter().map(|text| new_page(text, 1, 20)).collect();
    let fps: Vec<Fingerprint> = children.iter().map(|text| url(text).fingerprint()).collect();
    let parent = PageUpdate {
        children: Some([&fps[..], &[Fingerprint(7)]].concat()),
        ..seen_at(PAGE, 20, HOUR)
    };
    noted.updates = vec![parent];
    settle(frontier, 20, noted);
    // One is found changed, one unchanged, one is announced, one is as it was.
    let mut visits = delta(&lease, Release::NotBefore(Timestamp(0)));
    visits.updates = children.iter().map(|text| seen_at(text, 15, HOUR)).collect();
    visits.updates.push(seen_at(&children[1], 30, HOUR));
    let mut changed = seen_at(&children[0], 30, HOUR);
    changed.habit.as_mut().unwrap().changed = Some(Timestamp(30));
    visits.updates.push(changed);
    let source = SignalSource::Sitemap;
    visits.signals = vec![Signal { fp: fps[2], at: Timestamp(25), source, believed: false }];
    settle(frontier, 30, visits);
    let counted = Children { known: 4, seen: 3, changed: 2 };
    assert_eq!(stored(frontier, 40).children, Some(counted));

    let lease = hold(frontier, 50);
    let mut called = delta(&lease, Release::NotBefore(Timestamp(0)));
    called.call_children = vec![(url(PAGE).fingerprint(), Timestamp(20)), (fps[0], Timestamp(0))];
    settle(frontier, 50, called);
    let mut due =
        urls(&lease_one(frontier, 50).pages).iter().map(|url| url.to_string()).collect::<Vec<_>>();
    due.sort_unstable();
    assert_eq!(due, children[2..], "not those that were visited since");
}
