//! `decisions`: what was refused, by which rule, how often, where it was found, and how to lift it.

use model::printable;
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{
    cli::DecisionsArgs,
    layout::paragraph,
    terminal::{print, print_json},
};
use collection::decisions::{DecisionList, DecisionsQuery, SiteDecision, list};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
};

/// Where examples stand below the count and the site.
const INDENT: usize = 13;

pub fn run(context: &Context, args: &DecisionsArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let query =
        DecisionsQuery { reason: args.reason.clone(), site: args.site.clone(), limit: args.limit };
    let found = list(&census, &query)?;
    match context.json {
        true => print_json(&found)?,
        false if found.reasons.is_empty() => context.say("nothing was refused"),
        false => print(&text(&found))?,
    }
    Ok(Exit::Done)
}

/// The site that is meant, if the collection has it.
pub(super) fn known_site(census: &Census, text: &str) -> Result<String, Failure> {
    Ok(collection::sites::known(census, text)?)
}

fn text(found: &DecisionList) -> String {
    let mut text = String::new();
    for reason in &found.reasons {
        let count = some(reason.count, "link");
        let line =
            format!("{}: {count}; {}", reason.reason, reason.how_to_lift.unwrap_or_default());
        paragraph(&mut text, "", 2, &line);
        for row in found.rows.iter().filter(|row| row.reason == reason.reason) {
            write_row(&mut text, row);
        }
    }
    text
}

fn write_row(text: &mut String, row: &SiteDecision) {
    let (count, rule) = (number(row.count), printable(&row.rule));
    let what = format!("{} ({rule})", printable(&row.site));
    paragraph(text, &format!("  {count:>9}  "), INDENT, &what);
    let mut below = |words: &str| paragraph(text, &" ".repeat(INDENT), INDENT, words);
    if !row.example.is_empty() {
        below(&format!("such as {}", printable(&row.example)));
    }
    if let Some(referrer) = &row.referrer {
        below(&format!("found on {}", printable(referrer)));
    }
    if let Some(how_to_lift) = row.how_to_lift {
        below(how_to_lift);
    }
}
