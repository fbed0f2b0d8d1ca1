//! `changes`: what became of pages, in the order it was committed: a table, lines of JSON, or an Atom feed.
//!
//! Every change has a number (`seq`) that only grows. Whoever goes on behind the last number they were told
//! is told everything once, whatever clocks did in between.

use std::fmt::Write;

use gatherer::Gathered;
use harvester::clock::RealClock;
use model::{Change, Clock, Exchange, Timestamp};
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    history::{ChangeEntry, ChangeFilter},
};

use super::{Context, decisions::known_site, spider};
use crate::{
    cli::ChangesArgs,
    crawling::shell_word,
    results::{is_stdout, not_beside_json},
    terminal::print,
};
use collection::{
    archived::{Archived, gathered},
    diff::{Counts, Diff},
};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    moments::Moment,
    times,
};
use model::{fit, printable};

mod atom;

/// Changes shown to people when they do not say how many.
const LIMIT: u32 = 50;

/// Changes held at once when all are asked for.
const PIECE: u32 = 500;

pub fn run(context: &Context, args: &ChangesArgs) -> Result<Exit, Failure> {
    let asked = Asked::new(context, args)?;
    match &args.atom {
        Some(path) => {
            not_beside_json("--atom", path, context.json)?;
            let told = asked.page(args.limit.unwrap_or(LIMIT))?;
            atom::write(&asked, &told.entries, path)?;
            let (count, file) = (told.entries.len() as u64, path.display().to_string());
            if context.json {
                let mut answer = cursor(told.reached, told.later);
                answer["file"] = file.into();
                answer["changes"] = count.into();
                answer["earlier"] = told.earlier.into();
                print(&format!("{answer}\n"))?;
            } else if !is_stdout(path) {
                context.say(&format!("{} written to {file}", some(count, "change")));
                if told.earlier {
                    context.say("earlier ones are left out: --limit N takes more");
                }
            }
        }
        None if context.json => asked.print_lines(args.limit)?,
        None => {
            let told = asked.page(args.limit.unwrap_or(LIMIT))?;
            print(&table(&told, &going_on(context, args), RealClock::new().now()))?;
        }
    }
    Ok(Exit::Done)
}

/// What is asked for.
struct Asked<'a> {
    args: &'a ChangesArgs,
    census: Census,
    collection: Collection,
    filter: ChangeFilter,
    /// Nothing at or before this place is told, …
    after: i64,
    /// … and nothing behind this one: what is committed meanwhile waits for the next call.
    upto: i64,
    bytes_max: u64,
}

/// A change as it is told.
struct Told {
    entry: ChangeEntry,
    words: Option<Words>,
}

/// What both versions say.
struct Words {
    title: String,
    counts: Counts,
}

/// Changes in the order of commits.
struct Page {
    entries: Vec<Told>,
    /// There are earlier ones that would have fitted the question.
    earlier: bool,
    /// There are later ones.
    later: bool,
    reached: i64,
}

impl Asked<'_> {
    fn new<'a>(context: &Context, args: &'a ChangesArgs) -> Result<Asked<'a>, Failure> {
        let collection = Collection::open(&context.folder)?;
        let census = Census::open(&collection)?;
        let since = args.since.as_deref().map(moment).transpose()?;
        let named = args.spider.as_deref().map(|name| spider::find(census.spiders()?, name));
        let filter = ChangeFilter {
            spider: named.transpose()?.map(|row| row.id),
            site: args.site.as_deref().map(|site| known_site(&census, site)).transpose()?,
            since,
        };
        let after = match (args.after, since) {
            (Some(after), _) => after,
            (None, Some(since)) => census.seq_before(since)?,
            (None, None) => 0,
        };
        let upto = census.last_seq()?.max(after);
        let bytes_max = context.config_to_read().0.fetch.body_bytes_max;
        Ok(Asked { args, census, collection, filter, after, upto, bytes_max })
    }

    /// The newest, or behind a given place the first.
    fn page(&self, limit: u32) -> Result<Page, Failure> {
        let wanted = limit.saturating_add(1);
        let entries = match self.args.after {
            Some(_) => self.first(wanted)?,
            None => self.newest(wanted)?,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let over = entries.len() > limit;
        let from_start = self.args.after.is_some();
        let kept: Vec<ChangeEntry> = match from_start {
            true => entries.into_iter().take(limit).collect(),
            false => entries.into_iter().skip(usize::from(over)).collect(),
        };
        let reached = match kept.last() {
            Some(last) if over && from_start => last.seq,
            _ => self.upto,
        };
        let entries = kept.into_iter().map(|entry| self.told(entry)).collect::<Result<_, _>>()?;
        Ok(Page { entries, earlier: over && !from_start, later: over && from_start, reached })
    }

    fn first(&self, max: u32) -> Result<Vec<ChangeEntry>, Failure> {
        let (mut entries, mut after) = (Vec::new(), self.after);
        while after < self.upto && entries.len() < max as usize {
            let left = max - entries.len() as u32;
            let piece = self.census.changes_after(after, self.upto, &self.filter, left)?;
            entries.extend(piece.entries);
            after = piece.reached;
        }
        Ok(entries)
    }

    fn newest(&self, max: u32) -> Result<Vec<ChangeEntry>, Failure> {
        let (mut entries, mut before) = (Vec::new(), self.upto + 1);
        while before > self.after + 1 && entries.len() < max as usize {
            let left = max - entries.len() as u32;
            let piece = self.census.changes_before(before, self.after, &self.filter, left)?;
            entries.extend(piece.entries);
            before = piece.reached;
        }
        entries.reverse();
        Ok(entries)
    }

    /// An object on each line as it is found; the last line says where to go on.
    fn print_lines(&self, limit: Option<u32>) -> Result<(), Failure> {
        if let Some(limit) = limit {
            let page = self.page(limit)?;
            let lines: String = page.entries.iter().map(Told::line).collect();
            return print(&format!("{lines}{}\n", cursor(page.reached, page.later)));
        }
        let mut after = self.after;
        while after < self.upto {
            let piece = self.census.changes_after(after, self.upto, &self.filter, PIECE)?;
            let mut lines = String::new();
            for entry in piece.entries {
                lines.push_str(&self.told(entry)?.line());
            }
            print(&lines)?;
            after = piece.reached;
        }
        print(&format!("{}\n", cursor(self.upto, false)))
    }

    fn told(&self, entry: ChangeEntry) -> Result<Told, Failure> {
        let words = match self.args.words {
            true => self.words(&entry)?,
            false => None,
        };
        Ok(Told { entry, words })
    }

    /// What came and went between the version before and this one; of a new page, all its words.
    fn words(&self, entry: &ChangeEntry) -> Result<Option<Words>, Failure> {
        let archived = Archived::new(&self.collection, &self.census, self.bytes_max);
        let (Some(now), true) = (entry.record, entry.change.is_version()) else { return Ok(None) };
        let Some(new) = readable(archived.exchange(now))? else { return Ok(None) };
        let old = match (entry.before, entry.change) {
            (Some(before), _) => readable(archived.exchange(before))?.map(|old| old.text),
            (None, Change::First) => Some(String::new()),
            (None, _) => None,
        };
        let Some(old) = old else { return Ok(None) };
        let (old, lines): (Vec<&str>, Vec<&str>) =
            (old.lines().collect(), new.text.lines().collect());
        let counts = Diff::of(&old, &lines, 0).counts;
        Ok(Some(Words { title: new.title, counts }))
    }
}

