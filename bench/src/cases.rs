//! The cases: what is started, what is counted, what is written down.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use simweb::Counts;

use crate::{
    coming_back, courtesy, fair, machine,
    process::{self, Usage},
    results::{self, spread},
    revisits,
    server::{Kind, Server, Web},
    wishes::Wishes,
};

const ONE_SITE: Web =
    Web { sites: 1, pages: 20_000, addresses: 1, latency_ms: 0, kind: Kind::Plain };
const MANY_SITES: Web =
    Web { sites: 500, pages: 40, addresses: 200, latency_ms: 0, kind: Kind::Plain };
/// An address for each site: hosts that share one have a pause of their own on it.
const POLITE: Web =
    Web { sites: 500, pages: 120, addresses: 500, latency_ms: 100, kind: Kind::Plain };
const REPETITIONS: usize = 3;
/// The polite crawl is over its start, where all sites begin at once, after this long ...
const SETTLING: Duration = Duration::from_secs(15);
/// ... and is then watched for a minute.
const WATCHED: Duration = Duration::from_secs(60);

/// Where the programs are, where collections may be made, and where the figures go.
pub struct Place<'a> {
    pub programs: &'a Path,
    pub scratch: &'a Path,
    results: &'a Path,
    /// See [`Wishes::small`].
    pub small: bool,
}

pub fn measure(
    programs: &Path,
    scratch: &Path,
    results: &Path,
    wishes: &Wishes,
) -> anyhow::Result<()> {
    fs::create_dir_all(scratch)?;
    let place = Place { programs, scratch, results, small: wishes.small };
    if !wishes.small {
        results::write(results, "Machine", &machine::description())?;
    }
    for case in &wishes.cases {
        let load = machine::load();
        println!("{case} (load {load:.1})");
        let text = match case.as_str() {
            "one-site" => place.unhurried(ONE_SITE)?,
            "many-sites" => place.unhurried(MANY_SITES)?,
            "polite" => place.polite()?,
            "frontier" => place.frontier()?,
            "revisits" => revisits::measure(&place)?,
            "coming-back" => coming_back::measure(&place)?,
            "courtesy" => courtesy::measure(&place)?,
            "fair" => fair::measure(&place)?,
            other => bail!(
                "no case {other}: there are one-site, many-sites, polite, frontier, revisits, coming-back, \
                 courtesy and fair"
            ),
        };
        let text = format!("{text}\nLoad of the machine before: {load:.1}.\n");
        print!("{text}");
        if !place.small {
            results::write(place.results, case, &text)?;
        }
    }
    Ok(())
}

/// One process that fetched a web, as the kernel and the server saw it.
struct Run {
    usage: Usage,
    counts: Counts,
}

