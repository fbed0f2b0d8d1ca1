//! The loopback server over real sockets: answers, faults, virtual hosts.

use std::{net::Ipv4Addr, time::Duration};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::{Hazard, RobotsPlan, WebOptions, checks, read_log};

const HOST: &str = "s0.sim.test";

async fn start(change: impl FnOnce(&mut WebOptions)) -> (Server, Arc<SimWeb>) {
    let mut options = WebOptions::default();
    change(&mut options);
    let web = Arc::new(SimWeb::new(options));
    let server = Server::start(Arc::clone(&web), ServerOptions::default()).await.unwrap();
    (server, web)
}

fn get(host: &str, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Crawly/1.0\r\n\r\n")
}

/// Sends and reads until the server hangs up, or for this long.
async fn talk(server: &Server, request: &str, patience: Duration) -> (Vec<u8>, io::Result<()>) {
    talk_until(server, request, patience, |_| false).await
}

/// As [`talk`], or until that much has come, whatever the machine takes for it: then it is not over.
async fn talk_until(
    server: &Server,
    request: &str,
    patience: Duration,
    enough: impl Fn(&[u8]) -> bool,
) -> (Vec<u8>, io::Result<()>) {
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let read = async {
        loop {
            let mut piece = [0; 16 * 1024];
            match stream.read(&mut piece).await {
                Ok(0) => return Ok(()),
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
                Err(error) => return Err(error),
            }
            if enough(&bytes) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    };
    let ending = tokio::time::timeout(patience, read).await;
    (bytes, ending.unwrap_or(Err(io::ErrorKind::TimedOut.into())))
}

async fn hazard(word: &str) -> (Vec<u8>, io::Result<()>) {
    let (server, _) = start(|options| options.put_all(HOST)).await;
    talk(&server, &get(HOST, &format!("/hazard/{word}")), Duration::from_millis(300)).await
}

fn split(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8(bytes[..end].to_vec()).unwrap(), &bytes[end..])
}

