//! `decisions`: what was refused, by which rule, how often, where it was found, and how to lift it.

use std::fmt::Write;

use model::RefusalReason;
use serde_json::{Value, json};
use store::{
    census::{Census, DecisionEntry},
    collection::Collection,
};

use super::Context;
use crate::{
    cli::DecisionsArgs,
    summary::{advice, how_to_lift},
    terminal::print,
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
    times,
};
use model::printable;

pub fn run(context: &Context, args: &DecisionsArgs) -> Result<Exit, Failure> {
    let reason = args.reason.as_deref().map(known_reason).transpose()?;
    let site = args.site.as_deref().map(collection::sites::named).transpose()?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let word = reason.map(RefusalReason::word);
    let mut counts = census.refusal_counts(site.as_deref())?;
    if let (true, Some(site)) = (counts.is_empty(), &site) {
        known_site(&census, site)?;
    }
    counts.retain(|(found, _)| word.is_none_or(|word| word == found));
    let entries = census.refusals_of(word, site.as_deref(), args.limit)?;
    let listing = Listing { counts, entries };
    if context.json {
        print(&format!("{:#}\n", listing.json()))?;
    } else if listing.counts.is_empty() {
        context.say("nothing was refused");
    } else {
        print(&listing.text())?;
    }
    Ok(Exit::Done)
}

fn known_reason(word: &str) -> Result<RefusalReason, Failure> {
    RefusalReason::from_word(word).ok_or_else(|| {
        let known = RefusalReason::ALL.map(RefusalReason::word).join(", ");
        Failure::usage(
            format!("{word:?} is no reason for a refusal"),
            format!("give one of {known}"),
        )
    })
}

/// The site that is meant, if the collection has it.
pub(super) fn known_site(census: &Census, text: &str) -> Result<String, Failure> {
    Ok(collection::sites::known(census, text)?)
}

/// By reason, those that refused most first.
struct Listing {
    counts: Vec<(String, u64)>,
    entries: Vec<DecisionEntry>,
}

impl Listing {
    fn json(&self) -> Value {
        let reasons: Vec<Value> = self
            .counts
            .iter()
            .map(|(reason, count)| json!({ "reason": reason, "count": count, "how_to_lift": lift(reason) }))
            .collect();
        let total: u64 = self.counts.iter().map(|(_, count)| count).sum();
        let decision = |entry: &DecisionEntry| {
            let mut row = times::iso_fields(json!(entry), &["last"]);
            row["how_to_lift"] = lift_by(entry).into();
            row
        };
        let decisions: Vec<Value> = self.entries.iter().map(decision).collect();
        json!({ "refused": total, "reasons": reasons, "decisions": decisions })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (reason, count) in &self.counts {
            let _ = writeln!(text, "{reason}: {}; {}", some(*count, "URL"), lift(reason));
            for entry in self.entries.iter().filter(|entry| entry.reason == *reason) {
                write_entry(&mut text, entry);
            }
        }
        text
    }
}

fn write_entry(text: &mut String, entry: &DecisionEntry) {
    let (count, rule) = (number(entry.count), printable(&entry.rule));
    let _ = writeln!(text, "  {count:>9}  {} ({rule})", printable(&entry.site));
    if !entry.example.is_empty() {
        let _ = writeln!(text, "             such as {}", printable(&entry.example));
    }
    if let Some(referrer) = &entry.referrer {
        let _ = writeln!(text, "             found on {}", printable(referrer));
    }
    if lift_by(entry) != lift(&entry.reason) {
        let _ = writeln!(text, "             {}", lift_by(entry));
    }
}

/// A reason of a later version has no advice here.
fn lift(reason: &str) -> &'static str {
    RefusalReason::from_word(reason).map_or("", how_to_lift)
}

/// What can be done about this one, where its rule says more than its reason.
fn lift_by(entry: &DecisionEntry) -> &'static str {
    RefusalReason::from_word(&entry.reason).map_or("", |reason| advice(reason, &entry.rule))
}
