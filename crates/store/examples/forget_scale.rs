//! Takedown at scale: one site of a collection of N pages in M sites, made through the real store.
//! `cargo run --release -p store --example forget_scale -- FOLDER [PAGES] [SITES]`

use std::{path::Path, time::Instant};

use bytes::Bytes;
use model::{
    Archive, ArchiveEntry, Candidate, Change, CheckOut, CrawlUrl, EntryKind, Exchange, Frontier,
    Headers, Link, LinkKind, LinkRel, NewPage, PageState, PageTerms, PageUpdate, Purpose, Release,
    Settlement, SiteDelta, SiteLease, SpiderId, Timestamp, Timing, Visit,
};
use store::{
    collection::Collection,
    forget::{Forget, Target, Targets, forget},
    frontier::SqlFrontier,
    links::LinkWriter,
    tombstones::Tombstone,
    warc::{WarcArchive, WarcOptions, sha1},
};

const START: Timestamp = Timestamp(1_790_000_000_000);
/// A usual page, before packing.
const BODY_BYTES: usize = 12_000;

type Trouble = Box<dyn std::error::Error>;

fn main() -> Result<(), Trouble> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("say where: forget_scale FOLDER [PAGES] [SITES]")?;
    let pages: usize = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    let sites: usize = arguments.next().map_or(Ok(500), |n| n.parse())?;
    let collection = Collection::create(Path::new(&folder))?;
    let begun = Instant::now();
    build(&collection, pages, sites)?;
    println!(
        "built {pages} pages in {sites} sites: {:?}, {}",
        begun.elapsed(),
        sizes(&collection)?
    );

    let lock = collection.lock()?;
    let begun = Instant::now();
    let mut told = Instant::now();
    let request = Forget {
        targets: Targets::new(vec![Target::Site("site-7.example".to_owned())]),
        tombstones: vec![Tombstone { kind: "site".into(), hash: [7; 16], created: START }],
        now: START,
        progress: &mut |step| {
            if told.elapsed().as_millis() > 500 {
                println!("  {:?}: {step:?}", begun.elapsed());
                told = Instant::now();
            }
            Ok(())
        },
    };
    let removed = forget(&collection, &lock, request)?;
    println!("forgot one site: {:?}, {}", begun.elapsed(), sizes(&collection)?);
    println!("{removed:?}");
    let findings = collection.frontier()?.verify(true)?;
    println!("findings of check: {findings:?}");
    Ok(())
}

fn build(collection: &Collection, pages: usize, sites: usize) -> Result<(), Trouble> {
    let mut frontier = collection.frontier()?;
    let (archive, _) =
        WarcArchive::open(&collection.volumes(), WarcOptions::default(), Default::default())?;
    let mut links = LinkWriter::open(&collection.links(), None)?;
    let leases = leases(&mut frontier, sites)?;
    let mut number = 0;
    while number < pages {
        let end = pages.min(number + 200);
        let mut deltas = Vec::new();
        for n in number..end {
            deltas.push(visit(&archive, &mut links, &leases[n % sites], n, sites)?);
        }
        number = end;
        archive.sync()?;
        links.sync()?;
        let (mark, links) = (Some(archive.mark()), Some(links.position()));
        frontier.check_in(&Settlement {
            now: START,
            deltas,
            mark,
            links,
            ..Settlement::default()
        })?;
    }
    archive.seal()?;
    Ok(())
}

fn leases(frontier: &mut SqlFrontier, sites: usize) -> Result<Vec<SiteLease>, Trouble> {
    let candidate = |site| -> Result<Candidate, Trouble> {
        Ok(Candidate {
            url: CrawlUrl::parse(&format!("https://site-{site}.example/"))?,
            spider: SpiderId(1),
            level: 0,
            hops: 0,
            seed: true,
            terms: PageTerms::default(),
            referrer: None,
        })
    };
    let all: Vec<Candidate> = (0..sites).map(candidate).collect::<Result<_, _>>()?;
    frontier.admit(&all, START)?;
    Ok(frontier.check_out(&CheckOut {
        sites_max: sites,
        pages_max: 1,
        ..CheckOut::at(START, "example")
    })?)
}

