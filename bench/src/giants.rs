//! What bombs and giants cost: each is sent over loopback to the crawler's own client, then gathered, in a
//! process of its own. The kernel says what the one thread that did it used, and how far memory grew.
//!
//! The allocator asks for huge pages, and each counts 2 MB as soon as a byte of it is touched: these processes do
//! without, or the figures would be multiples of that.
//!
//! `cargo run --release -p bench -- giants`

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use gatherer::{GatherOptions, gather};
use harvester::{
    clock::RealClock,
    http::{HttpFetcher, HttpOptions},
};
use model::{CrawlUrl, Fetch, FetchLimits, FetchRequest, Purpose, Timestamp, limits};
use simweb::{Hazard, Manner, Odd, Request, SimWeb, WebOptions};

const MEGABYTE: usize = 1 << 20;

/// What is sent, and what the client takes of it at most.
struct Giant {
    name: &'static str,
    body_bytes_max: u64,
    /// Milliseconds and megabytes it may cost.
    aim: (f64, f64),
    make: fn() -> Vec<u8>,
}

/// As in the crawler's defaults.
const BODY: u64 = 2_000_000;
const PAGE: u64 = 60_000_000;
/// A bomb may cost its limit and a megabyte.
const BOMB: (f64, f64) = (1_000.0, 3.0);

#[rustfmt::skip]
const GIANTS: &[Giant] = &[
    Giant { name: "gzip, 1 MB to 1 GB", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::GzipBomb { megabytes: 1024 }) },
    Giant { name: "deflate, 0.5 MB to 0.5 GB", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::Odd(Odd::DeflateBomb)) },
    Giant { name: "brotli, 1 KB to 1 GB", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::Odd(Odd::BrotliBomb)) },
    Giant { name: "zstd, 16 KB to 0.5 GB", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::Odd(Odd::ZstdBomb)) },
    Giant { name: "ten codings", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::NestedEncoding) },
    Giant { name: "zstd window of 128 MB", body_bytes_max: BODY, aim: BOMB, make: || simulated(Hazard::Odd(Odd::LargeWindow)) },
    Giant { name: "header lines without end", body_bytes_max: BODY, aim: (1_000.0, 1.0), make: header_flood },
    Giant { name: "a header line of 10 MB", body_bytes_max: BODY, aim: (1_000.0, 1.0), make: header_line },
    Giant { name: "100,000 interim answers", body_bytes_max: BODY, aim: (1_000.0, 1.0), make: || simulated(Hazard::Odd(Odd::InterimFlood)) },
    Giant { name: "endless chunks", body_bytes_max: BODY, aim: (1_000.0, 10.0), make: endless },
    Giant { name: "512 KB of <ul><li>", body_bytes_max: PAGE, aim: (1_000.0, 10.0), make: || simulated(Hazard::Odd(Odd::DeepNesting)) },
    Giant { name: "an attribute of 10 MB", body_bytes_max: PAGE, aim: (1_000.0, 60.0), make: || simulated(Hazard::Odd(Odd::LongAttribute)) },
    Giant { name: "a comment of 10 MB", body_bytes_max: PAGE, aim: (1_000.0, 60.0), make: || simulated(Hazard::Odd(Odd::OpenComment)) },
    Giant { name: "a line of 50 MB", body_bytes_max: PAGE, aim: (5_000.0, 250.0), make: || simulated(Hazard::Odd(Odd::LongLine)) },
    Giant { name: "10 MB without a space", body_bytes_max: PAGE, aim: (1_000.0, 60.0), make: wordless },
    Giant { name: "a million links in 10 MB", body_bytes_max: PAGE, aim: (2_000.0, 50.0), make: links },
    Giant { name: "10 MB of PDF named .html", body_bytes_max: PAGE, aim: (50.0, 25.0), make: pdf },
];

/// Runs each in a process of its own and prints the table.
pub fn giants() -> anyhow::Result<()> {
    println!("| what came | sent | kept | CPU | memory | it is called |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (number, giant) in GIANTS.iter().enumerate() {
        let me = std::env::current_exe()?;
        let mut child = Command::new(me);
        child.args(["giant", &number.to_string()]).env("MIMALLOC_ALLOW_THP", "0");
        let status = child.status()?;
        ensure!(status.success(), "{} ended with {status}", giant.name);
    }
    println!(
        "\nIn brackets what it may cost. Memory: how far the process grew, the wire's own copy of the body included; without \
         huge pages."
    );
    Ok(())
}

