//! The floor of fetching: rate and CPU a request for 17 KB pages over loopback keep-alive connections,
//! nothing parsed and nothing stored.
//!
//! `cargo run --release -p harvester --example fetch_floor -- [requests] [connections] [form]`, where the form
//! is `plain`, `gzip`, `zstd`, `chunked`, or `raw`: the bare system calls on one blocking connection, which
//! no client can go below. The server has threads of its own with blocking I/O; CPU is that of the client's.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use harvester::http::{HttpFetcher, HttpOptions};
use model::{
    BoxFuture, Busy, Clock, CrawlUrl, Fetch, FetchLimits, FetchRequest, Purpose, Timestamp,
};

const PAGE_BYTES: usize = 17 * 1024;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let requests: usize = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let connections: usize = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(8);
    let form = arguments.next().unwrap_or_else(|| "plain".to_owned());
    let address = serve(answer(&form));
    if form == "raw" {
        let cpu = thread_cpu();
        raw(address, requests);
        let each = (thread_cpu() - cpu).as_secs_f64() * 1e6 / requests as f64;
        println!("raw: {requests} requests on one connection: {each:.1} us CPU each");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime needs only descriptors");
    runtime.block_on(crawl(address, connections, 2_000));
    let (start, cpu) = (Instant::now(), thread_cpu());
    runtime.block_on(crawl(address, connections, requests));
    let (wall, cpu) = (start.elapsed(), thread_cpu() - cpu);
    let each = cpu.as_secs_f64() * 1e6 / requests as f64;
    let rate = requests as f64 / wall.as_secs_f64();
    println!(
        "{form}: {requests} requests on {connections} connections: {rate:.0}/s, {each:.1} us CPU each"
    );
}

async fn crawl(address: SocketAddr, connections: usize, requests: usize) {
    let allow = vec!["127.0.0.1".parse().expect("an address is a block")];
    let options = HttpOptions { allow, ..HttpOptions::default() };
    let fetcher = HttpFetcher::new(&options, Arc::new(Still)).expect("the defaults are sound");
    let fetcher = Arc::new(fetcher);
    let limits = Arc::new(limits());
    let mut lines = tokio::task::JoinSet::new();
    for line in 0..connections {
        let (fetcher, limits) = (fetcher.clone(), limits.clone());
        lines.spawn(async move {
            // A name of its own for each line, as each would be another site.
            for n in 0..requests / connections {
                let url = format!("http://s{line}.example:{}/p{n}", address.port());
                let url = CrawlUrl::parse(&url).expect("a valid URL");
                let addresses = vec![address.ip()];
                let (purpose, limits) = (Purpose::Page, limits.clone());
                let request = FetchRequest {
                    url,
                    purpose,
                    addresses,
                    condition: None,
                    spider: model::SpiderId(1),
                    cookies: None,
                    withhold_cookies: false,
                    post: None,
                    limits,
                    type_gate: None,
                };
                let exchange = fetcher.fetch(request).await.expect("loopback answers");
                assert_eq!((exchange.body.len(), exchange.stopped), (PAGE_BYTES, None));
            }
        });
    }
    lines.join_all().await;
}

fn raw(address: SocketAddr, requests: usize) {
    let mut stream = TcpStream::connect(address).expect("loopback answers");
    let (head, mut buffer) = ([b'x'; 200], vec![0u8; 64 * 1024]);
    let whole = answer("plain").len();
    for _ in 0..requests {
        stream.write_all(&head).expect("loopback takes it");
        let mut got = 0;
        while got < whole {
            got += stream.read(&mut buffer).expect("loopback answers");
        }
    }
}

fn limits() -> FetchLimits {
    FetchLimits {
        body_bytes_max: 2 << 20,
        head_bytes_max: 64 * 1024,
        connect: Duration::from_secs(10),
        tls: Duration::from_secs(10),
        first_byte: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(60),
        media_types: vec!["text/*".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    }
}

fn answer(form: &str) -> Vec<u8> {
    let mut page = Vec::new();
    let mut n = 0u32;
    while page.len() < PAGE_BYTES {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        page.extend(format!("<p>paragraph {n} of a page</p>\n").into_bytes());
    }
    page.truncate(PAGE_BYTES);
    let common = "HTTP/1.1 200 OK\r\nServer: floor\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n\
                  Content-Type: text/html; charset=utf-8\r\nETag: \"abc\"\r\n\
                  Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\n";
    let (extra, body) = match form {
        "gzip" => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&page).expect("memory takes all");
            let body = encoder.finish().expect("memory takes all");
            (format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", body.len()), body)
        }
        "zstd" => {
            let body = zstd::encode_all(&page[..], 3).expect("memory takes all");
            (format!("Content-Encoding: zstd\r\nContent-Length: {}\r\n", body.len()), body)
        }
        "chunked" => {
            let mut body = Vec::new();
            for piece in page.chunks(4_096) {
                body.extend(format!("{:x}\r\n", piece.len()).into_bytes());
                body.extend(piece);
                body.extend(b"\r\n");
            }
            body.extend(b"0\r\n\r\n");
            ("Transfer-Encoding: chunked\r\n".to_owned(), body)
        }
        _ => (format!("Content-Length: {}\r\n", page.len()), page),
    };
    [common.as_bytes(), extra.as_bytes(), b"\r\n", &body].concat()
}

fn serve(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let answer: Arc<[u8]> = answer.into();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut head = [0u8; 4096];
                // A request fits into one packet here.
                while stream.read(&mut head).is_ok_and(|n| n > 0) {
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// CPU time of this thread, from the kernel's own account (nanoseconds in the first field).
fn thread_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanos)
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1)
    }

    fn sleep_until(&self, _: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn busy(&self) -> Busy {
        Busy::none()
    }
}
