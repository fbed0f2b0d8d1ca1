//! What volumes do not hold and people would have to enter again: spiders, seeds, blocks, tombstones with their key,
//! lifted traps and mirrors. It is in the database, and once more in `state.jsonl` beside the volumes, so that a
//! database that is lost can be made again.
//!
//! One JSON object a line, replaced as a whole: written under another name, synced, renamed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::sql::{self, OptionalExtension, Sql, params};
use model::{Candidate, CrawlUrl, Frontier, PageTerms, SpiderId, StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    collection::Collection,
    frontier::{COLLECTION_ID, SqlFrontier, lifted_traps},
    migrate::schema_of,
    replicas::ReplicaChange,
    sql::{open_reader, store_error},
    tombstones::{self, Tombstone, bury},
};

/// Readers refuse what is newer.
const FORMAT: u32 = 1;
/// While a crawl runs, the file is written so often at most …
const SAVED_EVERY: Duration = Duration::from_secs(1);
/// … and a long one more seldom: a line takes about a microsecond.
const SAVED_EVERY_LINE: Duration = Duration::from_micros(20);
/// Seeds that enter the database in one transaction.
const TOGETHER: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Line {
    Collection {
        format: u32,
        id: Option<String>,
    },
    /// Of the last crawl, what its command line set of the configuration.
    Flags {
        values: Flags,
    },
    Spider(SpiderLine),
    Seed {
        url: String,
        spider: u32,
        depth: Option<u16>,
        period_ms: Option<u64>,
        found: i64,
    },
    Block {
        pattern: String,
        reason: String,
        created: i64,
    },
    TombstoneKey {
        key: String,
    },
    Tombstone {
        of: String,
        hash: String,
        created: i64,
    },
    LiftedTrap {
        site: String,
        pattern: String,
    },
    LiftedMirror {
        site: String,
    },
}

/// Key of the configuration to the values that were given for it.
pub type Flags = BTreeMap<String, Vec<String>>;

const FLAGS: &str = "flags";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SpiderLine {
    id: u32,
    name: String,
    created: i64,
    removed: Option<i64>,
    paused: bool,
    why: String,
    settings: BTreeMap<String, String>,
}

/// When the file has to be written.
#[derive(Debug, Default)]
pub(crate) struct StateFile {
    changed: bool,
    /// When it was last written, and how long it was.
    last: Option<(Timestamp, u32)>,
}

impl StateFile {
    /// The database has something that the file has not.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let waited = |(at, lines): (Timestamp, u32)| {
            now.since(at) >= SAVED_EVERY.max(SAVED_EVERY_LINE * lines)
        };
        self.changed && self.last.is_none_or(waited)
    }
}

impl SqlFrontier {
    /// Brings `state.jsonl` up to date, if something has changed.
    pub fn save_state(&mut self) -> Result<(), StoreError> {
        if !self.state.changed {
            return Ok(());
        }
        self.write_state()
    }

    /// Notes what the command line of a crawl sets: its rules are not all in harvest.toml.
    pub fn keep_flags(&mut self, flags: &Flags, now: Timestamp) -> Result<(), StoreError> {
        let text = serde_json::to_string(flags).unwrap_or_else(|_| "{}".to_owned());
        self.state.changed();
        self.change(now, |sql| put_meta(sql, FLAGS, &text))
    }

    /// What [`SqlFrontier::keep_flags`] noted last.
    pub fn kept_flags(&self) -> Result<Flags, StoreError> {
        let text = meta(&self.connection, FLAGS).map_err(|e| self.error(e))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// The same for a crawl, which comes by often: not more than a small share of its time.
    pub fn save_state_when_due(&mut self, now: Timestamp) -> Result<(), StoreError> {
        if !self.state.is_due(now) {
            return Ok(());
        }
        self.write_state()?;
        self.state.last = self.state.last.map(|(_, lines)| (now, lines));
        Ok(())
    }

    /// Writes `state.jsonl` in any case: a collection may come from a time before there was one.
    pub fn write_state(&mut self) -> Result<(), StoreError> {
        let Some(path) = file_beside(self.path()) else { return Ok(()) };
        let lines = read_lines(&self.connection).map_err(|e| self.error(e))?;
        replace(&path, &lines)?;
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        self.state = StateFile { changed: false, last: Some((Timestamp::ZERO, count)) };
        Ok(())
    }
}

/// Writes the file of the collection in `dir` from its database, which nobody has open; a new or damaged one is left
/// alone.
pub fn save_from(dir: &Path) -> Result<(), StoreError> {
    let database = Collection::at(dir).database();
    let sql = open_reader(&database)?;
    if schema_of(&sql, &database)? == 0 {
        return Err(StoreError::Missing { path: database });
    }
    let lines = read_lines(&sql).map_err(|e| store_error(&database, e))?;
    replace(&dir.join("state.jsonl"), &lines)
}

/// A database in memory has no file.
fn file_beside(database: &Path) -> Option<PathBuf> {
    (database != Path::new(":memory:")).then(|| database.with_file_name("state.jsonl"))
}

fn replace(path: &Path, lines: &[Line]) -> Result<(), StoreError> {
    let new = path.with_extension("jsonl.new");
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(&new)?);
        for line in lines {
            serde_json::to_writer(&mut file, line)?;
            file.write_all(b"\n")?;
        }
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&new, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|e| StoreError::io("write", path, e))
}

