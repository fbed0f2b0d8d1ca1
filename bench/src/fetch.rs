//! The floor: every page of a web once through the crawler's own client, nothing parsed, nothing stored. Asked
//! whether they have changed, all pages answer that they have not.

use std::{
    cell::Cell,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use harvester::{
    clock::RealClock,
    http::{HttpFetcher, HttpOptions},
};
use model::{Condition, CrawlUrl, Fetch, FetchLimits, FetchRequest, Purpose, limits};
use simweb::{PageId, SimWeb};
use tokio::task::LocalSet;

use crate::server::Web;

const LINES: usize = 32;

/// After any change of the simulated pages, which begin in 2024 and stand still in measurements.
const SINCE: &str = "Wed, 01 Jan 2025 00:00:00 GMT";

/// Where and how the pages are asked for: `PORT`, `PORT changed`, `PORT ROOT` (the authority of https).
#[derive(Clone, Debug, Default)]
pub struct Manner {
    port: u16,
    if_changed: bool,
    root: Option<PathBuf>,
}

impl Manner {
    pub fn of(words: &[&str]) -> anyhow::Result<Manner> {
        let (port, words) = words.split_first().context("port")?;
        let manner = Manner { port: port.parse().context("port")?, ..Manner::default() };
        Ok(match words {
            [] => manner,
            ["changed"] => Manner { if_changed: true, ..manner },
            [root] => Manner { root: Some(root.into()), ..manner },
            _ => bail!("PORT, PORT changed or PORT ROOT"),
        })
    }
}

pub fn fetch(web: &Web, manner: &Manner) -> anyhow::Result<()> {
    let (sites, pages) = (web.sites, web.pages);
    let web = Rc::new(SimWeb::new(web.options()));
    let answer = if manner.if_changed { 304 } else { 200 };
    let manner = Rc::new(manner.clone());
    let options = HttpOptions {
        allow: vec!["127.0.0.0/8".parse().context("a block")?],
        // As the crawler sets them for 32 connections.
        idle_per_origin_max: LINES + 1,
        idle_max: 1_000,
        extra_roots: manner.root.iter().cloned().collect(),
        ..HttpOptions::default()
    };
    let fetcher = Rc::new(HttpFetcher::new(&options, Arc::new(RealClock::new()))?);
    let limits = Arc::new(fetch_limits());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (lines, next) = (LocalSet::new(), Rc::new(Cell::new(0)));
    for _ in 0..LINES {
        let (web, fetcher, limits, next, manner) =
            (web.clone(), fetcher.clone(), limits.clone(), next.clone(), manner.clone());
        lines.spawn_local(async move {
            while next.get() < sites * pages {
                let number = next.replace(next.get() + 1);
                // Page by page over all sites, as a crawler that is fair to them comes by.
                let page = PageId { site: number % sites, index: number / sites };
                let request = request(&web, page, &manner, limits.clone());
                let exchange = fetcher.fetch(request).await.expect("loopback answers");
                assert_eq!((exchange.status, exchange.stopped), (answer, None));
            }
        });
    }
    runtime.block_on(lines);
    Ok(())
}

fn request(web: &SimWeb, page: PageId, manner: &Manner, limits: Arc<FetchLimits>) -> FetchRequest {
    let host = web.host(page.site);
    let scheme = if manner.root.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{host}:{}{}", manner.port, web.path(page.site, page.index));
    let condition =
        manner.if_changed.then(|| Condition { etag: None, last_modified: Some(SINCE.to_owned()) });
    FetchRequest {
        url: CrawlUrl::parse(&url).expect("the simulated web's URLs are valid"),
        purpose: Purpose::Page,
        addresses: vec![web.address(&host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))],
        condition,
        spider: model::SpiderId(1),
        cookies: None,
        withhold_cookies: false,
        post: None,
        type_gate: None,
        limits,
    }
}

fn fetch_limits() -> FetchLimits {
    let time = Duration::from_secs(20);
    FetchLimits {
        body_bytes_max: 10 << 20,
        head_bytes_max: limits::HEAD_BYTES_MAX,
        connect: time,
        tls: time,
        first_byte: time,
        idle: time,
        total: time,
        media_types: vec!["text/*".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    }
}
