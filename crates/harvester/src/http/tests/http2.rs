//! HTTP/2: asked for, agreed on or not, within the same limits, and with servers that play with frames.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use model::{Exchange, FailureKind, Fetch, FetchFailure, FetchLimits, Hazard, Protocol, Stopped};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::server::TlsStream;

use super::{
    authority::{Authority, Ways},
    server::{Act, fetcher_with, limits, read_head, request, send},
};
use crate::http::{AuthScheme, Credential, HttpFetcher};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `:status: 200`, from the static table.
const OK: &[u8] = &[0x88];

fn field(name: &str, value: &str) -> Vec<u8> {
    let (n, v) = (name.len() as u8, value.len() as u8);
    [&[0, n][..], name.as_bytes(), &[v], value.as_bytes()].concat()
}

/// Kind and payload.
type Frame = (u8, Vec<u8>);

struct Server {
    authority: Authority,
    roots: PathBuf,
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// What frames the client sent, by kind.
    frames: Arc<Mutex<Vec<Frame>>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.roots);
    }
}

impl Server {
    /// `answer` says what to do for the n-th request of the n-th connection; streams are 1, 3, 5 …
    async fn start(answer: impl Fn(usize, usize) -> Vec<Act> + Send + Sync + 'static) -> Server {
        static NAMES: AtomicUsize = AtomicUsize::new(0);
        let authority = Authority::new();
        let name = format!("h2-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let roots = authority.pem_file(&name);
        let protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = authority.acceptor("site.test", Ways { protocols, ..Ways::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let frames = Arc::default();
        let server = Server { authority, roots, address, connections: connections.clone(), frames };
        let (answer, frames) = (Arc::new(answer), server.frames.clone());
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let (acceptor, answer, frames) = (acceptor.clone(), answer.clone(), frames.clone());
                tokio::spawn(async move {
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    if tls.get_ref().1.alpn_protocol() == Some(b"h2") {
                        converse(tls, &frames, |n| answer(number, n)).await;
                    } else {
                        old_fashioned(tls).await;
                    }
                });
            }
        });
        server
    }

    async fn always(acts: Vec<Act>) -> Server {
        Server::start(move |_, _| acts.clone()).await
    }

    fn url(&self) -> String {
        format!("https://site.test:{}/a?b", self.address.port())
    }

    fn asked(&self, limits: FetchLimits) -> model::FetchRequest {
        let mut asked = request(&self.url(), limits);
        asked.addresses = vec![self.address.ip()];
        asked
    }

    fn fetcher(&self, http2: bool) -> HttpFetcher {
        fetcher_with(|options| {
            options.extra_roots = vec![self.roots.clone()];
            options.profile.http2 = http2;
        })
    }

    async fn once(&self, limits: FetchLimits) -> Result<Exchange, FetchFailure> {
        self.fetcher(true).fetch(self.asked(limits)).await
    }
}

async fn converse(
    tls: TlsStream<TcpStream>,
    frames: &Mutex<Vec<Frame>>,
    answer: impl Fn(usize) -> Vec<Act>,
) {
    let (mut reading, mut writing) = tokio::io::split(tls);
    let mut preface = [0; 24];
    if reading.read_exact(&mut preface).await.is_err() {
        return;
    }
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    if writing.write_all(&frame(SETTINGS, 0, 0, &[])).await.is_err() {
        return;
    }
    let mut number = 0;
    while let Some((kind, flags, payload)) = read_frame(&mut reading).await {
        frames.lock().unwrap().push((kind, payload));
        let asked = matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0;
        if !asked {
            continue;
        }
        for act in answer(number) {
            match act {
                Act::Send(bytes) => {
                    if writing.write_all(&bytes).await.is_err() || writing.flush().await.is_err() {
                        return;
                    }
                }
                Act::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Act::Close | Act::Reset => return,
                Act::Stall => std::future::pending().await,
            }
        }
        number += 1;
    }
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

async fn old_fashioned(mut tls: TlsStream<TcpStream>) {
    while read_head(&mut tls).await.is_some() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold";
        tls.write_all(answer).await.unwrap();
    }
}

