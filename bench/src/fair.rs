//! The hazard fair: every hazard the simulated web knows, each on sites of its own, beside a hundred good sites.
//!
//! The good sites are crawled alone first, then with the fair around them, with the same pauses on the same core. What
//! counts is in the server's log: whether the good sites are complete, and when their last page was given out. Their
//! speed is how long they took alone, in per cent of how long they took at the fair, counted from the first request of
//! the crawl to the end of the last answer of a good site: one good page that is held up to the end counts in full.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::Value;
use simweb::{
    Entry, Hazard, Request, SimWeb, WebOptions,
    checks::{self, Violation},
};

use crate::{
    cases::Place,
    courtesy::missed,
    process::{self, Usage},
    server::{Kind, Server, Web},
};

const GOOD: usize = 100;
const PAGES: usize = 100;
const PAUSE: Duration = Duration::from_millis(250);
/// The fair has no end, its traps least of all: it is left after this long, which lets each site be visited some 400
/// times. Some traps take 300 to be seen.
const OPEN: &str = "100s";
/// An address for each site: those that share one have a pause of their own on it.
const CLEAN: Web =
    Web { sites: GOOD, pages: PAGES, addresses: GOOD, latency_ms: 20, kind: Kind::Plain };
/// What makes every hazard one in so short a time: a chain of a hundred pages is deep, and a site that no seed names may
/// be slow for seconds only. Nobody answers for absurd names here.
const SETTINGS: &str = "[crawl]\nscope = \"domain\"\ndepth = 60\n\n\
                        [hazards]\nslow_time = \"6s\"\nwildcard_hosts = 100000\n";

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

/// The guests. Hazards of names are left out: there is no name server at the fair.
fn hazards() -> impl Iterator<Item = Hazard> {
    let is_of_names = |hazard: &Hazard| matches!(hazard, Hazard::NoName | Hazard::Wildcard);
    Hazard::ALL.iter().copied().filter(move |hazard| !is_of_names(hazard)).map(sooner)
}

/// Spells are short and often, so that whoever comes meets one.
fn sooner(hazard: Hazard) -> Hazard {
    let (every, lasting) = (Duration::from_secs(10), Duration::from_secs(9));
    match hazard {
        Hazard::TooManyRequests { .. } => Hazard::TooManyRequests { every, lasting },
        Hazard::Unavailable { .. } => Hazard::Unavailable { every, lasting },
        // Fewer things to look at before the filters are combined.
        Hazard::Facets { .. } => Hazard::Facets { products: 40 },
        Hazard::Vanishing { .. } => Hazard::Vanishing { every, lasting: every / 2 },
        other => other,
    }
}

/// What waits on each of the sites that come after the good ones. A hazard that has but one place has one site.
fn guests() -> impl Iterator<Item = (Hazard, Extent)> {
    hazards().flat_map(|hazard| {
        let extents = if has_one_place(hazard) { &EXTENTS[..1] } else { &EXTENTS[..] };
        extents.iter().map(move |extent| (hazard, *extent))
    })
}

fn has_one_place(hazard: Hazard) -> bool {
    let is_mirror = matches!(hazard, Hazard::Mirror { .. });
    let is_of_site = matches!(hazard, Hazard::Sitemap(_) | Hazard::Soft404) || hazard.is_of_links();
    is_of_site || hazard.is_of_host() && !is_mirror
}

fn guest(site: usize) -> Option<(Hazard, Extent)> {
    guests().nth(site.checked_sub(GOOD)?)
}

/// Has the large bodies made before anybody waits for them.
pub fn prepare(web: &SimWeb) {
    for place in web.options().hazards.iter().map(|placed| placed.place.as_str()) {
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let target = format!("/{}", path.replace("sitemap*", "sitemap.xml").trim_end_matches('*'));
        web.answer(&Request::get(host, &target), web.options().origin);
    }
}

/// Adds the hazards to the web of the good sites.
pub fn invite(options: &mut WebOptions) {
    for site in GOOD..options.sites {
        let (host, Some((hazard, extent))) = (options.host(site), guest(site)) else { continue };
        match extent {
            _ if hazard.is_of_host() => options.put(&host, hazard),
            Extent::Place => options.exhibit(&host, hazard),
            Extent::Pages => options.put(&host, hazard),
            Extent::Everything => options.put(&format!("{host}/*"), hazard),
        }
    }
}

