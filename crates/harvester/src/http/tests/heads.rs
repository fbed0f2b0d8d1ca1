//! Heads: what is kept of them, what is taken from real servers, what is refused.

use std::time::Duration;

use model::{Condition, FailureKind, Fetch, Stopped};

use super::server::*;

async fn kind_of(acts: Vec<Act>) -> FailureKind {
    once(acts).await.unwrap_err().kind
}

#[tokio::test]
async fn heads_are_kept_byte_for_byte() {
    let head = "HTTP/1.1 200 Very  Fine\r\nset-cookie: a=1\r\nX-ODD:  caf\u{e9} \r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\n";
    let server = Server::always(vec![send(head), send("hi")]).await;
    let exchange = get(&fetcher(), &server.url()).await.unwrap();
    assert_eq!(exchange.response_head, head.as_bytes());
    assert_eq!(exchange.status, 200);
    assert_eq!(exchange.headers.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    assert_eq!(exchange.request_head, server.requests()[0].as_bytes());
    assert_eq!(exchange.address, Some(server.address.ip()));
    assert_eq!((&exchange.wire_body[..], &exchange.body[..]), (&b"hi"[..], &b"hi"[..]));
    assert!(exchange.started.0 > 0 && exchange.stopped.is_none());
}

#[tokio::test]
async fn the_request_is_like_a_browsers_with_host_first() {
    let server = Server::always(vec![ok("x")]).await;
    let fetcher = fetcher_with(|options| {
        options.profile.user_agent = "harvestman/1 (+mailto:a@b.example)".to_owned();
        options.profile.accept_encoding = "gzip, br".to_owned();
        options.profile.accept_language = Some("pt".to_owned());
        options.profile.from = Some("a@b.example".to_owned());
        options.profile.headers = vec![("X-One".to_owned(), "1".to_owned())];
    });
    let mut asked = request(&format!("http://{}/a%20b?c=|{{}}", server.address), limits());
    asked.cookies = Some("k=v".to_owned());
    asked.condition = Some(Condition {
        etag: Some("\"e\"".to_owned()),
        last_modified: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
    });
    fetcher.fetch(asked).await.unwrap();
    let head = server.requests().remove(0);
    let lines: Vec<&str> = head.split("\r\n").collect();
    let (line, host) = ("GET /a%20b?c=|{} HTTP/1.1", format!("Host: {}", server.address));
    let expected = [
        line,
        host.as_str(),
        "User-Agent: harvestman/1 (+mailto:a@b.example)",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language: pt",
        "Accept-Encoding: gzip, br",
        "From: a@b.example",
        "Cookie: k=v",
        "If-None-Match: \"e\"",
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "X-One: 1",
        "",
        "",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn headers_that_are_not_the_users_to_set_are_refused() {
    let setup = |name: &str, value: &str| {
        let options = crate::http::HttpOptions {
            profile: crate::http::HttpProfile {
                headers: vec![(name.to_owned(), value.to_owned())],
                ..Default::default()
            },
            ..Default::default()
        };
        let clock = ticks();
        crate::http::HttpFetcher::new(&options, clock).err().map(|e| e.to_string())
    };
    assert!(setup("host", "x").unwrap().contains("crawler's own"));
    assert!(setup("a b", "x").unwrap().contains("name of a header"));
    assert!(setup("X", "a\r\nb").unwrap().contains("value of the header X"));
    assert!(!setup("authorization", "hush\r\n").unwrap().contains("hush"));
    assert_eq!(setup("X", "fine"), None);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let exchange = once(vec![
        send("HTTP/1.1 100 Continue\r\n\r\n"),
        Act::Wait(5),
        send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 404 Gone\r\nContent-Length: 1\r\n\r\nx"),
    ])
    .await
    .unwrap();
    assert_eq!(exchange.status, 404);
    assert!(exchange.response_head.starts_with(b"HTTP/1.1 404 Gone\r\n"));
    assert_eq!(exchange.headers.get("link"), None);
}

#[tokio::test]
async fn old_and_careless_heads_are_taken() {
    let careless = [
        "HTTP/1.0 200 OK\r\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\nA: b\n\n",
        "HTTP/1.1 200\r\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nBad\u{1}Name: x\r\nA: b\r\n\r\n",
        "HTTP/1.1 200 \u{e9}\u{e9}\r\nA: b\r\n\r\n",
        "HTTP/1.1 299 What\r\nA: b\r\n\r\n",
    ];
    for head in careless {
        let exchange = once(vec![send(head), send("body"), Act::Close]).await;
        let exchange = exchange.unwrap_or_else(|e| panic!("{head:?}: {e:?}"));
        assert_eq!(exchange.body, "body".as_bytes(), "{head:?}");
        assert_eq!(exchange.response_head, head.as_bytes());
        assert!(exchange.headers.get("a").unwrap().starts_with('b'), "{head:?}");
        assert_eq!(exchange.stopped, None, "{head:?}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_said_to_be_so() {
    let bad = [
        "<html>no head at all</html>\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 000 Zero\r\n\r\n",
        "HTTP/1.1 99 Short\r\n\r\n",
        "HTTP/1.1 -1 Minus\r\n\r\n",
        "HTTP/9.1 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n",
        "HTTP/1.1 2x",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        "HTTP/1.1 100 Go\r\n\r\n<html>",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "hello",
        "\0\0\0\0",
    ];
    for text in bad {
        assert_eq!(kind_of(vec![send(text), Act::Close]).await, FailureKind::BadHttp, "{text:?}");
    }
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let line = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(200_000));
    assert_eq!(kind_of(vec![send(line), Act::Stall]).await, FailureKind::BadHttp);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(100_000));
    assert_eq!(kind_of(vec![send(many), Act::Stall]).await, FailureKind::BadHttp);
    let some = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(1_000));
    assert_eq!(kind_of(vec![send(some), Act::Stall]).await, FailureKind::BadHttp);
    let interim = "HTTP/1.1 103 Hint\r\n\r\n".repeat(100_000);
    assert_eq!(kind_of(vec![send(interim), Act::Stall]).await, FailureKind::BadHttp);
    let status = format!("HTTP/1.1 200 {}", "x".repeat(1 << 20));
    assert_eq!(kind_of(vec![send(status), Act::Stall]).await, FailureKind::BadHttp);
    let at_once = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(16 * 1024));
    assert_eq!(kind_of(vec![send(at_once), Act::Close]).await, FailureKind::BadHttp);
    let fair = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(200));
    assert_eq!(once(vec![send(fair), Act::Close]).await.unwrap().headers.len(), 200);
}

