//! Connections: keeping, losing and refusing them; addresses, overrides, proxies.

use std::{net::IpAddr, sync::Arc, time::Duration};

use model::{FailureKind, Fetch, Stopped};
use tokio::{
    io::{AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::server::*;
use crate::http::{HttpFetcher, HttpOptions, HttpProfile, Overrides};

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = Server::always(vec![ok("page")]).await;
    let fetcher = fetcher();
    for n in 0..20 {
        let exchange = get(&fetcher, &server.url()).await.unwrap();
        assert_eq!((&exchange.body[..], exchange.timing.reused), (&b"page"[..], n > 0));
    }
    assert_eq!((server.connections(), fetcher.idle()), (1, 1));
}

#[tokio::test]
async fn a_connection_that_died_at_rest_is_replaced_within_the_visit() {
    for end in [Act::Close, Act::Reset] {
        let acts = vec![ok("page"), end.clone()];
        let server = Server::start(move |_, _| acts.clone()).await;
        let fetcher = fetcher();
        for _ in 0..3 {
            let exchange = get(&fetcher, &server.url()).await.unwrap();
            assert_eq!((&exchange.body[..], exchange.timing.reused), (&b"page"[..], false));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!((server.connections(), server.requests().len()), (3, 3));
    }
}

#[tokio::test]
async fn a_request_lost_with_a_kept_connection_is_not_repeated_within_the_visit() {
    let fetcher = fetcher();
    for end in [Act::Close, Act::Reset] {
        let server = Server::start(move |_, number| match number {
            0 => vec![ok("first")],
            _ => vec![end.clone()],
        })
        .await;
        get(&fetcher, &server.url()).await.unwrap();
        let failure = get(&fetcher, &server.url()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::StaleConnection, "{}", failure.detail);
        assert_eq!((server.connections(), server.requests().len()), (1, 2));
        for connections in 2..4 {
            let exchange = get(&fetcher, &server.url()).await.unwrap();
            assert!(!exchange.timing.reused, "this server's connections are not kept any more");
            assert_eq!(server.connections(), connections);
        }
    }
}

#[tokio::test]
async fn an_answer_that_had_begun_is_a_failure_of_the_server() {
    let fetcher = fetcher();
    let server = Server::start(|connection, number| match (connection, number) {
        (0, 0) => vec![ok("first")],
        (0, _) => vec![send("HTTP/1.1 2"), Act::Close],
        _ => vec![ok("never asked")],
    })
    .await;
    get(&fetcher, &server.url()).await.unwrap();
    let failure = get(&fetcher, &server.url()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Reset, "an answer had begun");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn bytes_beyond_an_answer_never_reach_the_next_request() {
    let intruder = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n";
    let late = vec![send(good), Act::Wait(10), send(intruder)];
    for acts in
        [vec![send(format!("{good}{intruder}"))], vec![send(format!("{chunked}{intruder}"))], late]
    {
        let server = Server::always(acts).await;
        let fetcher = fetcher();
        for _ in 0..4 {
            let exchange = get(&fetcher, &server.url()).await.unwrap();
            assert_eq!(exchange.body, "good".as_bytes());
            assert!(!exchange.wire_body.ends_with(b"evil"));
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        assert_eq!(server.connections(), 4);
    }
}

#[tokio::test]
async fn connections_end_where_the_server_says_so_or_the_body_was_cut() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    let old = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    for (text, kept) in [(closing, false), (old, false), (both, false)] {
        let server = Server::always(vec![send(text)]).await;
        let fetcher = fetcher();
        let exchange = get(&fetcher, &server.url()).await.unwrap();
        assert_eq!(exchange.body, "x".as_bytes(), "{text}");
        assert_eq!(fetcher.idle() == 1, kept, "{text}");
    }
    let long = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n{}",
        "x".repeat(200_000)
    );
    let server = Server::always(vec![send(long), Act::Stall]).await;
    let fetcher = fetcher();
    assert_eq!(get(&fetcher, &server.url()).await.unwrap().stopped, Some(Stopped::Length));
    assert_eq!(fetcher.idle(), 0);
}

#[tokio::test]
async fn a_server_of_http_1_0_that_keeps_connections_is_asked_in_its_own_version() {
    let text = "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx";
    let server = Server::always(vec![send(text)]).await;
    let fetcher = fetcher();
    for _ in 0..3 {
        get(&fetcher, &server.url()).await.unwrap();
    }
    let requests = server.requests();
    assert_eq!((server.connections(), requests.len()), (1, 3));
    assert!(requests[0].starts_with("GET /page HTTP/1.1\r\n"), "{}", requests[0]);
    for later in &requests[1..] {
        assert!(later.starts_with("GET /page HTTP/1.0\r\n"), "{later}");
        assert!(later.ends_with("\r\nConnection: keep-alive\r\n\r\n"), "{later}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_form_is_sent_is_taken() {
    let acts = vec![send("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"), Act::Stall];
    let server = Server::always(acts).await;
    let fetcher = fetcher();
    let mut asked = request(&server.url(), limits());
    asked.post = Some(vec![b'x'; 32 << 20].into());
    let exchange = fetcher.fetch(asked).await.unwrap();
    assert_eq!((exchange.status, &exchange.body[..]), (413, &b"no"[..]));
    assert_eq!(exchange.request_head, server.requests()[0].as_bytes());
    assert_eq!(fetcher.idle(), 0, "half a request is on its way");
}

#[tokio::test]
async fn small_unwanted_bodies_are_read_away_and_large_ones_dropped() {
    let image = |length: usize| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {length}\r\n\r\n"
        );
        vec![send(head), Act::Wait(5), send("x".repeat(length))]
    };
    let cases = [(30_000, 1), (70_000, 2)];
    for (length, connections) in cases {
        let server = Server::always(image(length)).await;
        let fetcher = fetcher();
        for _ in 0..2 {
            let exchange = get(&fetcher, &server.url()).await.unwrap();
            assert_eq!((exchange.stopped, exchange.wire_body.len()), (Some(Stopped::Type), 0));
        }
        assert_eq!(server.connections(), connections, "{length}");
    }
}

#[tokio::test]
async fn the_guard_refuses_at_connect_time_whatever_the_url_says() {
    let server = Server::always(vec![ok("secret")]).await;
    let port = server.address.port();
    let guarded = HttpFetcher::new(&HttpOptions::default(), ticks()).unwrap();
    let spellings = [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[::127.0.0.1]",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "１２７.0.0.1",
    ];
    for host in spellings {
        let failure = get(&guarded, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::AddressRefused, "{host}");
        assert!(failure.detail.contains("--allow-address"), "{}", failure.detail);
        assert!(failure.address.is_some());
    }
    let mut rebound = request(&format!("http://public.example:{port}/"), limits());
    rebound.addresses = vec!["127.0.0.1".parse().unwrap(), "::ffff:7f00:1".parse().unwrap()];
    assert_eq!(guarded.fetch(rebound).await.unwrap_err().kind, FailureKind::AddressRefused);
    assert_eq!(server.connections(), 0, "not a byte reached it");
}

#[tokio::test]
async fn addresses_are_tried_in_turn_and_refused_ones_passed_over() {
    let server = Server::always(vec![ok("here")]).await;
    let dead = TcpListener::bind("127.0.0.2:0").await.unwrap().local_addr().unwrap();
    let mut asked = request(&format!("http://many.example:{}/", server.address.port()), limits());
    asked.addresses = vec!["10.0.0.1".parse().unwrap(), dead.ip(), server.address.ip()];
    let exchange = fetcher().fetch(asked).await.unwrap();
    assert_eq!(exchange.address, Some(server.address.ip()));
    assert!(server.requests()[0].contains("\r\nHost: many.example:"));

    let mut asked = request(&format!("http://none.example:{}/", dead.port()), limits());
    asked.addresses = vec![dead.ip()];
    let failure = fetcher().fetch(asked).await.unwrap_err();
    assert_eq!((failure.kind, failure.address), (FailureKind::ConnectRefused, Some(dead.ip())));
    let nowhere = get(&fetcher(), "http://nowhere.example/").await.unwrap_err();
    assert_eq!(nowhere.kind, FailureKind::DnsUnknown);
}

#[tokio::test]
async fn an_override_with_a_port_sends_a_name_there() {
    let server = Server::always(vec![ok("here")]).await;
    let rule = format!("*.test={}", server.address).parse().unwrap();
    let overrides = Arc::new(Overrides::new(vec![rule]));
    let fetcher = fetcher_with(|options| options.overrides = overrides.clone());
    let mut asked = request("http://www.site.test/a", limits());
    asked.addresses = overrides.addresses("www.site.test").unwrap();
    assert_eq!(fetcher.fetch(asked).await.unwrap().body, "here".as_bytes());
    assert!(server.requests()[0].starts_with("GET /a HTTP/1.1\r\nHost: www.site.test\r\n"));
}

#[tokio::test]
async fn a_proxy_is_asked_by_the_whole_url_and_needs_no_addresses() {
    let proxy = Server::always(vec![ok("by proxy")]).await;
    let text = format!("http://me:pw@{}", proxy.address);
    let fetcher = HttpFetcher::new(
        &HttpOptions {
            profile: HttpProfile { proxy: Some(text.parse().unwrap()), ..HttpProfile::default() },
            ..HttpOptions::default()
        },
        ticks(),
    )
    .unwrap();
    let exchange = get(&fetcher, "http://far.example/a?b").await.unwrap();
    assert_eq!((&exchange.body[..], exchange.address), (&b"by proxy"[..], None));
    let head = proxy.requests().remove(0);
    assert!(
        head.starts_with("GET http://far.example/a?b HTTP/1.1\r\nHost: far.example\r\n"),
        "{head}"
    );
    assert!(head.contains("\r\nProxy-Authorization: Basic bWU6cHc=\r\n"), "{head}");
    for inside in ["http://127.0.0.1/", "http://localhost/", "https://[::1]/"] {
        let failure = get(&fetcher, inside).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::AddressRefused, "{inside}");
    }
}

#[tokio::test]
async fn trouble_with_a_proxy_is_said_to_be_the_proxys() {
    let answers = [
        (send("HTTP/1.1 407 Auth\r\n\r\n"), "password"),
        (send("HTTP/1.1 403 No\r\n\r\n"), "refused: HTTP/1.1 403 No"),
        (send("nonsense\r\n\r\n"), "does not speak HTTP"),
        (send("HTTP/1.1 200 OK\r\n\r\nextra"), "more than its answer"),
        (Act::Close, "hung up"),
    ];
    for (act, text) in answers {
        let proxy = Server::always(vec![act, Act::Close]).await;
        let address = format!("http://{}", proxy.address);
        let fetcher =
            fetcher_with(|options| options.profile.proxy = Some(address.parse().unwrap()));
        let failure = get(&fetcher, "https://far.example/").await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Proxy);
        assert!(failure.detail.contains(text), "{}", failure.detail);
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let fetcher =
        fetcher_with(|o| o.profile.proxy = Some(format!("http://{gone}").parse().unwrap()));
    assert_eq!(get(&fetcher, "http://far.example/").await.unwrap_err().kind, FailureKind::Proxy);
}

/// A proxy that tunnels every `CONNECT` to one address and notes what was asked.
pub async fn tunnel_to(
    server: std::net::SocketAddr,
) -> (std::net::SocketAddr, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let head = read_head(&mut client).await.unwrap();
            notes.lock().unwrap().push(head);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.unwrap();
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, asked)
}

#[tokio::test]
async fn connecting_ends_by_its_limit() {
    // A full backlog: the kernel answers the first few, the rest wait.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let narrow = socket.listen(1).unwrap();
    let narrow_address = narrow.local_addr().unwrap();
    let mut held = Vec::new();
    for _ in 0..8 {
        let connect = TcpStream::connect(narrow_address);
        if let Ok(Ok(tcp)) = tokio::time::timeout(Duration::from_millis(20), connect).await {
            held.push(tcp);
        }
    }
    let mut short = limits();
    short.connect = Duration::from_millis(60);
    let url = format!("http://{narrow_address}/");
    let failure = fetcher().fetch(request(&url, short)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectTimeout, "{}", failure.detail);
    assert_eq!(failure.address, Some(IpAddr::from([127, 0, 0, 1])));
    drop((listener, address));
}
