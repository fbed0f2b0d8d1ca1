//! `report mirrors`: sites with the same content, by one of VN's heuristics, with the evidence and how far each
//! heuristic is to be trusted.

use std::fmt::Write;

use seeder::{Comparison, Heuristic, Standing, Trust};
use serde_json::{Value, json};
use store::{census::Census, collection::Collection};

use super::super::Context;
use crate::{cli::ReplicaReportArgs, terminal::print};
use collection::replicas::{Found, Group, LISTED_BY, find};
use config::{
    amounts::some,
    failure::{Exit, Failure},
};
use model::printable;

pub fn run(context: &Context, args: &ReplicaReportArgs) -> Result<Exit, Failure> {
    let heuristic = args.heuristic.as_deref().map_or(Ok(LISTED_BY), known)?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let found = find(&census, heuristic)?;
    if context.json {
        print(&format!("{:#}\n", as_json(heuristic, &found)))?;
    } else if found.groups.is_empty() {
        context.say(&format!("no sites with the same content ({})", heuristic.word()));
    } else {
        print(&as_text(heuristic, &found, args.limit as usize))?;
    }
    Ok(Exit::Done)
}

fn known(word: &str) -> Result<Heuristic, Failure> {
    Heuristic::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = Heuristic::ALL.iter().map(|heuristic| heuristic.word()).collect();
        let advice = format!("give one of {}", words.join(", "));
        Failure::usage(format!("{word:?} is no heuristic"), advice)
    })
}

fn as_text(heuristic: Heuristic, found: &Found, limit: usize) -> String {
    let replicas: usize = found.groups.iter().map(|group| group.replicas.len()).sum();
    let Trust { paper_precision, .. } = heuristic.trust();
    let mut text = format!(
        "{} of {} by {}; of 100 such pairs {paper_precision} still held after 98 days in VN's study \
         of the Portuguese web\n",
        some(replicas as u64, "mirror"),
        some(found.groups.len() as u64, "site"),
        heuristic.word(),
    );
    for group in found.groups.iter().take(limit) {
        let _ = writeln!(text, "{}{}", printable(&group.original.key), seeded(&group.original));
        for (replica, comparison) in &group.replicas {
            write_replica(&mut text, replica, comparison);
        }
    }
    if found.groups.len() > limit {
        let more = some((found.groups.len() - limit) as u64, "more group");
        let _ = writeln!(text, "… and {more}: --limit N");
    }
    if found.cut {
        text.push_str("… there was more than could be looked at\n");
    }
    text
}

fn write_replica(text: &mut String, replica: &Standing, comparison: &Comparison) {
    let Comparison { seen, compared, same } = comparison;
    let home = if seen.home { "same home page" } else { "other home page" };
    let fold = if comparison.may_fold() && !replica.seeded { ", may be folded" } else { "" };
    let _ = writeln!(
        text,
        "  = {}{}: {home}, {} equal contents ({} and {}), {same} of {compared} paths equal{fold}",
        printable(&replica.key),
        seeded(replica),
        seen.equal,
        seen.contents.0,
        seen.contents.1,
    );
}

fn seeded(site: &Standing) -> &'static str {
    if site.seeded { " (named by a seed)" } else { "" }
}

fn as_json(heuristic: Heuristic, found: &Found) -> Value {
    let trust = heuristic.trust();
    let groups: Vec<Value> = found.groups.iter().map(group_json).collect();
    json!({
        "heuristic": heuristic.word(), "cut": found.cut,
        "precision": { "paper": trust.paper_precision, "simulated": trust.simulated_precision },
        "coverage": { "paper": trust.paper_coverage, "simulated": trust.simulated_coverage },
        "groups": groups,
    })
}

fn group_json(group: &Group) -> Value {
    let replicas: Vec<Value> = group
        .replicas
        .iter()
        .map(|(site, comparison)| {
            json!({
                "site": site.key, "seeded": site.seeded, "same_home": comparison.seen.home,
                "equal_contents": comparison.seen.equal,
                "contents": [comparison.seen.contents.0, comparison.seen.contents.1],
                "paths_compared": comparison.compared, "paths_equal": comparison.same,
                "share": comparison.share(),
                "may_be_folded": comparison.may_fold() && !site.seeded,
            })
        })
        .collect();
    json!({ "original": group.original.key, "seeded": group.original.seeded, "mirrors": replicas })
}