/// A server that keeps to the windows it is given.
async fn obedient(authority: &Authority, body: Bytes) -> SocketAddr {
    let ways = Ways { protocols: vec![b"h2".to_vec()], ..Ways::default() };
    let acceptor = authority.acceptor("site.test", ways);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, body) = (acceptor.clone(), body.clone());
            tokio::spawn(async move {
                let tls = acceptor.accept(tcp).await.unwrap();
                let mut connection = h2::server::handshake(tls).await.unwrap();
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    let mut stream =
                        respond.send_response(hyper::Response::new(()), false).unwrap();
                    stream.send_data(body.clone(), true).unwrap();
                }
            });
        }
    });
    address
}

/// A whole answer on the n-th stream of a connection.
fn page(n: usize, fields: &[(&str, &str)], body: &[u8]) -> Vec<Act> {
    let stream = 2 * n as u32 + 1;
    let block = [OK.to_vec(), fields.iter().flat_map(|(n, v)| field(n, v)).collect()].concat();
    let mut acts = vec![send(frame(HEADERS, END_HEADERS, stream, &block))];
    acts.extend(body.chunks(16_000).map(|part| send(frame(DATA, 0, stream, part))));
    acts.push(send(frame(DATA, END_STREAM, stream, &[])));
    acts
}

