//! A raw server that does exactly what a test says, byte by byte, and a fetcher to meet it with.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use model::{
    CrawlUrl, Exchange, Fetch, FetchFailure, FetchLimits, FetchRequest, Purpose, Timestamp,
    testing::TestClock,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::http::{HttpFetcher, HttpOptions};

/// One thing a server does after a request came.
#[derive(Clone)]
pub enum Act {
    Send(Vec<u8>),
    Wait(u64),
    /// Hang up properly.
    Close,
    /// Hang up with a reset.
    Reset,
    /// Keep the connection and say nothing.
    Stall,
}

pub fn send(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

pub fn ok(body: &str) -> Act {
    send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` says what to do for the n-th request of the n-th connection, both from 0.
    pub async fn start(
        answer: impl Fn(usize, usize) -> Vec<Act> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server { address, connections: Arc::default(), requests: Arc::default() };
        let (connections, requests) = (server.connections.clone(), server.requests.clone());
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let (answer, requests) = (answer.clone(), requests.clone());
                tokio::spawn(async move {
                    converse(tcp, &requests, |n| answer(number, n)).await;
                });
            }
        });
        server
    }

    /// The same answer to everything.
    pub async fn always(acts: Vec<Act>) -> Server {
        Server::start(move |_, _| acts.clone()).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/page", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn converse(
    tcp: TcpStream,
    requests: &Mutex<Vec<String>>,
    answer: impl Fn(usize) -> Vec<Act>,
) {
    let mut tcp = tcp;
    tcp.set_nodelay(true).unwrap();
    for number in 0.. {
        let Some(head) = read_head(&mut tcp).await else { return };
        requests.lock().unwrap().push(head);
        for act in answer(number) {
            match act {
                Act::Send(bytes) => {
                    if tcp.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Act::Close => return,
                Act::Reset => {
                    tcp.set_zero_linger().unwrap();
                    return;
                }
                Act::Stall => std::future::pending().await,
            }
        }
    }
}

pub async fn read_head(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Each look at it is a millisecond later.
pub fn ticks() -> Arc<TestClock> {
    Arc::new(TestClock::at(Timestamp::ZERO).ticking())
}

pub fn fetcher() -> HttpFetcher {
    fetcher_with(|_| {})
}

/// A fetcher that may visit loopback.
pub fn fetcher_with(change: impl FnOnce(&mut HttpOptions)) -> HttpFetcher {
    let mut options =
        HttpOptions { allow: vec!["127.0.0.0/8".parse().unwrap()], ..HttpOptions::default() };
    change(&mut options);
    HttpFetcher::new(&options, ticks()).unwrap()
}

pub fn limits() -> FetchLimits {
    FetchLimits {
        body_bytes_max: 100_000,
        head_bytes_max: 16 * 1024,
        connect: Duration::from_secs(2),
        tls: Duration::from_secs(2),
        first_byte: Duration::from_secs(2),
        idle: Duration::from_secs(2),
        total: Duration::from_secs(5),
        media_types: vec!["text/*".to_owned()],
        ratio_max: 100,
        wire_bytes_max: None,
    }
}

pub fn request(url: &str, limits: FetchLimits) -> FetchRequest {
    FetchRequest {
        url: CrawlUrl::parse(url).unwrap(),
        purpose: Purpose::Page,
        addresses: Vec::new(),
        condition: None,
        spider: model::SpiderId(1),
        cookies: None,
        withhold_cookies: false,
        post: None,
        limits: Arc::new(limits),
        type_gate: None,
    }
}

pub fn get<'a>(
    fetcher: &'a HttpFetcher,
    url: &str,
) -> impl Future<Output = Result<Exchange, FetchFailure>> + use<'a> {
    fetcher.fetch(request(url, limits()))
}

/// One fetch of what a server that always does `acts` gives.
pub async fn once(acts: Vec<Act>) -> Result<Exchange, FetchFailure> {
    once_within(acts, limits()).await
}

pub async fn once_within(acts: Vec<Act>, limits: FetchLimits) -> Result<Exchange, FetchFailure> {
    let server = Server::always(acts).await;
    fetcher().fetch(request(&server.url(), limits)).await
}
