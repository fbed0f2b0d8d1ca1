//! `links`: who links to a page, and where its own links lead.

use std::{borrow::Cow, fmt::Write};

use harvester::clock::RealClock;
use model::{Clock, LinkKind, StoreError, Timestamp, fit, printable};
use seeder::parse_seed;
use store::{census::Census, collection::Collection, links::index::Step};

use super::{Context, known_as, story};
use crate::{
    cli::LinksArgs,
    csv::{not_with_json, write_row},
    terminal::{print, print_json},
};
use collection::links::{LinkRow, LinkRows, PageLinks, Wanted, links_of};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    setup, times,
};

/// A status, a URL and an anchor text take 80 columns.
pub(super) const URL_WIDTH: usize = 46;
pub(super) const ANCHOR_WIDTH: usize = 24;
/// Of lines that are a URL and little else.
const LINE_WIDTH: usize = 80;

pub fn run(context: &Context, args: &LinksArgs) -> Result<Exit, Failure> {
    not_with_json(args.csv, context.json)?;
    let typed = parse_seed(&args.url).map_err(|why| Failure::no_url(&args.url, &why))?;
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let (config, _) = context.config_to_read();
    let (url, story) = known_as(&census, &setup::form(&config)?, typed)?;
    let both = args.incoming == args.outgoing;
    let wanted = Wanted {
        incoming: both || args.incoming,
        outgoing: both || args.outgoing,
        past: args.all,
        limit: usize::try_from(args.limit).unwrap_or(usize::MAX),
        after: args.after.clone(),
    };
    let mut notices = IndexNotices::new(context);
    let links = links_of(&collection, &census, &url, &wanted, &mut |step| notices.step(step))?;
    let is_linked = links.incoming.as_ref().is_none_or(|rows| rows.total != Some(0));
    if story.is_none() && !is_linked {
        return Err(story::unknown(&census, &url)?);
    }
    match (context.json, args.csv) {
        (true, _) => print_json(&links)?,
        (_, true) => print(&csv(&links))?,
        _ => print(&text(&links, args.all))?,
    }
    Ok(Exit::Done)
}

/// A line a second while the index of links is brought up to date; none when that takes less.
pub(super) struct IndexNotices<'a> {
    context: &'a Context,
    clock: RealClock,
    last: Timestamp,
}

impl<'a> IndexNotices<'a> {
    pub(super) fn new(context: &'a Context) -> IndexNotices<'a> {
        let clock = RealClock::new();
        IndexNotices { context, last: clock.now(), clock }
    }

    pub(super) fn step(&mut self, step: Step) -> Result<(), StoreError> {
        let now = self.clock.now();
        if now.since(self.last).as_millis() < 1_000 {
            return Ok(());
        }
        self.last = now;
        self.context.say(&match step {
            Step::Reading(done, all) => {
                format!("indexing links: {} of {} …", bytes(done), bytes(all))
            }
            Step::Writing | Step::Merging | Step::Publishing => {
                "indexing links: writing the index …".to_owned()
            }
        });
        Ok(())
    }
}

fn text(links: &PageLinks, past: bool) -> String {
    let mut text = format!("{}\n", printable(&links.url));
    match links.state {
        Some(state) => {
            let status = status_text(links.status);
            let _ = writeln!(text, "{}, status {status}", state.word());
        }
        None => text.push_str("not in the collection\n"),
    }
    let verb = if past { "has been linked from" } else { "linked from" };
    if let Some(rows) = &links.incoming {
        write_rows(&mut text, verb, "--in", rows);
    }
    let verb = if past { "has linked to" } else { "links to" };
    if let Some(rows) = &links.outgoing {
        write_rows(&mut text, verb, "--out", rows);
    }
    text
}

/// `flag`: the direction, for going on.
fn write_rows(text: &mut String, verb: &str, flag: &str, found: &LinkRows) {
    let shown = found.rows.len() as u64;
    let _ = match found.total {
        Some(total) => write!(text, "\n{verb} {}", some(total, "page")),
        None => write!(text, "\n{verb} more pages than can be counted here"),
    };
    if found.total != Some(shown) {
        let _ = write!(text, ", {} shown", number(shown));
    }
    text.push('\n');
    if found.rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "status  {:<URL_WIDTH$}  anchor", "page");
    for row in &found.rows {
        let mut line = format!(
            "{:>6}  {:<URL_WIDTH$}  ",
            status_text(row.status),
            fit(&printable(&row.url), URL_WIDTH),
        );
        line.push_str(&fit(&note(row), ANCHOR_WIDTH));
        let _ = writeln!(text, "{}", fit(line.trim_end(), LINE_WIDTH));
    }
    if let Some(next) = &found.next {
        let _ = writeln!(text, "… more with --limit N, or {flag} --after {next}");
    }
}

/// The anchor text behind what is unusual about the link.
fn note(row: &LinkRow) -> String {
    let mut note = String::new();
    if !row.current {
        note.push_str("(past) ");
    }
    if row.kind != LinkKind::A {
        let _ = write!(note, "({}) ", kind_word(row.kind));
    }
    if row.nofollow {
        note.push_str("(nofollow) ");
    }
    note.push_str(&printable(&row.anchor));
    note
}

pub(super) fn status_text(status: Option<u16>) -> String {
    match status {
        None => "-".to_owned(),
        Some(0) => "failed".to_owned(),
        Some(status) => status.to_string(),
    }
}

/// As in JSON.
fn kind_word(kind: LinkKind) -> String {
    word(&kind)
}

pub(super) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn csv(links: &PageLinks) -> String {
    let mut text = String::from(
        "direction,url,anchor,kind,nofollow,links,status,failure,state,current,at\r\n",
    );
    let ways = [("in", &links.incoming), ("out", &links.outgoing)];
    for (way, rows) in ways {
        for row in rows.iter().flat_map(|rows| &rows.rows) {
            let cells = [
                Cow::from(way),
                Cow::from(&row.url),
                Cow::from(&row.anchor),
                Cow::from(kind_word(row.kind)),
                Cow::from(row.nofollow.to_string()),
                Cow::from(row.links.to_string()),
                Cow::from(row.status.map(|status| status.to_string()).unwrap_or_default()),
                Cow::from(row.failure.as_deref().unwrap_or_default()),
                Cow::from(row.state.map_or("", |state| state.word())),
                Cow::from(row.current.to_string()),
                Cow::from(times::iso(row.at)),
            ];
            write_row(&mut text, cells);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_terminal_and_drive_none() {
        let row = LinkRow {
            url: format!("https://example.org/{}", "long/".repeat(40)),
            anchor: format!("\u{1b}[2J {}", "many words ".repeat(40)),
            kind: LinkKind::Redirect,
            nofollow: true,
            links: 2,
            status: Some(404),
            failure: None,
            state: None,
            current: false,
            at: Timestamp(0),
        };
        let mut text = String::new();
        let rows = LinkRows {
            total: Some(1_234_567),
            rows: vec![row],
            next: Some("12-123456789".to_owned()),
        };
        write_rows(&mut text, "has been linked from", "--in", &rows);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("(past) (redirect)") && !text.contains('\u{1b}'), "{text}");
    }
}
