//! Servers that abuse HTTP/2, met by the whole program: the connection ends in bounded time and memory, under its name, and
//! other sites go on.
//!
//! The server has certificates of its own, knows by the name it is called (SNI) how to behave, answers the first request of
//! each name (robots.txt) as it should, and then does its worst for as long as it is let.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use simweb::{PageCount, WebOptions, checks};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};
use tokio_rustls::TlsAcceptor;

use crate::world::World;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status` 200 and 404, from the static table of RFC 7541.
const OK: u8 = 0x88;
const NOT_FOUND: u8 = 0x8d;

/// What a server does once it is asked for a page.
#[derive(Clone, Copy)]
struct Attack {
    name: &'static str,
    /// What the report calls it.
    told: &'static str,
    /// Sent once.
    first: fn(u32) -> Vec<u8>,
    /// Sent again and again; nothing: it falls silent.
    then: fn(u32) -> Vec<u8>,
}

const ATTACKS: [Attack; 7] = [
    Attack {
        name: "ping",
        told: "http2-abuse",
        first: |_| Vec::new(),
        then: |_| frame(PING, 0, 0, &[0; 8]).repeat(500),
    },
    Attack {
        name: "settings",
        told: "http2-abuse",
        first: |_| Vec::new(),
        then: |_| frame(SETTINGS, 0, 0, &[]).repeat(500),
    },
    Attack {
        name: "continuation",
        told: "http2-abuse",
        first: |stream| frame(HEADERS, 0, stream, &[OK]),
        then: |stream| frame(CONTINUATION, 0, stream, &[]).repeat(500),
    },
    Attack {
        name: "reset",
        told: "http2-abuse",
        first: |stream| frame(HEADERS, END_HEADERS, stream, &[OK]),
        // Streams that nobody opened.
        then: |_| frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]).repeat(500),
    },
    Attack {
        name: "table",
        told: "http2-abuse",
        // A dynamic table of a gigabyte, and no field that would need one (RFC 7541, section 6.3).
        first: |stream| frame(HEADERS, END_HEADERS, stream, &[0x3f, 0xe1, 0xff, 0xff, 0xff, 0x03]),
        then: |_| Vec::new(),
    },
    Attack {
        name: "empty",
        told: "http2-abuse",
        first: |stream| frame(HEADERS, END_HEADERS, stream, &[OK]),
        then: |stream| frame(DATA, 0, stream, &[]).repeat(500),
    },
    Attack {
        name: "window",
        told: "slow-body",
        // No window for us to send in, and a body that never comes.
        first: |stream| {
            let none = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
            [none, frame(HEADERS, END_HEADERS, stream, &[OK]), frame(DATA, 0, stream, b"begun")]
                .concat()
        },
        then: |_| Vec::new(),
    },
];

/// What a name was asked and how much it could send.
#[derive(Clone, Copy, Default)]
struct Heard {
    requests: usize,
    bytes: usize,
    /// Connections on which it could do its worst, and those of them that are over.
    begun: usize,
    ended: usize,
}

struct Hostile {
    port: u16,
    heard: Arc<Mutex<HashMap<String, Heard>>>,
    _runtime: Runtime,
}

impl Hostile {
    fn start() -> Hostile {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::default();
        let (acceptor, shared) = (acceptor(), Arc::clone(&heard));
        runtime.spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), tcp, Arc::clone(&shared)));
            }
        });
        Hostile { port, heard, _runtime: runtime }
    }

    fn heard(&self, host: &str) -> Heard {
        self.heard.lock().unwrap().get(host).copied().unwrap_or_default()
    }
}

fn acceptor() -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["*.abuse.test".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(
    acceptor: TlsAcceptor,
    tcp: TcpStream,
    heard: Arc<Mutex<HashMap<String, Heard>>>,
) -> Option<()> {
    let tls = acceptor.accept(tcp).await.ok()?;
    let host = tls.get_ref().1.server_name()?.to_owned();
    let attack = *ATTACKS.iter().find(|attack| host.starts_with(attack.name))?;
    let note = |change: fn(&mut Heard, usize), by: usize| {
        change(heard.lock().unwrap().entry(host.clone()).or_default(), by);
    };
    let (mut reading, mut writing) = tokio::io::split(tls);
    reading.read_exact(&mut [0; 24]).await.ok()?;
    writing.write_all(&frame(SETTINGS, 0, 0, &[])).await.ok()?;
    loop {
        let stream = next_request(&mut reading).await?;
        let before = heard.lock().unwrap().get(&host).map_or(0, |heard| heard.requests);
        note(|heard, _| heard.requests += 1, 0);
        if before == 0 {
            let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &[NOT_FOUND]);
            writing.write_all(&head).await.ok()?;
            writing.flush().await.ok()?;
            continue;
        }
        note(|heard, _| heard.begun += 1, 0);
        // Acknowledgements are taken, or they would keep us from sending.
        let drained = tokio::spawn(async move {
            let mut waste = [0; 4096];
            while reading.read(&mut waste).await.is_ok_and(|count| count > 0) {}
        });
        let (first, more) = ((attack.first)(stream), (attack.then)(stream));
        let mut sent = writing.write_all(&first).await.is_ok() && writing.flush().await.is_ok();
        while sent && !more.is_empty() && !drained.is_finished() {
            sent = writing.write_all(&more).await.is_ok() && writing.flush().await.is_ok();
            note(|heard, bytes| heard.bytes += bytes, more.len());
        }
        let _ = drained.await;
        note(|heard, _| heard.ended += 1, 0);
        return None;
    }
}

/// The stream of the next request that is whole.
async fn next_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.ok()?;
        if head[3] == HEADERS && head[4] & END_STREAM != 0 {
            return Some(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[test]
fn abuses_of_http_2_end_in_time_and_memory_under_their_name_and_other_sites_go_on() {
    let hostile = Hostile::start();
    let options = WebOptions { sites: 2, pages: PageCount::Fixed(15), ..WebOptions::default() };
    let world = World::new(options)
        .variable("HARVESTMAN_FETCH_HTTP2", "true")
        .variable("HARVESTMAN_FETCH_INSECURE_TLS", "true")
        .variable("HARVESTMAN_FETCH_IDLE_TIMEOUT", "2s")
        .variable("HARVESTMAN_FETCH_TIMEOUT", "10s")
        .variable("HARVESTMAN_CRAWL_FOR", "20s");
    let mut seeds: Vec<String> =
        ATTACKS.iter().map(|attack| format!("https://{}.abuse.test/", attack.name)).collect();
    seeds.extend(world.web.seeds());
    let rule = format!("*.abuse.test=127.0.0.1:{}", hostile.port);
    let mut args = vec!["crawl", "--delay", "0", "--resolve", &rule];
    args.extend(seeds.iter().map(String::as_str));
    let began = Instant::now();
    let mut running = world.start(&args);
    let mut memory = 0;
    while running.is_running() && began.elapsed() < Duration::from_secs(60) {
        memory = memory.max(running.peak_memory());
        std::thread::sleep(Duration::from_millis(20));
    }
    running.wait(Duration::from_secs(1)).exits(0);
    println!("{memory} bytes of memory at most, {:?}", began.elapsed());
    assert!(memory < 256 << 20, "{memory} bytes of memory");

    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    for Attack { name, told: hazard, .. } in ATTACKS {
        let host = format!("{name}.abuse.test");
        let heard = hostile.heard(&host);
        assert!(heard.begun > 0, "{name} was asked for its page");
        assert_eq!(heard.begun, heard.ended, "{name}: no connection is left open");
        println!("{name}: {} bytes in {} tries", heard.bytes, heard.begun);
        assert!(heard.bytes <= heard.begun * (32 << 20), "{name}: {} bytes", heard.bytes);
        let of_site = |row: &&serde_json::Value| row["site"] == *host;
        let names: Vec<_> = told.as_array().unwrap().iter().filter(of_site).collect();
        assert!(names.iter().any(|row| row["hazard"] == *hazard), "{name}: {names:#?}");
    }
    for site in 0..2 {
        assert_eq!(checks::completeness(&world.log(), &world.web, &world.web.host(site)), []);
    }
    world.run(&["check"]).exits(0);
}
