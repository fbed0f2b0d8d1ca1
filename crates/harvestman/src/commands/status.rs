//! `status`: what the collection holds, how the last run went, and where its time went. Works while a
//! crawl runs.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};
use store::{census::Census, collection::Collection, runs::RunState};

use super::{Context, outlook::budget_text};
use crate::{
    layout::{WIDTH, field},
    terminal::{print, print_json},
};
use collection::{
    run::RunStatus,
    status::{SpiderStatus, Status, status},
};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    times,
};

/// Of the name of a site or spider in a table of 80 columns.
const NAME_WIDTH: usize = 30;

pub fn run(context: &Context) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let now = RealClock::new().now();
    let status = status(&collection, &census, now)?;
    match context.json {
        true => print_json(&status)?,
        false => print(&context.advised(&text(&status, now)))?,
    }
    Ok(Exit::Done)
}

fn text(status: &Status, now: Timestamp) -> String {
    let mut text = String::new();
    field(&mut text, "collection", &printable(&status.collection));
    write_run(&mut text, status, now);
    write_pages(&mut text, status);
    write_history(&mut text, status);
    write_trouble(&mut text, status, now);
    if let Some(due) = status.next_due {
        field(&mut text, "next due", &times::until(due, now));
    }
    write_batches(&mut text, status, now);
    write_budget(&mut text, status, now);
    write_spiders(&mut text, &status.spiders);
    write_refusals(&mut text, status);
    write_sites(&mut text, status);
    text
}

fn write_run(text: &mut String, status: &Status, now: Timestamp) {
    let Some(run) = &status.run else {
        field(text, "state", "new: nothing crawled yet");
        return;
    };
    let reason = match run.reason.is_empty() {
        true if status.paused => " (paused; to continue: harvestman resume)".to_owned(),
        true => String::new(),
        false => format!(" ({})", printable(&run.reason)),
    };
    let when = match (run.ended, run.state) {
        (Some(ended), _) => format!("ended {}", times::ago(ended, now)),
        (None, RunState::Interrupted) => last_sign(run, now),
        (None, _) => format!("started {}", times::ago(run.started, now)),
    };
    field(text, "state", &format!("{}{reason}, {when}", run.state.word()));
    if run.silent {
        let sign = last_sign(run, now);
        field(text, "silent", &format!("{sign}; process {} is there but does nothing", run.pid));
    }
    let figures = &run.figures;
    let done = format!(
        "{}, {:.1}/s, {}, {} failed",
        some(figures.fetched, "page"),
        run.pages_per_second,
        some(figures.requests, "request"),
        number(figures.failed)
    );
    field(text, "last run", &done);
    if figures.requisites + figures.requisites_failed > 0 {
        let (fetched, failed) =
            (some(figures.requisites, "part"), number(figures.requisites_failed));
        field(text, "", &format!("{fetched} of pages, {failed} failed"));
    }
    // In the order of a page's journey, which a map does not keep.
    let stages = ["dns", "delay", "download", "parse", "store"];
    let share = |name: &str| run.time.get(name).copied().unwrap_or_default() * 100.0;
    let shares = stages.map(|name| format!("{name} {:.1} %", share(name)));
    field(text, "time", &shares.join(", "));
}

fn last_sign(run: &RunStatus, now: Timestamp) -> String {
    format!("last sign of life {}", times::ago(run.heartbeat, now))
}

fn write_pages(text: &mut String, status: &Status) {
    let pages = &status.pages;
    let counts = format!(
        "{} known: {} fetched, {} waiting for a first visit, {}, {} failing, {} gone",
        number(pages.known),
        number(pages.fetched),
        number(pages.waiting),
        some(pages.redirected, "redirect"),
        number(pages.failed - pages.gone),
        number(pages.gone),
    );
    field(text, "pages", &counts);
    if let (Some(known), Some(waiting @ 1..)) = (status.seeds.known, status.seeds.waiting) {
        let seeds = format!("{}, {} not visited yet", some(known, "seed"), number(waiting));
        field(text, "seeds", &seeds);
    }
    if pages.candidates > 0 {
        let found = some(pages.candidates, "seed or link");
        let found = found.replace("seed or links", "seeds and links");
        field(text, "found", &format!("{found} not looked at yet"));
    }
}

