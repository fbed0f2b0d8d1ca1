//! Revisits at scale: what picking due pages out of N in M sites costs while they are being settled.
//! `cargo run --release -p store --example revisits_scale -- FOLDER [PAGES] [SITES] [DAY]`
//!
//! The collection is made by plain inserts, all its pages fetched once, due again within ten days; a tenth of them
//! is due when the picks begin. One site is large. "CPU" is time on a processor (Linux), which a busy machine does not stretch.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use model::{
    Change, CheckOut, CrawlUrl, Frontier, Habit, PageState, PageUpdate, RecordId, RecordLocation,
    Release, Settlement, Signal, SignalSource, SiteDelta, SiteLease, Timestamp, Visit,
};
use store::{
    frontier::SqlFrontier,
    params,
    sql::{self, Sql},
};

const START: Timestamp = Timestamp(1_790_000_000_000);
/// Pages of the first site, which tells news of all of them.
const LARGE: u64 = 100_000;
const DAY: Duration = Duration::from_secs(86_400);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().ok_or("say where: revisits_scale FOLDER [PAGES] [SITES] [DAY]")?;
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |n| n.parse())?;
    let sites: u64 = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    // Each pick uses up what is due: a collection that was measured before is asked on another day.
    let day: u32 = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let path = Path::new(&folder).join("crawl.db");
    if !path.exists() {
        let begun = Instant::now();
        make(&path, pages, sites)?;
        println!("made in {:?}", begun.elapsed());
    }
    let begun = Instant::now();
    let mut frontier = SqlFrontier::open(&path)?;
    frontier.recover_leases(START)?;
    println!("open: {:?}; {} MB", begun.elapsed(), std::fs::metadata(&path)?.len() >> 20);
    let (begun, cpu) = (Instant::now(), on_cpu());
    let sample = frontier.sample(2_000, 12_345)?.len();
    println!("sample of {sample} pages: {:?}, CPU {:?}", begun.elapsed(), on_cpu() - cpu);
    let begin = START.plus(day * DAY);
    picks(&mut frontier, 100, begin)?;
    news(&mut frontier, begin)
}

/// Every page of the large site is announced to have changed, and once more the same.
fn news(frontier: &mut SqlFrontier, begin: Timestamp) -> Outcome<()> {
    let now = begin.plus(Duration::from_secs(3_600));
    let key = CrawlUrl::parse(&format!("https://{}/", host(1)))?.site();
    let named = CheckOut { only: Some(vec![key]), ..request(now) };
    let lease = frontier.check_out(&named)?.pop().ok_or("the large site is in hand")?;
    let signal = |fp| Signal { fp, at: now, source: SignalSource::Sitemap, believed: true };
    let pages = (0..LARGE).map(|n| Ok(signal(page(1, n)?.fingerprint())));
    let signals: Vec<Signal> = pages.collect::<Outcome<_>>()?;
    for pass in ["new", "known"] {
        let release = Release::Renew(now.plus(DAY));
        let mut delta =
            SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release);
        delta.signals = signals.clone();
        let (begun, cpu) = (Instant::now(), on_cpu());
        frontier.check_in(&Settlement { now, deltas: vec![delta], ..Settlement::default() })?;
        let (wall, cpu) = (begun.elapsed(), on_cpu() - cpu);
        println!("{} announcements, {pass}: {wall:?}, CPU {cpu:?}", signals.len());
    }
    Ok(())
}

/// Picks of 200 sites with 2,000 pages, each settled in ten check-ins before the next.
fn picks(frontier: &mut SqlFrontier, count: usize, begin: Timestamp) -> Outcome<()> {
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let (mut settled, mut settled_cpu, mut pages) = (Duration::ZERO, Duration::ZERO, 0usize);
    let mut sites = 0;
    for pick in 0..count {
        let now = begin.plus(Duration::from_secs(pick as u64));
        let (begun, on) = (Instant::now(), on_cpu());
        let leases = frontier.check_out(&request(now))?;
        wall.push(begun.elapsed());
        cpu.push(on_cpu() - on);
        sites += leases.len();
        for part in leases.chunks(20) {
            let deltas: Vec<SiteDelta> = part.iter().map(|lease| seen_again(lease, now)).collect();
            pages += deltas.iter().map(|delta| delta.updates.len()).sum::<usize>();
            let settlement = Settlement { now, deltas, ..Settlement::default() };
            let (begun, on) = (Instant::now(), on_cpu());
            frontier.check_in(&settlement)?;
            settled += begun.elapsed();
            settled_cpu += on_cpu() - on;
        }
    }
    println!("picks: {count}, of {} sites with {} pages", sites / count, pages / count);
    for (name, mut times) in [("wall", wall), ("CPU", cpu)] {
        times.sort_unstable();
        let of = |hundredths: usize| times[(count * hundredths).div_ceil(100) - 1];
        let (median, p95, p99, most) = (of(50), of(95), of(99), of(100));
        println!("pick, {name}: median {median:?}, p95 {p95:?}, p99 {p99:?}, most {most:?}");
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / pages as f64;
    println!("check-in: {:.1} µs a revisit, CPU {:.1} µs", each(settled), each(settled_cpu));
    Ok(())
}

fn request(now: Timestamp) -> CheckOut {
    CheckOut {
        sites_max: 200,
        pages_max: 100,
        again_max: Some(2_000),
        known_max: model::limits::KNOWN_IN_MEMORY_MAX,
        ..CheckOut::at(now, "scale")
    }
}

/// Each of its pages was as before.
fn seen_again(lease: &SiteLease, now: Timestamp) -> SiteDelta {
    let release = Release::NotBefore(now.plus(Duration::from_secs(60)));
    let mut delta = SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release);
    delta.updates = lease
        .pages
        .iter()
        .map(|page| PageUpdate {
            fp: page.url.fingerprint(),
            state: PageState::Fetched,
            due: Some(now.plus(9 * DAY)),
            failures: 0,
            visit: Some(unchanged(page.url.fingerprint().0, now)),
            habit: Some(Habit {
                seen: Some(now),
                rate: page.habit.rate + 1.0,
                compared: page.habit.compared + 1,
                ..page.habit
            }),
            children: None,
            facts: None,
        })
        .collect();
    delta
}

