//! The hazard fair: every hazard the simulated web knows, each on sites of its own, beside a hundred good sites.
//!
//! The good sites are crawled alone first, then with the fair around them. What counts is in the server's log:
//! whether the good sites are complete, and when their last page was given out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::Value;
use simweb::{Entry, Hazard, SimWeb, WebOptions, checks};

use crate::{
    cases::Place,
    courtesy::missed,
    process::{self, Usage},
    server::{Kind, Server, Web},
};

const GOOD: usize = 100;
const PAGES: usize = 100;
const PAUSE: Duration = Duration::from_millis(250);
/// The fair has no end, its traps least of all: it is left after this long, twice what the good sites take.
const OPEN: &str = "75s";
/// An address for each site: those that share one have a pause of their own on it.
const CLEAN: Web =
    Web { sites: GOOD, pages: PAGES, addresses: GOOD, latency_ms: 20, kind: Kind::Plain };

/// How much of a site misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Some pages, linked from the home page.
    Place,
    /// All pages.
    Pages,
    /// All pages and robots.txt.
    Everything,
}

const EXTENTS: [Extent; 3] = [Extent::Place, Extent::Pages, Extent::Everything];

/// What waits on a site that comes after the good ones.
fn guest(site: usize) -> Option<(Hazard, Extent)> {
    let number = site.checked_sub(GOOD)?;
    let hazard = Hazard::ALL.get(number / EXTENTS.len())?;
    Some((*hazard, EXTENTS[number % EXTENTS.len()]))
}

/// Adds the hazards to the web of the good sites.
pub fn invite(options: &mut WebOptions) {
    for site in GOOD..options.sites {
        let (host, Some((hazard, extent))) = (options.host(site), guest(site)) else { continue };
        match extent {
            _ if hazard.is_of_host() => options.put(&host, hazard),
            Extent::Place => {
                options.put(&format!("{host}/hazard/{}", hazard.word()), hazard);
                options.put(&format!("{host}/hazard/{}/*", hazard.word()), hazard);
            }
            Extent::Pages => options.put(&host, hazard),
            Extent::Everything => options.put(&format!("{host}/*"), hazard),
        }
    }
}

/// Whether a site of the fair is to be visited over TLS: its hazard is there.
pub fn is_secure(web: &SimWeb, site: usize) -> bool {
    !web.options().hazards.is_empty()
        && guest(site).is_some_and(|(hazard, _)| hazard == Hazard::SelfSigned)
}

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let clean = Visit::to(place, CLEAN)?;
    let sites = GOOD + Hazard::ALL.len() * EXTENTS.len();
    let fair = Visit::to(place, Web { sites, addresses: sites, kind: Kind::Fair, ..CLEAN })?;
    let rows = reported(place)?;
    let missing = [&clean, &fair].map(|visit| missed(&visit.log, &visit.web, 0..GOOD));
    ensure!(missing[0].is_empty(), "the clean run is not complete: {}", missing[0][0]);
    let speed = clean.good().as_secs_f64() * 100.0 / fair.good().as_secs_f64();
    let hasty = checks::pauses(&fair.log, PAUSE, Duration::from_millis(5));
    let mut text = format!(
        "{GOOD} good sites of {PAGES} pages, alone and beside {} sites on which each of {} hazards waits at a place, on \
         all pages, and on everything with robots.txt. Pause {} ms, latency {} ms.\n\n\
         | | alone | at the fair |\n| --- | --- | --- |\n",
        sites - GOOD,
        Hazard::ALL.len(),
        PAUSE.as_millis(),
        CLEAN.latency_ms,
    );
    let both = |of: &dyn Fn(&Visit) -> String| [of(&clean), of(&fair)].join(" | ");
    let complete = |missing: usize| 100.0 - missing as f64 * 100.0 / (GOOD * PAGES) as f64;
    let _ = write!(
        text,
        "| good pages given out | {:.2} % | {:.2} % |\n\
         | last good page after | {} |\n\
         | requests in all | {} |\n\
         | peak memory | {} |\n\
         | processor time | {} |\n\n\
         The good sites had {speed:.1} % of their speed; the crawl was alive at the end and left when it was told \
         to; {} pauses were broken.\n\n",
        complete(missing[0].len()),
        complete(missing[1].len()),
        both(&|visit| format!("{:.1} s", visit.good().as_secs_f64())),
        both(&|visit| visit.log.len().to_string()),
        both(&|visit| format!("{} MB", visit.usage.peak_bytes >> 20)),
        both(&|visit| format!("{:.1} s", visit.usage.cpu().as_secs_f64())),
        hasty.len(),
    );
    text += &table(&fair, &rows);
    Ok(text)
}

/// One crawl of one web, as the server and the kernel saw it.
struct Visit {
    usage: Usage,
    log: Vec<Entry>,
    web: SimWeb,
}

impl Visit {
    fn to(place: &Place<'_>, web: Web) -> anyhow::Result<Visit> {
        let server = Server::start(place.programs, place.scratch, web)?;
        let pause = format!("{}ms", PAUSE.as_millis());
        let arguments = place.crawl(&server, &["--delay", &pause, "--for", OPEN])?;
        place.configure(&server)?;
        let usage = process::run(&place.programs.join("harvestman"), &arguments)?;
        Ok(Visit { usage, log: server.log()?, web: SimWeb::new(web.options()) })
    }

    /// From the first request at all to the end of the last answer of a good site.
    fn good(&self) -> Duration {
        let is_good =
            |entry: &&Entry| self.web.site_of(&entry.host).is_some_and(|site| site < GOOD);
        let last = self.log.iter().filter(is_good).map(|entry| entry.end_us).max();
        let first = self.log.iter().map(|entry| entry.start_us).min();
        Duration::from_micros(last.unwrap_or(0).saturating_sub(first.unwrap_or(0)))
    }
}

/// What `report hazards` names, by host.
fn reported(place: &Place<'_>) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let program = place.programs.join("harvestman");
    let output = Command::new(program)
        .arg("-C")
        .arg(place.collection())
        .args(["report", "hazards", "--json"])
        .output()
        .context("report hazards")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).context("report hazards")?;
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        named.entry(text("site")).or_default().insert(text("hazard"));
    }
    Ok(named)
}

/// What each hazard was called.
fn table(fair: &Visit, rows: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut text =
        "| on the simulated web | visits | named in the report |\n| --- | --- | --- |\n".to_owned();
    for (k, hazard) in Hazard::ALL.iter().enumerate() {
        let sites = (0..EXTENTS.len()).map(|extent| GOOD + k * EXTENTS.len() + extent);
        let hosts: Vec<String> = sites.map(|site| fair.web.host(site)).collect();
        let visits =
            fair.log.iter().filter(|entry| hosts.iter().any(|host| **host == *entry.host)).count();
        let names: BTreeSet<&str> =
            hosts.iter().filter_map(|host| rows.get(host)).flatten().map(String::as_str).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "| {} | {visits} | {names} |", hazard.word());
    }
    text
}