fn write_history(text: &mut String, status: &Status) {
    let thinned = match status.versions_thinned {
        0 => String::new(),
        n => format!(" ({} of them thinned: seen, but no longer stored)", number(n)),
    };
    let history = format!(
        "{}, {}{thinned}, {} over the wire",
        some(status.visits, "visit"),
        some(status.versions, "version"),
        bytes(status.bytes)
    );
    field(text, "history", &history);
}

fn write_trouble(text: &mut String, status: &Status, now: Timestamp) {
    if let Some(last) = status.stalls.first() {
        let count = some(status.stalls.len() as u64, "time");
        let (when, what) = (times::ago(last.at, now), printable(&last.text));
        field(text, "stalled", &format!("{count}, last {when}: {what}"));
    }
    if status.sites.down > 0 {
        let down = some(status.sites.down, "site");
        field(text, "down", &format!("{down} without an answer: asked less and less often"));
    }
}

fn write_batches(text: &mut String, status: &Status, now: Timestamp) {
    let batches = &status.batches;
    if batches.sites_out == 0 {
        return;
    }
    let (out, sites) = (number(batches.out), some(batches.sites_out, "site"));
    field(text, "batches", &format!("{out} out, with {sites} that nobody visits here meanwhile:"));
    for batch in &batches.rows {
        let (id, sites) = (batch.id, some(batch.sites_out, "site"));
        let end = times::until(batch.until, now);
        field(text, "", &format!("batch {id}: {sites} (the leases end {end})"));
    }
}

fn write_budget(text: &mut String, status: &Status, now: Timestamp) {
    for budget in status.budget.iter().filter(|budget| budget.held) {
        field(text, "budget", &budget_text(budget));
    }
    if let Some(at) = status.waits_for_budget {
        // As the crawl last wrote it down: what is past is being made, or is put off again.
        let when = match at <= now {
            true => "is about to be made".to_owned(),
            false => format!("can be made {}", times::until(at, now)),
        };
        let waits = format!("visits wait for the budget (revisit.*): the next {when}");
        field(text, "waiting", &waits);
    }
}

/// A single one that crawls needs no words.
fn write_spiders(text: &mut String, spiders: &[SpiderStatus]) {
    if spiders.len() == 1 && !spiders.iter().any(|spider| spider.paused) {
        return;
    }
    field(text, "spiders", &number(spiders.len() as u64));
    for spider in spiders {
        let counts = [spider.known, spider.fetched, spider.failed];
        write_counts(text, &spider.name, counts);
        if spider.paused {
            let why = match spider.why.is_empty() {
                true => "paused".to_owned(),
                false => format!("paused: {}", printable(&spider.why)),
            };
            let resume = format!("{why}; to continue: harvestman spider resume {}", spider.name);
            field(text, "", &resume);
        }
    }
}

fn write_refusals(text: &mut String, status: &Status) {
    if status.refused.is_empty() {
        return;
    }
    let mut refused: Vec<(&String, &u64)> = status.refused.iter().collect();
    refused.sort_by(|a, b| b.1.cmp(a.1));
    let parts: Vec<String> =
        refused.iter().map(|(reason, n)| format!("{reason} {}", number(**n))).collect();
    let all = number(status.pages.refused);
    field(text, "refused", &format!("{all} ({})", parts.join(", ")));
}

fn write_sites(text: &mut String, status: &Status) {
    let sites = &status.sites;
    let more = match sites.largest.len() as u64 {
        shown if shown < sites.known => "; all: harvestman sites",
        _ => "",
    };
    field(text, "sites", &format!("{} known{more}", number(sites.known)));
    for site in &sites.largest {
        write_counts(text, &site.site, [site.known, site.fetched, site.failed]);
    }
}

fn write_counts(text: &mut String, name: &str, counts: [u64; 3]) {
    let [known, fetched, failed] = counts.map(number);
    let name = printable(name);
    let line = format!(
        "  {:<NAME_WIDTH$} {known:>9} known {fetched:>9} fetched {failed:>5} failed",
        fit(&name, NAME_WIDTH)
    );
    let _ = writeln!(text, "{}", fit(&line, WIDTH));
}
