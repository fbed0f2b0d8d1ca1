//! Bodies: framing, codings, limits, and ends that come too soon.

use std::{io::Write, time::Duration};

use model::{Exchange, FailureKind, Fetch, FetchLimits, Hazard, Stopped};

use super::server::*;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn with_head(head: &str, body: &[u8]) -> Act {
    send([head.as_bytes(), b"\r\n\r\n", body].concat())
}

fn shares_memory(outer: &[u8], inner: &[u8]) -> bool {
    outer.as_ptr_range().contains(&inner.as_ptr())
}

fn check(exchange: &Exchange, body: &str, stopped: Option<Stopped>) {
    assert_eq!(String::from_utf8_lossy(&exchange.body), body);
    assert_eq!(exchange.stopped, stopped);
}

#[tokio::test]
async fn plain_bodies_are_one_piece_of_memory() {
    let text = "x".repeat(50_000);
    let exchange = once(vec![ok(&text)]).await.unwrap();
    check(&exchange, &text, None);
    assert!(shares_memory(&exchange.wire_body, &exchange.entity));
    assert!(shares_memory(&exchange.wire_body, &exchange.body));
}

#[tokio::test]
async fn chunks_are_undone_and_kept_on_the_wire_side() {
    let wire = "5;ext=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n";
    let acts = vec![with_head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", wire.as_bytes())];
    let exchange = once(acts).await.unwrap();
    check(&exchange, "hello world", None);
    assert_eq!(exchange.wire_body, wire.as_bytes());
    assert_eq!(exchange.entity, "hello world".as_bytes());
    assert!(shares_memory(&exchange.entity, &exchange.body));
}

#[tokio::test]
async fn chunks_that_come_byte_by_byte_are_the_same() {
    let wire = "5\r\nhello\r\n0\r\n\r\n";
    let mut acts = vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")];
    acts.extend(wire.bytes().flat_map(|b| [send([b]), Act::Wait(1)]));
    let exchange = once(acts).await.unwrap();
    check(&exchange, "hello", None);
    assert_eq!(exchange.wire_body, wire.as_bytes());
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_the_connection() {
    let exchange = once(vec![send("HTTP/1.0 200 OK\r\n\r\nall of it"), Act::Close]).await.unwrap();
    check(&exchange, "all of it", None);
}

#[tokio::test]
async fn early_ends_keep_what_came() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    let exchange = once(vec![send(short), Act::Close]).await.unwrap();
    check(&exchange, "only this", Some(Stopped::Disconnect));
    let exchange = once(vec![send(short), Act::Wait(20), Act::Reset]).await.unwrap();
    check(&exchange, "only this", Some(Stopped::Disconnect));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n";
    let exchange = once(vec![send(chunked), Act::Close]).await.unwrap();
    check(&exchange, "only this", Some(Stopped::Disconnect));
    let garbled = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\nzz\r\nbad\r\n";
    let exchange = once(vec![send(garbled), Act::Stall]).await.unwrap();
    check(&exchange, "good", Some(Stopped::Disconnect));
}

#[tokio::test]
async fn a_body_that_comes_in_its_own_time_is_one_piece_of_memory() {
    let text = "0123456789".repeat(5_000);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
    let mut acts = vec![send(head)];
    acts.extend(text.as_bytes().chunks(9_999).flat_map(|part| [Act::Wait(2), send(part)]));
    let exchange = once(acts).await.unwrap();
    check(&exchange, &text, None);
    assert_eq!(exchange.wire_body, text.as_bytes());
    assert!(shares_memory(&exchange.wire_body, &exchange.entity));
    assert!(shares_memory(&exchange.wire_body, &exchange.body));
}

#[tokio::test]
async fn what_comes_behind_a_body_is_seen_when_the_head_came_before() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for behind in ["HTTP/1.1 200 OK\r\n\r\n", "more"] {
        let long = format!("hello{}", behind.repeat(100));
        let server = Server::always(vec![send(head), Act::Wait(10), send(long)]).await;
        let fetcher = fetcher();
        let exchange = get(&fetcher, &server.url()).await.unwrap();
        check(&exchange, "hello", None);
        assert_eq!((exchange.wire_body.len(), exchange.met.len()), (5, 1), "{behind}");
        assert_eq!(fetcher.idle(), 0, "{behind}");
    }
}

