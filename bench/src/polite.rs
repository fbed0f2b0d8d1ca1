//! As fast as manners allow: the share of one page a second for every site, and what is in the server's log of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};

use crate::{
    cases::Place,
    entrant::{Course, Entrant},
    peers::Stay,
    process::{Cores, Outcome},
    server::{Kind, Server, Web},
};

/// The name of the larger case, which peers take part in.
pub const CROWD: &str = "polite-crowd";

/// An address for each site: hosts that share one have a pause of their own on it.
const FEW: Web = Web { sites: 500, pages: 120, addresses: 500, latency_ms: 100, kind: Kind::Plain };
const MANY: Web =
    Web { sites: 2_000, pages: 120, addresses: 2_000, latency_ms: 20, kind: Kind::Plain };
const PAUSE: Duration = Duration::from_secs(1);
/// The crawl is over its start, where all sites begin at once, after this long ...
const SETTLING: Duration = Duration::from_secs(15);
/// ... and is then watched for a minute.
const WATCHED: Duration = Duration::from_secs(60);
const TRIAL: Duration = Duration::from_secs(5);
/// A crawl that is told to end needs some time to.
const GRACE: Duration = Duration::from_secs(60);

/// 500 sites, our crawler alone.
pub fn few(place: &Place<'_>) -> anyhow::Result<String> {
    measure(place, FEW, &[Entrant::Everything])
}

/// 2,000 sites, with those peers that know a pause for each.
pub fn many(place: &Place<'_>) -> anyhow::Result<String> {
    let mut entrants = vec![Entrant::Everything];
    entrants.extend(place.wanted_peers().map(Entrant::Peer));
    measure(place, MANY, &entrants)
}

fn measure(place: &Place<'_>, web: Web, entrants: &[Entrant]) -> anyhow::Result<String> {
    let web = if place.small { Web { sites: 50, addresses: 50, pages: 30, ..web } } else { web };
    let watch = if place.small { (TRIAL, TRIAL) } else { (SETTLING, WATCHED) };
    let mut text = format!(
        "{} sites on as many addresses, {} ms latency, one second between visits; watched for {} s after {} s.\n\n\
         | | pages/s | of the polite maximum | CPU µs a page | peak MB | connections |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        web.sites,
        web.latency_ms,
        watch.1.as_secs(),
        watch.0.as_secs(),
    );
    let mut manners = String::new();
    for entrant in entrants {
        let title = entrant.title(place);
        match Visit::by(*entrant, place, web, watch)? {
            Err(why) => text += &format!("| {title} | {why} | | | | |\n"),
            Ok(visit) => {
                let cells = match (visit.cells(web, watch), entrant) {
                    (Some(cells), _) => cells,
                    (None, Entrant::Peer(_)) => "ended too early | | | |".to_owned(),
                    (None, _) => bail!("the crawl ended too early"),
                };
                text += &format!("| {title} | {cells} |\n");
                manners += &format!("\n{title}: {}\n", visit.manners());
            }
        }
    }
    Ok(text + &manners)
}

struct Visit {
    outcome: Outcome,
    pages: u64,
    requests: u64,
    connections: u64,
    /// Pages given out, about every second.
    samples: Vec<(Duration, u64)>,
    findings: Findings,
}

impl Visit {
    fn by(
        entrant: Entrant,
        place: &Place<'_>,
        web: Web,
        (settling, watched): (Duration, Duration),
    ) -> anyhow::Result<Result<Visit, String>> {
        let server = Arc::new(Server::start(place.programs, place.scratch, web)?);
        let end = settling + watched + Duration::from_secs(3);
        let course = Course { web, polite: Some((PAUSE, end)), stay: Stay::Once };
        let job = match entrant.job(place, &server, &course)? {
            Ok(job) => job,
            Err(why) => return Ok(Err(why)),
        };
        let over = Arc::new(AtomicBool::new(false));
        let watcher = thread::spawn({
            let (server, over) = (server.clone(), over.clone());
            move || watch(&server, &over)
        });
        let ours = !matches!(entrant, Entrant::Peer(_));
        let limit = if ours { end + GRACE } else { end };
        let words = place.scratch.join(format!("{}.log", entrant.name()));
        let outcome = job.run(Cores::Apart, limit, &words)?;
        over.store(true, Relaxed);
        let samples = watcher.join().map_err(|_| anyhow::anyhow!("the watcher panicked"))?;
        let status = outcome.status;
        ensure!(!ours || status == 0, "{} ended with wait status {status}", entrant.name());
        let counts = server.counts()?;
        let findings = Findings::of(&server.ask("/checks?pause_ms=1000")?);
        let (pages, requests, connections) = (counts.pages, counts.requests, counts.connections);
        Ok(Ok(Visit { outcome, pages, requests, connections, samples, findings }))
    }

    /// `None` when there was not enough to watch.
    fn cells(&self, web: Web, (settling, watched): (Duration, Duration)) -> Option<String> {
        let after = |time: Duration| self.samples.iter().find(|(at, _)| *at >= time);
        let ((from, first), (until, last)) = (after(settling)?, after(settling + watched)?);
        let rate = (last - first) as f64 / (*until - *from).as_secs_f64();
        Some(format!(
            "{rate:.1} | {:.1} % | {:.0} | {} | {}",
            rate * 100.0 / web.sites as f64,
            self.outcome.usage.cpu().as_secs_f64() * 1e6 / self.pages as f64,
            self.outcome.usage.peak_bytes >> 20,
            self.connections,
        ))
    }

    fn manners(&self) -> String {
        let begun: Vec<String> =
            self.samples.iter().take(12).map(|(_, pages)| pages.to_string()).collect();
        format!(
            "pages after each of the first seconds {}; in the server's log {}.",
            begun.join(", "),
            self.findings.text(self.requests)
        )
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