fn read_lines(sql: &Sql) -> sql::Result<Vec<Line>> {
    let mut lines = vec![Line::Collection { format: FORMAT, id: meta(sql, COLLECTION_ID)? }];
    let flags = meta(sql, FLAGS)?.and_then(|text| serde_json::from_str(&text).ok());
    lines.extend(
        flags.filter(|values: &Flags| !values.is_empty()).map(|values| Line::Flags { values }),
    );
    spiders(sql, &mut lines)?;
    seeds(sql, &mut lines)?;
    blocks(sql, &mut lines)?;
    forgotten(sql, &mut lines)?;
    for (site, pattern) in lifted_traps(sql)? {
        lines.push(Line::LiftedTrap { site, pattern });
    }
    let mut statement = sql.prepare("SELECT site FROM replicas WHERE state = 'lifted'")?;
    for site in statement.query_map([], |row| row.get(0))? {
        lines.push(Line::LiftedMirror { site: site? });
    }
    Ok(lines)
}

fn meta(sql: &Sql, name: &str) -> sql::Result<Option<String>> {
    sql.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}

fn spiders(sql: &Sql, lines: &mut Vec<Line>) -> sql::Result<()> {
    let mut statement = sql.prepare(
        "SELECT id, name, created, removed, paused, why, settings FROM spiders ORDER BY id",
    )?;
    let rows = statement.query_map([], |row| {
        let settings: String = row.get(6)?;
        Ok(Line::Spider(SpiderLine {
            id: row.get(0)?,
            name: row.get(1)?,
            created: row.get(2)?,
            removed: row.get(3)?,
            paused: row.get(4)?,
            why: row.get(5)?,
            settings: serde_json::from_str(&settings).unwrap_or_default(),
        }))
    })?;
    rows.for_each_into(lines)
}

fn seeds(sql: &Sql, lines: &mut Vec<Line>) -> sql::Result<()> {
    let mut statement = sql.prepare(
        "SELECT url, spider, depth, period, found FROM pages WHERE seed = 1 ORDER BY site, fp",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Line::Seed {
            url: row.get(0)?,
            spider: row.get(1)?,
            depth: row.get(2)?,
            period_ms: row.get::<Option<i64>>(3)?.map(i64::unsigned_abs),
            found: row.get(4)?,
        })
    })?;
    rows.for_each_into(lines)
}

fn blocks(sql: &Sql, lines: &mut Vec<Line>) -> sql::Result<()> {
    let mut statement =
        sql.prepare("SELECT pattern, reason, created FROM blocks ORDER BY pattern")?;
    let rows = statement.query_map([], |row| {
        Ok(Line::Block { pattern: row.get(0)?, reason: row.get(1)?, created: row.get(2)? })
    })?;
    rows.for_each_into(lines)
}

fn forgotten(sql: &Sql, lines: &mut Vec<Line>) -> sql::Result<()> {
    let Some(key) = meta(sql, tombstones::KEY)? else { return Ok(()) };
    lines.push(Line::TombstoneKey { key });
    let Some((_, all)) = tombstones::read(sql)? else { return Ok(()) };
    lines.extend(all.into_iter().map(|Tombstone { kind, hash, created }| Line::Tombstone {
        of: kind,
        hash: format!("{:032x}", u128::from_be_bytes(hash)),
        created: created.0,
    }));
    Ok(())
}

trait ForEachInto {
    fn for_each_into(self, lines: &mut Vec<Line>) -> sql::Result<()>;
}

impl<I: Iterator<Item = sql::Result<Line>>> ForEachInto for I {
    fn for_each_into(mut self, lines: &mut Vec<Line>) -> sql::Result<()> {
        self.try_for_each(|line| line.map(|line| lines.push(line)))
    }
}

/// What the user had lifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lifted {
    Trap { site: String, pattern: String },
    Mirror { site: String },
}