impl Place<'_> {
    /// No pauses: the crawler with everything on, and its client alone.
    fn unhurried(&self, web: Web) -> anyhow::Result<String> {
        let (mut alone, mut whole) = (Vec::new(), Vec::new());
        let mut disk = Disk::default();
        for _ in 0..REPETITIONS {
            let server = Server::start(self.programs, self.scratch, web)?;
            let arguments = ["fetch", &server.text, &server.port.to_string()].map(str::to_owned);
            let usage = process::run(&self.programs.join("bench"), &arguments)?;
            alone.push(Run { usage, counts: server.counts()? });

            let server = Server::start(self.programs, self.scratch, web)?;
            let arguments = self.crawl(&server, &["--delay", "0", "--connections", "32"])?;
            let usage = process::run(&self.programs.join("harvestman"), &arguments)?;
            let counts = server.counts()?;
            let pages = (web.sites * web.pages) as u64;
            ensure!(counts.unique_pages == pages, "{} of {pages} pages", counts.unique_pages);
            whole.push(Run { usage, counts });
            disk = Disk::of(&self.collection())?;
        }
        let mut text = format!("{} sites of {} pages each.\n\n", web.sites, web.pages);
        text +=
            "| | pages/s | CPU µs a page | of it system | core busy % | peak MB | connections |\n";
        text += "| --- | --- | --- | --- | --- | --- | --- |\n";
        text += &row("crawl, everything on", &whole);
        text += &row("fetch only", &alone);
        let _ = writeln!(text, "\nOn disk: {}", disk.text(web.sites * web.pages));
        Ok(text)
    }

    /// As fast as manners allow: the share of one page a second for every site.
    fn polite(&self) -> anyhow::Result<String> {
        let server = Arc::new(Server::start(self.programs, self.scratch, POLITE)?);
        let time = format!("{}s", (SETTLING + WATCHED).as_secs() + 3);
        let arguments = self.crawl(&server, &["--delay", "1s", "--for", &time])?;
        let over = Arc::new(AtomicBool::new(false));
        let watcher = thread::spawn({
            let (server, over) = (server.clone(), over.clone());
            move || watch(&server, &over)
        });
        let usage = process::run(&self.programs.join("harvestman"), &arguments)?;
        over.store(true, Relaxed);
        let samples = watcher.join().map_err(|_| anyhow::anyhow!("the watcher panicked"))?;
        let after = |time: Duration| samples.iter().find(|(at, _)| *at >= time);
        let (Some((from, first)), Some((until, last))) =
            (after(SETTLING), after(SETTLING + WATCHED))
        else {
            bail!("the crawl ended too early")
        };
        let rate = (last - first) as f64 / (*until - *from).as_secs_f64();
        let counts = server.counts()?;
        let findings = Findings::of(&server.ask("/checks?pause_ms=1000")?);
        let begun: Vec<String> =
            samples.iter().take(12).map(|(_, pages)| pages.to_string()).collect();
        Ok(format!(
            "{} sites on as many addresses, {} ms latency, one second between visits.\n\n\
             {rate:.1} pages/s over {} s after {} s: {:.1} % of the polite maximum of {}. \
             CPU {:.0} µs a page, peak {} MB, {} connections. \
             Pages after each of the first seconds: {}. \
             In the server's log {}.\n",
            POLITE.sites,
            POLITE.latency_ms,
            WATCHED.as_secs(),
            SETTLING.as_secs(),
            rate * 100.0 / POLITE.sites as f64,
            POLITE.sites,
            usage.cpu().as_secs_f64() * 1e6 / counts.pages as f64,
            usage.peak_bytes >> 20,
            counts.connections,
            begun.join(", "),
            findings.text(counts.requests),
        ))
    }

    /// Five million URLs in fifty thousand sites; the program is an example of the store.
    fn frontier(&self) -> anyhow::Result<String> {
        let folder = self.scratch.join("frontier");
        fs::create_dir_all(&folder)?;
        let program = self.programs.join("examples/frontier_scale");
        let output = Command::new(program).arg(&folder).output().context("frontier_scale")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::remove_dir_all(&folder)?;
        let text = String::from_utf8(output.stdout)?;
        Ok(format!("5 million URLs in 50,000 sites.\n\n```text\n{text}```\n"))
    }

    /// The command line of a crawl of all sites into a new collection.
    pub fn crawl(&self, server: &Server, flags: &[&str]) -> anyhow::Result<Vec<String>> {
        let folder = self.collection();
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let folder = folder.to_string_lossy().into_owned();
        let mut arguments: Vec<String> =
            ["-C", &folder, "--quiet", "crawl", "--allow-address", "127.0.0.0/8"]
                .map(str::to_owned)
                .into();
        arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
        for rule in server.resolve_rules() {
            arguments.extend(["--resolve".to_owned(), rule]);
        }
        arguments.extend(server.seeds());
        Ok(arguments)
    }

    /// Before a crawl: that the server's certificates are to be believed.
    pub fn configure(&self, server: &Server) -> anyhow::Result<()> {
        if fs::metadata(server.root())?.len() == 0 {
            return Ok(()); // It speaks no TLS.
        }
        let folder = self.collection();
        fs::create_dir_all(&folder)?;
        let text = format!("[fetch]\nextra_roots = [{:?}]\n", server.root());
        Ok(fs::write(folder.join("harvest.toml"), text)?)
    }

    pub fn collection(&self) -> PathBuf {
        self.scratch.join("harvest")
    }
}

