//! `report adaptation`: how often pages changed, and how the time between visits has followed.

use std::{fmt::Write, time::Duration};

use model::printable;
use store::{census::Census, collection::Collection, history::AdaptationFilter};

use super::super::{Context, decisions::known_site, spider};
use crate::{
    cli::AdaptationArgs,
    terminal::{print, print_json},
};
use collection::{
    listing::Listing,
    reports::{AdaptationRow, adaptation},
};
use config::{
    amounts::number,
    failure::{Exit, Failure},
    times,
};

/// Of a URL, so that a line fits 80 columns; the end tells pages of a site apart.
const URL_WIDTH: usize = 36;

pub fn run(context: &Context, args: &AdaptationArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let named = args.spider.as_deref().map(|name| spider::find(census.spiders()?, name));
    let filter = AdaptationFilter {
        spider: named.transpose()?.map(|row| row.id),
        site: args.site.as_deref().map(|site| known_site(&census, site)).transpose()?,
        all: args.pages,
    };
    let report = adaptation(&census, &filter, args.limit)?;
    if context.json {
        print_json(&report)?;
    } else if report.rows.is_empty() {
        context.say(if args.pages { "no page was visited yet" } else { "no seed was visited yet" });
    } else {
        print(&table(&report, args.pages))?;
    }
    Ok(Exit::Done)
}

fn table(report: &Listing<AdaptationRow>, pages: bool) -> String {
    let what = if pages { "page" } else { "seed" };
    let mut text = format!(
        "{:URL_WIDTH$}  {:>8}  {:>6}  {:>6}  {:>14}\n\
         {what:<URL_WIDTH$}  {:>8}  {:>6}  {:>6}  {:>6}  {:>6}\n",
        "", "changed", "pages", "", "visited every", "last 10", "below", "links", "before", "now",
    );
    for row in &report.rows {
        let _ = writeln!(
            text,
            "{:<URL_WIDTH$}  {:>8}  {:>6}  {:>6}  {:>6}  {:>6}",
            shortened(&row.url),
            format!("{} of {}", row.changes, row.compared),
            share(row),
            number(row.links),
            period(row.before_seconds),
            period(row.now_seconds),
        );
    }
    if report.total.is_none() {
        let _ = writeln!(text, "… there may be more: --limit N");
    }
    text
}

/// The beginning and the end: as many columns as there are.
fn shortened(url: &str) -> String {
    let url = printable(url);
    let count = url.chars().count();
    if count <= URL_WIDTH {
        return url.into_owned();
    }
    let half = (URL_WIDTH - 1) / 2;
    let end: String = url.chars().skip(count - half).collect();
    let start: String = url.chars().take(URL_WIDTH - 1 - half).collect();
    format!("{start}…{end}")
}

/// Of the comparisons of pages below it, those that showed a change.
fn share(row: &AdaptationRow) -> String {
    match row.below_compared {
        0 => "-".to_owned(),
        all => format!("{:.0} %", row.below_changes as f64 * 100.0 / all as f64),
    }
}

fn period(seconds: Option<f64>) -> String {
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.map_or_else(|| "-".to_owned(), times::span)
}

#[cfg(test)]
mod tests {
    use model::PageState;

    use super::*;

    #[test]
    fn lines_fit_a_terminal() {
        let row = AdaptationRow {
            url: format!("https://example.org/{}", "long/".repeat(40)),
            spider: "default".to_owned(),
            seed: true,
            state: PageState::Fetched,
            links: 1_234,
            links_internal: 1_000,
            links_external: 234,
            visits: 99,
            compared: 10,
            changes: 10,
            below_pages: 10_000,
            below_compared: 100_000,
            below_changes: 100_000,
            cycles: Some(2),
            before_seconds: Some(365.0 * 86_400.0),
            now_seconds: Some(7_100.0),
            visited: None,
            due: None,
        };
        let text = table(&Listing { total: None, rows: vec![row], next: None }, true);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("10 of 10   100 %"), "{text}");
    }
}