fn unchanged(fp: u64, now: Timestamp) -> Visit {
    Visit {
        revisit: false,
        lost_before: false,
        at: now,
        status: 200,
        failure: None,
        change: Change::Unchanged,
        record: Some(RecordLocation { volume: 1, offset: fp >> 20, length: 7_000 }),
        record_id: Some(RecordId(u128::from(fp) << 64)),
        wire_bytes: 7_000,
        body_bytes: 17_000,
        payload_digest: [1; 20],
        content_hash: fp,
        text_hash: !fp,
        simhash: fp ^ 0xffff,
        latency: Duration::from_millis(100),
        elapsed: Duration::from_millis(150),
    }
}

/// All rows in the order of their tables' keys, indexes last.
fn make(path: &Path, pages: u64, sites: u64) -> Outcome<()> {
    drop(SqlFrontier::open(path)?);
    let sql = sql::open_plain(path)?;
    sql.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
         DROP INDEX pages_again; DROP INDEX visits_page; BEGIN",
    )?;
    let each = pages / sites;
    for site in 1..=sites {
        make_site(&sql, site, if site == 1 { LARGE } else { each })?;
    }
    sql.execute_batch(
        "CREATE INDEX pages_again ON pages (site, spider, turn, due, fp)
         WHERE turn IN (2, 4) AND due IS NOT NULL;
         CREATE INDEX visits_page ON visits (site, fp);
         UPDATE totals SET sites_known = (SELECT count(*) FROM sites), pages_known = (SELECT sum(known)
         FROM sites), pages_fetched = (SELECT sum(known) FROM sites), visits = (SELECT sum(known) FROM
         sites), versions = (SELECT sum(known) FROM sites);
         COMMIT; PRAGMA journal_mode = WAL",
    )?;
    Ok(())
}

fn make_site(sql: &Sql, site: u64, each: u64) -> Outcome<()> {
    let mut rows: Vec<(i64, String)> = (0..each)
        .map(|n| {
            let url = page(site, n)?;
            Ok((url.fingerprint().0 as i64, url.as_str().to_owned()))
        })
        .collect::<Outcome<_>>()?;
    rows.sort_unstable();
    let mut earliest = i64::MAX;
    for (fp, url) in &rows {
        let due = START.0 + fp.rotate_left(17).unsigned_abs() as i64 % (864_000_000);
        earliest = earliest.min(due);
        sql.prepare(
            "INSERT INTO visits (site, fp, change, status, first, last, wire_bytes, body_bytes, \
             payload_digest, content_hash, text_hash, simhash, latency, elapsed, record_volume, \
             record_offset, record_length, record_id, record_date) VALUES (?1, ?2, 0, 200, ?3, ?3, \
             7000, 17000, ?4, ?2, ?2, ?2, 100, 150, 1, ?2 & 0xffffffff, 7000, randomblob(16), ?3)",
        )?
        .execute(params![site as i64, fp, START.0, [1u8; 20]])?;
        sql.prepare(
            "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, fetched, visits, \
             found, due, visited, run, shape, rate, first, seen, compared, recent, price, turn) \
             VALUES (?1, ?2, ?3, 1, 2, ?2 & 3, 0, 0, 1, 1, ?4, ?5, ?4, last_insert_rowid(), 0.5, \
             2.5, ?4, ?4, 3, 2, 0.01, 2)",
        )?
        .execute(params![site as i64, fp, url, START.0, due])?;
        sql.prepare(
            "INSERT INTO page_facts (site, fp, media_type, charset, title, description, language, \
             etag, text_bytes, links_internal, links_external, noindex, noarchive) VALUES (?1, ?2, \
             'text/html', 'utf-8', 'A title', '', 'en', '\"5f3c-1a2b3c4d5e6f7\"', 10000, 16, 4, 0, 0)",
        )?
        .execute(params![site as i64, fp])?;
    }
    sql.prepare(
        "INSERT INTO sites (id, key, domain, due_again, pages, known, fetched, visits) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?5, ?5)",
    )?
    .execute(params![site as i64, host(site), host(site), earliest, each as i64])?;
    Ok(())
}

fn host(site: u64) -> String {
    format!("site-{site}.example")
}

fn page(site: u64, n: u64) -> Outcome<CrawlUrl> {
    Ok(CrawlUrl::parse(&format!("https://{}/part/{}/page-{n}", host(site), n % 7))?)
}

/// Time this thread has been on a processor; zero where the system does not say.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanos)
}