/// What the server's log shows of manners.
struct Findings {
    /// Visits less than the pause after the one before, in ms. The server notes a request when it gets
    /// round to it: on a busy core gaps look shorter or longer than the client made them.
    gaps: Vec<f64>,
    others: usize,
}

impl Findings {
    fn of(lines: &str) -> Findings {
        let gap = |line: &str| {
            let (before, _) = line.split_once(" µs after ")?;
            Some(before.rsplit(' ').next()?.parse::<f64>().ok()? / 1e3)
        };
        let mut gaps: Vec<f64> = lines.lines().filter_map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        Findings { others: lines.lines().count() - gaps.len(), gaps }
    }

    fn text(&self, requests: u64) -> String {
        let others = format!("{} other faults (robots.txt, repeats)", self.others);
        match (self.gaps.first(), self.gaps.get(self.gaps.len() / 2)) {
            (Some(least), Some(median)) => format!(
                "{} of {requests} visits came more than 5 ms early (shortest gap {least:.0} ms, \
                 median of these {median:.0} ms), {others}",
                self.gaps.len()
            ),
            _ => format!("no visit came more than 5 ms early, {others}"),
        }
    }
}

/// Pages given out, about every second.
fn watch(server: &Server, over: &AtomicBool) -> Vec<(Duration, u64)> {
    let begun = Instant::now();
    let mut samples = Vec::new();
    while !over.load(Relaxed) {
        thread::sleep(Duration::from_secs(1));
        if let Ok(counts) = server.counts() {
            samples.push((begun.elapsed(), counts.pages));
        }
    }
    samples
}

fn row(name: &str, runs: &[Run]) -> String {
    let of = |figure: fn(&Run) -> f64| spread(runs.iter().map(figure).collect());
    fn pages(run: &Run) -> f64 {
        run.counts.unique_pages as f64
    }
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} |\n",
        of(|run| pages(run) / run.usage.wall.as_secs_f64()),
        of(|run| run.usage.cpu().as_secs_f64() * 1e6 / pages(run)),
        of(|run| run.usage.system.as_secs_f64() * 1e6 / pages(run)),
        of(|run| run.usage.cpu().as_secs_f64() * 100.0 / run.usage.wall.as_secs_f64()),
        of(|run| run.usage.peak_bytes as f64 / f64::from(1 << 20)),
        of(|run| run.counts.connections as f64),
    )
}

/// Bytes of a collection by kind.
#[derive(Default)]
struct Disk {
    volumes: u64,
    database: u64,
    links: u64,
}

impl Disk {
    fn of(collection: &Path) -> anyhow::Result<Disk> {
        let mut disk = Disk::default();
        for entry in fs::read_dir(collection)? {
            let entry = entry?;
            let bytes = bytes_below(&entry.path())?;
            match entry.file_name().to_string_lossy() {
                name if name == "volumes" => disk.volumes += bytes,
                name if name == "links" => disk.links += bytes,
                _ => disk.database += bytes,
            }
        }
        Ok(disk)
    }

    fn text(&self, pages: usize) -> String {
        let each =
            |bytes: u64| format!("{} MB ({} bytes a page)", bytes >> 20, bytes / pages as u64);
        let (volumes, database) = (each(self.volumes), each(self.database));
        format!("volumes {volumes}, database {database}, links {}.", each(self.links))
    }
}

fn bytes_below(path: &Path) -> anyhow::Result<u64> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    let below = fs::read_dir(path)?;
    below.map(|entry| bytes_below(&entry?.path())).sum()
}
