//! A collection of N pages in M sites for the commands that look at it, made through the real store: a third of the
//! pages on one site, one in twenty gone, five links a page. Nothing is archived.
//! `cargo run --release -p store --example catalog_scale -- FOLDER [PAGES] [SITES]`

use std::{path::Path, time::Duration, time::Instant};

use model::{
    Candidate, Change, CheckOut, CrawlUrl, Decision, Frontier, Link, LinkKind, LinkRel, NewPage,
    PageFacts, PageState, PageTerms, PageUpdate, RefusalReason, Release, Settlement, SiteDelta,
    SiteLease, SpiderId, Timestamp, Visit,
};
use store::{collection::Collection, frontier::SqlFrontier, links::LinkWriter};

const START: Timestamp = Timestamp(1_790_000_000_000);
/// Pages settled at a time.
const PIECE: usize = 2_000;
const LINKS: usize = 5;

type Trouble = Box<dyn std::error::Error>;

fn main() -> Result<(), Trouble> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("say where: catalog_scale FOLDER [PAGES] [SITES]")?;
    let pages: usize = arguments.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let sites: usize = arguments.next().map_or(Ok(10_000), |n| n.parse())?;
    let collection = Collection::create(Path::new(&folder))?;
    let begun = Instant::now();
    let mut frontier = collection.frontier()?;
    let mut links = LinkWriter::open(&collection.links(), None)?;
    let leases = leases(&mut frontier, sites)?;
    for first in (0..pages).step_by(PIECE) {
        let numbers = first..pages.min(first + PIECE);
        settle(&mut frontier, &mut links, &leases, numbers)?;
    }
    for lease in leases {
        let back = Release::NotBefore(START);
        let delta = SiteDelta::empty(lease.site.id, lease.site.key, lease.fence, back);
        frontier.check_in(&Settlement { now: START, deltas: vec![delta], ..Default::default() })?;
    }
    println!("{pages} pages in {sites} sites: {:?}", begun.elapsed());
    Ok(())
}

/// The site of a page: every third is on the first.
fn site_of(n: usize, sites: usize) -> usize {
    if n.is_multiple_of(3) { 0 } else { n % sites }
}

fn url(n: usize, sites: usize) -> Result<CrawlUrl, Trouble> {
    let site = site_of(n, sites);
    Ok(CrawlUrl::parse(&format!("https://site-{site}.example/section/page-{n}.html?id={}", n % 7))?)
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
    let mut leases = frontier.check_out(&CheckOut {
        sites_max: sites,
        pages_max: 1,
        ..CheckOut::at(START, "example")
    })?;
    leases.sort_by_key(|lease| lease.site.id);
    Ok(leases)
}

fn settle(
    frontier: &mut SqlFrontier,
    links: &mut LinkWriter,
    leases: &[SiteLease],
    numbers: std::ops::Range<usize>,
) -> Result<(), Trouble> {
    let sites = leases.len();
    let mut deltas: Vec<Option<SiteDelta>> = vec![None; sites];
    let mut decisions = Vec::new();
    for n in numbers {
        let (lease, url) = (&leases[site_of(n, sites)], url(n, sites)?);
        let targets: Vec<Link> =
            (0..LINKS).map(|k| link(n + k * 17, sites)).collect::<Result<_, _>>()?;
        links.append(url.fingerprint(), lease.site.id, START, &targets)?;
        if n.is_multiple_of(10) {
            decisions.push(decision(lease, n));
        }
        let release = Release::Renew(START.plus(model::limits::LEASE));
        let delta = deltas[site_of(n, sites)].get_or_insert_with(|| {
            SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
        });
        delta.updates.push(update(&url, n));
        delta.admitted.push(NewPage {
            url,
            spider: SpiderId(1),
            level: (n % 6) as u16,
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            due: START,
        });
    }
    links.sync()?;
    let deltas = deltas.into_iter().flatten().collect();
    let links = Some(links.position());
    frontier.check_in(&Settlement {
        now: START,
        deltas,
        decisions,
        links,
        ..Default::default()
    })?;
    Ok(())
}

fn update(url: &CrawlUrl, n: usize) -> PageUpdate {
    let at = START.plus(Duration::from_millis(n as u64));
    let gone = n.is_multiple_of(20);
    let visit = Visit {
        at,
        status: if gone { 404 } else { 200 },
        failure: None,
        change: if gone { Change::Gone } else { Change::First },
        record: None,
        record_id: None,
        revisit: false,
        lost_before: false,
        wire_bytes: 4_000 + (n % 5_000) as u64,
        body_bytes: 12_000 + (n % 9_000) as u64,
        payload_digest: [0; 20],
        content_hash: n as u64,
        text_hash: n as u64,
        simhash: n as u64,
        latency: Duration::from_millis(20),
        elapsed: Duration::from_millis(40),
    };
    let facts = PageFacts {
        media_type: "text/html".to_owned(),
        title: format!("The title of page {n}"),
        ..PageFacts::default()
    };
    PageUpdate {
        fp: url.fingerprint(),
        state: if gone { PageState::Gone } else { PageState::Fetched },
        due: Some(at.plus(Duration::from_secs(86_400 + (n % 1_000) as u64))),
        failures: 0,
        visit: Some(visit),
        habit: None,
        children: None,
        facts: Some(facts),
    }
}

fn link(n: usize, sites: usize) -> Result<Link, Trouble> {
    Ok(Link {
        url: url(n, sites)?,
        kind: LinkKind::A,
        rel: LinkRel::default(),
        anchor: "a few words".to_owned(),
        position: 0,
    })
}

fn decision(lease: &SiteLease, n: usize) -> Decision {
    Decision {
        site: lease.site.key.to_string(),
        reason: RefusalReason::Scope,
        rule: "crawl.scope".to_owned(),
        count: 1,
        example: format!("https://elsewhere.example/{n}"),
        referrer: None,
    }
}
