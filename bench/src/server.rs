//! The simulated web as a process: started, asked for its counts, and gone with whoever started it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use anyhow::{Context, bail};
use simweb::{Counts, Entry, Latency, PageCount, ServeOptions, SimWeb, WebOptions};

use crate::{courtesy, fair, process::Cores, room};

/// The core of the server; crawler and client have the other one.
const CORE: &str = "0";
/// Behind the name of a site that is a domain of its own.
const DOMAIN: &str = ".test";

/// What of a web differs between the cases; the pages are simweb's defaults. Written
/// `SITES,PAGES,ADDRESSES,MS,KIND`.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    pub sites: usize,
    pub pages: usize,
    pub addresses: usize,
    pub latency_ms: u64,
    pub kind: Kind,
}

/// What is particular about a web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Bodies are sent compressed to those who accept it.
    Gzip,
    /// All sites are on https.
    Tls,
    /// Pages of 2 KB.
    Small,
    /// Pages of 200 KB.
    Large,
    /// Pages are forbidden, addresses spelled in many ways, and some sites on https: see `courtesy`.
    Tempting,
    /// After the good sites come those that misbehave: see `fair`.
    Fair,
    /// Every site is a domain of its own, as most are: what the crawler knows of domains grows with the sites.
    Domains,
    /// The same with small pages of few links.
    SmallDomains,
}

impl Kind {
    const ALL: [(Kind, &str); 9] = [
        (Kind::Plain, "plain"),
        (Kind::Gzip, "gzip"),
        (Kind::Tls, "tls"),
        (Kind::Small, "small"),
        (Kind::Large, "large"),
        (Kind::Tempting, "tempting"),
        (Kind::Fair, "fair"),
        (Kind::Domains, "domains"),
        (Kind::SmallDomains, "small-domains"),
    ];

    pub fn has_tls(self) -> bool {
        matches!(self, Kind::Tls) || self.is_judged()
    }

    /// The server's log is looked at, so it must be exact.
    fn is_judged(self) -> bool {
        matches!(self, Kind::Tempting | Kind::Fair)
    }
}

impl Web {
    pub fn options(&self) -> WebOptions {
        let latency =
            Latency { base: Duration::from_millis(self.latency_ms), spread: Duration::ZERO };
        let mut options = WebOptions {
            sites: self.sites,
            pages: PageCount::Fixed(self.pages),
            addresses: self.addresses,
            latency,
            ..WebOptions::default()
        };
        match self.kind {
            Kind::Plain => {}
            Kind::Gzip => options.page.gzip = true,
            Kind::Tls => options.https_share = 1.0,
            Kind::Small => sized(&mut options, 2_000.0),
            Kind::Large => sized(&mut options, 200_000.0),
            Kind::Tempting => courtesy::tempt(&mut options),
            Kind::Fair => fair::invite(&mut options),
            Kind::Domains => options.host_suffix = DOMAIN.to_owned(),
            Kind::SmallDomains => {
                options.host_suffix = DOMAIN.to_owned();
                sized(&mut options, 1_500.0);
                // Enough for the site's tree; ten million pages with more would fill the disk with links.
                options.page.links = 12;
            }
        }
        options
    }

    fn text(&self) -> String {
        let word =
            Kind::ALL.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        format!("{},{},{},{},{word}", self.sites, self.pages, self.addresses, self.latency_ms)
    }
}

impl FromStr for Web {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Web> {
        let (numbers, word) = text.rsplit_once(',').context("web")?;
        let numbers: Vec<u64> =
            numbers.split(',').map(str::parse).collect::<Result<_, _>>().context("web")?;
        let [sites, pages, addresses, latency_ms] = numbers[..] else {
            bail!("a web is SITES,PAGES,ADDRESSES,MS,KIND")
        };
        let kind = Kind::ALL.iter().find(|(_, known)| *known == word).context("kind of web")?.0;
        let [sites, pages, addresses] = [sites, pages, addresses].map(|n| n as usize);
        Ok(Web { sites, pages, addresses, latency_ms, kind })
    }
}

/// With less spread than usual: few are cut at the smallest or the largest size the web has.
fn sized(options: &mut WebOptions, bytes: f64) {
    options.page.bytes_mean = bytes;
    options.page.bytes_sigma = 0.3;
}

