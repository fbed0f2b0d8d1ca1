//! How many pages a second the loopback server gives to plain keep-alive clients.
//!
//! `serve_speed serve PORT` on one core, `serve_speed ask PORT [SECONDS]` on another; or `serve_speed render`
//! for the making of pages alone.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use simweb::{PageCount, Request, ServeOptions, SimWeb, WebOptions, serve};

const PAGES: usize = 20_000;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, other: u64| {
        arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(other)
    };
    match arguments.get(1).map(String::as_str) {
        Some("serve") => serve_on(number(2, 8480) as u16),
        Some("ask") => ask(number(2, 8480) as u16, Duration::from_secs(number(3, 5))),
        _ => {
            render();
            Ok(())
        }
    }
}

fn web() -> WebOptions {
    WebOptions { pages: PageCount::Fixed(PAGES), ..WebOptions::default() }
}

fn serve_on(port: u16) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = ServeOptions { web: web(), port, counters_only: true, ..Default::default() };
        let (_server, _web) = serve(options).await?;
        tokio::signal::ctrl_c().await
    })
}

/// 32 connections, all written to, then all read from: the server always has work.
fn ask(port: u16, span: Duration) -> std::io::Result<()> {
    let web = SimWeb::new(web());
    let connect = |_| TcpStream::connect(("127.0.0.1", port));
    let mut streams = (0..32).map(connect).collect::<Result<Vec<_>, _>>()?;
    let mut buffer = vec![0; 1 << 20];
    let (began, mut pages, mut bytes) = (Instant::now(), 0usize, 0usize);
    while began.elapsed() < span {
        for (k, stream) in streams.iter_mut().enumerate() {
            let path = web.path(0, (pages + k) % PAGES);
            // In one piece: many small writes would wait for each other's acknowledgement.
            let request = format!("GET {path} HTTP/1.1\r\nHost: s0.sim.test\r\n\r\n");
            stream.write_all(request.as_bytes())?;
        }
        for stream in &mut streams {
            bytes += read_answer(stream, &mut buffer)?;
            pages += 1;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let (rate, mean) = (pages as f64 / seconds, bytes / pages);
    println!("{rate:.0} pages/s, {mean} bytes a page with head, {pages} pages");
    Ok(())
}

fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<usize> {
    let (mut filled, mut whole) = (0, usize::MAX);
    while filled < whole {
        filled += stream.read(&mut buffer[filled..])?;
        if whole == usize::MAX
            && let Some(end) = buffer[..filled].windows(4).position(|w| w == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&buffer[..end]);
            let length = head.split("Content-Length: ").nth(1).and_then(|t| t.lines().next());
            whole = end + 4 + length.and_then(|l| l.trim().parse::<usize>().ok()).unwrap_or(0);
        }
    }
    Ok(filled)
}

fn render() {
    let web = SimWeb::new(web());
    let paths: Vec<String> = (0..PAGES).map(|index| web.path(0, index)).collect();
    let now = model::Timestamp(1_763_000_000_000);
    let (began, mut bytes) = (Instant::now(), 0);
    for path in &paths {
        bytes += web.answer(&Request::get("s0.sim.test", path), now).body.len();
    }
    let micros = began.elapsed().as_micros() as f64 / PAGES as f64;
    println!("{micros:.2} µs to make a page of {} bytes", bytes / PAGES);
}