/// One of them, and its line of the table.
pub fn giant(number: usize) -> anyhow::Result<()> {
    let giant = GIANTS.get(number).context("there is no such giant")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let http = HttpOptions { allow: vec!["127.0.0.0/8".parse()?], ..HttpOptions::default() };
    let fetcher = HttpFetcher::new(&http, Arc::new(RealClock::new()))?;
    // Once with a small page, so that what is made once is not counted.
    runtime.block_on(fetcher.fetch(request(serve(small())?, BODY)?)).ok().context("loopback")?;

    let payload: Vec<u8> = (giant.make)();
    let sent = payload.len();
    let port = serve(payload)?;
    let request = request(port, giant.body_bytes_max)?;
    fs::write("/proc/self/clear_refs", "5").context("reset the peak")?;
    let (memory, cpu) = (status_bytes("VmRSS:")?, cpu()?);
    let outcome = runtime.block_on(fetcher.fetch(request));
    let (kept, mut names) = match &outcome {
        Ok(exchange) => {
            let gathered = gather(exchange, &GatherOptions::default());
            let problems: Vec<&str> = gathered.problems.iter().map(|p| p.word()).collect();
            let met = exchange.met.iter().map(|met| met.hazard.word());
            (exchange.body.len(), met.chain(problems).collect::<Vec<_>>())
        }
        Err(failure) => (0, failure.met.iter().map(|met| met.hazard.word()).collect()),
    };
    names.dedup();
    let cpu = (self::cpu()? - cpu).as_secs_f64() * 1e3;
    let grown = status_bytes("VmHWM:")?.saturating_sub(memory) as f64 / MEGABYTE as f64;
    let missed = if cpu > giant.aim.0 || grown > giant.aim.1 { " **missed**" } else { "" };
    println!(
        "| {} | {} | {} | {cpu:.1} ms ({:.0}) | {grown:.1} MB ({:.0}){missed} | {} |",
        giant.name,
        bytes(sent),
        bytes(kept),
        giant.aim.0,
        giant.aim.1,
        names.join(", ")
    );
    Ok(())
}

fn request(port: u16, body_bytes_max: u64) -> anyhow::Result<FetchRequest> {
    let limit = |seconds| Duration::from_secs(seconds);
    let limits = FetchLimits {
        body_bytes_max,
        head_bytes_max: limits::HEAD_BYTES_MAX,
        connect: limit(10),
        tls: limit(10),
        first_byte: limit(20),
        idle: limit(20),
        total: limit(60),
        media_types: vec!["text/*".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    };
    Ok(FetchRequest {
        url: CrawlUrl::parse(&format!("http://127.0.0.1:{port}/giant.html"))?,
        purpose: Purpose::Page,
        addresses: Vec::new(),
        condition: None,
        spider: model::SpiderId(1),
        cookies: None,
        withhold_cookies: false,
        post: None,
        limits: Arc::new(limits),
        type_gate: None,
    })
}

/// Sends these bytes to whoever asks; a head that has no end is sent again and again.
fn serve(payload: Vec<u8>) -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0u8; 4096];
            let _ = stream.read(&mut head);
            send(&mut stream, &payload);
        }
    });
    Ok(port)
}

/// A client that has had enough hangs up, which is what is wanted.
fn send(stream: &mut TcpStream, payload: &[u8]) {
    for piece in payload.chunks(MEGABYTE) {
        if stream.write_all(piece).is_err() {
            return;
        }
    }
}

/// What the simulated web sends for it.
fn simulated(hazard: Hazard) -> Vec<u8> {
    let mut options = WebOptions { sites: 1, ..WebOptions::default() };
    options.put("s0.sim.test/hazard", hazard);
    let web = SimWeb::new(options);
    let request =
        Request { method: "GET", host: "s0.sim.test", target: "/hazard", ..Request::default() };
    let answer = web.answer(&request, Timestamp(0));
    assert!(matches!(answer.manner, Manner::Whole | Manner::Hangup));
    [&answer.head[..], &answer.body].concat()
}

fn page(body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: ";
    format!("{head}{}\r\n\r\n{body}", body.len()).into_bytes()
}

fn small() -> Vec<u8> {
    page("<title>small</title><p>a page of a few words <a href=x>x</a>")
}

fn header_flood() -> Vec<u8> {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    head.extend(b"X-Flood: flood flood flood\r\n".repeat(16 * MEGABYTE / 28));
    head
}

fn header_line() -> Vec<u8> {
    [&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'x'; 10 * MEGABYTE]].concat()
}

fn endless() -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = [&b"400\r\n"[..], &[b'x'; 1024], b"\r\n"].concat();
    [&head[..], &chunk.repeat(20 * 1024)].concat()
}

fn wordless() -> Vec<u8> {
    page(&"4f3c9a".repeat(10 * MEGABYTE / 6))
}

fn links() -> Vec<u8> {
    let mut body: String = (0..1_000_000).map(|n| format!("<a href={n}>")).collect();
    body.truncate(PAGE as usize);
    page(&body)
}

fn pdf() -> Vec<u8> {
    page(&format!("%PDF-1.7\n{}", "<a href=x>".repeat(MEGABYTE)))
}

/// What the kernel says of this thread: nanoseconds on a processor.
fn cpu() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split(' ').next().and_then(|number| number.parse().ok());
    Ok(Duration::from_nanos(first.context("schedstat has numbers")?))
}

fn status_bytes(field: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let Some(kilobytes) = line.and_then(|line| line.split_whitespace().next()) else {
        bail!("the kernel does not say {field}");
    };
    Ok(kilobytes.parse::<u64>()? * 1024)
}

fn bytes(count: usize) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{} KB", count / 1_000),
        _ => format!("{} MB", count / 1_000_000),
    }
}