/// Serves on one thread until standard input ends; says its ports first. The authority behind its certificates is
/// written to `root`.
pub fn serve(web: &Web, root: &Path) -> anyhow::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    if web.kind.is_judged() {
        // Look at the sockets after each piece of work: a request is written down when it comes.
        runtime.event_interval(1);
    }
    runtime.enable_all().build()?.block_on(async {
        let (port, tls_port) = room::ports();
        let options = ServeOptions {
            web: web.options(),
            port,
            tls: web.kind.has_tls(),
            tls_port,
            // Where answers are slow anyway, a log costs nothing and lets the pauses be checked.
            counters_only: web.latency_ms == 0 && !web.kind.is_judged(),
            ..ServeOptions::default()
        };
        let (server, served) = simweb::serve(options).await?;
        if web.kind == Kind::Fair {
            fair::prepare(&served);
        }
        fs::write(root, server.root_pem().unwrap_or_default())?;
        let tls = server.tls_addr().map_or(0, |addr| addr.port());
        println!("{} {tls}", server.addr().port());
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
    port: u16,
    tls_port: u16,
    root: PathBuf,
    /// Connections that were ours: each question takes one.
    asked: AtomicU64,
}

impl Server {
    /// On a core of its own; `scratch` is a folder for what the client has to trust.
    pub fn start(programs: &Path, scratch: &Path, web: Web) -> anyhow::Result<Server> {
        Server::start_on(Cores::Apart, programs, scratch, web)
    }

    pub fn start_on(
        cores: Cores,
        programs: &Path,
        scratch: &Path,
        web: Web,
    ) -> anyhow::Result<Server> {
        let (text, root) = (web.text(), scratch.join("root.pem"));
        let mut child = cores
            .command(CORE, &programs.join("bench"))
            .args(["serve", &text])
            .arg(&root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the server (is taskset installed?)")?;
        let mut line = String::new();
        let out = child.stdout.take().context("the server has an output")?;
        BufReader::new(out).read_line(&mut line)?;
        let (port, tls_port) = line.trim().split_once(' ').context("the server did not start")?;
        let (port, tls_port) = (port.parse()?, tls_port.parse()?);
        let (web, asked) = (SimWeb::new(web.options()), AtomicU64::new(0));
        room::name(&web, scratch)?;
        Ok(Server { child, web, text, port, tls_port, root, asked })
    }

    pub fn counts(&self) -> anyhow::Result<Counts> {
        let counts: Counts = serde_json::from_str(&self.ask("/counts")?).context("counts")?;
        let connections = counts.connections.saturating_sub(self.asked.load(Relaxed));
        Ok(Counts { connections, ..counts })
    }

    /// The port of a site's home page.
    pub fn port_of(&self, site: usize) -> u16 {
        if self.is_secure(site) { self.tls_port } else { self.port }
    }

    /// `--resolve` rules for all hosts.
    pub fn resolve_rules(&self) -> Vec<String> {
        let hosts = (0..self.web.sites()).map(|site| self.web.host(site));
        hosts
            .filter_map(|host| {
                let address = self.web.address(&host)?;
                let port = self.port_of(self.web.site_of(&host)?);
                Some(format!("{host}={address}:{port}"))
            })
            .collect()
    }

    /// One rule for all hosts, where they share an address and there are too many to name.
    pub fn resolve_rule(&self) -> String {
        format!("*{}=127.0.0.1:{}", self.web.options().host_suffix, self.port)
    }

    /// The home pages of all sites that have an address and are not to be found by links alone.
    pub fn seeds(&self) -> Vec<String> {
        let sites =
            (0..self.web.sites()).filter(|site| self.web.address(&self.web.host(*site)).is_some());
        sites
            .filter(|site| !fair::is_unnamed(&self.web, *site))
            .map(|site| match self.is_secure(site) {
                true => format!("https://{}/", self.web.host(site)),
                false => self.web.home(site),
            })
            .collect()
    }

    /// What a client has to be told to believe the server's certificates, when it has any.
    pub fn root(&self) -> Option<&Path> {
        (self.tls_port != 0).then_some(&*self.root)
    }

    /// Every request so far, by start.
    pub fn log(&self) -> anyhow::Result<Vec<Entry>> {
        let text = self.ask("/log")?;
        let entries = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        entries.context("the server's log")
    }

    /// What the server has used so far, by the kernel's account; nothing where that cannot be read.
    pub fn processor_time(&self) -> Duration {
        // Ticks of user and system time stand 12 and 13 fields behind the name, which may have spaces (proc(5)).
        const TICKS_A_SECOND: u64 = 100;
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
    }

    fn is_secure(&self, site: usize) -> bool {
        self.web.is_https(site) || fair::is_secure(&self.web, site)
    }

    pub fn ask(&self, path: &str) -> anyhow::Result<String> {
        self.asked.fetch_add(1, Relaxed);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let host = format!("control{}", self.web.options().host_suffix);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
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