fn length(head: &str) -> usize {
    let at = head.find("Content-Length: ").unwrap() + 16;
    head[at..].split("\r\n").next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let (server, web) = start(|options| options.sites = 2).await;
    let closing = get("s1.sim.test", "/").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let requests = get(HOST, "/robots.txt") + &get(HOST, "/") + &closing;
    let (bytes, ending) = talk(&server, &requests, Duration::from_secs(5)).await;
    ending.unwrap();
    let mut rest = &bytes[..];
    let now = (real_time())();
    for (host, target) in [(HOST, "/robots.txt"), (HOST, "/"), ("s1.sim.test", "/")] {
        let (head, body) = split(rest);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
        let expected = web.answer(&crate::Request::get(host, target), now).body;
        assert_eq!(&body[..length(&head)], &expected[..], "{host}{target}");
        rest = &body[length(&head)..];
    }
    assert!(rest.is_empty());
    let log = server.stop().await;
    let entries = log.entries();
    assert_eq!(entries.iter().map(|e| e.connection).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(&*entries[1].agent, "Crawly/1.0");
    let counts = log.counts();
    assert_eq!((counts.requests, counts.pages, counts.unique_pages, counts.robots), (3, 2, 2, 1));
}

#[tokio::test]
async fn a_conditional_request_is_answered_304_without_a_body() {
    let (server, _) = start(|_| {}).await;
    let (bytes, _) = talk(&server, &get(HOST, "/"), Duration::from_millis(300)).await;
    let (head, _) = split(&bytes);
    let etag = head.split("ETag: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let field = format!("\r\nIf-None-Match: {etag}\r\nConnection: close\r\n\r\n");
    let request = get(HOST, "/").replace("\r\n\r\n", &field);
    let (bytes, _) = talk(&server, &request, Duration::from_secs(5)).await;
    let (head, body) = split(&bytes);
    assert!(head.starts_with("HTTP/1.1 304 "));
    assert!(body.is_empty());
    assert!(server.stop().await.entries()[1].conditional);
}

#[tokio::test]
async fn a_silent_host_says_nothing_and_is_logged_when_the_client_goes() {
    let (server, _) = start(|options| options.put(HOST, Hazard::NoResponse)).await;
    let (bytes, ending) = talk(&server, &get(HOST, "/"), Duration::from_millis(200)).await;
    assert!(bytes.is_empty());
    assert_eq!(ending.unwrap_err().kind(), io::ErrorKind::TimedOut);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let entries = server.log().entries();
    assert_eq!((entries.len(), entries[0].status), (1, 0));
    assert!(entries[0].end_us - entries[0].start_us >= 190_000);
}

#[tokio::test]
async fn what_is_under_way_when_the_server_stops_is_logged() {
    let (server, _) = start(|options| options.put(HOST, Hazard::NoResponse)).await;
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    stream.write_all(get(HOST, "/").as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let log = server.stop().await;
    assert_eq!(log.entries().len(), 1);
}

#[tokio::test]
async fn resets_come_before_the_head_and_in_the_body() {
    let (bytes, ending) = hazard("reset").await;
    assert!(bytes.is_empty());
    assert_eq!(ending.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    let (bytes, ending) = hazard("reset-in-body").await;
    let (head, body) = split(&bytes);
    assert!(!body.is_empty() && body.len() < length(&head));
    assert_eq!(ending.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn lengths_lie_both_ways() {
    let (bytes, ending) = hazard("truncated").await;
    let (head, body) = split(&bytes);
    assert!(body.len() < length(&head));
    ending.unwrap();
    let (bytes, _) = hazard("wrong-length").await;
    let (head, body) = split(&bytes);
    assert!(body.len() > length(&head));
    let (bytes, _) = hazard("unexpected-response").await;
    assert_eq!(String::from_utf8_lossy(&bytes).matches("HTTP/1.1 200").count(), 2);
}

#[tokio::test]
async fn slow_endless_and_flooding_answers_do_not_end() {
    let timed_out = |ending: io::Result<()>| ending.unwrap_err().kind() == io::ErrorKind::TimedOut;
    // A loaded machine may take its time; none takes this long.
    let at_most = Duration::from_secs(60);
    let (server, _) = start(|options| options.put_all(HOST)).await;
    let of = |word: &str| get(HOST, &format!("/hazard/{word}"));
    let has_head = |bytes: &[u8]| bytes.windows(4).any(|w| w == b"\r\n\r\n");
    let (bytes, ending) = talk_until(&server, &of("slow"), at_most, has_head).await;
    let (head, body) = split(&bytes);
    assert!(timed_out(ending), "the head comes, the body drips");
    assert!(body.len() <= 16 && body.len() < length(&head), "a piece at most: {}", body.len());
    let (bytes, ending) = hazard("slow-head").await;
    assert!(bytes.len() < 60 && !has_head(&bytes) && timed_out(ending), "a byte each second");
    let is_long = |bytes: &[u8]| bytes.len() > 1_000_000;
    let (bytes, ending) = talk_until(&server, &of("endless"), at_most, is_long).await;
    assert!(is_long(&bytes) && timed_out(ending));
    let (bytes, ending) = talk_until(&server, &of("header-flood"), at_most, is_long).await;
    assert!(is_long(&bytes) && timed_out(ending));
    assert!(!has_head(&bytes));
}

#[tokio::test]
async fn garbage_is_not_http_and_a_bomb_is_small() {
    let (bytes, ending) = hazard("garbage").await;
    assert!(!bytes.starts_with(b"HTTP") && !bytes.is_empty());
    ending.unwrap();
    let bomb = Hazard::GzipBomb { megabytes: 64 };
    let (server, _) = start(|options| options.put(HOST, bomb)).await;
    let (bytes, _) = talk(&server, &get(HOST, "/"), Duration::from_millis(300)).await;
    let (head, body) = split(&bytes);
    assert!(head.contains("Content-Encoding: gzip"));
    assert!(body.len() < 100_000, "{} bytes", body.len());
    let unpacked = io::copy(&mut flate2::read::GzDecoder::new(body), &mut io::sink());
    assert_eq!(unpacked.unwrap(), 64 << 20, "whole, with the right checksum");
}

#[tokio::test]
async fn the_control_host_tells_and_forgets() {
    let (server, _) = start(|options| {
        options.robots = RobotsPlan::Disallow(vec!["/private/".to_owned()]);
    })
    .await;
    let _ = talk(&server, &get(HOST, "/private/1"), Duration::from_millis(100)).await;
    let ask = async |target: &str| {
        let request = get("control.sim.test", target);
        let (bytes, _) = talk(&server, &request, Duration::from_millis(200)).await;
        String::from_utf8(split(&bytes).1.to_vec()).unwrap()
    };
    let counts: crate::Counts = serde_json::from_str(&ask("/counts").await).unwrap();
    assert_eq!(counts.requests, 1);
    let entry: crate::Entry = serde_json::from_str(ask("/log").await.trim()).unwrap();
    assert_eq!(entry.target, "/private/1");
    assert!(ask("/checks?pause_ms=0").await.contains("robots.txt of this origin was not asked"));
    ask("/reset").await;
    assert_eq!(server.log().counts().requests, 0);
    assert!(ask("/log").await.is_empty());
}

#[tokio::test]
async fn the_log_file_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    let web = Arc::new(SimWeb::new(WebOptions::default()));
    let log = LogOptions { file: Some(file.clone()), ..LogOptions::default() };
    let options = ServerOptions { log, ..ServerOptions::default() };
    let server = Server::start(web, options).await.unwrap();
    let _ = talk(&server, &get(HOST, "/"), Duration::from_millis(100)).await;
    let _ = talk(&server, &get(HOST, "/nowhere"), Duration::from_millis(100)).await;
    let log = server.stop().await;
    assert_eq!(read_log(&file).unwrap(), log.entries());
    assert_eq!(log.entries()[1].status, 404);
}

#[tokio::test]
async fn hosts_can_live_on_many_addresses_at_one_port() {
    let (server, web) = start(|options| {
        options.sites = 3;
        options.addresses = 3;
    })
    .await;
    let port = server.addr().port();
    let mut stream = TcpStream::connect((Ipv4Addr::new(127, 0, 0, 3), port)).await.unwrap();
    stream.write_all(get("s2.sim.test", "/robots.txt").as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    let entries = server.stop().await.entries();
    assert_eq!(Some(entries[0].address), web.address("s2.sim.test"));
    assert_eq!(checks::nameless(&entries), []);
}

#[tokio::test]
async fn latency_is_kept_before_the_first_byte() {
    let (server, _) = start(|options| options.latency.base = Duration::from_millis(120)).await;
    let (bytes, _) = talk(&server, &get(HOST, "/"), Duration::from_millis(60)).await;
    assert!(bytes.is_empty());
    let (bytes, _) = talk(&server, &get(HOST, "/"), Duration::from_millis(400)).await;
    assert!(!bytes.is_empty());
}

#[tokio::test]
async fn tls_hosts_have_certificates_of_the_root_and_self_signed_ones_do_not() {
    let mut options = WebOptions { sites: 2, https_share: 1.0, ..WebOptions::default() };
    options.put("s1.sim.test", Hazard::SelfSigned);
    let web = Arc::new(SimWeb::new(options));
    let options = ServerOptions { tls: true, ..ServerOptions::default() };
    let server = Server::start(web, options).await.unwrap();
    let mut roots = rustls::RootCertStore::empty();
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
    let pem = server.root_pem().unwrap().as_bytes();
    roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let connect = async |host: &'static str| {
        let stream = TcpStream::connect(server.tls_addr().unwrap()).await.unwrap();
        connector.connect(ServerName::try_from(host).unwrap(), stream).await
    };
    let mut stream = connect(HOST).await.unwrap();
    stream.write_all(get(HOST, "/").as_bytes()).await.unwrap();
    let mut start = [0; 15];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    assert!(connect("s1.sim.test").await.is_err());
}
