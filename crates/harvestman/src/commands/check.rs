//! `check`: database, volumes and link segments are whole and agree. Changes nothing unless asked to repair.

use harvester::clock::RealClock;
use model::{Clock, printable};
use store::collection::Collection;

use super::Context;
use crate::{
    cli::CheckArgs,
    terminal::{print, print_json},
};
use collection::check::{CheckReport, CheckStep, Finding, LostContent, Part, check};
use config::{
    amounts::some,
    failure::{Exit, Failure},
};

pub fn run(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock()?;
    let mut progress = |step: CheckStep| match step {
        CheckStep::Reading(path) => {
            context.say(&format!("reading {}", printable(&path.display().to_string())));
        }
        CheckStep::Rewriting(done, all) => {
            context.say(&format!("{done} of {} rewritten", some(all as u64, "volume")));
        }
    };
    let now = RealClock::new().now();
    let report = check(&collection, &lock, args.repair, now, &mut progress)?;
    if report.takedown_completed {
        context.say("a takedown that was interrupted has been completed");
    }
    match context.json {
        true => print_json(&report)?,
        false => print(&text(&report, args.repair))?,
    }
    Ok(if report.sound { Exit::Done } else { Exit::Fault })
}

fn text(report: &CheckReport, repair: bool) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&format!("{}\n", printable(&line(finding))));
    }
    text.push_str(&home_lines(report.references_home));
    text.push_str(&revisit_lines(report));
    text.push_str(&lost_lines(report, repair));
    text.push_str(&index_lines(report));
    let findings = report.findings.len() as u64;
    text.push_str(&match (findings, report.repaired) {
        (0, _) => format!(
            "sound: {} in {}; database, volumes and links agree\n",
            some(report.records, "record"),
            some(report.volumes, "volume")
        ),
        (n, true) => {
            format!(
                "{}; counters and due times were set to what the rows say\n",
                some(n, "finding")
            )
        }
        (n, false) if repair && report.lost.records > 0 => format!("{}\n", some(n, "finding")),
        (n, false) => format!(
            "{}; nothing was changed\n\
             --repair sets counters right and has lost pages fetched again; harvestman rebuild\n\
             makes database and links again from the volumes; damaged volumes need a copy\n",
            some(n, "finding")
        ),
    });
    text
}

fn line(finding: &Finding) -> String {
    match (&finding.file, finding.part) {
        (Some(file), _) => format!("{}: {}", file.display(), finding.text),
        (None, Part::Database) => format!("database: {}", finding.text),
        (None, Part::Volumes) => format!("volumes: {}", finding.text),
        (None, Part::Links) => format!("links: {}", finding.text),
    }
}

/// What cannot be read, and how it comes back.
fn lost_lines(report: &CheckReport, repair: bool) -> String {
    let LostContent { records, pages, known, restored } = report.lost;
    let mut text = String::new();
    if records > 0 {
        let (records, pages) = (some(records, "record"), some(pages, "page"));
        text.push_str(&match repair {
            true => format!(
                "lost: {records}, marked; {pages} to be fetched again by the next crawl\n"
            ),
            false => format!(
                "lost: {records}; harvestman check --repair has {pages} fetched again by the next crawl\n"
            ),
        });
    }
    if known > 0 {
        let records = some(known, "record");
        text.push_str(&format!("lost: {records} that an earlier check has marked\n"));
    }
    if restored > 0 {
        let records = some(restored, "record");
        let done = if repair { "" } else { " (--repair takes the mark off)" };
        text.push_str(&format!("readable again: {records} that were marked as lost{done}\n"));
    }
    text
}

/// No damage: this program reads both forms.
fn revisit_lines(report: &CheckReport) -> String {
    let mut text = String::new();
    for warning in &report.warnings {
        text.push_str(&format!("{}\n", printable(warning)));
    }
    let left = report.old_revisits.saturating_sub(report.rewritten_revisits);
    if report.rewritten_revisits > 0 {
        let revisits = some(report.rewritten_revisits, "revisit");
        let volumes = some(report.rewritten_volumes, "volume");
        text.push_str(&format!("rewrote {revisits} in {volumes} for pywb and other readers\n"));
    }
    if left > 0 {
        let revisits = some(left, "revisit");
        text.push_str(&format!(
            "{revisits} in a form that pywb does not replay; harvestman check --repair rewrites them\n"
        ));
    }
    text
}

/// No damage either: they are made again from the volumes.
fn index_lines(report: &CheckReport) -> String {
    let indexes = |count| match count {
        1 => "the index of 1 volume".to_owned(),
        n => format!("the indexes of {n} volumes"),
    };
    match (report.made_indexes, report.damaged_indexes) {
        (0, 0) => String::new(),
        (0, n) => {
            format!("{} cannot be used; harvestman check --repair makes them again\n", indexes(n))
        }
        (n, _) => format!("made {}\n", indexes(n)),
    }
}

/// That they cannot be followed here is no damage, but readers of these volumes alone may wonder.
fn home_lines(references: u64) -> String {
    match references {
        0 => String::new(),
        1 => "batch: 1 revisit refers to a record at home, as it should\n".to_owned(),
        n => format!("batch: {} refer to records at home, as they should\n", some(n, "revisit")),
    }
}
