//! Answers of servers: any bytes at all come over a connection, in two pieces, and the fetcher makes an exchange
//! or a failure of them; what it makes is decoded, gathered, and can be read back from the archive's form.
//!
//! The connection is a real one on loopback: the fetcher looks at the kernel's socket. Each input has a server
//! address of its own, because an address and port that were just closed rest for a minute.
#![cfg_attr(fuzzing, no_main)]

use std::{
    cell::RefCell,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use fuzz::timed;
use gatherer::{GatherOptions, gather};
use harvester::{
    clock::RealClock,
    http::{CookieJar, HttpFetcher, HttpOptions},
};
use model::{CrawlUrl, Exchange, Fetch, FetchLimits, FetchRequest, Purpose, SpiderId, Timestamp};
use store::warc::HttpParts;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    runtime::{Builder, Runtime},
};

const BODY_MAX: u64 = 1 << 20;

struct World {
    runtime: Runtime,
    listener: TcpListener,
    fetcher: HttpFetcher,
    limits: Arc<FetchLimits>,
    turn: u16,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz::target!(|data: &[u8]| {
    WORLD.with_borrow_mut(|world| timed(|| world.exchange(data)));
});

impl World {
    fn new() -> World {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("0.0.0.0:0")).expect("a free port");
        let options = HttpOptions {
            allow: vec!["127.0.0.0/8".parse().expect("a block")],
            idle_max: 0,
            ..HttpOptions::default()
        };
        let clock = Arc::new(RealClock::new());
        let fetcher = HttpFetcher::new(&options, clock).expect("plain options");
        World { runtime, listener, fetcher, limits: Arc::new(limits()), turn: 0 }
    }

    fn exchange(&mut self, data: &[u8]) {
        self.turn = self.turn.wrapping_add(1);
        let [high, low] = self.turn.to_be_bytes();
        let port = self.listener.local_addr().expect("it listens").port();
        let request = FetchRequest {
            url: CrawlUrl::parse(&format!("http://a.test:{port}/x")).expect("a valid URL"),
            purpose: Purpose::Page,
            addresses: vec![IpAddr::V4(Ipv4Addr::new(127, 1, high, low))],
            condition: None,
            spider: SpiderId(1),
            cookies: None,
            withhold_cookies: low % 2 == 0,
            post: None,
            type_gate: None,
            limits: Arc::clone(&self.limits),
        };
        let World { runtime, listener, fetcher, .. } = self;
        let answered = runtime.block_on(async {
            let (answered, ()) = tokio::join!(fetcher.fetch(request), serve(listener, data));
            answered
        });
        match answered {
            Ok(exchange) => look(&exchange, data),
            Err(failure) => assert!(!failure.detail.is_empty()),
        }
    }
}

/// One answer, with a moment of rest somewhere in it.
async fn serve(listener: &TcpListener, data: &[u8]) {
    let Ok((mut stream, _)) = listener.accept().await else { return };
    let _ = stream.read(&mut [0; 4096]).await;
    let middle = data.last().map_or(0, |last| data.len() * usize::from(*last) / 256);
    let _ = stream.write_all(&data[..middle]).await;
    tokio::task::yield_now().await;
    let _ = stream.write_all(&data[middle..]).await;
    let _ = stream.shutdown().await;
    // Until the client has hung up: who closes with something unread resets what was sent.
    while matches!(stream.read(&mut [0; 4096]).await, Ok(1..)) {}
}

fn look(exchange: &Exchange, data: &[u8]) {
    assert!((100..1000).contains(&exchange.status));
    assert!(exchange.body.len() as u64 <= BODY_MAX);
    assert!(exchange.response_head.len() + exchange.wire_body.len() <= data.len());
    let block = Bytes::from([&exchange.response_head[..], &exchange.wire_body].concat());
    let parts = HttpParts::split(&block);
    assert_eq!(parts.head.len() + parts.wire_body.len(), block.len());
    let mut jar = CookieJar::new();
    jar.store(&exchange.url, &exchange.headers, Timestamp(1_760_000_000_000));
    let options = GatherOptions { media_types: vec!["*/*".to_owned()], ..GatherOptions::default() };
    gather(exchange, &options);
}

fn limits() -> FetchLimits {
    let time = Duration::from_secs(5);
    FetchLimits {
        body_bytes_max: BODY_MAX,
        head_bytes_max: model::limits::HEAD_BYTES_MAX,
        connect: time,
        tls: time,
        first_byte: time,
        idle: time,
        total: time,
        media_types: vec!["*/*".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    }
}