fn visit(
    archive: &WarcArchive,
    links: &mut LinkWriter,
    lease: &SiteLease,
    n: usize,
    sites: usize,
) -> Result<SiteDelta, Trouble> {
    let url = CrawlUrl::parse(&format!("https://{}/section/page-{n}.html", lease.site.key))?;
    let at = START.plus(std::time::Duration::from_millis(n as u64));
    let exchange = exchange(url.clone(), n, at);
    let (record_id, digest) = (archive.record_id(), sha1(&[&exchange.entity]));
    let kind = EntryKind::Response;
    let (payload_digest, block_digest) = (digest, None);
    let entry = ArchiveEntry { exchange: &exchange, record_id, payload_digest, block_digest, kind };
    let record = archive.append(&entry)?;
    archive.settled(record);
    let targets: Vec<Link> = (0..20).map(|k| link(n, k, sites)).collect::<Result<_, _>>()?;
    links.append(url.fingerprint(), lease.site.id, at, &targets)?;
    let visit = Visit {
        at,
        status: 200,
        failure: None,
        change: Change::First,
        record: Some(record),
        record_id: Some(record_id),
        revisit: false,
        lost_before: false,
        wire_bytes: exchange.wire_body.len() as u64,
        body_bytes: exchange.body.len() as u64,
        payload_digest: digest,
        content_hash: n as u64,
        text_hash: n as u64,
        simhash: n as u64,
        latency: std::time::Duration::from_millis(20),
        elapsed: std::time::Duration::from_millis(40),
    };
    let update = PageUpdate {
        fp: url.fingerprint(),
        state: PageState::Fetched,
        due: Some(at.plus(std::time::Duration::from_secs(86_400))),
        failures: 0,
        visit: Some(visit),
        habit: None,
        children: None,
        facts: Some(model::PageFacts { title: format!("page {n}"), ..Default::default() }),
    };
    let page = NewPage {
        url,
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        due: START,
    };
    let release = Release::Renew(START.plus(model::limits::LEASE));
    let empty = SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release);
    Ok(SiteDelta { admitted: vec![page], updates: vec![update], ..empty })
}

/// Every twentieth link leads to the site that is forgotten.
fn link(n: usize, k: usize, sites: usize) -> Result<Link, Trouble> {
    let site = if k == 0 { 7 } else { (n * 31 + k * 17) % sites };
    Ok(Link {
        url: CrawlUrl::parse(&format!("https://site-{site}.example/section/page-{}.html", n + k))?,
        kind: LinkKind::A,
        rel: LinkRel::default(),
        anchor: "a few words".to_owned(),
        position: k as u32,
    })
}

/// Text that packs about as HTML does.
fn exchange(url: CrawlUrl, n: usize, at: Timestamp) -> Exchange {
    let mut body = String::with_capacity(BODY_BYTES + 32);
    let mut state = n as u64 + 1;
    while body.len() < BODY_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        body.push_str(&format!("<p class=\"text\">{:x} ", state >> 40));
    }
    let body = Bytes::from(body);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", url.path(), url.host());
    Exchange {
        url,
        purpose: Purpose::Page,
        started: at,
        address: None,
        request_head: Bytes::from(request),
        headers: Headers::parse(head.as_bytes()),
        response_head: Bytes::from(head),
        status: 200,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None,
        met: Vec::new(),
        protocol: Default::default(),
        timing: Timing::default(),
    }
}

fn sizes(collection: &Collection) -> Result<String, Trouble> {
    let mut volumes = 0;
    for entry in std::fs::read_dir(collection.volumes())? {
        volumes += entry?.metadata()?.len();
    }
    let database = std::fs::metadata(collection.dir().join("crawl.db"))?.len();
    Ok(format!("volumes {} MB, database {} MB", volumes >> 20, database >> 20))
}
