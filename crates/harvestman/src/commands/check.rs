//! `check`: database, volumes and link segments are whole and agree. Changes nothing unless asked to repair.

use harvester::clock::RealClock;
use model::Clock;
use serde_json::json;
use store::{
    collection::Collection,
    frontier::{RecordExtent, SqliteFrontier},
    links::LinkReader,
    warc::{Verifier, Volumes},
};

use super::{Context, finish_forgetting};
use crate::{
    batch::outpost,
    cli::CheckArgs,
    exit::{Exit, Failure},
    progress::some,
    terminal::{print, printable},
};

/// What was read of the volumes.
#[derive(Default)]
struct Read {
    volumes: usize,
    records: u64,
    /// Revisits of a batch that refer to records at home.
    at_home: u64,
}

pub fn run(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    // Counters may only be compared while nobody changes them.
    let lock = collection.lock()?;
    finish_forgetting(context, &collection, &lock, RealClock::new().now())?;
    let mut findings = Vec::new();
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    for finding in frontier.verify(true)? {
        findings.push(format!("database: {}", finding.text));
    }
    let broken_counters = !findings.is_empty();
    let verifier = match outpost::batch_of(&frontier)? {
        Some(batch) => Verifier::of_batch(batch.made),
        None => Verifier::default(),
    };
    let read = check_volumes(context, &collection, verifier, &mut findings)?;
    check_records(&frontier, &collection, &mut findings)?;
    check_links(&frontier, &collection, &mut findings)?;
    let repaired = args.repair && broken_counters;
    if repaired {
        frontier.repair_counters(RealClock::new().now())?;
    }
    tell(context, &findings, repaired, &read)?;
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Fault })
}

/// Every record that a visit names lies in a volume that is there and long enough.
fn check_records(
    frontier: &SqliteFrontier,
    collection: &Collection,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let volumes = Volumes::new(collection.volumes());
    for extent in frontier.record_extents()? {
        let RecordExtent { volume, end, records } = extent;
        let length = volumes.find(volume)?.and_then(|found| found.path.metadata().ok());
        match length.map(|metadata| metadata.len()) {
            None => findings.push(format!(
                "volumes: volume {volume} is not there; in it are the records of {}",
                some(records, "visit")
            )),
            Some(length) if length < end => findings.push(format!(
                "volumes: volume {volume} ends at {length}, but visits have records up to {end} in it"
            )),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The link segments are whole up to the place that was settled last.
fn check_links(
    frontier: &SqliteFrontier,
    collection: &Collection,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some((segment, offset)) = frontier.marks()?.links else { return Ok(()) };
    let folder = collection.links();
    if !folder.is_dir() {
        findings.push(format!("links: {} is not there", folder.display()));
        return Ok(());
    }
    let mut reader = LinkReader::open(&folder, Some((segment, offset)))?;
    let damage = reader.by_ref().find_map(Result::err);
    findings.extend(damage.map(|error| format!("links: {error}")));
    for (segment, at) in reader.torn() {
        findings.push(format!("links: segment {segment} is damaged at {at}"));
    }
    let length = LinkReader::segment_bytes(&folder, segment);
    if length < offset {
        findings.push(format!("links: segment {segment} ends at {length}, settled up to {offset}"));
    }
    Ok(())
}

fn check_volumes(
    context: &Context,
    collection: &Collection,
    mut verifier: Verifier,
    findings: &mut Vec<String>,
) -> Result<Read, Failure> {
    let volumes = Volumes::new(collection.volumes()).list()?;
    let mut read = Read { volumes: volumes.len(), ..Read::default() };
    for volume in &volumes {
        let name = volume.path.display();
        context.say(&format!("reading {}", printable(&name.to_string())));
        let report = verifier.volume(&volume.path)?;
        read.records += report.records;
        read.at_home += report.at_home;
        for problem in &report.problems {
            findings.push(format!("{name}: {problem}"));
        }
        let more = report.problem_count.saturating_sub(report.problems.len() as u64);
        if more > 0 {
            findings.push(format!("{name}: {more} more"));
        }
    }
    Ok(read)
}

fn tell(
    context: &Context,
    findings: &[String],
    repaired: bool,
    read: &Read,
) -> Result<(), Failure> {
    if context.json {
        let answer = json!({
            "sound": findings.is_empty(), "findings": findings, "repaired": repaired,
            "records": read.records, "volumes": read.volumes, "at_home": read.at_home,
        });
        return print(&format!("{answer:#}\n"));
    }
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("{}\n", printable(finding)));
    }
    text.push_str(&told_of_batch(read.at_home));
    text.push_str(&match (findings.len(), repaired) {
        (0, _) => format!(
            "sound: {} in {}; database, volumes and links agree\n",
            some(read.records, "record"),
            some(read.volumes as u64, "volume")
        ),
        (n, true) => format!(
            "{}; counters and dues were set to what the rows say\n",
            some(n as u64, "finding")
        ),
        (n, false) => format!(
            "{}; nothing was changed (--repair sets counters right, damaged files need a copy)\n",
            some(n as u64, "finding")
        ),
    });
    print(&text)
}

/// That they cannot be followed here is no damage, and yet somebody may wonder who reads these volumes alone.
fn told_of_batch(at_home: u64) -> String {
    match at_home {
        0 => String::new(),
        1 => "batch: 1 revisit refers to a record at home, as it should\n".to_owned(),
        n => format!("batch: {} refer to records at home, as they should\n", some(n, "revisit")),
    }
}