/// What came out of a file.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Restored {
    pub spiders: u64,
    pub seeds: u64,
    pub blocks: u64,
    /// Takedowns that stay in force.
    pub tombstones: u64,
    /// Sites and patterns of traps that were lifted, and sites that are no mirrors: to be lifted again when their
    /// sites are there.
    #[serde(skip)]
    pub lifted: Vec<Lifted>,
    /// Seeds and blocks by time, not entered yet.
    #[serde(skip)]
    pub entries: Vec<(Timestamp, Entry)>,
    /// Settings of the last crawl's command line, which the rules of the rebuild follow.
    pub flags: Flags,
    /// Lines that could not be read.
    pub unreadable: u64,
}

/// Something that holds from some moment on: what was found before is not judged by it.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Seed(Candidate),
    Block { pattern: String, reason: String },
}

/// Fills a new database from `state.jsonl`; `None` where there is no such file. Seeds and blocks are returned, to be
/// entered at their time.
pub fn restore(
    frontier: &mut SqlFrontier,
    path: &Path,
    now: Timestamp,
) -> Result<Option<Restored>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", path, error)),
    };
    let mut done = Restored::default();
    let mut spiders = BTreeMap::new();
    for text in BufReader::new(file).lines() {
        let text = text.map_err(|e| StoreError::io("read", path, e))?;
        match serde_json::from_str(&text) {
            Ok(Line::Collection { format, .. }) if format > FORMAT => {
                let detail = format!("it has format {format}, and this program reads {FORMAT}");
                return Err(StoreError::Corrupt { path: path.to_owned(), detail });
            }
            Ok(Line::Seed { url, spider, depth, period_ms, found }) => {
                let Ok(url) = CrawlUrl::stored(&url) else {
                    done.unreadable += 1;
                    continue;
                };
                let period = period_ms.map(Duration::from_millis);
                let terms = PageTerms { depth, period, ..PageTerms::default() };
                let seed = Entry::Seed(seed(url, SpiderId(spider), terms));
                done.seeds += 1;
                done.entries.push((Timestamp(found), seed));
            }
            Ok(Line::Block { pattern, reason, created }) => {
                done.blocks += 1;
                done.entries.push((Timestamp(created), Entry::Block { pattern, reason }));
            }
            Ok(Line::Flags { values }) => {
                frontier.keep_flags(&values, now)?;
                done.flags = values;
            }
            Ok(Line::LiftedTrap { site, pattern }) => {
                done.lifted.push(Lifted::Trap { site, pattern });
            }
            Ok(Line::LiftedMirror { site }) => done.lifted.push(Lifted::Mirror { site }),
            Ok(line) => {
                if let Line::Spider(spider) = &line {
                    spiders.insert(SpiderId(spider.id), Timestamp(spider.created));
                }
                frontier.change(now, |sql| put(sql, &line, &mut done))?;
            }
            Err(_) => done.unreadable += 1,
        }
    }
    for (at, entry) in &mut done.entries {
        // A page may have been found long before a spider had it for a seed.
        if let Entry::Seed(seed) = entry {
            *at = spiders.get(&seed.spider).map_or(*at, |created| (*at).max(*created));
        }
    }
    done.entries.sort_by_key(|(at, _)| *at);
    Ok(Some(done))
}

/// Enters seeds and blocks into the database.
pub fn enter(frontier: &mut SqlFrontier, entries: &[(Timestamp, Entry)]) -> Result<(), StoreError> {
    let Some((newest, _)) = entries.last() else { return Ok(()) };
    let seeds = entries.iter().filter_map(|(_, entry)| match entry {
        Entry::Seed(seed) => Some(seed.clone()),
        Entry::Block { .. } => None,
    });
    let seeds: Vec<Candidate> = seeds.collect();
    for seeds in seeds.chunks(TOGETHER) {
        frontier.admit(seeds, *newest)?;
    }
    frontier.change(*newest, |sql| {
        let mut insert = sql.prepare(
            "INSERT INTO blocks (pattern, reason, created) VALUES (?1, ?2, ?3) \
             ON CONFLICT (pattern) DO NOTHING",
        )?;
        for (created, entry) in entries {
            if let Entry::Block { pattern, reason } = entry {
                insert.execute(params![pattern, reason, created.0])?;
            }
        }
        Ok(())
    })
}

/// Lifts again what was lifted; a site that is not known has nothing to lift.
pub fn lift(
    frontier: &mut SqlFrontier,
    lifted: &[Lifted],
    now: Timestamp,
) -> Result<(), StoreError> {
    for one in lifted {
        match one {
            Lifted::Trap { site, pattern } => frontier.leave_alone(site, pattern, now)?,
            Lifted::Mirror { site } => {
                let change = ReplicaChange::Lift { site: site.clone() };
                frontier.change_replicas(&change, now)?;
            }
        }
    }
    Ok(())
}

fn seed(url: CrawlUrl, spider: SpiderId, terms: PageTerms) -> Candidate {
    Candidate { url, spider, level: 0, hops: 0, seed: true, terms, referrer: None }
}

