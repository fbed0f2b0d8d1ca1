//! The floor: every page of a web once through the crawler's own client, nothing parsed, nothing stored.

use std::{
    cell::Cell,
    net::{IpAddr, Ipv4Addr},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use harvester::{
    clock::RealClock,
    http::{HttpFetcher, HttpOptions},
};
use model::{CrawlUrl, Fetch, FetchLimits, FetchRequest, Purpose, limits};
use simweb::{PageId, SimWeb};
use tokio::task::LocalSet;

use crate::server::Web;

const LINES: usize = 32;

pub fn fetch(web: &Web, port: u16) -> anyhow::Result<()> {
    let (sites, pages) = (web.sites, web.pages);
    let web = Rc::new(SimWeb::new(web.options()));
    let options = HttpOptions {
        allow: vec!["127.0.0.0/8".parse().context("a block")?],
        // As the crawler sets them for 32 connections.
        idle_per_origin_max: LINES + 1,
        idle_max: 1_000,
        ..HttpOptions::default()
    };
    let fetcher = Rc::new(HttpFetcher::new(&options, Arc::new(RealClock::new()))?);
    let limits = Arc::new(fetch_limits());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (lines, next) = (LocalSet::new(), Rc::new(Cell::new(0)));
    for _ in 0..LINES {
        let (web, fetcher, limits, next) =
            (web.clone(), fetcher.clone(), limits.clone(), next.clone());
        lines.spawn_local(async move {
            while next.get() < sites * pages {
                let number = next.replace(next.get() + 1);
                // Page by page over all sites, as a crawler that is fair to them comes by.
                let page = PageId { site: number % sites, index: number / sites };
                let request = request(&web, page, port, limits.clone());
                let exchange = fetcher.fetch(request).await.expect("loopback answers");
                assert_eq!((exchange.status, exchange.stopped), (200, None));
            }
        });
    }
    runtime.block_on(lines);
    Ok(())
}

fn request(web: &SimWeb, page: PageId, port: u16, limits: Arc<FetchLimits>) -> FetchRequest {
    let host = web.host(page.site);
    let url = format!("http://{host}:{port}{}", web.path(page.site, page.index));
    FetchRequest {
        url: CrawlUrl::parse(&url).expect("the simulated web's URLs are valid"),
        purpose: Purpose::Page,
        addresses: vec![web.address(&host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))],
        condition: None,
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