impl Told {
    fn kind(&self) -> &'static str {
        match self.entry.change {
            Change::First => "new",
            Change::Gone => "gone",
            Change::Returned => "returned",
            _ => "changed",
        }
    }

    fn title(&self) -> &str {
        let read = self.words.as_ref().map(|words| words.title.as_str());
        read.filter(|title| !title.is_empty()).unwrap_or(&self.entry.title)
    }

    fn line(&self) -> String {
        let entry = &self.entry;
        let mut line = json!({
            "seq": entry.seq, "kind": self.kind(), "at": times::iso(entry.at), "url": entry.url,
            "site": entry.site, "spider": entry.spider, "status": entry.status,
            "title": self.title(), "bytes": entry.body_bytes, "record": entry.record,
        });
        if let Some(words) = &self.words {
            line["words_added"] = Value::from(words.counts.words_added);
            line["words_removed"] = Value::from(words.counts.words_removed);
        }
        format!("{line}\n")
    }

    /// `+12 -3 words`.
    fn count(&self) -> Option<String> {
        let counts = &self.words.as_ref()?.counts;
        let (added, removed) =
            (number(counts.words_added as u64), number(counts.words_removed as u64));
        Some(format!("+{added} -{removed} words"))
    }
}

/// What can be read from a version; `None` where it is no longer kept, which is no reason to stop telling.
fn readable(exchange: Result<Exchange, Failure>) -> Result<Option<Gathered>, Failure> {
    match exchange {
        Ok(exchange) => Ok(Some(gathered(&exchange))),
        Err(failure) if failure.code == Exit::Usage => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn cursor(reached: i64, more: bool) -> Value {
    json!({ "next_after": reached, "more": more })
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

fn table(page: &Page, command: &str, now: Timestamp) -> String {
    let mut text = String::new();
    if page.earlier {
        text.push_str("… earlier ones are left out: --limit N shows more\n");
    }
    for told in &page.entries {
        let entry = &told.entry;
        let size = if entry.change.is_version() { bytes(entry.body_bytes) } else { String::new() };
        let _ = writeln!(
            text,
            "{:<8}  {}  {:>9}  {}",
            told.kind(),
            times::iso(entry.at),
            size,
            printable(&entry.url)
        );
        let title = printable(told.title());
        let count = told.count();
        let second: Vec<&str> = [title.as_ref(), count.as_deref().unwrap_or_default()]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect();
        if !second.is_empty() {
            let _ = writeln!(text, "{:43}{}", "", fit(&second.join("; "), 100));
        }
    }
    let _ = match page.entries.last() {
        None => writeln!(text, "no changes"),
        Some(last) => writeln!(
            text,
            "{}, the last {}",
            some(page.entries.len() as u64, "change"),
            times::ago(last.entry.at, now)
        ),
    };
    let more = if page.later { "there are more; " } else { "" };
    let _ = writeln!(text, "{more}go on with: {} --after {}", printable(command), page.reached);
    text
}