#[tokio::test]
async fn broken_chunks_end_the_body_where_they_break() {
    let long = "x".repeat(20_000);
    for wire in [
        "4\r\ngoodtoo long\r\n".to_owned(),
        "4\r\ngood\r\n10000000000000000\r\nbad\r\n".to_owned(),
        format!("4\r\ngood\r\n3;{long}\r\nbad\r\n"),
        "4\r\ngood\r\n0\r\nno trailer\r\n\r\n".to_owned(),
    ] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let exchange = once(vec![send(format!("{head}{wire}")), Act::Stall]).await.unwrap();
        check(&exchange, "good", Some(Stopped::Disconnect));
        assert_eq!(exchange.wire_body, wire.as_bytes(), "all that came is kept");
    }
}

#[tokio::test]
async fn a_coding_of_the_transfer_that_is_not_chunks_lasts_until_the_server_hangs_up() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\nContent-Length: 1";
    let exchange = once(vec![with_head(head, b"1\r\nx\r\n"), Act::Close]).await.unwrap();
    check(&exchange, "1\r\nx\r\n", None);
    assert_eq!(exchange.entity, exchange.wire_body);
}

#[tokio::test]
async fn slow_bodies_are_cut_in_time() {
    let mut idle = limits();
    idle.idle = Duration::from_millis(50);
    let begun = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun";
    let exchange = once_within(vec![send(begun), Act::Stall], idle).await.unwrap();
    check(&exchange, "begun", Some(Stopped::Time));

    let mut total = limits();
    total.total = Duration::from_millis(80);
    let mut drip = vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")];
    drip.extend((0..50).flat_map(|_| [send("1\r\nx\r\n"), Act::Wait(10)]));
    let exchange = once_within(drip, total).await.unwrap();
    assert_eq!(exchange.stopped, Some(Stopped::Time));
    assert!(exchange.body.len() > 1 && exchange.body.len() < 20, "{}", exchange.body.len());
    assert!(exchange.timing.total < Duration::from_secs(1));
}

#[tokio::test]
async fn long_bodies_are_cut_at_the_limit() {
    let endless = vec![send("HTTP/1.1 200 OK\r\n\r\n"), send(vec![b'x'; 300_000]), Act::Stall];
    let exchange = once(endless).await.unwrap();
    assert_eq!((exchange.body.len(), exchange.stopped), (100_000, Some(Stopped::Length)));
    assert_eq!((exchange.wire_body.len(), exchange.entity.len()), (100_000, 100_000));

    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1_000));
    let endless = vec![
        send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        send(chunk.repeat(300)),
        Act::Stall,
    ];
    let exchange = once(endless).await.unwrap();
    assert_eq!((exchange.body.len(), exchange.stopped), (100_000, Some(Stopped::Length)));
    assert_eq!(unchunk(&exchange.wire_body), exchange.entity.len(), "both end at the same place");

    let crumbs = vec![
        send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        send("1\r\nx\r\n".repeat(100_000)),
        Act::Stall,
    ];
    let exchange = once(crumbs).await.unwrap();
    assert_eq!(exchange.stopped, Some(Stopped::Length));
    assert!(exchange.wire_body.len() < 350_000, "framing is bounded as well");
}

/// Bytes inside chunks, the last of which may be cut.
fn unchunk(mut wire: &[u8]) -> usize {
    let mut count = 0;
    while let Some(end) = memchr::memchr(b'\n', wire) {
        let size = std::str::from_utf8(&wire[..end - 1]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        wire = &wire[end + 1..];
        count += size.min(wire.len());
        wire = wire.get(size + 2..).unwrap_or_default();
    }
    count
}

#[tokio::test]
async fn coded_bodies_are_decoded_and_kept_as_they_came() {
    let text = "<p>a page</p>".repeat(100);
    let coded = gzip(text.as_bytes());
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}", coded.len());
    let exchange = once(vec![with_head(&head, &coded)]).await.unwrap();
    check(&exchange, &text, None);
    assert_eq!(exchange.wire_body, coded);
    assert!(shares_memory(&exchange.wire_body, &exchange.entity));

    let coded = zstd::encode_all(gzip(text.as_bytes()).as_slice(), 1).unwrap();
    let (first, second) = coded.split_at(coded.len() / 2);
    let wire = [
        format!("{:x}\r\n", first.len()).as_bytes(),
        first,
        b"\r\n",
        format!("{:x}\r\n", second.len()).as_bytes(),
        second,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, zstd\r\nTransfer-Encoding: chunked";
    let exchange = once(vec![with_head(head, &wire)]).await.unwrap();
    check(&exchange, &text, None);
    assert_eq!((&exchange.wire_body[..], &exchange.entity[..]), (&wire[..], &coded[..]));
}

#[tokio::test]
async fn broken_and_mislabelled_codings_keep_what_there_is() {
    let text: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let coded = gzip(text.as_bytes());
    let cut = &coded[..coded.len() / 2];
    let head =
        |n: usize| format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {n}");
    let exchange = once(vec![with_head(&head(cut.len()), cut)]).await.unwrap();
    assert_eq!(exchange.stopped, Some(Stopped::Coding));
    assert!(exchange.body.len() > 1_000 && text.as_bytes().starts_with(&exchange.body));
    assert_eq!(exchange.entity, cut, "the archive keeps it as it came");
    let exchange = once(vec![with_head(&head(coded.len()), cut), Act::Close]).await.unwrap();
    assert_eq!(exchange.stopped, Some(Stopped::Disconnect), "the first cause is named");
    let exchange = once(vec![with_head(&head(5), b"plain")]).await.unwrap();
    check(&exchange, "plain", None);
}

#[tokio::test]
async fn bombs_stop_within_the_limit() {
    let zeros = vec![0u8; 64 << 20];
    let bombs = [("gzip", gzip(&zeros)), ("zstd", zstd::encode_all(&zeros[..], 1).unwrap())];
    for (coding, bomb) in bombs {
        let mut limits = limits();
        limits.body_bytes_max = 2 << 20;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}",
            bomb.len()
        );
        let exchange = once_within(vec![with_head(&head, &bomb)], limits).await.unwrap();
        assert_eq!(exchange.stopped, Some(Stopped::Length), "{coding}");
        assert!(exchange.body.len() <= 2 << 20, "{coding}: {}", exchange.body.len());
    }
}

