//! `report hazards`: what the web did to the crawl, each by its name, where, how often, and what was done about it.

use std::fmt::Write;

use model::{Hazard, fit, printable};
use store::{census::Census, collection::Collection};

use super::super::{Context, decisions::known_site};
use crate::{
    cli::HazardsArgs,
    terminal::{print, print_json},
};
use collection::{
    listing::Listing,
    reports::{HazardRow, hazards},
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
};

/// Sites named under each hazard in the table; `--json` and `--hazard` have them all.
const SITES_SHOWN: usize = 3;
const WIDTH: usize = 80;
/// Where what is said of a site begins.
const INDENT: usize = 13;

pub fn run(context: &Context, args: &HazardsArgs) -> Result<Exit, Failure> {
    let hazard = args.hazard.as_deref().map(known_hazard).transpose()?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = args.site.as_deref().map(|site| known_site(&census, site)).transpose()?;
    let report = hazards(&census, hazard, site.as_deref(), args.limit)?;
    if context.json {
        print_json(&report)?;
    } else if report.rows.is_empty() {
        context.say("no hazards");
    } else {
        let shown = if hazard.is_some() || site.is_some() { usize::MAX } else { SITES_SHOWN };
        print(&text(&report, shown))?;
    }
    Ok(Exit::Done)
}

fn known_hazard(word: &str) -> Result<Hazard, Failure> {
    Hazard::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = Hazard::ALL.iter().map(|hazard| hazard.word()).collect();
        Failure::usage(
            format!("there is no hazard {word:?}"),
            format!("give one of {}", known.join(", ")),
        )
    })
}

/// By hazard, in the order of the list; under each the sites where it was met most.
fn text(report: &Listing<HazardRow>, shown: usize) -> String {
    let mut text = String::new();
    for hazard in Hazard::ALL {
        let met: Vec<&HazardRow> =
            report.rows.iter().filter(|row| row.hazard == hazard.word()).collect();
        if met.is_empty() {
            continue;
        }
        let count: u64 = met.iter().map(|row| row.count).sum();
        let _ = writeln!(text, "{} ({})", hazard.word(), some(count, "time"));
        let _ = writeln!(text, "  {}", hazard.meaning());
        for row in met.iter().take(shown) {
            write_row(&mut text, row);
        }
        if met.len() > shown {
            let more = number((met.len() - shown) as u64);
            let _ = writeln!(text, "{:INDENT$}… and {more} more: --hazard {}", "", hazard.word());
        }
    }
    if report.total.is_none() {
        let _ = writeln!(text, "… there may be more: --limit N");
    }
    text
}

fn write_row(text: &mut String, row: &HazardRow) {
    let mut site = printable(&row.site).into_owned();
    if let Some(detail) = &row.detail {
        let _ = write!(site, " ({})", printable(detail));
    }
    let count = number(row.count);
    let _ = writeln!(text, "  {count:>9}  {}", fit(&site, WIDTH - INDENT));
    let _ = writeln!(text, "{:INDENT$}{}", "", done(&row.action));
    for example in &row.examples {
        let _ = writeln!(text, "{:INDENT$}{}", "", fit(&printable(example), WIDTH - INDENT));
    }
    if row.hazard == Hazard::Quarantine.word() {
        let site = printable(&row.site);
        let _ = writeln!(text, "{:INDENT$}release: harvestman quarantine lift {site}", "");
    }
}

/// An action of a later version is shown by its word.
fn done(action: &str) -> &str {
    match action {
        "noted" => "recorded only",
        "corrected" => "corrected",
        "truncated" => "the rest was not read",
        "refused" => "refused",
        "pattern-stopped" => "no more URLs of this pattern (see harvestman traps)",
        "site-stopped" => "no more URLs of this site (see harvestman traps)",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use model::Timestamp;

    use super::*;

    #[test]
    fn lines_fit_a_terminal_and_every_hazard_is_explained() {
        let row = |hazard: &Hazard| HazardRow {
            hazard: hazard.word().to_owned(),
            meaning: Some(hazard.meaning()),
            site: format!("{}.example.org", "long".repeat(10)),
            detail: Some("/a/very/long/pattern/of/urls/*?with=*&many=*&parameters=*".to_owned()),
            action: "pattern-stopped".to_owned(),
            count: 1_234_567,
            examples: vec![format!("https://example.org/{}", "long/".repeat(40))],
            first: Timestamp(0),
            last: Timestamp(0),
        };
        let rows = Hazard::ALL.iter().map(row).collect();
        let text = text(&Listing { total: None, rows, next: None }, 3);
        let long = |line: &&str| line.chars().count() > 80 && !line.contains("quarantine lift");
        assert_eq!(text.lines().find(long), None);
    }
}
