//! Each thing a server should not do, by the name that the report calls it.

use std::{
    io::Write,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::{Duration, Instant},
};

use model::{
    Exchange, FailureKind, Fetch, FetchFailure, FetchLimits, Hazard, Measure, Met, Stopped,
};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::server::*;

type Outcome = Result<Exchange, FetchFailure>;

/// All that was met, by name and measure.
fn met(outcome: &Outcome) -> Vec<(Hazard, Measure)> {
    let pair = |met: &Met| (met.hazard, met.measure);
    match outcome {
        Ok(exchange) => exchange.met.iter().map(pair).collect(),
        Err(failure) => failure.met.iter().map(pair).collect(),
    }
}

async fn check(name: &str, acts: Vec<Act>, hazard: Hazard, measure: Measure) -> Outcome {
    let limits = FetchLimits {
        first_byte: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        total: Duration::from_millis(600),
        ..limits()
    };
    let began = Instant::now();
    let outcome = once_within(acts, limits).await;
    assert_eq!(met(&outcome), [(hazard, measure)], "{name}: {outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(3), "{name}");
    outcome
}

fn coded(coding: &str, body: &[u8]) -> Vec<Act> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    vec![Act::Send([head.as_bytes(), body].concat())]
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(data).unwrap();
    coder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(data).unwrap();
    coder.finish().unwrap()
}

#[tokio::test]
async fn what_is_wrong_with_a_head_has_a_name() {
    let drip = (0..200).flat_map(|_| [send("A"), Act::Wait(10)]);
    let slow_head: Vec<Act> = [send("HTTP/1.1 200 OK\r\n")].into_iter().chain(drip).collect();
    let bit_by_bit = "HTTP/1.1 200".bytes().flat_map(|b| [Act::Wait(100), send([b])]).collect();
    let _ = check("byte by byte", bit_by_bit, Hazard::SlowResponse, Measure::Truncated).await;
    let slow = check("slow loris", slow_head, Hazard::SlowResponse, Measure::Truncated).await;
    assert_eq!(slow.unwrap_err().kind, FailureKind::Timeout);
    let _ = check("no-response", vec![Act::Stall], Hazard::NoResponse, Measure::Truncated).await;
    let late = vec![Act::Wait(200), ok("x")];
    let late = check("late", late, Hazard::SlowResponse, Measure::Noted).await;
    assert_eq!(late.unwrap().body, "x".as_bytes());

    let line = vec![send(format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20))), Act::Stall];
    let many = vec![send(format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(100_000))), Act::Stall];
    let some = vec![send(format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(1_000)))];
    let status = vec![send(format!("HTTP/1.1 200 {}", "x".repeat(1 << 20))), Act::Stall];
    for (name, acts) in [("line", line), ("many", many), ("some", some), ("status", status)] {
        let _ = check(name, acts, Hazard::HeaderFlood, Measure::Refused).await;
    }
    let interim = |count| vec![send("HTTP/1.1 103 Hint\r\n\r\n".repeat(count)), ok("x")];
    for count in [17, 1_000, 100_000] {
        let _ = check("interim", interim(count), Hazard::InterimFlood, Measure::Refused).await;
    }
    assert!(once(interim(16)).await.is_ok());

    let differing = vec![send("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx")];
    let _ = check("differing", differing, Hazard::BadLength, Measure::Refused).await;
    let nonsense = vec![send("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nall"), Act::Close];
    let nonsense =
        check("nonsense", nonsense, Hazard::BadLength, Measure::Corrected).await.unwrap();
    assert_eq!(nonsense.body, "all".as_bytes());
    assert!(nonsense.response_head.windows(15).any(|text| text == b"Content-Length:"));
    let both = vec![send(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    )];
    let _ = check("both", both, Hazard::BadLength, Measure::Noted).await;
}

#[tokio::test]
async fn what_is_no_http_is_said_without_another_name() {
    for text in [
        "<html>HTTP/0.9</html>\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 099 Short\r\n\r\n",
        "HTTP/1.1 -1 Minus\r\n\r\n",
        "HTTP/1.1 2000 Long\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
    ] {
        let outcome = once(vec![send(text), Act::Close]).await;
        assert_eq!(met(&outcome), [], "{text}");
        assert_eq!(outcome.unwrap_err().kind, FailureKind::BadHttp, "{text}");
    }
    // A status of three digits is taken, as in browsers, whatever it means.
    let odd = once(vec![send("HTTP/1.1 600 What\r\n\r\nx"), Act::Close]).await.unwrap();
    assert_eq!((odd.status, &odd.body[..]), (600, &b"x"[..]));
}