/// Whether a site of the fair is to be visited over TLS: its hazard is there.
pub fn is_secure(web: &SimWeb, site: usize) -> bool {
    is_guest(web, site, |hazard| hazard == Hazard::SelfSigned)
}

/// Whether a site of the fair is found by its links alone: who names a tarpit as a seed has it crawled.
pub fn is_unnamed(web: &SimWeb, site: usize) -> bool {
    is_guest(web, site, |hazard| matches!(hazard, Hazard::Tarpit { .. }))
}

fn is_guest(web: &SimWeb, site: usize, is: impl Fn(Hazard) -> bool) -> bool {
    !web.options().hazards.is_empty() && guest(site).is_some_and(|(hazard, _)| is(hazard))
}

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let clean = Visit::to(place, CLEAN)?;
    let sites = GOOD + guests().count();
    let fair = Visit::to(place, Web { sites, addresses: sites, kind: Kind::Fair, ..CLEAN })?;
    let rows = reported(place)?;
    let missing = [&clean, &fair].map(|visit| missed(&visit.log, &visit.web, 0..GOOD));
    ensure!(missing[0].is_empty(), "the clean run is not complete: {}", missing[0][0]);
    let speed = |part: f64| 100.0 * clean.good(part).as_secs_f64() / fair.good(part).as_secs_f64();
    let hasty = checks::pauses(&fair.log, PAUSE, Duration::from_millis(5));
    // A server that is still sending what the crawl has cut off notes the end of its answer when it notices.
    let (cut, hasty): (Vec<_>, Vec<_>) =
        hasty.iter().partition(|found| found.what.contains("ended"));
    let mut text = format!(
        "{GOOD} good sites of {PAGES} pages, alone and beside {} sites on which each of {} hazards waits: where it can, at a \
         place, on all pages, and on everything with robots.txt. Pause {} ms, latency {} ms.\n\n\
         | | alone | at the fair |\n| --- | --- | --- |\n",
        sites - GOOD,
        hazards().count(),
        PAUSE.as_millis(),
        CLEAN.latency_ms,
    );
    let both = |of: &dyn Fn(&Visit) -> String| [of(&clean), of(&fair)].join(" | ");
    let complete = |missing: usize| 100.0 - missing as f64 * 100.0 / (GOOD * PAGES) as f64;
    let _ = write!(
        text,
        "| good pages given out | {:.2} % | {:.2} % |\n\
         | half of them after | {} |\n\
         | last good page after | {} |\n\
         | requests in all | {} |\n\
         | requests until the last good page | {} |\n\
         | peak memory | {} |\n\
         | processor time of the crawl | {} |\n\
         | of the server | {} |\n\n\
         The good sites had {:.1} % of their speed ({:.1} % by their first half); the crawl was alive at the end and left \
         when it was told to; {} pauses were short{}, {} requests came before the server had noted the end of an answer \
         that was cut off{}.\n\n",
        complete(missing[0].len()),
        complete(missing[1].len()),
        both(&|visit| format!("{:.1} s", visit.good(0.5).as_secs_f64())),
        both(&|visit| format!("{:.1} s", visit.good(1.0).as_secs_f64())),
        both(&|visit| visit.log.len().to_string()),
        both(&|visit| visit.until(visit.good(1.0)).to_string()),
        both(&|visit| format!("{} MB", visit.usage.peak_bytes >> 20)),
        both(&|visit| format!("{:.1} s", visit.usage.cpu().as_secs_f64())),
        both(&|visit| format!("{:.1} s", visit.server.as_secs_f64())),
        speed(1.0),
        speed(0.5),
        hasty.len(),
        first(&hasty),
        cut.len(),
        first(&cut),
    );
    text += &table(&fair, &rows);
    Ok(text)
}

/// One of them, as an example.
fn first(found: &[&Violation]) -> String {
    found.first().map_or_else(String::new, |first| format!(" (such as {first})"))
}

/// One crawl of one web, as the server and the kernel saw it.
struct Visit {
    usage: Usage,
    /// Processor time of the server, which has a core of its own: near the length of the crawl it would be the server
    /// that is measured.
    server: Duration,
    log: Vec<Entry>,
    web: SimWeb,
}

