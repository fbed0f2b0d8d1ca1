//! The pages all benchmarks read: those of the simulated web as the measurements of whole crawls have them.

use std::sync::OnceLock;

use bytes::Bytes;
use divan::counter::{BytesCount, ItemsCount};
use gatherer::{GatherOptions, gather};
use model::{CrawlUrl, Exchange, Headers, Purpose, Timestamp, Timing};
use simweb::{PageCount, PageId, Request, SimWeb, WebOptions};

/// A page of each of so many sites, of all languages. Few, so that a sample takes a few milliseconds: longer ones are
/// never without a neighbour on a busy machine.
const SITES: usize = 24;

pub struct Page {
    pub exchange: Exchange,
    /// As a reader sees it.
    pub text: String,
    /// As they stand in the page.
    pub references: Vec<String>,
}

impl Page {
    pub fn html(&self) -> &str {
        std::str::from_utf8(&self.exchange.body).unwrap_or_default()
    }
}

pub fn pages() -> &'static [Page] {
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let options =
            WebOptions { sites: SITES, pages: PageCount::Fixed(20_000), ..WebOptions::default() };
        let web = SimWeb::new(options);
        (0..SITES).map(|site| page(&web, PageId { site, index: site * 71 })).collect()
    })
}

/// A line that `bench/micro` puts above the table.
pub fn tell_makeup() {
    let sum = |part: fn(&Page) -> usize| pages().iter().map(part).sum::<usize>() as f64;
    let (count, bytes) = (pages().len() as f64, sum(|page| page.exchange.body.len()));
    println!(
        "note: {count} pages of the simulated web, mean {:.1} KB, {:.0} % of it text, {:.1} links.",
        bytes / count / 1e3,
        sum(|page| page.text.len()) * 100.0 / bytes,
        sum(|page| page.references.len()) / count
    );
}

pub fn count() -> ItemsCount {
    ItemsCount::new(pages().len())
}

pub fn bytes() -> BytesCount {
    BytesCount::new(pages().iter().map(|page| page.exchange.body.len()).sum::<usize>())
}

pub fn text_bytes() -> BytesCount {
    BytesCount::new(pages().iter().map(|page| page.text.len()).sum::<usize>())
}

fn page(web: &SimWeb, id: PageId) -> Page {
    let (host, path) = (web.host(id.site), web.path(id.site, id.index));
    let body = web.answer(&Request::get(&host, &path), web.options().origin).body;
    let url = CrawlUrl::parse(&web.url(id)).expect("the simulated web's URLs are valid");
    let exchange = exchange(url, Bytes::copy_from_slice(&body));
    let text = gather(&exchange, &GatherOptions::default()).text;
    let html = String::from_utf8_lossy(&body);
    let references = html.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    Page { references: references.map(str::to_owned).collect(), exchange, text }
}

fn exchange(url: CrawlUrl, body: Bytes) -> Exchange {
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: Mon, 16 Nov 2026 12:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n\
         ETag: \"5f3c-1a2b3c4d5e6f7\"\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Harvestman\r\nAccept-Encoding: gzip\r\n\r\n",
        url.path_and_query(),
        url.host()
    );
    Exchange {
        url,
        purpose: Purpose::Page,
        started: Timestamp(1_790_000_000_000),
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