#[tokio::test]
async fn what_is_wrong_with_a_body_has_a_name() {
    let endless = vec![
        send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        send(format!("3e8\r\n{}\r\n", "x".repeat(1_000)).repeat(300)),
        Act::Stall,
    ];
    let endless = check("endless", endless, Hazard::EndlessBody, Measure::Truncated).await.unwrap();
    assert_eq!(endless.stopped, Some(Stopped::Length));
    let long = coded("gzip", &gzip(&(0..40_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()));
    let _ = check("large", long, Hazard::LargeBody, Measure::Truncated).await;

    let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
    let twice = vec![send(format!("{good}{good}"))];
    let twice = check("twice", twice, Hazard::UnexpectedResponse, Measure::Refused).await.unwrap();
    assert_eq!(twice.body, "good".as_bytes());
    let short = vec![send(format!("{good} and more")), Act::Close];
    let short = check("short", short, Hazard::BadLength, Measure::Truncated).await.unwrap();
    assert_eq!((&short.body[..], &short.wire_body[..]), (&b"good"[..], &b"good"[..]));
    let blank = once(vec![send(format!("{good}\r\n"))]).await;
    assert_eq!(met(&blank), [], "an empty line behind an answer means nothing");
}

#[tokio::test]
async fn an_answer_that_comes_while_a_connection_rests_is_named_at_the_next_visit() {
    let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let server = Server::always(vec![send(good), Act::Wait(10), send(evil)]).await;
    let fetcher = fetcher();
    assert_eq!(met(&get(&fetcher, &server.url()).await), []);
    tokio::time::sleep(Duration::from_millis(60)).await;
    let next = get(&fetcher, &server.url()).await;
    assert_eq!(met(&next), [(Hazard::UnexpectedResponse, Measure::Refused)]);
    assert_eq!(next.unwrap().body, "good".as_bytes());
}

#[tokio::test]
async fn what_is_wrong_with_a_coding_has_a_name() {
    let text: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let whole = gzip(text.as_bytes());
    let mut wrong_sum = whole.clone();
    let at = whole.len() - 6;
    wrong_sum[at] ^= 0xff;
    let large_window = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x88][..], &[0; 40]].concat();
    let junk = [&whole[..], b"\0\0junk"].concat();
    let nested = (0..10).fold(b"ten".to_vec(), |body, _| gzip(&body));
    let ten = ["gzip"; 10].join(", ");
    for (name, acts, hazard, measure) in [
        (
            "cut",
            coded("gzip", &whole[..whole.len() / 2]),
            Hazard::BrokenEncoding,
            Measure::Truncated,
        ),
        ("sum", coded("gzip", &wrong_sum), Hazard::BrokenEncoding, Measure::Truncated),
        ("plain", coded("gzip", text.as_bytes()), Hazard::BrokenEncoding, Measure::Corrected),
        (
            "plain br",
            coded("br", b"<html>plain</html>"),
            Hazard::BrokenEncoding,
            Measure::Truncated,
        ),
        ("junk", coded("gzip", &junk), Hazard::BrokenEncoding, Measure::Corrected),
        ("nested", coded(&ten, &nested), Hazard::NestedEncoding, Measure::Refused),
        ("three", coded("br, gzip, zstd", &nested), Hazard::NestedEncoding, Measure::Refused),
        ("window", coded("zstd", &large_window), Hazard::LargeWindow, Measure::Refused),
        ("br window", coded("br", &[0x11, 0x1e, 0, 0, 0]), Hazard::LargeWindow, Measure::Refused),
    ] {
        let exchange = check(name, acts.clone(), hazard, measure).await.unwrap();
        let Act::Send(sent) = &acts[0] else { unreachable!("one piece") };
        assert!(
            sent.ends_with(&exchange.entity) && !exchange.entity.is_empty(),
            "{name}: as it came"
        );
        if measure == Measure::Corrected {
            assert_eq!((&exchange.body[..], exchange.stopped), (text.as_bytes(), None), "{name}");
        }
    }
}

#[tokio::test]
async fn bombs_of_every_coding_are_cut_and_named() {
    let zeros = vec![0u8; 8 << 20];
    let twice = gzip(&gzip(&zeros));
    for (coding, bomb) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("zstd", zstd::encode_all(&zeros[..], 1).unwrap()),
        ("gzip, gzip", twice),
    ] {
        let within = FetchLimits { body_bytes_max: 2 << 20, ..limits() };
        let outcome = once_within(coded(coding, &bomb), within).await;
        assert_eq!(met(&outcome), [(Hazard::DecompressionBomb, Measure::Truncated)], "{coding}");
        let exchange = outcome.unwrap();
        assert_eq!(exchange.stopped, Some(Stopped::Length), "{coding}");
        assert!(exchange.body.len() <= 2 << 20, "{coding}");
    }
}

#[tokio::test]
async fn a_dead_address_of_one_family_is_not_waited_for() {
    let server = Server::always(vec![ok("here")]).await;
    let port = server.address.port();
    for dead in [IpAddr::V6(Ipv6Addr::LOCALHOST), [127, 0, 0, 2].into()] {
        let _dead = deaf(SocketAddr::new(dead, port)).await;
        // Far more than a loaded machine takes for the rest: who waits for the dead one is found out. That the other is
        // begun after a quarter of a second is the race's own promise.
        let patience = Duration::from_secs(60);
        let within = FetchLimits {
            connect: patience,
            first_byte: patience,
            idle: patience,
            total: 2 * patience,
            ..limits()
        };
        let mut asked = request(&format!("http://half.example:{port}/"), within);
        asked.addresses = vec![dead, server.address.ip()];
        let fetcher = fetcher_with(|options| {
            options.allow = vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        });
        let began = Instant::now();
        let exchange = fetcher.fetch(asked).await.unwrap();
        assert_eq!(exchange.address, Some(server.address.ip()), "{dead}");
        assert!(began.elapsed() < patience / 2, "{dead}: {:?}", began.elapsed());
    }
}

/// An address at which nobody answers: its queue of connections is full, so the system says nothing to one more.
/// Where the machine does not have the address, it is dead anyway.
async fn deaf(address: SocketAddr) -> Option<(TcpListener, Vec<TcpStream>)> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.ok()?;
    socket.bind(address).ok()?;
    let listener = socket.listen(1).ok()?;
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(500), TcpStream::connect(address)).await
    {
        queue.push(stream);
    }
    Some((listener, queue))
}
