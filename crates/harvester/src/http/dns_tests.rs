//! What the resolver promises, against a name server of our own on loopback.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::{Timestamp, testing::TestClock};
use tokio::net::UdpSocket;

use super::*;

const START: Timestamp = Timestamp(1_000_000);

/// Answers `two.test` with two addresses of each family, `many.test` with 40, `brief.test` for no time at
/// all, `loop.test` with an alias of itself, `none.test` with NXDOMAIN, `sick.test` with SERVFAIL,
/// `mute.test` with silence.
async fn name_server() -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let questions = Arc::new(AtomicUsize::new(0));
    let count = questions.clone();
    tokio::spawn(async move {
        let mut packet = [0u8; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            count.fetch_add(1, Ordering::SeqCst);
            if let Some(answer) = answer(&packet[..length]) {
                socket.send_to(&answer, from).await.unwrap();
            }
        }
    });
    (address, questions)
}

fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let mut end = 12;
    let mut name = String::new();
    while question[end] != 0 {
        let length = usize::from(question[end]);
        let label = String::from_utf8_lossy(&question[end + 1..=end + length]).to_lowercase();
        name.push_str(&label);
        name.push('.');
        end += length + 1;
    }
    end += 5;
    let v6 = question[end - 3] == 28;
    let (code, records) = match name.as_str() {
        "none.test." => (3u8, 0u8),
        "sick.test." => (2, 0),
        "mute.test." => return None,
        "loop.test." => (0, 1),
        "many.test." => (0, 40),
        _ => (0, 2),
    };
    let mut reply = question[..end].to_vec();
    reply[2] = 0x81;
    reply[3] = 0x80 | code;
    reply[6..12].copy_from_slice(&[0, records, 0, 0, 0, 0]);
    let life = if name == "brief.test." { 0 } else { 120 };
    for n in 1..=records {
        if name == "loop.test." {
            reply.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, life, 0, 2, 0xc0, 12]);
            continue;
        }
        reply.extend([0xc0, 12, 0, if v6 { 28 } else { 1 }, 0, 1, 0, 0, 0, life, 0]);
        if v6 {
            reply.push(16);
            reply.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n]);
        } else {
            reply.extend([4, 192, 0, 2, n]);
        }
    }
    Some(reply)
}

async fn resolver(overrides: &[&str]) -> (DnsResolver, Arc<AtomicUsize>) {
    resolver_by(Arc::new(TestClock::at(START)), overrides).await
}

async fn resolver_by(clock: Arc<TestClock>, overrides: &[&str]) -> (DnsResolver, Arc<AtomicUsize>) {
    let (server, questions) = name_server().await;
    let rules = overrides.iter().map(|rule| rule.parse().unwrap()).collect();
    let options = DnsOptions {
        servers: vec![server],
        overrides: Arc::new(Overrides::new(rules)),
        timeout: Duration::from_millis(600),
        ..DnsOptions::default()
    };
    (DnsResolver::new(options, clock), questions)
}

#[tokio::test]
async fn a_dead_name_is_asked_for_once_in_a_quarter_of_an_hour() {
    let clock = Arc::new(TestClock::at(START));
    let (resolver, questions) = resolver_by(clock.clone(), &[]).await;
    let ask = async |host: &str| {
        let before = questions.load(Ordering::SeqCst);
        let _ = resolver.resolve(host).await;
        questions.load(Ordering::SeqCst) > before
    };
    assert!(ask("none.test").await);
    clock.advance(Duration::from_secs(14 * 60));
    assert!(!ask("none.test").await);
    clock.advance(Duration::from_secs(60));
    assert!(ask("none.test").await);
}

#[tokio::test]
async fn answers_of_no_life_live_a_minute_and_of_many_addresses_sixteen_are_kept() {
    let (resolver, questions) = resolver(&[]).await;
    let brief = resolver.resolve("brief.test").await.unwrap();
    assert_eq!(brief.expires, Timestamp(1_000_000 + 60_000));
    let asked = questions.load(Ordering::SeqCst);
    resolver.resolve("brief.test").await.unwrap();
    assert_eq!(questions.load(Ordering::SeqCst), asked);
    assert_eq!(resolver.resolve("many.test").await.unwrap().addresses.len(), 16);
    let began = std::time::Instant::now();
    assert!(resolver.resolve("loop.test").await.is_err(), "an alias of itself leads nowhere");
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(DnsOptions::default().timeout, Duration::from_secs(5));
}

#[tokio::test]
async fn both_families_come_ipv4_first_with_the_ttl_of_the_answer() {
    let (resolver, _) = resolver(&[]).await;
    let found = resolver.resolve("two.test").await.unwrap();
    let text: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(text, ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]);
    assert_eq!(found.expires, Timestamp(1_000_000 + 120_000));
}

#[tokio::test]
async fn a_name_is_asked_for_once_however_many_want_it() {
    let (resolver, questions) = resolver(&[]).await;
    let resolver = Arc::new(resolver);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.resolve("two.test").await.unwrap() });
    }
    assert_eq!(asking.join_all().await.len(), 50);
    resolver.resolve("two.test").await.unwrap();
    assert_eq!(questions.load(Ordering::SeqCst), 2, "one question for each family");
}

#[tokio::test]
async fn a_name_that_is_not_there_differs_from_servers_that_do_not_answer() {
    let (resolver, questions) = resolver(&[]).await;
    let kind = async |host: &str| resolver.resolve(host).await.unwrap_err().kind;
    assert_eq!(kind("none.test").await, FailureKind::DnsUnknown);
    let asked = questions.load(Ordering::SeqCst);
    assert_eq!(kind("none.test").await, FailureKind::DnsUnknown);
    assert_eq!(questions.load(Ordering::SeqCst), asked, "no is remembered");
    assert_eq!(kind("sick.test").await, FailureKind::DnsTrouble);
    assert_eq!(kind("mute.test").await, FailureKind::DnsTrouble);
    let long = "a".repeat(64);
    assert_eq!(kind(&format!("{long}.test")).await, FailureKind::DnsUnknown);
}

#[tokio::test]
async fn overrides_literals_and_localhost_ask_nobody() {
    let (resolver, questions) = resolver(&["*.here=127.0.0.1:8080"]).await;
    let first = async |host: &str| resolver.resolve(host).await.unwrap().addresses[0].to_string();
    assert_eq!(first("a.here").await, "127.0.0.1");
    assert_eq!(first("203.0.113.9").await, "203.0.113.9");
    assert_eq!(first("[2001:db8::9]").await, "2001:db8::9");
    assert_eq!(first("localhost").await, "127.0.0.1");
    assert_eq!(first("x.localhost").await, "127.0.0.1");
    assert_eq!(questions.load(Ordering::SeqCst), 0);
}