#[tokio::test]
async fn a_server_that_hangs_up_before_a_whole_head_is_a_reset() {
    assert_eq!(kind_of(vec![Act::Close]).await, FailureKind::Reset);
    assert_eq!(kind_of(vec![Act::Reset]).await, FailureKind::Reset);
    assert_eq!(kind_of(vec![send("HTTP/1.1 200 OK\r\nA:"), Act::Close]).await, FailureKind::Reset);
    assert_eq!(kind_of(vec![send("HT"), Act::Close]).await, FailureKind::Reset);
}

#[tokio::test]
async fn silence_ends_by_the_limit_of_its_phase() {
    let short = Duration::from_millis(60);
    let mut first = limits();
    first.first_byte = short;
    let failure = once_within(vec![Act::Stall], first).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.timing.total < Duration::from_secs(1));

    let mut idle = limits();
    idle.idle = short;
    let acts = vec![send("HTTP/1.1 200 OK\r\n"), Act::Stall];
    assert_eq!(once_within(acts, idle.clone()).await.unwrap_err().kind, FailureKind::Timeout);

    let mut total = limits();
    total.total = short;
    let drip: Vec<Act> =
        (0..100).flat_map(|_| [send("HTTP/1.1 200 OK\r\nA: b\r\n"), Act::Wait(10)]).collect();
    assert_eq!(once_within(drip, total).await.unwrap_err().kind, FailureKind::Timeout);
}

#[tokio::test]
async fn unwanted_types_stop_after_the_head() {
    let head = |kind: &str, length: usize| {
        send(format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"))
    };
    let png = once(vec![head("image/png", 5), send("12345")]).await.unwrap();
    assert_eq!((png.stopped, png.body.len(), png.wire_body.len()), (Some(Stopped::Type), 0, 0));
    assert!(png.response_head.ends_with(b"Content-Length: 5\r\n\r\n"));
    let none = once(vec![head("image/png", 0)]).await.unwrap();
    assert_eq!(none.stopped, None, "nothing unwanted came");
    let untyped = once(vec![ok("x")]).await.unwrap();
    assert_eq!(untyped.stopped, None, "no type is wanted");
}