#[tokio::test]
async fn answers_are_written_as_http_1_and_the_connection_is_kept() {
    let fields = [("content-type", "text/html"), ("set-cookie", "a=1"), ("set-cookie", "b=2")];
    // An interim answer (103) before the answer is passed over.
    let hint = |n: usize| frame(HEADERS, END_HEADERS, 2 * n as u32 + 1, &[8, 3, b'1', b'0', b'3']);
    let server =
        Server::start(move |_, n| [vec![send(hint(n))], page(n, &fields, b"two")].concat()).await;
    let fetcher = server.fetcher(true);
    for n in 0..5 {
        let exchange = fetcher.fetch(server.asked(limits())).await.unwrap();
        assert_eq!((exchange.protocol, exchange.status), (Protocol::Http2, 200));
        assert_eq!((&exchange.body[..], exchange.stopped), (&b"two"[..], None));
        assert_eq!(exchange.timing.reused, n > 0);
        assert_eq!(exchange.address, Some(server.address.ip()));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n";
        assert_eq!(exchange.response_head, head.as_bytes());
        let asked = String::from_utf8(exchange.request_head.to_vec()).unwrap();
        let host = format!("GET /a?b HTTP/1.1\r\nhost: site.test:{}\r\n", server.address.port());
        assert!(asked.starts_with(&host) && asked.ends_with("\r\n\r\n"), "{asked}");
        assert!(asked.contains("\r\nuser-agent: harvestman/"), "{asked}");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn it_is_spoken_only_where_both_want_it() {
    let server = Server::start(|_, n| page(n, &[], b"two")).await;
    let plain = server.fetcher(false).fetch(server.asked(limits())).await.unwrap();
    assert_eq!((plain.protocol, &plain.body[..]), (Protocol::Http1, &b"old"[..]));
    let acceptor = server
        .authority
        .acceptor("site.test", Ways { protocols: vec![b"http/1.1".to_vec()], ..Ways::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let tcp = listener.accept().await.unwrap().0;
        old_fashioned(acceptor.accept(tcp).await.unwrap()).await;
    });
    let mut asked = request(&format!("https://site.test:{}/", address.port()), limits());
    asked.addresses = vec![address.ip()];
    let exchange = server.fetcher(true).fetch(asked).await.unwrap();
    assert_eq!((exchange.protocol, &exchange.body[..]), (Protocol::Http1, &b"old"[..]));
}

#[tokio::test]
async fn forms_are_posted_and_secrets_withheld() {
    let server = Server::start(|_, n| page(n, &[], b"in")).await;
    let fetcher = fetcher_with(|options| {
        options.extra_roots = vec![server.roots.clone()];
        options.profile.http2 = true;
        let origin = server.asked(limits()).url.origin();
        let scheme = AuthScheme::Bearer { token: "s3cret".to_owned() };
        options.profile.credentials = vec![Credential { origin, scheme }];
    });
    let mut asked = server.asked(limits());
    asked.post = Some(Bytes::from_static(b"user=me&pw=x"));
    let exchange = fetcher.fetch(asked).await.unwrap();
    let head = String::from_utf8(exchange.request_head.to_vec()).unwrap();
    assert!(head.starts_with("POST /a?b HTTP/1.1\r\n") && !head.contains("pw=x"), "{head}");
    assert!(
        head.contains("\r\nauthorization: [withheld]\r\n") && !head.contains("s3cret"),
        "{head}"
    );
    let frames = server.frames.lock().unwrap();
    assert!(frames.contains(&(DATA, b"user=me&pw=x".to_vec())));
}

#[tokio::test]
async fn the_same_limits_hold_for_bodies() {
    let body = vec![b'x'; 300_000];
    let mut server = Server::always(Vec::new()).await;
    server.address = obedient(&server.authority, body.into()).await;
    let exchange = server.once(limits()).await.unwrap();
    assert_eq!((exchange.body.len(), exchange.stopped), (100_000, Some(Stopped::Length)));
    let roomy = FetchLimits { body_bytes_max: 1 << 20, ..limits() };
    let exchange = server.once(roomy.clone()).await.unwrap();
    assert_eq!(
        (exchange.body.len(), exchange.stopped),
        (300_000, None),
        "windows are opened again"
    );
    for most in [20, 100, 16_000, 16_019, 299_999, 300_018] {
        let within = FetchLimits { wire_bytes_max: Some(most), ..roomy.clone() };
        let exchange = server.once(within).await.unwrap();
        let wire = exchange.response_head.len() + exchange.wire_body.len();
        assert_eq!((wire as u64, exchange.stopped), (most, Some(Stopped::Length)));
    }
    let exact = FetchLimits { wire_bytes_max: Some(300_019), ..roomy.clone() };
    assert_eq!(server.once(exact).await.unwrap().stopped, None);
    let none = FetchLimits { wire_bytes_max: Some(10), ..roomy };
    let failure = server.once(none).await.unwrap_err();
    assert_eq!((failure.kind, failure.met), (FailureKind::BadHttp, None));
}

#[tokio::test]
async fn unwanted_bodies_are_left_and_small_ones_read_away() {
    for (length, connections) in [(30_000, 1), (90_000, 2)] {
        let server = Server::start(move |_, n| {
            let said = length.to_string();
            let fields = [("content-type", "image/png"), ("content-length", said.as_str())];
            page(n, &fields, &vec![b'x'; length])
        })
        .await;
        let fetcher = server.fetcher(true);
        for _ in 0..2 {
            let exchange = fetcher.fetch(server.asked(limits())).await.unwrap();
            assert_eq!((exchange.stopped, exchange.wire_body.len()), (Some(Stopped::Type), 0));
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), connections, "{length}");
    }
}

#[tokio::test]
async fn a_connection_given_up_at_rest_is_replaced_within_the_visit() {
    for end in
        [vec![send(frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])), Act::Wait(5)], vec![Act::Close]]
    {
        let server = Server::start(move |_, n| [page(n, &[], b"two"), end.clone()].concat()).await;
        let fetcher = server.fetcher(true);
        for _ in 0..3 {
            let exchange = fetcher.fetch(server.asked(limits())).await.unwrap();
            assert_eq!((&exchange.body[..], exchange.stopped), (&b"two"[..], None));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 3);
    }
}

