//! `report broken`: pages that are not there, and the pages whose links have to be changed for it.

use std::{borrow::Cow, fmt::Write};

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};
use store::{
    census::{BrokenFilter, Census},
    collection::Collection,
};

use super::super::{
    Context,
    decisions::known_site,
    links::{ANCHOR_WIDTH, IndexNotices, URL_WIDTH, status_text},
};
use crate::{
    cli::BrokenArgs,
    csv::{not_with_json, write_row},
    terminal::{print, print_json},
};
use collection::links::{BrokenPage, BrokenPages, BrokenWanted, broken};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
    times,
};

/// Referrers named of each page; `links URL --in` has all.
const REFERRERS_MAX: usize = 5;
/// The URL of a broken page has a line of 80 columns behind its status.
const BROKEN_URL_WIDTH: usize = 72;
/// Where referrers begin.
const INDENT: usize = 8;

pub fn run(context: &Context, args: &BrokenArgs) -> Result<Exit, Failure> {
    not_with_json(args.csv, context.json)?;
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let site = args.site.as_deref().map(|site| known_site(&census, site)).transpose()?;
    let wanted = BrokenWanted {
        filter: BrokenFilter { site, any: args.any },
        limit: args.limit,
        after: args.after.clone(),
        referrers_max: REFERRERS_MAX,
    };
    let mut notices = IndexNotices::new(context);
    let found = broken(&collection, &census, &wanted, &mut |step| notices.step(step))?;
    if context.json {
        print_json(&found)?;
    } else if args.csv {
        print(&csv(&found))?;
    } else if found.rows.is_empty() {
        context.say("no broken pages");
    } else {
        print(&text(&found, RealClock::new().now()))?;
        if found.rows.iter().any(|page| page.referrers.next.is_some()) {
            context.say("see all pages that link to a URL with: harvestman links URL --in");
        }
    }
    Ok(Exit::Done)
}

fn text(found: &BrokenPages, now: Timestamp) -> String {
    let mut text = some(found.total, "broken page");
    let shown = found.rows.len() as u64;
    if found.total != shown {
        let _ = write!(text, ", {} shown", number(shown));
    }
    text.push('\n');
    for page in &found.rows {
        write_page(&mut text, page, now);
    }
    if let Some(next) = &found.next {
        let _ = writeln!(text, "\n… more with --limit N, or --after {next}");
    }
    text
}

fn write_page(text: &mut String, page: &BrokenPage, now: Timestamp) {
    let url = printable(&page.url);
    let _ = writeln!(text, "\n{:>6}  {}", status_text(page.status), fit(&url, BROKEN_URL_WIDTH));
    let mut about = match &page.failure {
        Some(failure) => format!("{}; ", printable(failure)),
        None => String::new(),
    };
    if let Some(since) = page.since {
        let _ = write!(about, "since {}; ", times::iso(since));
    }
    if let Some(visited) = page.visited {
        let _ = write!(about, "visited {}; ", times::ago(visited, now));
    }
    let _ = match page.referrers.total.unwrap_or_default() {
        0 => write!(about, "no page links to it"),
        pages => write!(about, "linked from {}:", some(pages, "page")),
    };
    let _ = writeln!(text, "{:INDENT$}{}", "", fit(&about, BROKEN_URL_WIDTH));
    for row in &page.referrers.rows {
        let (url, anchor) = (printable(&row.url), printable(&row.anchor));
        let line = format!(
            "{:INDENT$}{:<URL_WIDTH$}  {}",
            "",
            fit(&url, URL_WIDTH),
            fit(&anchor, ANCHOR_WIDTH)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let total = page.referrers.total.unwrap_or_default();
    let hidden = total.saturating_sub(page.referrers.rows.len() as u64);
    if hidden > 0 {
        let _ = writeln!(text, "{:INDENT$}… and {} more", "", number(hidden));
    }
}

/// A line for each referrer; one for a page without any.
fn csv(found: &BrokenPages) -> String {
    let mut text =
        String::from("url,status,failure,state,since,visited,referrers,referrer,anchor\r\n");
    for page in &found.rows {
        let mut referrers = page.referrers.rows.iter();
        let mut next = referrers.next();
        loop {
            let (url, anchor) = next.map_or(("", ""), |row| (&row.url, &row.anchor));
            let moment = |at: Option<Timestamp>| Cow::from(at.map(times::iso).unwrap_or_default());
            let cells = [
                Cow::from(&page.url),
                Cow::from(page.status.map(|status| status.to_string()).unwrap_or_default()),
                Cow::from(page.failure.as_deref().unwrap_or_default()),
                Cow::from(page.state.word()),
                moment(page.since),
                moment(page.visited),
                Cow::from(page.referrers.total.unwrap_or_default().to_string()),
                Cow::from(url),
                Cow::from(anchor),
            ];
            write_row(&mut text, cells);
            next = referrers.next();
            if next.is_none() {
                break;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use collection::links::{LinkRow, LinkRows};
    use model::{LinkKind, PageState};

    use super::*;

    #[test]
    fn lines_fit_a_terminal_and_drive_none() {
        let long = format!("https://example.org/{}", "long/".repeat(40));
        let row = LinkRow {
            url: long.clone(),
            anchor: format!("\u{1b}[2J {}", "many words ".repeat(40)),
            kind: LinkKind::A,
            nofollow: false,
            links: 1,
            status: Some(200),
            failure: None,
            state: Some(PageState::Fetched),
            current: true,
            at: Timestamp(0),
        };
        let page = BrokenPage {
            url: long,
            status: Some(0),
            failure: Some("connection-refused".to_owned()),
            state: PageState::Failing,
            since: Some(Timestamp(0)),
            visited: Some(Timestamp(0)),
            referrers: LinkRows { total: Some(1_234_567), rows: vec![row], next: None },
        };
        let found = BrokenPages {
            total: 2,
            rows: vec![page],
            next: Some("1-18446744073709551615".to_owned()),
        };
        let text = text(&found, Timestamp(90_000_000));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("1,234,566 more") && !text.contains('\u{1b}'), "{text}");
        let csv = csv(&found);
        assert_eq!(csv.lines().count(), 2, "{csv}");
        assert!(csv.lines().all(|line| line.split(',').count() == 9), "{csv}");
    }
}
