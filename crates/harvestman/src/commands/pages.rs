//! `pages`: the pages of the collection as a list.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};
use store::{
    census::{Census, Period},
    collection::Collection,
};

use super::{Context, table};
use crate::{
    cli::PagesArgs,
    csv::not_with_json,
    terminal::{print, print_json, width},
};
use collection::pages::{PageList, PageRow, PagesQuery, list};
use config::{
    amounts::bytes,
    failure::{Exit, Failure},
    moments::Moment,
    times,
};

pub fn run(context: &Context, args: &PagesArgs) -> Result<Exit, Failure> {
    not_with_json(args.csv, context.json)?;
    let now = RealClock::new().now();
    let query = query(args, now)?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let found = list(&census, &query)?;
    if context.json {
        print_json(&found)?;
        return Ok(Exit::Done);
    }
    match args.csv {
        true => print(&table::csv(&found.rows)?)?,
        false if found.rows.is_empty() => context.say("no pages match"),
        false => print(&text(&found, now, width()))?,
    }
    if let Some(next) = &found.next {
        context.say(&format!("for more, repeat with: --after {next}"));
    }
    Ok(Exit::Done)
}

fn query(args: &PagesArgs, now: Timestamp) -> Result<PagesQuery, Failure> {
    let moment = |flag: &str, text: &Option<String>| {
        text.as_deref().map(|text| moment(flag, text, now)).transpose()
    };
    Ok(PagesQuery {
        site: args.site.clone(),
        spider: args.spider.clone(),
        state: args.state.clone(),
        status: args.status.clone(),
        media_type: args.media_type.clone(),
        seed: args.seed,
        prefix: args.prefix.clone(),
        visited: Period {
            since: moment("--visited-since", &args.visited_since)?,
            before: moment("--visited-before", &args.visited_before)?,
        },
        changed: Period {
            since: moment("--changed-since", &args.changed_since)?,
            before: moment("--changed-before", &args.changed_before)?,
        },
        requisites: args.requisites,
        sort: args.sort.clone(),
        reverse: args.reverse,
        limit: args.limit,
        after: args.after.clone(),
    })
}

fn moment(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    Moment::parse(text, now).map(|moment| moment.from).map_err(|why| {
        Failure::usage(
            format!("cannot tell a time by {text:?}: {why}"),
            format!("give {flag} 2026-11-16, {flag} yesterday or {flag} \"3 days ago\""),
        )
    })
}

fn text(found: &PageList, now: Timestamp, width: usize) -> String {
    let mut text = String::from("state       status      size  visited      url\n");
    for row in &found.rows {
        let line = format!(
            "{:<10}  {:>6}  {:>8}  {:<11}  {}",
            row.state.word(),
            status(row),
            row.bytes.map_or_else(|| "-".to_owned(), bytes),
            row.visited.map_or_else(|| "never".to_owned(), |at| times::ago(at, now)),
            printable(&row.url)
        );
        let _ = writeln!(text, "{}", fit(&line, width));
    }
    text.push_str(&table::footer(found.rows.len(), found.total, "page", found.sort));
    text
}

fn status(row: &PageRow) -> String {
    match row.status {
        None => "-".to_owned(),
        Some(0) => "failed".to_owned(),
        Some(status) => status.to_string(),
    }
}