#[tokio::test]
async fn a_request_lost_with_a_kept_connection_is_not_repeated_within_the_visit() {
    let go_away = vec![send(frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])), Act::Stall];
    let refused = vec![send(frame(RST_STREAM, 0, 3, &[0, 0, 0, 7])), Act::Stall];
    for (name, end) in [("go away", go_away), ("refused", refused), ("close", vec![Act::Close])] {
        let server = Server::start(move |_, n| match n {
            0 => page(n, &[], b"two"),
            _ => end.clone(),
        })
        .await;
        let fetcher = server.fetcher(true);
        fetcher.fetch(server.asked(limits())).await.unwrap();
        let failure = fetcher.fetch(server.asked(limits())).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::StaleConnection, "{name}: {}", failure.detail);
        assert_eq!(server.connections.load(Ordering::SeqCst), 1, "{name}");
        fetcher.fetch(server.asked(limits())).await.unwrap();
        assert_eq!(server.connections.load(Ordering::SeqCst), 2, "{name}");
    }
}

/// Fetches within a short time; how it ended and that it ended in time.
async fn hostile(acts: Vec<Act>) -> Result<Exchange, FetchFailure> {
    let server = Server::always(acts).await;
    let start = Instant::now();
    let quick = FetchLimits {
        first_byte: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        total: Duration::from_millis(900),
        ..limits()
    };
    let answer = server.once(quick).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    answer
}

#[tokio::test]
async fn without_a_whole_head_it_is_a_failure_in_time() {
    let endless_head = {
        let first = frame(HEADERS, 0, 1, OK);
        let more = frame(CONTINUATION, 0, 1, &field("x", &"y".repeat(100)));
        vec![send([first, more.repeat(20_000)].concat()), Act::Stall]
    };
    let empty_continuations = {
        let first = frame(HEADERS, 0, 1, OK);
        vec![send([first, frame(CONTINUATION, 0, 1, &[]).repeat(200_000)].concat()), Act::Stall]
    };
    let big_head = {
        let block = [OK.to_vec(), field("x", &"y".repeat(120)).repeat(120)].concat();
        vec![send(frame(HEADERS, END_HEADERS, 1, &block)), Act::Stall]
    };
    let large_head = {
        let block = [OK.to_vec(), field("x", &"y".repeat(120)).repeat(140)].concat();
        let (first, second) = block.split_at(9_000);
        let frames = [frame(HEADERS, 0, 1, first), frame(CONTINUATION, END_HEADERS, 1, second)];
        vec![send(frames.concat()), Act::Stall]
    };
    let interim = frame(HEADERS, END_HEADERS, 1, &[8, 3, b'1', b'0', b'3']);
    let cases: Vec<(&str, Vec<Act>, &[FailureKind])> = vec![
        ("silence", vec![Act::Stall], &[FailureKind::Timeout]),
        ("hung up", vec![Act::Close], &[FailureKind::Reset]),
        (
            "pings",
            vec![send(frame(PING, 0, 0, &[0; 8]).repeat(100_000)), Act::Stall],
            &[FailureKind::BadHttp],
        ),
        (
            "settings",
            vec![send(frame(SETTINGS, 0, 0, &[]).repeat(200_000)), Act::Stall],
            &[FailureKind::BadHttp],
        ),
        (
            "interim answers",
            vec![send(interim.repeat(100_000)), Act::Stall],
            &[FailureKind::BadHttp],
        ),
        ("endless head", endless_head, &[FailureKind::BadHttp]),
        ("empty continuations", empty_continuations, &[FailureKind::BadHttp]),
        ("large head", large_head, &[FailureKind::BadHttp]),
        ("go away", vec![send(frame(GOAWAY, 0, 0, &[0; 8])), Act::Stall], &[FailureKind::Reset]),
        (
            "reset",
            vec![send(frame(RST_STREAM, 0, 1, &[0, 0, 0, 2])), Act::Stall],
            &[FailureKind::Reset],
        ),
        (
            "refused",
            vec![send(frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])), Act::Stall],
            &[FailureKind::Reset],
        ),
        ("not http/2", vec![send("HTTP/1.1 200 OK\r\n\r\n"), Act::Stall], &[FailureKind::BadHttp]),
        (
            "data first",
            vec![send(frame(DATA, END_STREAM, 1, b"x")), Act::Stall],
            &[FailureKind::BadHttp],
        ),
        (
            "pushed",
            vec![send(frame(5, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])), Act::Stall],
            &[FailureKind::BadHttp],
        ),
    ];
    for (name, acts, kinds) in cases {
        let failure = hostile(acts).await.unwrap_err();
        assert!(kinds.contains(&failure.kind), "{name}: {:?} {}", failure.kind, failure.detail);
        let hazard = match name {
            "silence" => Some(Hazard::NoResponse),
            "hung up" | "go away" | "reset" | "refused" => None,
            "interim answers" => Some(Hazard::InterimFlood),
            "large head" => Some(Hazard::HeaderFlood),
            _ => Some(Hazard::Http2Abuse),
        };
        assert_eq!(failure.met.map(|met| met.hazard), hazard, "{name}: {}", failure.detail);
    }
    let exchange = hostile(big_head).await;
    assert!(exchange.is_ok_and(|e| e.stopped == Some(Stopped::Time)), "a large head is taken");
}

