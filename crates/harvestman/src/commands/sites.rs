//! `sites`: the sites of the collection as a list.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};
use store::{census::Census, collection::Collection};

use super::{Context, table};
use crate::{
    cli::SitesArgs,
    csv::not_with_json,
    terminal::{print, print_json, width},
};
use collection::sites::{SiteList, SiteRow, SitesQuery, list};
use config::{
    amounts::{bytes, number},
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &SitesArgs) -> Result<Exit, Failure> {
    not_with_json(args.csv, context.json)?;
    let query = SitesQuery {
        domain: args.domain.clone(),
        seeded: args.seeded,
        state: args.state.clone(),
        down: args.down,
        sort: args.sort.clone(),
        reverse: args.reverse,
        limit: args.limit,
        after: args.after.clone(),
    };
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let found = list(&census, &query)?;
    if context.json {
        print_json(&found)?;
        return Ok(Exit::Done);
    }
    match args.csv {
        true => print(&table::csv(&found.rows)?)?,
        false if found.rows.is_empty() => context.say("no sites match"),
        false => print(&text(&found, RealClock::new().now(), width()))?,
    }
    if let Some(next) = &found.next {
        context.say(&format!("for more, repeat with: --after {next}"));
    }
    Ok(Exit::Done)
}

fn text(found: &SiteList, now: Timestamp, width: usize) -> String {
    let mut text = String::from("     known    fetched   failed      size  state          site\n");
    for row in &found.rows {
        let line = format!(
            "{:>10} {:>10} {:>8}  {:>8}  {:<13}  {}",
            number(row.known),
            number(row.fetched),
            number(row.failed),
            bytes(row.bytes),
            state(row, now),
            printable(&row.site)
        );
        let _ = writeln!(text, "{}", fit(&line, width));
    }
    text.push_str(&table::footer(found.rows.len(), found.total, "site", found.sort));
    text
}

fn state(row: &SiteRow, now: Timestamp) -> String {
    match (row.down_since, row.due) {
        (Some(_), _) => "down".to_owned(),
        (None, Some(due)) if due <= now => "due".to_owned(),
        (None, Some(due)) => format!("due {}", times::until(due, now)),
        (None, None) => row.state.word().to_owned(),
    }
}
