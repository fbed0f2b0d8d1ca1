//! `check`: database, volumes and link segments are whole and agree. Changes nothing unless asked to repair.

use harvester::clock::RealClock;
use model::Clock;
use serde_json::json;
use store::{
    collection::{Collection, CrawlLock},
    forget::{Rewritten, Step, rewrite_revisits},
    frontier::{RecordExtent, SqliteFrontier},
    links::LinkReader,
    warc::{Verifier, Volumes},
};

use super::Context;
use crate::crawling::AtTerminal;
use crate::{cli::CheckArgs, terminal::print};
use config::{
    amounts::some,
    failure::{Exit, Failure},
};
use engine::batch::outpost;
use engine::upkeep::finish_forgetting;
use model::printable;

/// What was read of the volumes.
#[derive(Default)]
struct Read {
    volumes: usize,
    records: u64,
    /// Revisits of a batch that refer to records at home.
    at_home: u64,
    /// Revisits in a form that pywb replays blank.
    old_form: u64,
    /// The volumes that have them.
    old_volumes: Vec<u32>,
}

pub fn run(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    // Counters may only be compared while nobody changes them.
    let lock = collection.lock()?;
    finish_forgetting(&AtTerminal(context.clone()), &collection, &lock, RealClock::new().now())?;
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
    drop(frontier);
    let mut rewritten = Rewritten::default();
    if args.repair && read.old_form > 0 {
        rewritten = rewrite(context, &collection, &lock, &read.old_volumes)?;
    }
    tell(context, &findings, repaired, &read, &rewritten)?;
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Fault })
}

/// Revisits that pywb replays blank get the form that is written today.
fn rewrite(
    context: &Context,
    collection: &Collection,
    lock: &CrawlLock,
    volumes: &[u32],
) -> Result<Rewritten, Failure> {
    let mut progress = |step: Step| {
        if let Step::Writing(done, all) = step {
            context.say(&format!("{done} of {} rewritten", some(all as u64, "volume")));
        }
        Ok(())
    };
    let now = RealClock::new().now();
    Ok(rewrite_revisits(collection, lock, volumes, now, &mut progress)?)
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
        read.old_form += report.old_form;
        if report.old_form > 0 {
            read.old_volumes.push(volume.number);
        }
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
    rewritten: &Rewritten,
) -> Result<(), Failure> {
    if context.json {
        let answer = json!({
            "sound": findings.is_empty(), "findings": findings, "repaired": repaired,
            "records": read.records, "volumes": read.volumes, "at_home": read.at_home,
            "old_revisits": read.old_form, "rewritten_revisits": rewritten.revisits,
            "warnings": rewritten.warnings,
        });
        return print(&format!("{answer:#}\n"));
    }
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("{}\n", printable(finding)));
    }
    text.push_str(&told_of_batch(read.at_home));
    text.push_str(&revisit_lines(read.old_form, rewritten));
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

/// No damage: this program reads both forms.
fn revisit_lines(old_form: u64, rewritten: &Rewritten) -> String {
    let mut text = String::new();
    for warning in &rewritten.warnings {
        text.push_str(&format!("{}\n", printable(warning)));
    }
    let left = old_form.saturating_sub(rewritten.revisits);
    if rewritten.revisits > 0 {
        let (revisits, volumes) =
            (some(rewritten.revisits, "revisit"), some(rewritten.volumes, "volume"));
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

/// That they cannot be followed here is no damage, and yet somebody may wonder who reads these volumes alone.
fn told_of_batch(at_home: u64) -> String {
    match at_home {
        0 => String::new(),
        1 => "batch: 1 revisit refers to a record at home, as it should\n".to_owned(),
        n => format!("batch: {} refer to records at home, as they should\n", some(n, "revisit")),
    }
}