#[tokio::test]
async fn after_the_head_what_came_is_kept_and_the_end_comes_in_time() {
    let head = frame(HEADERS, END_HEADERS, 1, OK);
    let begun =
        |rest: Vec<u8>| vec![send([head.clone(), frame(DATA, 0, 1, b"begun"), rest].concat())];
    let with = |rest: Vec<u8>, act: Act| [begun(rest), vec![act]].concat();
    let padded = frame(DATA, 8, 1, &[255; 256]);
    let length = [OK.to_vec(), field("content-length", "3")].concat();
    let cases = [
        ("silence", with(Vec::new(), Act::Stall), Stopped::Time),
        ("hung up", with(Vec::new(), Act::Close), Stopped::Disconnect),
        ("reset", with(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]), Act::Stall), Stopped::Disconnect),
        ("pings", with(frame(PING, 0, 0, &[0; 8]).repeat(100_000), Act::Stall), Stopped::Length),
        ("padding", with(padded.repeat(4_000), Act::Stall), Stopped::Disconnect),
    ];
    for (name, acts, stopped) in cases {
        let exchange = hostile(acts).await.unwrap();
        assert_eq!(exchange.stopped, Some(stopped), "{name}");
        assert_eq!(exchange.body, "begun".as_bytes(), "{name}");
        let abused = exchange.met.iter().any(|met| met.hazard == Hazard::Http2Abuse);
        assert_eq!(abused, ["pings", "padding"].contains(&name), "{name}");
    }
    let empty = with(frame(DATA, 0, 1, &[]).repeat(50_000), Act::Stall);
    let exchange = hostile(empty).await.unwrap();
    assert!(exchange.stopped.is_some());
    let named: Vec<Hazard> = exchange.met.iter().map(|met| met.hazard).collect();
    assert_eq!(named, [Hazard::Http2Abuse]);
    let more =
        [frame(HEADERS, END_HEADERS, 1, &length), frame(DATA, END_STREAM, 1, b"more")].concat();
    let exchange = hostile(vec![send(more), Act::Stall]).await.unwrap();
    assert_eq!(exchange.stopped, Some(Stopped::Disconnect), "more than was announced");
    // Past the window: the server does not care for flow control.
    let flood = with(frame(DATA, 0, 1, &[b'x'; 16_384]).repeat(100), Act::Stall);
    assert!(hostile(flood).await.unwrap().body.len() <= 100_000);
}