fn put(sql: &Sql, line: &Line, done: &mut Restored) -> sql::Result<()> {
    match line {
        Line::Collection { id: Some(id), .. } => put_meta(sql, COLLECTION_ID, id),
        Line::TombstoneKey { key } => put_meta(sql, tombstones::KEY, key),
        Line::Spider(spider) => put_spider(sql, spider, done),
        Line::Tombstone { of, hash, created } => {
            let Ok(hash) = u128::from_str_radix(hash, 16) else {
                done.unreadable += 1;
                return Ok(());
            };
            done.tombstones += 1;
            let (kind, created) = (of.clone(), Timestamp(*created));
            bury(sql, &[Tombstone { kind, hash: hash.to_be_bytes(), created }])
        }
        _ => Ok(()),
    }
}

fn put_meta(sql: &Sql, name: &str, value: &str) -> sql::Result<()> {
    let text = "INSERT INTO meta (name, value) VALUES (?1, ?2) \
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    sql.execute(text, [name, value]).map(drop)
}

fn put_spider(sql: &Sql, spider: &SpiderLine, done: &mut Restored) -> sql::Result<()> {
    let SpiderLine { id, name, created, removed, paused, why, settings } = spider;
    let settings = serde_json::to_string(settings).unwrap_or_else(|_| "{}".to_owned());
    done.spiders += u64::from(removed.is_none());
    sql.execute(
        "INSERT INTO spiders (id, name, created, removed, paused, why, settings) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
         created = excluded.created, removed = excluded.removed, paused = excluded.paused, \
         why = excluded.why, settings = excluded.settings",
        params![id, name, created, removed, paused, why, settings],
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Command, SeedLine, SpiderChange, apply_to};

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn open(folder: &Path) -> SqlFrontier {
        fs::create_dir_all(folder).unwrap();
        SqlFrontier::open(&folder.join("crawl.db")).unwrap()
    }

    fn commands() -> Vec<Command> {
        let line =
            |url: &str, level| SeedLine { url: url.to_owned(), level, period_ms: Some(3_600_000) };
        let settings = BTreeMap::from([("crawl.depth".to_owned(), "3".to_owned())]);
        vec![
            Command::Spider { name: "news".into(), change: SpiderChange::Add { settings } },
            Command::Spider {
                name: "news".into(),
                change: SpiderChange::Pause { why: "later".into() },
            },
            Command::Seed {
                urls: Vec::new(),
                seeds: vec![line("http://a.example/", Some(2)), line("http://b.example/x", None)],
                spider: Some("news".into()),
            },
            Command::Block {
                patterns: vec![".ads.example".into()],
                reason: "spam".into(),
                remove: false,
            },
            Command::LiftTrap { site: "a.example".into(), pattern: None },
        ]
    }

    #[test]
    fn a_new_database_filled_from_the_file_writes_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = open(&dir.path().join("one"));
        for command in commands() {
            apply_to(&mut first, &command, NOW).unwrap();
        }
        let flags = Flags::from([("crawl.scope".to_owned(), vec!["any".to_owned()])]);
        first.keep_flags(&flags, NOW).unwrap();
        first.tombstone_key(NOW).unwrap();
        let stone = Tombstone { kind: "site".into(), hash: [7; 16], created: NOW };
        first.change(NOW, |sql| bury(sql, &[stone])).unwrap();
        first.save_state().unwrap();
        let written = dir.path().join("one/state.jsonl");
        let mut second = open(&dir.path().join("two"));
        let restored = restore(&mut second, &written, NOW).unwrap().unwrap();
        let counts = (restored.spiders, restored.seeds, restored.blocks, restored.tombstones);
        assert_eq!((counts, restored.unreadable), ((2, 2, 1, 1), 0), "{restored:?}");
        enter(&mut second, &restored.entries).unwrap();
        lift(&mut second, &restored.lifted, NOW).unwrap();
        second.write_state().unwrap();
        let text = fs::read_to_string(&written).unwrap();
        assert_eq!(text, fs::read_to_string(dir.path().join("two/state.jsonl")).unwrap());
        assert_eq!(text.lines().count(), 10, "{text}");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_counted_and_a_newer_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.jsonl");
        fs::write(&path, "{\"kind\":\"block\"}\nnonsense\n{\"kind\":\"dream\"}\n").unwrap();
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let restored = restore(&mut frontier, &path, NOW).unwrap().unwrap();
        assert_eq!(restored.unreadable, 3);
        fs::write(&path, "{\"kind\":\"collection\",\"format\":2,\"id\":null}\n").unwrap();
        let error = restore(&mut frontier, &path, NOW).unwrap_err();
        assert!(error.to_string().contains("format 2"), "{error}");
        let missing = dir.path().join("none.jsonl");
        assert_eq!(restore(&mut frontier, &missing, NOW).unwrap(), None);
    }
}
