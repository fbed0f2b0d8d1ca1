//! `report mirrors`: sites with the same content, with the evidence and how far it is to be trusted.

use std::fmt::Write;

use model::{fit, printable};
use seeder::Heuristic;
use store::{census::Census, collection::Collection};

use super::super::Context;
use crate::{
    cli::ReplicaReportArgs,
    terminal::{print, print_json},
};
use collection::{
    replicas::LISTED_BY,
    reports::{Mirror, Mirrors, mirrors},
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
};

const WIDTH: usize = 80;

pub fn run(context: &Context, args: &ReplicaReportArgs) -> Result<Exit, Failure> {
    let heuristic = args.heuristic.as_deref().map_or(Ok(LISTED_BY), known)?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let report = mirrors(&census, heuristic)?;
    if context.json {
        print_json(&report)?;
    } else if report.rows.is_empty() {
        context.say(&format!("no mirrors: no two sites have {}", meaning(heuristic)));
    } else {
        print(&text(heuristic, &report, args.limit as usize))?;
    }
    Ok(Exit::Done)
}

fn known(word: &str) -> Result<Heuristic, Failure> {
    Heuristic::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = Heuristic::ALL.iter().map(|heuristic| heuristic.word()).collect();
        let advice = format!("give one of {}", words.join(", "));
        Failure::usage(format!("there is no heuristic {word:?}"), advice)
    })
}

/// What two mirrors have in common.
fn meaning(heuristic: Heuristic) -> &'static str {
    match heuristic {
        Heuristic::SameHome => "the same home page",
        Heuristic::SameHomeAnd1Doc => "the same home page and another page in common",
        Heuristic::Dups60 => "60 % of their pages in common",
        Heuristic::Dups80 => "80 % of their pages in common",
        Heuristic::Dups100 => "all their pages in common",
    }
}

fn text(heuristic: Heuristic, report: &Mirrors, limit: usize) -> String {
    let mirrors: usize = report.rows.iter().map(|group| group.mirrors.len()).sum();
    let mut text = format!(
        "{} of {}: {}\n(in a study of the web 98 days apart, {:.0} % of such pairs stayed the same)\n",
        some(mirrors as u64, "mirror"),
        some(report.total, "site"),
        meaning(heuristic),
        report.precision.published,
    );
    for group in report.rows.iter().take(limit) {
        let _ = writeln!(text, "\n{}", named(&group.site, group.seed, WIDTH));
        for mirror in &group.mirrors {
            write_mirror(&mut text, mirror);
        }
    }
    if report.rows.len() > limit {
        let more = some((report.rows.len() - limit) as u64, "more site");
        let _ = writeln!(text, "\n… and {more}: --limit N");
    }
    if report.cut {
        text.push_str("\n… there are more: not all sites could be compared\n");
    }
    text
}

fn write_mirror(text: &mut String, mirror: &Mirror) {
    let _ = writeln!(text, "  {}", named(&mirror.site, mirror.seed, WIDTH - 2));
    let home = if mirror.same_home { "same home page" } else { "other home page" };
    let _ = writeln!(
        text,
        "      {home}; {} of {} paths have the same content",
        number(u64::from(mirror.paths_same)),
        number(u64::from(mirror.paths_compared)),
    );
    let _ = writeln!(
        text,
        "      {} in common, of {} and {}{}",
        some(u64::from(mirror.contents_same), "content"),
        number(u64::from(mirror.contents_original)),
        number(u64::from(mirror.contents)),
        if mirror.may_be_folded { "; may be folded" } else { "" },
    );
}

fn named(site: &str, seed: bool, width: usize) -> String {
    let seed = if seed { " (seed)" } else { "" };
    format!("{}{seed}", fit(&printable(site), width - seed.len()))
}