#[tokio::test]
async fn answers_without_a_body_have_none() {
    for status in ["204 No Content", "304 Not Modified"] {
        let server =
            Server::always(vec![send(format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n"))])
                .await;
        let fetcher = fetcher();
        for _ in 0..2 {
            let exchange = get(&fetcher, &server.url()).await.unwrap();
            check(&exchange, "", None);
            assert!(exchange.wire_body.is_empty());
        }
        assert_eq!(server.connections(), 1, "{status}");
    }
}

/// The public cases of `Content-Length` lines; the answer carries 42 bytes and the connection is closed.
#[tokio::test]
async fn lengths_are_believed_as_the_public_cases_say() {
    let Some(path) = model::testing::conformance("http/content-lengths.json") else { return };
    let data = std::fs::read(path).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&data).unwrap();
    for case in &cases {
        let lines = case["input"].as_str().unwrap();
        let body = "x".repeat(42);
        let acts = vec![send(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n{body}")), Act::Close];
        match (once(acts).await, case["output"].as_u64()) {
            (Ok(exchange), Some(length)) => {
                assert_eq!(exchange.body.len() as u64, length, "{lines}");
                let odd = exchange.met.iter().any(|met| met.hazard == Hazard::BadLength);
                assert_eq!(
                    odd,
                    length != 42 || !lines.contains("42") || lines.contains('s'),
                    "{lines}"
                );
            }
            (Err(failure), None) => {
                assert_eq!(failure.kind, FailureKind::BadHttp, "{lines}");
                assert_eq!(failure.met.map(|met| met.hazard), Some(Hazard::BadLength), "{lines}");
            }
            (outcome, expected) => panic!("{lines}: {expected:?}, but {outcome:?}"),
        }
    }
    assert_eq!(cases.len(), 28);
}

#[tokio::test]
async fn an_answer_is_cut_at_its_last_byte_on_the_wire() {
    let body = "x".repeat(50_000);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        format!("3e8\r\n{}\r\n", "x".repeat(1_000)).repeat(50)
    );
    let answers = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n{body}"),
        format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
        chunked,
    ];
    for answer in answers {
        for most in [60, 100, 1_000, 1_037, 16 * 1024, 49_999, answer.len() - 1] {
            let within = FetchLimits { wire_bytes_max: Some(most as u64), ..limits() };
            let acts = vec![send(&answer), Act::Close];
            let exchange = once_within(acts, within).await.unwrap();
            let wire = [&exchange.response_head[..], &exchange.wire_body].concat();
            assert_eq!(exchange.stopped, Some(Stopped::Length), "{most}");
            assert!(answer.as_bytes().starts_with(&wire), "{most}");
            // A size of a chunk that is not all there belongs to nothing.
            assert!(wire.len() <= most && wire.len() + 6 > most, "{} of {most}", wire.len());
        }
        let whole = FetchLimits { wire_bytes_max: Some(answer.len() as u64 + 1), ..limits() };
        let exchange = once_within(vec![send(&answer), Act::Close], whole).await.unwrap();
        check(&exchange, &body, None);
        let half = FetchLimits { wire_bytes_max: Some(10), ..limits() };
        let failure = once_within(vec![send(&answer)], half).await.unwrap_err();
        // Our limit, and nothing that the server did.
        assert_eq!((failure.kind, failure.met), (FailureKind::BadHttp, None));
        assert!(failure.detail.contains("10 bytes left"), "{}", failure.detail);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_cut_there_whether_its_length_is_announced_or_not() {
    let text = "x".repeat(150_000);
    for head in ["Content-Length: 150000", "Connection: close"] {
        let acts = vec![with_head(&format!("HTTP/1.1 200 OK\r\n{head}"), text.as_bytes())];
        let exchange = once([acts, vec![Act::Close]].concat()).await.unwrap();
        check(&exchange, &text[..100_000], Some(Stopped::Length));
        assert_eq!(exchange.wire_body.len(), 100_000, "{head}");
        assert_eq!(exchange.met.len(), 1, "{head}");
    }
}

const LONG: usize = 3 << 20;

fn long_limits() -> FetchLimits {
    FetchLimits { body_bytes_max: 4 << 20, ..limits() }
}

/// One after the other, so that no coding makes a bomb of it.
fn long_text() -> String {
    let text: String =
        (0u32..).map(|n| format!("{:x} ", n.wrapping_mul(2_654_435_761))).take(400_000).collect();
    text[..LONG].to_owned()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let chunks = body
        .chunks(50_000)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
    chunks.chain(b"0\r\n\r\n".iter().copied()).collect()
}

#[tokio::test]
async fn a_long_body_comes_whole_in_every_framing_and_coding_and_gives_its_memory_back() {
    let text = long_text();
    let zeros = "0".repeat(LONG);
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let loose = FetchLimits { ratio_max: 100_000, ..long_limits() };
    for (field, body, expected) in [
        ("X: y", text.clone().into_bytes(), &text),
        ("Content-Encoding: gzip", gzip(text.as_bytes()), &text),
        ("Content-Encoding: zstd", zstd, &text),
        // It ends before anything of it is decoded.
        ("Content-Encoding: gzip", gzip(zeros.as_bytes()), &zeros),
    ] {
        let plain = format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: {}", body.len());
        let in_chunks = format!("HTTP/1.1 200 OK\r\n{field}\r\nTransfer-Encoding: chunked");
        for acts in [vec![with_head(&plain, &body)], vec![with_head(&in_chunks, &chunked(&body))]] {
            let server = Server::always(acts).await;
            let fetcher = fetcher();
            let exchange = fetcher.fetch(request(&server.url(), loose.clone())).await.unwrap();
            assert!(exchange.body == expected.as_bytes(), "{field}: {}", exchange.body.len());
            assert_eq!((exchange.stopped, exchange.entity.len()), (None, body.len()), "{field}");
            assert!(!fetcher.budget().is_unused(), "{field}");
            drop(exchange);
            assert!(fetcher.budget().is_unused(), "{field}");
        }
    }
}

#[tokio::test]
async fn short_bodies_reserve_nothing() {
    let server = Server::always(vec![ok(&"x".repeat(90_000))]).await;
    let fetcher = fetcher();
    let exchange = get(&fetcher, &server.url()).await.unwrap();
    assert!(fetcher.budget().is_unused());
    assert_eq!(exchange.body.len(), 90_000);
}

#[tokio::test]
async fn a_long_body_waits_while_others_have_the_memory_and_is_cut_when_that_takes_too_long() {
    let server = Server::always(vec![ok(&"x".repeat(LONG))]).await;
    let fetcher = fetcher_with(|options| options.long_bodies_bytes = 7 << 20);
    let whole = fetcher.fetch(request(&server.url(), long_limits())).await.unwrap();
    assert_eq!((whole.body.len(), whole.stopped), (LONG, None));
    let hasty = FetchLimits { total: Duration::from_millis(300), ..long_limits() };
    let cut = fetcher.fetch(request(&server.url(), hasty)).await.unwrap();
    assert_eq!(cut.stopped, Some(Stopped::Time));
    assert!(cut.body.len() < LONG / 2, "{}", cut.body.len());
    let waiting = fetcher.fetch(request(&server.url(), long_limits()));
    let freeing = async {
        tokio::task::yield_now().await;
        drop(whole);
    };
    let (waited, ()) = tokio::join!(waiting, freeing);
    let waited = waited.unwrap();
    assert_eq!((waited.body.len(), waited.stopped), (LONG, None));
}
