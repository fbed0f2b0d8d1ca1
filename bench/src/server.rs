//! The simulated web as a process: started, asked for its counts, and gone with whoever started it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use anyhow::{Context, bail};
use simweb::{Counts, Latency, PageCount, ServeOptions, SimWeb, WebOptions};

/// The core of the server; crawler and client have the other one.
const CORE: &str = "0";

/// What of a web differs between the cases; the pages are simweb's defaults. Written `SITES,PAGES,ADDRESSES,MS`.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    pub sites: usize,
    pub pages: usize,
    pub addresses: usize,
    pub latency_ms: u64,
}

impl Web {
    pub fn options(&self) -> WebOptions {
        let latency =
            Latency { base: Duration::from_millis(self.latency_ms), spread: Duration::ZERO };
        WebOptions {
            sites: self.sites,
            pages: PageCount::Fixed(self.pages),
            addresses: self.addresses,
            latency,
            ..WebOptions::default()
        }
    }

    fn text(&self) -> String {
        format!("{},{},{},{}", self.sites, self.pages, self.addresses, self.latency_ms)
    }
}

impl FromStr for Web {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Web> {
        let numbers: Vec<u64> =
            text.split(',').map(str::parse).collect::<Result<_, _>>().context("web")?;
        let [sites, pages, addresses, latency_ms] = numbers[..] else {
            bail!("a web is SITES,PAGES,ADDRESSES,MS")
        };
        let [sites, pages, addresses] = [sites, pages, addresses].map(|n| n as usize);
        Ok(Web { sites, pages, addresses, latency_ms })
    }
}

/// Serves on one thread until standard input ends; says its port first.
pub fn serve(web: &Web) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = ServeOptions {
            web: web.options(),
            port: 0,
            // Where answers are slow anyway, a log costs nothing and lets the pauses be checked.
            counters_only: web.latency_ms == 0,
            ..ServeOptions::default()
        };
        let (server, _web) = simweb::serve(options).await?;
        println!("{}", server.addr().port());
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
        end.await??;
        Ok(())
    })
}

/// A running [`serve`].
pub struct Server {
    child: Child,
    pub web: SimWeb,
    pub text: String,
    pub port: u16,
    /// Connections that were ours: each question takes one.
    asked: AtomicU64,
}

impl Server {
    pub fn start(programs: &Path, web: Web) -> anyhow::Result<Server> {
        let text = web.text();
        let mut child = Command::new("taskset")
            .args(["-c", CORE])
            .arg(programs.join("bench"))
            .args(["serve", &text])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the server (is taskset installed?)")?;
        let mut line = String::new();
        let out = child.stdout.take().context("the server has an output")?;
        BufReader::new(out).read_line(&mut line)?;
        let port = line.trim().parse().context("the server did not start")?;
        Ok(Server { child, web: SimWeb::new(web.options()), text, port, asked: AtomicU64::new(0) })
    }

    pub fn counts(&self) -> anyhow::Result<Counts> {
        let counts: Counts = serde_json::from_str(&self.ask("/counts")?).context("counts")?;
        let connections = counts.connections.saturating_sub(self.asked.load(Relaxed));
        Ok(Counts { connections, ..counts })
    }

    /// `--resolve` rules for all hosts.
    pub fn resolve_rules(&self) -> Vec<String> {
        let hosts = (0..self.web.sites()).map(|site| self.web.host(site));
        hosts
            .filter_map(|host| {
                let address = self.web.address(&host)?;
                Some(format!("{host}={address}:{}", self.port))
            })
            .collect()
    }

    pub fn ask(&self, path: &str) -> anyhow::Result<String> {
        self.asked.fetch_add(1, Relaxed);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let host = format!("control{}", self.web.options().host_suffix);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut stream = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while stream.read_line(&mut line)? > 2 {
            if let Some(text) = line.strip_prefix("Content-Length: ") {
                length = text.trim().parse()?;
            }
            line.clear();
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
