//! `report adaptation` is table 2 of Bouras et al.: how often pages changed in their last ten visits, how often those below them, and how the time between
//! visits has followed.

use std::{fmt::Write, time::Duration};

use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    history::{Adaptation, AdaptationFilter},
};

use super::super::{Context, decisions::known_site, spider};
use crate::{cli::AdaptationArgs, terminal::print};
use config::{
    amounts::number,
    failure::{Exit, Failure},
    times,
};
use model::{fit, printable};

/// Of a URL, so that a line fits a hundred columns; the end tells pages of a site apart.
const URL_WIDTH: usize = 43;

pub fn run(context: &Context, args: &AdaptationArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let named = args.spider.as_deref().map(|name| spider::find(census.spiders()?, name));
    let filter = AdaptationFilter {
        spider: named.transpose()?.map(|row| row.id),
        site: args.site.as_deref().map(|site| known_site(&census, site)).transpose()?,
        all: args.pages,
    };
    let rows = census.adaptation(&filter, args.limit)?;
    if context.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else if rows.is_empty() {
        context.say("no page of that kind was visited");
    } else {
        print(&table(&rows, args))?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[Adaptation], args: &AdaptationArgs) -> String {
    let mut text = format!(
        "{:<URL_WIDTH$}  {:>6}  {:>7}  {:>8}  {:>6}  {:>8}  {:>8}\n{:<URL_WIDTH$}  {:>6}  {:>7}  {:>8}  {:>6}  {:>8}  {:>8}\n",
        "",
        "",
        "changed",
        "internal",
        "",
        "visited",
        "every",
        if args.pages { "page" } else { "seed" },
        "links",
        "last 10",
        "changed",
        "fr_max",
        "before",
        "now",
    );
    for row in rows {
        let links = u64::from(row.links_internal) + u64::from(row.links_external);
        let _ = writeln!(
            text,
            "{:<URL_WIDTH$}  {:>6}  {:>7}  {:>8}  {:>6}  {:>8}  {:>8}",
            shortened(&row.url),
            number(links),
            format!("{} of {}", row.changes, row.compared),
            share(row),
            if row.fr_max == 0 { "-".to_owned() } else { row.fr_max.to_string() },
            period(row.period_before_ms),
            period(row.period_now_ms),
        );
    }
    if rows.len() as u64 >= u64::from(args.limit) {
        let _ = writeln!(text, "… there may be more: --limit N");
    }
    text
}

fn shortened(url: &str) -> String {
    let url = printable(url);
    let count = url.chars().count();
    if count <= URL_WIDTH {
        return url.into_owned();
    }
    let end: String = url.chars().skip(count - URL_WIDTH / 2).collect();
    let start = fit(&url, URL_WIDTH - end.chars().count()).into_owned();
    format!("{start}{end}")
}

/// Of the comparisons of internal pages, those that showed a change.
fn share(row: &Adaptation) -> String {
    match row.internal_compared {
        0 => "-".to_owned(),
        all => format!("{:.0} %", row.internal_changes as f64 * 100.0 / all as f64),
    }
}

fn period(ms: Option<u64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| times::span(Duration::from_millis(ms)))
}

fn row_json(row: &Adaptation) -> Value {
    let seconds = |ms: Option<u64>| ms.map(|ms| ms as f64 / 1_000.0);
    json!({
        "url": row.url, "spider": row.spider, "seed": row.seed, "state": row.state,
        "links": u64::from(row.links_internal) + u64::from(row.links_external),
        "links_internal": row.links_internal, "links_external": row.links_external,
        "visits": row.visits, "compared": row.compared, "changes": row.changes,
        "internal_pages": row.internal_pages, "internal_compared": row.internal_compared,
        "internal_changes": row.internal_changes, "fr_max": row.fr_max,
        "period_before_seconds": seconds(row.period_before_ms),
        "period_now_seconds": seconds(row.period_now_ms),
        "visited": row.visited.map(times::iso), "due": row.due.map(times::iso),
    })
}