impl Visit {
    fn to(place: &Place<'_>, web: Web) -> anyhow::Result<Visit> {
        let server = Server::start(place.programs, place.scratch, web)?;
        let pause = format!("{}ms", PAUSE.as_millis());
        let arguments = place.crawl(&server, &["--delay", &pause, "--for", OPEN])?;
        place.configure(&server)?;
        let file = place.collection().join("harvest.toml");
        fs::create_dir_all(place.collection())?;
        let settings = fs::read_to_string(&file).unwrap_or_default() + SETTINGS;
        fs::write(file, settings)?;
        let usage = process::run(&place.programs.join("harvestman"), &arguments)?;
        let (time, log) = (server.processor_time(), server.log()?);
        Ok(Visit { usage, server: time, log, web: SimWeb::new(web.options()) })
    }

    /// From the first request at all to the end of the answer with which this part of the good sites' answers was given.
    fn good(&self, part: f64) -> Duration {
        let is_good =
            |entry: &&Entry| self.web.site_of(&entry.host).is_some_and(|site| site < GOOD);
        let mut ends: Vec<u64> =
            self.log.iter().filter(is_good).map(|entry| entry.end_us).collect();
        ends.sort_unstable();
        let at = (ends.len() as f64 * part).ceil() as usize;
        let end = ends.get(at.saturating_sub(1)).copied().unwrap_or(0);
        Duration::from_micros(end.saturating_sub(self.begun()))
    }

    /// Requests in the first so long.
    fn until(&self, time: Duration) -> usize {
        let end = self.begun() + time.as_micros() as u64;
        self.log.iter().filter(|entry| entry.start_us <= end).count()
    }

    fn begun(&self) -> u64 {
        self.log.iter().map(|entry| entry.start_us).min().unwrap_or(0)
    }
}

/// What `report hazards` names, by host.
fn reported(place: &Place<'_>) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let program = place.programs.join("harvestman");
    let output = Command::new(program)
        .arg("-C")
        .arg(place.collection())
        .args(["report", "hazards", "--json", "--limit", "1000000"])
        .output()
        .context("report hazards")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).context("report hazards")?;
    let rows = report["rows"].as_array().cloned().unwrap_or_default();
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        named.entry(text("site")).or_default().insert(text("hazard"));
    }
    Ok(named)
}

/// What each hazard was called: its own name, on how many of its sites, and what else was seen there.
fn table(fair: &Visit, rows: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut text = "| on the simulated web | visits | its name | on so many of its sites | also told there |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut unnamed = Vec::new();
    for hazard in hazards() {
        let is_its = |site: &usize| guest(*site).is_some_and(|(other, _)| other == hazard);
        let sites = (GOOD..fair.web.sites()).filter(is_its);
        let hosts: Vec<String> = sites.map(|site| fair.web.host(site)).collect();
        let visits =
            fair.log.iter().filter(|entry| hosts.iter().any(|host| **host == *entry.host)).count();
        let own: Vec<&str> = hazard.names().iter().map(|name| name.word()).collect();
        let told: Vec<&BTreeSet<String>> = hosts.iter().filter_map(|host| rows.get(host)).collect();
        let is_own = |name: &str| own.contains(&name);
        let named = told.iter().filter(|names| names.iter().any(|name| is_own(name))).count();
        let others: BTreeSet<&str> =
            told.into_iter().flatten().map(String::as_str).filter(|name| !is_own(name)).collect();
        let others = others.into_iter().collect::<Vec<_>>().join(", ");
        let (names, count) = match own.is_empty() {
            true => ("(nothing to tell)".to_owned(), String::new()),
            false => (own.join(" or "), format!("{named} of {}", hosts.len())),
        };
        if named == 0 && !own.is_empty() {
            unnamed.push(hazard.word());
        }
        let _ = writeln!(text, "| {} | {visits} | {names} | {count} | {others} |", hazard.word());
    }
    let unnamed = if unnamed.is_empty() { "none".to_owned() } else { unnamed.join(", ") };
    let _ = writeln!(text, "\nHazards that were not told by their own name: {unnamed}.");
    text
}
