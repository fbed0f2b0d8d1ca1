//! `check`: database, volumes and link segments are whole and agree; counters can be repaired.

use harvester::clock::RealClock;
use model::Clock;
use serde_json::json;
use store::{
    collection::Collection,
    frontier::SqliteFrontier,
    warc::{Verifier, Volumes},
};

use super::Context;
use crate::{
    exit::{Exit, Failure},
    progress::number,
    terminal::{print, printable},
};

pub fn run(context: &Context) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    // Counters may only be compared while nobody changes them.
    let _lock = collection.lock()?;
    let mut findings = Vec::new();
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    for finding in frontier.verify(true)? {
        findings.push(format!("database: {}", finding.text));
    }
    if !findings.is_empty() {
        frontier.repair_counters(RealClock::new().now())?;
    }
    let (records, volumes) = check_volumes(context, &collection, &mut findings)?;
    tell(context, &findings, records, volumes)?;
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Fault })
}

fn check_volumes(
    context: &Context,
    collection: &Collection,
    findings: &mut Vec<String>,
) -> Result<(u64, usize), Failure> {
    let volumes = Volumes::new(collection.volumes()).list()?;
    let mut verifier = Verifier::default();
    let mut records = 0;
    for volume in &volumes {
        let name = volume.path.display();
        context.say(&format!("reading {}", printable(&name.to_string())));
        let report = verifier.volume(&volume.path)?;
        records += report.records;
        for problem in &report.problems {
            findings.push(format!("{name}: {problem}"));
        }
        let more = report.problem_count.saturating_sub(report.problems.len() as u64);
        if more > 0 {
            findings.push(format!("{name}: {more} more"));
        }
    }
    Ok((records, volumes.len()))
}

fn tell(
    context: &Context,
    findings: &[String],
    records: u64,
    volumes: usize,
) -> Result<(), Failure> {
    if context.json {
        let sound = findings.is_empty();
        let answer =
            json!({ "sound": sound, "findings": findings, "records": records, "volumes": volumes });
        return print(&format!("{answer:#}\n"));
    }
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("{}\n", printable(finding)));
    }
    text.push_str(&match findings.len() {
        0 => format!(
            "sound: {} records in {volumes} volumes, database and counters agree\n",
            number(records)
        ),
        n => format!(
            "{n} findings; counters were set to what the rows say, damaged files were left alone\n"
        ),
    });
    print(&text)
}
