//! The in-process twin answers as the server does, on simulated time.

use std::net::IpAddr;

use model::{Condition, CrawlUrl, FetchLimits, Purpose, Resolve, Stopped, testing::TestClock};

use super::*;
use crate::{SimResolver, WebOptions};

struct Bench {
    web: Arc<SimWeb>,
    clock: Arc<TestClock>,
    fetcher: SimFetcher,
}

fn bench(change: impl FnOnce(&mut WebOptions)) -> Bench {
    let mut options = WebOptions::default();
    options.latency.base = Duration::from_millis(100);
    change(&mut options);
    let web = Arc::new(SimWeb::new(options));
    let clock = Arc::new(TestClock::at(Timestamp(1_763_000_000_000)).jumping());
    let dyn_clock: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let agent = "Crawly/1.0";
    let fetcher =
        SimFetcher::new(Arc::clone(&web), dyn_clock, agent, LogOptions::default()).unwrap();
    Bench { web, clock, fetcher }
}

fn request(url: &str) -> FetchRequest {
    FetchRequest {
        url: CrawlUrl::parse(url).unwrap(),
        purpose: Purpose::Page,
        addresses: vec![IpAddr::from([127, 0, 0, 1])],
        condition: None,
        spider: model::SpiderId(1),
        cookies: None,
        withhold_cookies: false,
        post: None,
        limits: Arc::new(FetchLimits {
            body_bytes_max: 2_000_000,
            head_bytes_max: 64 * 1024,
            connect: Duration::from_secs(10),
            tls: Duration::from_secs(10),
            first_byte: Duration::from_secs(20),
            idle: Duration::from_secs(20),
            total: Duration::from_secs(60),
            media_types: vec!["text/html".to_owned(), "text/plain".to_owned()],
            ratio_max: 200,
            wire_bytes_max: None,
        }),
        type_gate: None,
    }
}

async fn hazard(word: &str) -> Result<Exchange, FetchFailure> {
    let bench = bench(|options| options.put_all("s0.sim.test"));
    bench.fetcher.fetch(request(&format!("http://s0.sim.test/hazard/{word}"))).await
}

#[tokio::test]
async fn an_exchange_holds_what_a_server_would_have_sent() {
    let bench = bench(|options| options.page.gzip = true);
    let exchange = bench.fetcher.fetch(request("http://s0.sim.test/")).await.unwrap();
    assert!(exchange.request_head.starts_with(b"GET / HTTP/1.1\r\nHost: s0.sim.test\r\n"));
    assert!(exchange.request_head.ends_with(b"\r\n\r\n"));
    assert!(exchange.response_head.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(exchange.response_head.ends_with(b"\r\n\r\n"));
    assert!(exchange.entity.starts_with(&[0x1f, 0x8b]));
    assert!(exchange.body.starts_with(b"<!DOCTYPE html>"));
    assert_eq!(exchange.stopped, None);
    assert_eq!(exchange.timing.first_byte, Duration::from_millis(100));
    let took = bench.clock.now().since(exchange.started);
    assert!(took >= exchange.timing.total && took < Duration::from_millis(110), "{took:?}");
    let entries = bench.fetcher.log().entries();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].end_us - entries[0].start_us, took.as_micros() as u64);
}

#[tokio::test]
async fn chunked_bodies_keep_their_framing_on_the_wire() {
    let bench = bench(|options| options.page.chunked_share = 1.0);
    let exchange = bench.fetcher.fetch(request("http://s0.sim.test/")).await.unwrap();
    assert!(exchange.wire_body.len() > exchange.entity.len());
    assert!(exchange.wire_body.ends_with(b"\r\n0\r\n\r\n"));
    assert!(exchange.entity.ends_with(b"</html>\n"));
    assert_eq!(exchange.body, exchange.entity);
}

#[tokio::test]
async fn conditional_requests_are_answered() {
    let bench = bench(|_| {});
    let first = bench.fetcher.fetch(request("http://s0.sim.test/")).await.unwrap();
    let etag = first.headers.get("etag").map(str::to_owned);
    let condition = Some(Condition { etag, last_modified: None });
    let again = FetchRequest { condition, ..request("http://s0.sim.test/") };
    let second = bench.fetcher.fetch(again).await.unwrap();
    assert_eq!((second.status, second.body.len(), second.stopped), (304, 0, None));
    assert_eq!(bench.fetcher.log().counts().not_modified, 1);
}

#[tokio::test]
async fn failures_are_of_their_kind() {
    let kinds = [
        ("no-response", FailureKind::Timeout),
        ("late", FailureKind::Timeout),
        ("slow-head", FailureKind::Timeout),
        ("reset", FailureKind::Reset),
        ("header-flood", FailureKind::BadHttp),
        ("garbage", FailureKind::BadHttp),
    ];
    for (word, kind) in kinds {
        assert_eq!(hazard(word).await.unwrap_err().kind, kind, "{word}");
    }
}

#[tokio::test]
async fn bodies_stop_for_their_reason() {
    let reasons = [
        ("truncated", Some(Stopped::Disconnect)),
        ("reset-in-body", Some(Stopped::Disconnect)),
        ("slow", Some(Stopped::Time)),
        ("endless", Some(Stopped::Length)),
        ("gzip-bomb", Some(Stopped::Length)),
        ("broken-gzip", Some(Stopped::Coding)),
        ("nested-encoding", Some(Stopped::Coding)),
        ("wrong-length", None),
        ("unexpected-response", None),
        ("binary-as-html", None),
        ("utf-16", None),
    ];
    for (word, reason) in reasons {
        let exchange = hazard(word).await.unwrap();
        assert_eq!(exchange.stopped, reason, "{word}");
        assert!(exchange.body.len() <= 2_000_000, "{word}");
    }
}

#[tokio::test]
async fn unwanted_types_stop_after_the_head_and_long_bodies_at_the_limit() {
    let bench = bench(|_| {});
    let picture = bench.fetcher.fetch(request("http://s0.sim.test/img/1.png")).await.unwrap();
    assert_eq!((picture.stopped, picture.wire_body.len()), (Some(Stopped::Type), 0));
    let mut small = request("http://s0.sim.test/");
    let limits = FetchLimits { body_bytes_max: 100, ..(*small.limits).clone() };
    small.limits = Arc::new(limits);
    let page = bench.fetcher.fetch(small).await.unwrap();
    assert_eq!((page.stopped, page.body.len()), (Some(Stopped::Length), 100));
}

#[tokio::test]
async fn names_resolve_to_where_the_fetcher_finds_them() {
    let bench = bench(|options| {
        options.sites = 3;
        options.addresses = 2;
        options.put("s2.sim.test", Hazard::NoName);
    });
    let resolver =
        SimResolver::new(Arc::clone(&bench.web), Arc::clone(&bench.clock) as Arc<dyn Clock>);
    let found = resolver.resolve("s1.sim.test").await.unwrap();
    assert!(found.expires > bench.clock.now());
    let wrong = bench.fetcher.fetch(request("http://s1.sim.test/")).await.unwrap_err();
    assert_eq!(wrong.kind, FailureKind::ConnectRefused);
    let right = FetchRequest { addresses: found.addresses, ..request("http://s1.sim.test/") };
    assert_eq!(bench.fetcher.fetch(right).await.unwrap().status, 200);
    for host in ["s2.sim.test", "e1.elsewhere.test"] {
        let unknown = resolver.resolve(host).await.unwrap_err();
        assert_eq!(unknown.kind, FailureKind::DnsUnknown, "{host}");
    }
}
