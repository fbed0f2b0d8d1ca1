//! `changes`: what became of pages, in the order it was committed: a table, lines of JSON, or an Atom feed.

use std::{fmt::Write, path::Path};

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};
use serde::Serialize;
use store::{census::Census, collection::Collection, history::ChangeFilter};

use super::{Context, decisions::known_site, spider};
use crate::{
    cli::ChangesArgs,
    crawling::shell_word,
    results::{is_stdout, not_beside_json},
    terminal::{json_line, print},
};
use collection::{
    archived::Archived,
    changes::{ChangePage, ChangeRow, Changes, ChangesEnd},
};
use config::{
    Kind,
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    moments::Moment,
    times,
};

mod atom;

/// Words and title behind kind, time and size: a line fits 80 columns. URLs have a line of their own, whole.
const ABOUT_WIDTH: usize = 37;
/// Changes shown to people when they do not say how many.
const LIMIT: u32 = 50;

pub fn run(context: &Context, args: &ChangesArgs) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let filter = filter(&census, args)?;
    let bytes_max = context.config_to_read().0.fetch.body_bytes_max;
    let archived = Archived::new(&collection, &census, bytes_max)?;
    let changes = Changes::new(&census, &archived, filter, args.after, args.words)?;
    match &args.atom {
        Some(path) => {
            not_beside_json("--atom", path, context.json)?;
            let page = changes.page(args.limit.unwrap_or(LIMIT))?;
            atom::write(&census, args, &page.rows, path)?;
            tell_of_feed(context, &page, path)?;
        }
        None if context.json => print_lines(&changes, args.limit)?,
        None => {
            let page = changes.page(args.limit.unwrap_or(LIMIT))?;
            print(&table(&page, &going_on(context, args), RealClock::new().now()))?;
        }
    }
    Ok(Exit::Done)
}

fn filter(census: &Census, args: &ChangesArgs) -> Result<ChangeFilter, Failure> {
    let named = args.spider.as_deref().map(|name| spider::find(census.spiders()?, name));
    Ok(ChangeFilter {
        spider: named.transpose()?.map(|row| row.id),
        site: args.site.as_deref().map(|site| known_site(census, site)).transpose()?,
        since: args.since.as_deref().map(moment).transpose()?,
    })
}

/// What was written into a feed.
#[derive(Serialize)]
struct FeedWritten {
    file: String,
    changes: usize,
    earlier: bool,
    #[serde(flatten)]
    end: ChangesEnd,
}

fn tell_of_feed(context: &Context, page: &ChangePage, path: &Path) -> Result<(), Failure> {
    let file = path.display().to_string();
    let (changes, earlier) = (page.rows.len(), page.earlier);
    if context.json {
        return print(&json_line(&FeedWritten { file, changes, earlier, end: page.end })?);
    }
    if !is_stdout(path) {
        context.say(&format!("{} written to {file}", some(changes as u64, "change")));
        if earlier {
            context.say("earlier ones are left out: --limit N takes more");
        }
    }
    Ok(())
}

/// An object on each line as it is found; the last line says where to go on.
fn print_lines(changes: &Changes<'_>, limit: Option<u32>) -> Result<(), Failure> {
    let print_rows = |rows: &[ChangeRow]| -> Result<(), Failure> {
        print(&rows.iter().map(json_line).collect::<Result<String, Failure>>()?)
    };
    let end = match limit {
        Some(limit) => {
            let page = changes.page(limit)?;
            print_rows(&page.rows)?;
            page.end
        }
        None => changes.each(|rows| print_rows(&rows))?,
    };
    print(&json_line(&end)?)
}

fn moment(text: &str) -> Result<Timestamp, Failure> {
    let moment = Moment::parse(text, RealClock::new().now());
    moment.map(|moment| moment.from).map_err(|why| {
        Failure::usage(
            format!("cannot tell a time by {text:?}: {why}"),
            "give --since 2026-11-16, --since yesterday or --since \"3 days ago\"",
        )
    })
}

/// The command that asks for the same again.
fn going_on(context: &Context, args: &ChangesArgs) -> String {
    let mut words = vec!["harvestman".to_owned()];
    if context.named {
        words.extend(["-C".to_owned(), shell_word(&context.folder.display().to_string())]);
    }
    words.push("changes".to_owned());
    for (flag, value) in [("--spider", &args.spider), ("--site", &args.site)] {
        words.extend(value.iter().flat_map(|value| [flag.to_owned(), shell_word(value)]));
    }
    if args.words {
        words.push("--words".to_owned());
    }
    words.join(" ")
}

fn table(page: &ChangePage, command: &str, now: Timestamp) -> String {
    let mut text = String::new();
    if page.earlier {
        text.push_str("… earlier ones are left out: --limit N shows more\n");
    }
    for row in &page.rows {
        let size = if row.kind == Kind::Gone { String::new() } else { bytes(row.bytes) };
        let (kind, at) = (row.kind.word(), times::iso(row.at));
        let (title, count) = (printable(&row.title), word_count(row));
        let about: Vec<&str> = [count.as_deref().unwrap_or_default(), title.as_ref()]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect();
        let about = fit(&about.join("; "), ABOUT_WIDTH).into_owned();
        let line = format!("{kind:<8}  {at}  {size:>9}  {about}");
        let _ = writeln!(text, "{}\n    {}", line.trim_end(), printable(&row.url));
    }
    let _ = match page.rows.last() {
        None => writeln!(text, "no changes"),
        Some(last) => writeln!(
            text,
            "{}, the last {}",
            some(page.rows.len() as u64, "change"),
            times::ago(last.at, now)
        ),
    };
    let more = if page.end.more { "there are more; " } else { "" };
    let _ = writeln!(text, "{more}continue with: {} --after {}", printable(command), page.end.next);
    text
}

/// `+12 -3 words`.
fn word_count(row: &ChangeRow) -> Option<String> {
    let (added, removed) = (row.words_added?, row.words_removed?);
    Some(format!("+{} -{} words", number(added as u64), number(removed as u64)))
}
