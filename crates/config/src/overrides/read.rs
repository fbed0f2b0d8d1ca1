//! `[[override]]` tables to [`Overrides`]; every mistake with its line.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    sync::Arc,
};

use gatherer::Selection;
use model::CrawlUrl;
use seeder::{Condition, Conditions};

use super::{
    super::{
        Written,
        file::meant,
        item::{Entry, Item},
        keys::{Key, Reach},
        origin::Origin,
        suggest::nearest,
        value::{Raw, Value, quoted},
    },
    OVERRIDES_MAX, Overrides, Table, Tables,
};
use crate::failure::Failure;

/// Of a list of pages: room for a hundred thousand URLs.
const LIST_BYTES_MAX: u64 = 16_000_000;
const LIST_URLS_MAX: usize = 100_000;
const CONDITION: &str = "write a condition as in crawl.rules, such as host www.example.org";

pub fn read(items: Vec<Item>, mistakes: &mut Vec<Failure>) -> Overrides {
    if let Some(item) = items.get(OVERRIDES_MAX) {
        let what = format!("more than {OVERRIDES_MAX} tables [[override]]");
        let what_to_do = "write fewer: a condition can name many hosts, and file = a list of pages";
        mistakes.push(item.wrong(item.line, &what, what_to_do));
    }
    let mut builder = Builder::default();
    for item in items.into_iter().take(OVERRIDES_MAX) {
        builder.add(item, mistakes);
    }
    builder.finish()
}

#[derive(Default)]
struct Builder {
    read: Tables,
    conditions: Vec<Condition>,
}

impl Builder {
    fn add(&mut self, mut item: Item, mistakes: &mut Vec<Failure>) {
        let at = self.read.tables.len();
        let text = item.entries.iter().map(|Entry { name, raw, .. }| format!("{name} = {raw}"));
        let mut table = Table { line: item.line, text: text.collect(), ..Table::default() };
        table.spider = item.text("spider", mistakes).map(|(name, _)| name);
        let (when, file) = (item.take("when"), item.text("file", mistakes));
        let about_sites = match (when, file) {
            (Some(entry), None) => {
                let conditions = conditions(&item, entry, mistakes);
                let about_sites = conditions.iter().all(Condition::is_about_sites);
                self.read.owners.extend(conditions.iter().map(|_| at));
                self.conditions.extend(conditions);
                about_sites
            }
            (None, Some((name, line))) => {
                for url in listed(&item, &name, line, mistakes) {
                    self.read.listed.entry(url.fingerprint()).or_default().push(at);
                }
                false
            }
            (both, _) => {
                let what = if both.is_some() { "both" } else { "neither" };
                let what = format!("an [[override]] has {what} `when` and `file`");
                let what = if both.is_some() { what } else { what.replace(" and ", " nor ") };
                mistakes.push(item.wrong(item.line, &what, "write one of them: for what it holds"));
                true
            }
        };
        if item.entries.is_empty() {
            let what_to_do = "write a key such as etiquette.delay = \"10s\" below it";
            mistakes.push(item.wrong(item.line, "an [[override]] changes nothing", what_to_do));
        }
        for entry in std::mem::take(&mut item.entries) {
            if let Err(failure) = set(&mut table, &item, entry, about_sites) {
                mistakes.push(failure);
            }
        }
        self.read.path = item.path.to_path_buf();
        self.read.tables.push(table);
    }

    fn finish(mut self) -> Overrides {
        if self.read.tables.is_empty() {
            return Overrides::default();
        }
        self.read.conditions = Conditions::new(self.conditions);
        Overrides(Some(Arc::new(self.read)))
    }
}

/// One condition, or a list of which any.
fn conditions(item: &Item, entry: Entry, mistakes: &mut Vec<Failure>) -> Vec<Condition> {
    let texts = match entry.raw {
        Raw::Text(text) => vec![(text, entry.line)],
        Raw::List(items) => items,
        _ => Vec::new(),
    };
    if texts.is_empty() {
        mistakes.push(item.wrong(entry.line, "when is no condition", CONDITION));
    }
    let mut read = Vec::new();
    for (text, line) in texts {
        match text.parse::<Condition>() {
            Ok(condition) if condition.asks_type() || condition.asks_anchor() => {
                let what = "when asks for the type of an answer or the text of a link";
                let what_to_do =
                    "write it without: an override is chosen before there is an answer";
                mistakes.push(item.wrong(line, what, what_to_do));
            }
            Ok(condition) => read.push(condition),
            Err(error) => {
                let shown: String = text.chars().take(200).collect();
                let what = format!("when = {}: {error}", quoted(&shown));
                mistakes.push(item.wrong(line, &what, CONDITION));
            }
        }
    }
    read
}

