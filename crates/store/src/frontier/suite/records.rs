//! Counters, history, and what is kept with sites.

use super::*;

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
