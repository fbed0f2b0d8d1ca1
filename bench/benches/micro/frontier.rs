//! Check-in: what a page costs the database when it is settled, with a new page found on each, 200 to a transaction as
//! the crawl makes them. Beside it the same frontier in memory, which outlives nothing.

use std::{cell::RefCell, time::Duration};

use divan::{Bencher, counter::ItemsCount};
use model::{
    Candidate, Change, CheckOut, CrawlUrl, Fingerprint, Frontier, NewPage, PageFacts, PageState,
    PageTerms, PageUpdate, RecordId, RecordLocation, Release, Settlement, SiteDelta, SiteLease,
    SpiderId, Timestamp, Visit,
};
use store::frontier::{MemoryFrontier, SqlFrontier};

const START: Timestamp = Timestamp(1_790_000_000_000);
/// In a transaction, and pages of each of them.
const SITES: usize = 20;
const PAGES: usize = 10;
/// Transactions that are measured.
const ROUNDS: usize = 60;

#[divan::bench_group(
    name = "frontier check-in, a visit and a new page (page)",
    sample_size = 1,
    sample_count = 60
)]
mod check_in {
    use super::*;

    #[divan::bench(name = "harvestman, SQLite")]
    fn sqlite(bencher: Bencher) {
        let folder = tempfile::tempdir().expect("a folder for a database");
        let path = folder.path().join("crawl.db");
        let frontier = SqlFrontier::open(&path).expect("a new database can be made");
        measure(bencher, frontier);
    }

    #[divan::bench(name = "in memory")]
    fn memory(bencher: Bencher) {
        measure(bencher, MemoryFrontier::new());
    }
}

fn measure(bencher: Bencher, mut frontier: impl Frontier) {
    // Some more than are measured: divan tries its function before.
    for part in 0..ROUNDS + 10 {
        let from = part * SITES * PAGES;
        let batch: Vec<Candidate> = (from..from + SITES * PAGES).map(candidate).collect();
        frontier.admit(&batch, START).expect("the disk has room");
    }
    let (frontier, number) = (RefCell::new(frontier), RefCell::new(0));
    bencher
        .counter(ItemsCount::new(SITES * PAGES))
        .with_inputs(|| {
            let leases = frontier.borrow_mut().check_out(&request()).expect("a good database");
            assert_eq!(leases.len(), SITES, "the measurement ran out of sites");
            let deltas =
                leases.iter().map(|lease| visited(lease, &mut number.borrow_mut())).collect();
            Settlement { now: START, deltas, ..Settlement::default() }
        })
        .bench_local_values(|settlement| {
            frontier.borrow_mut().check_in(&settlement).expect("the disk has room");
        });
}

fn candidate(n: usize) -> Candidate {
    let text = format!("https://www.site-{}.example/section/{}/page-{n}.html", n / PAGES, n % 97);
    Candidate {
        url: CrawlUrl::parse(&text).expect("a valid URL"),
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        referrer: None,
    }
}

fn request() -> CheckOut {
    CheckOut {
        sites_max: SITES,
        pages_max: 100,
        known_max: model::limits::KNOWN_IN_MEMORY_MAX,
        ..CheckOut::at(START, "micro")
    }
}

fn visited(lease: &SiteLease, number: &mut u64) -> SiteDelta {
    let mut new = |page: &model::Page| {
        *number += 1;
        let path = format!("/new/{number}.html");
        NewPage {
            url: page.url.join(&path).expect("a valid URL"),
            spider: SpiderId(1),
            level: 3,
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            due: START.plus(Duration::from_secs(60)),
        }
    };
    let release = Release::NotBefore(START.plus(Duration::from_secs(3_600)));
    SiteDelta {
        updates: lease.pages.iter().map(|page| update(page.url.fingerprint())).collect(),
        admitted: lease.pages.iter().map(&mut new).collect(),
        ..SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
    }
}

fn update(fp: Fingerprint) -> PageUpdate {
    PageUpdate {
        fp,
        state: PageState::Fetched,
        due: Some(START.plus(Duration::from_secs(86_400))),
        failures: 0,
        visit: Some(visit(fp)),
        habit: None,
        children: None,
        facts: Some(PageFacts {
            title: "A title of the usual length, as pages have them".into(),
            language: "en".into(),
            etag: Some("\"5f3c-1a2b3c4d5e6f7\"".into()),
            text_bytes: 10_000,
            links_internal: 16,
            links_external: 4,
            ..PageFacts::default()
        }),
    }
}

fn visit(fp: Fingerprint) -> Visit {
    Visit {
        revisit: false,
        at: START,
        status: 200,
        failure: None,
        change: Change::First,
        lost_before: false,
        record: Some(RecordLocation { volume: 1, offset: fp.0 >> 20, length: 7_000 }),
        record_id: Some(RecordId(u128::from(fp.0) << 64)),
        wire_bytes: 7_000,
        body_bytes: 17_000,
        payload_digest: [1; 20],
        content_hash: fp.0,
        text_hash: !fp.0,
        simhash: fp.0 ^ 0xffff,
        latency: Duration::from_millis(100),
        elapsed: Duration::from_millis(150),
    }
}
