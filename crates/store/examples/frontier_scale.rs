//! The frontier at scale: how long a collection of N URLs in M sites takes to open, to lend from and to
//! settle into. `cargo run --release -p store --example frontier_scale -- FOLDER [URLS] [SITES] [load]`
//!
//! The collection is made when it is not there; with `load` that is all. So a second process, which has none of the
//! memory that making it took, can be measured alone.
//!
//! Times are wall and, where "CPU" stands, time on a processor (Linux), which a busy machine does not
//! stretch; the figures are printed as they come.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use model::{
    Candidate, Change, CheckOut, CrawlUrl, Frontier, NewPage, PageFacts, PageState, PageTerms,
    PageUpdate, RecordId, RecordLocation, Release, Settlement, SiteDelta, SiteLease, SpiderId,
    Timestamp, Visit, limits::CHECK_OUT_SITES,
};
use store::frontier::SqlFrontier;

const START: Timestamp = Timestamp(1_790_000_000_000);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().ok_or("say where: frontier_scale FOLDER [URLS] [SITES] [load]")?;
    let urls: u64 = arguments.next().map_or(Ok(5_000_000), |n| n.parse())?;
    let sites: u64 = arguments.next().map_or(Ok(50_000), |n| n.parse())?;
    let only_load = arguments.next().is_some_and(|word| word == "load");
    let path = Path::new(&folder).join("crawl.db");
    if !path.exists() {
        load(&path, urls, sites)?;
    }
    if only_load {
        return Ok(());
    }
    let begun = Instant::now();
    let mut frontier = SqlFrontier::open(&path)?;
    frontier.recover_leases(START)?;
    println!("open: {:?}", begun.elapsed());
    println!("{:?}", frontier.counts()?);
    rounds(&mut frontier, 100, urls)?;
    links(&mut frontier, urls, sites)?;
    let file = std::fs::metadata(&path)?.len();
    println!("file: {} MB, {} bytes per page", file >> 20, file / frontier.counts()?.candidates);
    Ok(())
}

/// Page n of the collection: site by site, so that loading writes each part of the table once.
fn url(n: u64, urls: u64, sites: u64) -> Result<CrawlUrl, Box<dyn std::error::Error>> {
    let site = n % urls * sites / urls;
    let text = format!("https://www.site-{site}.example/section/{}/page-{n}.html", n % 97);
    Ok(CrawlUrl::parse(&text)?)
}

fn candidate(url: CrawlUrl, level: u16) -> Candidate {
    Candidate {
        url,
        spider: SpiderId(1),
        level,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        referrer: None,
    }
}

fn load(path: &Path, urls: u64, sites: u64) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let mut frontier = SqlFrontier::open(path)?;
    for from in (0..urls).step_by(100_000) {
        let batch: Vec<Candidate> = (from..urls.min(from + 100_000))
            .map(|n| Ok(candidate(url(n, urls, sites)?, (n % 5) as u16)))
            .collect::<Result<_, Box<dyn std::error::Error>>>()?;
        frontier.admit(&batch, START)?;
    }
    println!("load: {:?}", begun.elapsed());
    Ok(())
}

/// Check-outs of as many sites as a crawl asks for at once, each settled with one visit of ten of its pages and ten new ones.
fn rounds(
    frontier: &mut SqlFrontier,
    rounds: usize,
    urls: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut out, mut out_cpu) = (Vec::new(), Vec::new());
    let (mut settled, mut settled_cpu, mut pages) = (Duration::ZERO, Duration::ZERO, 0u64);
    let (mut slowest, mut number) = (Duration::ZERO, urls);
    for round in 0..rounds {
        let now = START.plus(Duration::from_secs(round as u64));
        let (begun, cpu) = (Instant::now(), on_cpu());
        let leases = frontier.check_out(&request(now))?;
        out.push(begun.elapsed());
        out_cpu.push(on_cpu() - cpu);
        // Commits as the crawl makes them: about 200 pages each.
        for part in leases.chunks(20) {
            let deltas: Vec<SiteDelta> = part
                .iter()
                .map(|lease| visit_ten(lease, now, &mut number))
                .collect::<Result<_, _>>()?;
            pages += deltas.iter().map(|delta| delta.updates.len() as u64).sum::<u64>();
            let settlement = Settlement { now, deltas, ..Settlement::default() };
            let (begun, cpu) = (Instant::now(), on_cpu());
            frontier.check_in(&settlement)?;
            settled += begun.elapsed();
            settled_cpu += on_cpu() - cpu;
            slowest = slowest.max(begun.elapsed());
        }
    }
    for (name, mut times) in [("wall", out), ("CPU", out_cpu)] {
        times.sort_unstable();
        let (median, p99) = (times[rounds / 2], times[rounds * 99 / 100]);
        println!("check-out of {CHECK_OUT_SITES} sites, {name}: median {median:?}, p99 {p99:?}");
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / pages as f64;
    let (wall, cpu) = (each(settled), each(settled_cpu));
    println!(
        "check-in of {pages} pages: {wall:.1} µs a page, CPU {cpu:.1} µs, slowest commit {slowest:?}"
    );
    Ok(())
}

