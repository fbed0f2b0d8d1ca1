//! `report hazards`: what the web did to the crawl, each by its name, where, how often, and what was done about it.

use std::fmt::Write;

use model::{Hazard, Measure};
use serde_json::{Value, json};
use store::{
    census::{Census, HazardEntry},
    collection::Collection,
};

use super::super::{Context, decisions::known_site};
use crate::{cli::HazardsArgs, terminal::print};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
};
use model::printable;

/// Sites named under each hazard in the table; `--json` and `--hazard` have them all.
const SITES_SHOWN: usize = 3;

pub fn run(context: &Context, args: &HazardsArgs) -> Result<Exit, Failure> {
    let hazard = args.hazard.as_deref().map(known_hazard).transpose()?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = args.site.as_deref().map(|site| known_site(&census, site)).transpose()?;
    let entries = census.hazards(hazard.map(Hazard::word), site.as_deref(), args.limit)?;
    if context.json {
        let rows: Vec<Value> = entries.iter().map(row_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else if entries.is_empty() {
        context.say("no hazard was met");
    } else {
        let shown = if hazard.is_some() || site.is_some() { usize::MAX } else { SITES_SHOWN };
        print(&listing(&entries, shown, args.limit))?;
    }
    Ok(Exit::Done)
}

fn known_hazard(word: &str) -> Result<Hazard, Failure> {
    Hazard::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = Hazard::ALL.iter().map(|hazard| hazard.word()).collect();
        Failure::usage(
            format!("{word:?} is no hazard"),
            format!("give one of {}", known.join(", ")),
        )
    })
}

/// By hazard, in the order of the list; under each the places where it was met most.
fn listing(entries: &[HazardEntry], shown: usize, limit: u32) -> String {
    let mut text = String::new();
    for hazard in Hazard::ALL {
        let met: Vec<&HazardEntry> =
            entries.iter().filter(|entry| entry.hazard == hazard.word()).collect();
        if met.is_empty() {
            continue;
        }
        let count: u64 = met.iter().map(|entry| entry.count).sum();
        let _ = writeln!(text, "{}: {}; {}", hazard.word(), some(count, "time"), hazard.meaning());
        for entry in met.iter().take(shown) {
            write_entry(&mut text, entry);
        }
        if met.len() > shown {
            let word = hazard.word();
            let more = number((met.len() - shown) as u64);
            let _ = writeln!(text, "             … and {more} more: --hazard {word}");
        }
    }
    if entries.len() as u64 >= u64::from(limit) {
        let _ = writeln!(text, "… there may be more: --limit N");
    }
    text
}

fn write_entry(text: &mut String, entry: &HazardEntry) {
    let what = match entry.what.as_str() {
        "" => String::new(),
        what => format!(" ({})", printable(what)),
    };
    let (count, done) = (number(entry.count), done(&entry.measure));
    let _ = writeln!(text, "  {count:>9}  {}{what}: {done}", printable(&entry.site));
    for example in &entry.examples {
        let _ = writeln!(text, "             {}", printable(example));
    }
    if entry.hazard == Hazard::Quarantine.word() {
        let site = printable(&entry.site);
        let _ = writeln!(text, "             to lift it: harvestman quarantine lift {site}");
    }
}

/// A measure of a later version is shown by its word.
fn done(measure: &str) -> &str {
    match Measure::from_word(measure) {
        Some(Measure::Noted) => "noted",
        Some(Measure::Corrected) => "put right",
        Some(Measure::Truncated) => "cut short",
        Some(Measure::Refused) => "refused",
        Some(Measure::PatternStopped) => "URLs of this pattern are taken no more",
        Some(Measure::SiteStopped) => {
            "links on copies, or none at all, are taken (harvestman traps)"
        }
        None => measure,
    }
}

fn row_json(entry: &HazardEntry) -> Value {
    let meaning = Hazard::from_word(&entry.hazard).map(Hazard::meaning);
    json!({
        "hazard": entry.hazard, "meaning": meaning, "site": entry.site, "what": entry.what,
        "measure": entry.measure, "count": entry.count, "examples": entry.examples,
        "first": config::times::iso(entry.first), "last": config::times::iso(entry.last),
    })
}