fn set(table: &mut Table, item: &Item, entry: Entry, about_sites: bool) -> Result<(), Failure> {
    let Entry { name, raw, line } = entry;
    let Some(key) = Key::named(&name) else {
        if let Some(now) = Key::formerly(&name) {
            let what = format!("{name} is now called {}", now.name);
            return Err(item.wrong(line, &what, &format!("write {}", now.name)));
        }
        let what_to_do = match nearest(&name, ["when", "file", "spider"]) {
            Some(near) => format!("did you mean {near:?}?"),
            None => name.split_once('.').map_or_else(
                || "write whole names such as etiquette.delay".to_owned(),
                |(section, short)| meant(section, short),
            ),
        };
        let what = format!("unknown key {name:?} in [[override]]");
        return Err(item.wrong(line, &what, &what_to_do));
    };
    if key.reach < Reach::Site {
        let what = format!("{name} cannot be set for single sites or pages");
        let what_to_do = match key.reach {
            Reach::Collection => "set it for the whole collection, in its section",
            _ => "set it for a spider, or in its section",
        };
        return Err(item.wrong(line, &what, what_to_do));
    }
    if key.reach == Reach::Site && !about_sites {
        let what = format!("{name} is about whole sites, and the condition about pages");
        let what_to_do = "ask only for host, domain or suffix in `when`";
        return Err(item.wrong(line, &what, what_to_do));
    }
    let origin = Origin::File { path: item.path.to_path_buf(), line };
    let value = Written { key, raw, origin }.value()?;
    // Each selector was read by itself; together they may still be too many.
    if let (true, Value::List(selectors)) = (key.name.starts_with("revisit."), &value)
        && let Err(what) = Selection::new(selectors, &[])
    {
        return Err(item.wrong(line, &what, "write fewer selectors"));
    }
    let has_room = table.set(key.name, &value);
    assert!(has_room, "no override takes {}, which the table of keys promises", key.name);
    if key.name == "revisit.period_max"
        || key.name == "revisit.period_min" && table.bounds_line == 0
    {
        table.bounds_line = line;
    }
    Ok(())
}

/// The pages that a file lists, one URL a line; `#` begins a remark.
fn listed(item: &Item, name: &str, line: usize, mistakes: &mut Vec<Failure>) -> Vec<CrawlUrl> {
    let path = item.folder().join(name);
    match urls(&path) {
        Ok((urls, bad)) => {
            for (at, text, why) in bad {
                let text: String = text.chars().take(200).collect();
                mistakes.push(Failure::usage(
                    format!("{} line {at}: {}: {why}", path.display(), quoted(&text)),
                    "write one whole URL a line, such as https://example.org/news.html",
                ));
            }
            urls
        }
        Err(why) => {
            let what = format!("file = {}: {why}", quoted(name));
            let what_to_do = "name a file with one URL per line, next to harvest.toml";
            mistakes.push(item.wrong(line, &what, what_to_do));
            Vec::new()
        }
    }
}

type Listed = (Vec<CrawlUrl>, Vec<(usize, String, String)>);

fn urls(path: &Path) -> Result<Listed, String> {
    let file = File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let (mut urls, mut bad) = (Vec::new(), Vec::new());
    let mut read = 0;
    for (at, line) in BufReader::new(file.take(LIST_BYTES_MAX + 1)).lines().enumerate() {
        let line = line.map_err(|error| format!("it cannot be read: {error}"))?;
        read += line.len() as u64 + 1;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match CrawlUrl::parse(text) {
            Ok(url) => urls.push(url),
            Err(error) => bad.push((at + 1, text.to_owned(), error.to_string())),
        }
        if urls.len() + bad.len() > LIST_URLS_MAX || read > LIST_BYTES_MAX {
            return Err(format!("it lists more than {LIST_URLS_MAX} URLs"));
        }
    }
    Ok((urls, bad))
}