/// Time this thread has been on a processor; zero where the system does not say.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanos)
}

fn request(now: Timestamp) -> CheckOut {
    CheckOut {
        sites_max: CHECK_OUT_SITES,
        pages_max: 100,
        known_max: model::limits::KNOWN_IN_MEMORY_MAX,
        ..CheckOut::at(now, "scale")
    }
}

fn visit_ten(
    lease: &SiteLease,
    now: Timestamp,
    number: &mut u64,
) -> Result<SiteDelta, Box<dyn std::error::Error>> {
    let pages = &lease.pages[..lease.pages.len().min(10)];
    let mut admitted = Vec::with_capacity(pages.len());
    for page in pages {
        *number += 1;
        let url = page.url.join(&format!("/new/{number}.html"))?;
        let due = now.plus(Duration::from_secs(60));
        admitted.push(NewPage {
            url,
            spider: SpiderId(1),
            level: 3,
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            due,
        });
    }
    let release = Release::NotBefore(now.plus(Duration::from_secs(3_600)));
    Ok(SiteDelta {
        updates: pages.iter().map(|page| visited(page.url.fingerprint(), now)).collect(),
        admitted,
        ..SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
    })
}

fn visited(fp: model::Fingerprint, now: Timestamp) -> PageUpdate {
    PageUpdate {
        habit: None,
        children: None,
        fp,
        state: PageState::Fetched,
        due: Some(now.plus(Duration::from_secs(86_400))),
        failures: 0,
        visit: Some(Visit {
            revisit: false,
            lost_before: false,
            at: now,
            status: 200,
            failure: None,
            change: Change::First,
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
        }),
        facts: Some(PageFacts {
            media_type: "text/html".into(),
            charset: "utf-8".into(),
            title: "A title of the usual length, as pages have them".into(),
            description: "What the page says of itself in a sentence or two, when it does.".into(),
            language: "en".into(),
            etag: Some("\"5f3c-1a2b3c4d5e6f7\"".into()),
            last_modified: Some("Sun, 15 Nov 2026 12:00:00 GMT".into()),
            text_bytes: 10_000,
            links_internal: 16,
            links_external: 4,
            ..PageFacts::default()
        }),
    }
}

/// Links to other sites, nearly all known: once cold, once again from the cache.
fn links(
    frontier: &mut SqlFrontier,
    urls: u64,
    sites: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    for pass in ["cold", "remembered"] {
        let (mut spent, mut asked, mut new) = (Duration::ZERO, 0u64, 0);
        for batch in 0..50u64 {
            let candidates: Vec<Candidate> = (0..4_000)
                .map(|n| {
                    let pick =
                        (batch * 4_000 + n).wrapping_mul(0x2545_f491_4f6c_dd1d) % (urls / 19 * 20);
                    Ok(candidate(url(pick, urls, sites)?, 9))
                })
                .collect::<Result<_, Box<dyn std::error::Error>>>()?;
            let cpu = on_cpu();
            new += frontier.admit(&candidates, START)?;
            spent += on_cpu() - cpu;
            asked += candidates.len() as u64;
        }
        let each = spent.as_secs_f64() * 1e6 / asked as f64;
        println!("links to other sites, {pass}: {asked} asked, {new} new, CPU {each:.2} µs each");
    }
    Ok(())
}
