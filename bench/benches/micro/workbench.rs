//! The workbench with five hundred sites in hand: which page next, and what its answer means for the site. Beside it a
//! bare heap of moments, the least that any such list costs.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    net::IpAddr,
    time::Duration,
};

use divan::{Bencher, black_box, counter::ItemsCount};
use harvester::workbench::{Assignment, Options, Step, Workbench};
use model::{
    CrawlUrl, Exchange, Headers, Origin, Page, PageState, Resolution, RobotsAnswer, RobotsCopy,
    Site, SiteClock, SiteCounters, SiteId, SiteKey, SiteLease, Spent, SpiderId, Timestamp, Timing,
};

const START: Timestamp = Timestamp(1_800_000_000_000);
const SITES: usize = 500;
/// Pages waiting at each site.
const PAGES: usize = 3;
/// Visits under way at once, as a crawl has them.
const UNDER_WAY: usize = 100;

fn visits() -> ItemsCount {
    ItemsCount::new(SITES * PAGES)
}

#[divan::bench_group(name = "workbench, acquire and release (visit)")]
mod visits_of_many_sites {
    use super::*;

    #[divan::bench(name = "harvestman, pause of 2 s")]
    fn polite(bencher: Bencher) {
        measure(bencher, Duration::from_secs(2));
    }

    #[divan::bench(name = "harvestman, no pause")]
    fn at_once(bencher: Bencher) {
        measure(bencher, Duration::ZERO);
    }

    fn measure(bencher: Bencher, pause: Duration) {
        bencher.counter(visits()).with_inputs(|| in_hand(pause)).bench_local_refs(visit_all);
    }

    #[divan::bench(name = "a heap of moments alone")]
    fn heap(bencher: Bencher) {
        bencher.counter(visits()).bench(|| {
            let mut heap: BinaryHeap<_> = (0..SITES).map(|site| Reverse((0_u64, site))).collect();
            for _ in 0..SITES * PAGES {
                let Some(Reverse((at, site))) = heap.pop() else { return };
                heap.push(Reverse((black_box(at) + 2_000, site)));
            }
        });
    }
}

fn in_hand(pause: Duration) -> Workbench {
    let options = Options { fetches_max: UNDER_WAY, ..Options::default() }.with_pause(pause);
    let mut bench = Workbench::new(options, Spent::default());
    for site in 0..SITES {
        bench.add(lease(site), START);
    }
    bench
}

/// Until nothing is left. Time stands still but for the waits.
fn visit_all(bench: &mut Workbench) -> usize {
    let (mut now, mut under_way, mut visited) = (START, VecDeque::new(), 0);
    loop {
        match bench.acquire(now) {
            Step::Resolve(site) => {
                let resolution = resolution(&site);
                bench.resolved(&site, Ok(resolution), now);
            }
            Step::Visit(assignment) => under_way.push_back(assignment),
            Step::Wait(until) if under_way.is_empty() => now = until,
            _ => match under_way.pop_front() {
                Some(assignment) => {
                    end(bench, &assignment, now);
                    visited += 1;
                }
                None => return visited,
            },
        }
    }
}

fn end(bench: &mut Workbench, assignment: &Assignment, now: Timestamp) {
    let exchange = answer(assignment, now);
    black_box(bench.release(assignment.id, Ok(&exchange), now));
    if let Some(page) = &assignment.page {
        bench.gathered(&assignment.site.key, page.url.fingerprint(), now);
    }
}

fn resolution(site: &SiteKey) -> Resolution {
    let number =
        site.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
    let [_, b, c, d] = number.to_be_bytes();
    let expires = START.plus(Duration::from_secs(1_000_000));
    Resolution { addresses: vec![IpAddr::from([10, b, c, d])], expires }
}

fn lease(number: usize) -> SiteLease {
    let host = format!("www.site-{number}.example");
    let pages = (0..PAGES).map(|n| page(&format!("http://{host}/section/page-{n}.html"))).collect();
    SiteLease {
        site: Site {
            habit: model::SiteHabit::default(),
            traps: model::SiteTraps::default(),
            id: SiteId(number as i64 + 1),
            key: SiteKey::stored(&host),
            seeded: true,
            counters: SiteCounters::default(),
            clock: SiteClock::default(),
            robots: vec![robots(&host)],
        },
        fence: 7,
        until: START.plus(Duration::from_secs(1_000_000)),
        pages,
        known: Some(Vec::new()),
        more: false,
        domain: Default::default(),
        worked_today: Default::default(),
    }
}

fn page(url: &str) -> Page {
    Page {
        habit: model::Habit::default(),
        children: None,
        url: CrawlUrl::parse(url).expect("a valid URL"),
        spider: SpiderId(1),
        state: PageState::Known,
        level: 0,
        hops: 0,
        seed: false,
        terms: model::PageTerms::default(),
        due: START,
        failures: 0,
        last: None,
    }
}

fn robots(host: &str) -> RobotsCopy {
    RobotsCopy {
        origin: Origin::stored(&format!("http://{host}")),
        answer: RobotsAnswer::Rules("User-agent: *\nDisallow: /private/\n".to_owned()),
        fetched: START,
        expires: START.plus(Duration::from_secs(1_000_000)),
        unreachable_since: None,
        etag: None,
        last_modified: None,
    }
}

fn answer(assignment: &Assignment, started: Timestamp) -> Exchange {
    Exchange {
        url: assignment.url.clone(),
        purpose: assignment.purpose,
        started,
        address: assignment.addresses.first().copied(),
        request_head: Default::default(),
        response_head: Default::default(),
        status: 200,
        headers: Headers::new(),
        wire_body: Default::default(),
        entity: Default::default(),
        body: Default::default(),
        stopped: None,
        met: Vec::new(),
        timing: Timing::default(),
        protocol: Default::default(),
    }
}
