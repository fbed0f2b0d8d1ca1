//! `harvest.toml` to raw values with their lines. Unknown sections and keys end here.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
    sync::Arc,
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Written, duplicate,
    item::{Entry, Item},
    keys::{KEYS, Key, sections},
    origin::Origin,
    suggest::nearest,
    value::Raw,
};
use crate::failure::{Failure, io_advice};

/// A configuration above this is something else under a wrong name; ten thousand overrides fit.
const FILE_BYTES_MAX: u64 = 4_000_000;

/// Lists of tables, written `[[override]]`.
const LISTS: [&str; 4] = ["override", "credential", "login", "webhook"];

/// What a file says: values of keys, and lists of tables.
#[derive(Debug, Default)]
pub struct Document {
    pub written: Vec<Written>,
    pub overrides: Vec<Item>,
    pub credentials: Vec<Item>,
    pub logins: Vec<Item>,
    pub webhooks: Vec<Item>,
}

impl From<Vec<Written>> for Document {
    fn from(written: Vec<Written>) -> Document {
        Document { written, ..Document::default() }
    }
}

/// What the file says; nothing when there is no file. Mistakes are left out and told.
pub fn read(path: &Path, mistakes: &mut Vec<Failure>) -> Document {
    match text_of(path) {
        Ok(Some(text)) => parse(&text, path, mistakes),
        Ok(None) => Document::default(),
        Err(failure) => {
            mistakes.push(failure);
            Document::default()
        }
    }
}

pub fn parse(text: &str, path: &Path, mistakes: &mut Vec<Failure>) -> Document {
    let lines = text.match_indices('\n').map(|(at, _)| at).collect();
    let at = Place { path: path.into(), lines };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut read = Document::default();
    if !errors.is_empty() {
        // What comes after broken syntax may be read as anything.
        mistakes.extend(errors.iter().map(|error| at.syntax(error, text)));
        return read;
    }
    for (section, value) in document.get_ref().iter() {
        let name = section.get_ref().as_ref();
        match value.get_ref() {
            value if LISTS.contains(&name) => at.list(section, value, &mut read, mistakes),
            DeValue::Table(table) if !sections().contains(&name) => {
                mistakes.extend(at.unknown_section(section, table));
            }
            DeValue::Table(table) => {
                for (key, value) in table.iter() {
                    match at.written(name, key, value) {
                        Ok(written) => read.written.push(written),
                        Err(failure) => mistakes.push(failure),
                    }
                }
            }
            _ => mistakes.push(at.outside_a_section(section)),
        }
    }
    read
}

/// A value alone, as in the table of defaults or a variable: `["a", "b"]`.
pub fn parse_value(text: &str) -> Result<Raw, String> {
    let value = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
    Ok(raw(value.get_ref(), &|_| 0))
}

/// What is being read, for naming places in it.
struct Place {
    path: Arc<Path>,
    /// Where each line ends.
    lines: Vec<usize>,
}

impl Place {
    /// The tables of one list.
    fn list(
        &self,
        name: &Spanned<impl AsRef<str>>,
        value: &DeValue<'_>,
        read: &mut Document,
        mistakes: &mut Vec<Failure>,
    ) {
        let (kind, items) = match name.get_ref().as_ref() {
            "override" => (LISTS[0], &mut read.overrides),
            "credential" => (LISTS[1], &mut read.credentials),
            "login" => (LISTS[2], &mut read.logins),
            _ => (LISTS[3], &mut read.webhooks),
        };
        for item in value.as_array().into_iter().flatten() {
            let Some(table) = item.get_ref().as_table() else { continue };
            let mut entries = Vec::new();
            self.flatten("", table, &mut entries);
            // The parser sorts by name.
            entries.sort_by_key(|(offset, _)| *offset);
            let entries = entries.into_iter().map(|(_, entry)| entry).collect();
            let line = self.line(item.span().start);
            items.push(Item { kind, path: self.path.clone(), line, entries });
        }
        let is_list = value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| item.get_ref().is_table()));
        if !is_list {
            let line = self.line(name.span().start);
            let sentence = self.sentence(line, &format!("[{kind}] is one of a list of tables"));
            mistakes.push(Failure::usage(sentence, format!("write [[{kind}]]")));
        }
    }

    /// Inner tables as dotted names; each with its place in the file.
    fn flatten(&self, start: &str, table: &DeTable<'_>, entries: &mut Vec<(usize, Entry)>) {
        for (name, value) in table.iter() {
            let full = format!("{start}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.flatten(&format!("{full}."), inner, entries),
                value => {
                    let offset = name.span().start;
                    let raw = raw(value, &|offset| self.line(offset));
                    entries.push((offset, Entry { name: full, raw, line: self.line(offset) }));
                }
            }
        }
    }

    fn written(
        &self,
        section: &str,
        name: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Written, Failure> {
        let full = format!("{section}.{}", name.get_ref().as_ref());
        let line = self.line(name.span().start);
        let Some(key) = Key::named(&full) else {
            return Err(self.unknown_key(section, name.get_ref().as_ref(), line));
        };
        let raw = raw(value.get_ref(), &|offset| self.line(offset));
        Ok(Written { key, raw, origin: Origin::File { path: self.path.to_path_buf(), line } })
    }

    /// From 1.
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|end| *end < offset) + 1
    }

    fn syntax(&self, error: &toml::de::Error, text: &str) -> Failure {
        let line = self.line(error.span().map_or(0, |span| span.start));
        let message = error.message().lines().next().unwrap_or("not TOML");
        if message.contains("duplicate key")
            && let Some((what, what_to_do)) = duplicate::describe(text, line)
        {
            return Failure::usage(self.sentence(line, &what), what_to_do);
        }
        Failure::usage(
            self.sentence(line, message),
            "write one `key = value` per line under a [section]; texts, times and sizes stand in quotes",
        )
    }

    fn sentence(&self, line: usize, what: &str) -> String {
        format!("{} line {line}: {what}", self.path.display())
    }

    fn outside_a_section(&self, name: &Spanned<impl AsRef<str>>) -> Failure {
        let short = name.get_ref().as_ref();
        let line = self.line(name.span().start);
        let what_to_do = match KEYS.iter().find(|key| key.short() == short) {
            Some(key) => format!("write it under [{}]", key.section()),
            None if nearest(short, LISTS).is_some() => {
                format!("did you mean [[{}]]?", nearest(short, LISTS).unwrap_or_default())
            }
            None => format!("write keys under one of the sections {}", section_list()),
        };
        Failure::usage(self.sentence(line, &format!("{short:?} is in no section")), what_to_do)
    }

    /// A section that has another name now is answered key by key.
    fn unknown_section(
        &self,
        name: &Spanned<impl AsRef<str>>,
        table: &DeTable<'_>,
    ) -> Vec<Failure> {
        let typed = name.get_ref().as_ref();
        let is_renamed = |key: &str| Key::formerly(&format!("{typed}.{key}")).is_some();
        if table.iter().any(|(key, _)| is_renamed(key.get_ref())) {
            let answer = |key: &Spanned<_>| {
                let short: &std::borrow::Cow<'_, str> = key.get_ref();
                self.unknown_key(typed, short, self.line(key.span().start))
            };
            return table.iter().map(|(key, _)| answer(key)).collect();
        }
        let line = self.line(name.span().start);
        let what_to_do = match nearest(typed, sections().into_iter().chain(LISTS)) {
            Some(near) if LISTS.contains(&near) => format!("did you mean [[{near}]]?"),
            Some(near) => format!("did you mean [{near}]?"),
            None => format!("known sections are {}", section_list()),
        };
        vec![Failure::usage(self.sentence(line, &format!("unknown section [{typed}]")), what_to_do)]
    }

    fn unknown_key(&self, section: &str, name: &str, line: usize) -> Failure {
        if let Some(now) = Key::formerly(&format!("{section}.{name}")) {
            let what = format!("{section}.{name} is now called {}", now.name);
            let advice = format!("write {} under [{}]", now.short(), now.section());
            return Failure::usage(self.sentence(line, &what), advice);
        }
        let sentence = self.sentence(line, &format!("unknown key {name:?} in [{section}]"));
        Failure::usage(sentence, meant(section, name))
    }
}

/// The nearest known key: in the same section, or of the same name in another.
pub fn meant(section: &str, name: &str) -> String {
    let here = KEYS.iter().filter(|key| key.section() == section).map(Key::short);
    if let Some(near) = nearest(name, here) {
        return format!("did you mean {near:?}?");
    }
    if let Some(near) = nearest(name, KEYS.iter().map(Key::short)) {
        let elsewhere = KEYS.iter().find(|key| key.short() == near);
        return format!("did you mean {:?} in [{}]?", near, elsewhere.map_or("", Key::section));
    }
    match names_in(section) {
        names if names.is_empty() => {
            format!("`harvestman config` lists every key; the sections are {}", section_list())
        }
        names => format!("`harvestman config` lists every key; [{section}] has {names}"),
    }
}

fn names_in(section: &str) -> String {
    let names: Vec<&str> =
        KEYS.iter().filter(|key| key.section() == section).map(Key::short).collect();
    names.join(", ")
}

fn section_list() -> String {
    let names: Vec<String> = sections().iter().map(|name| format!("[{name}]")).collect();
    names.join(", ")
}

fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    let trouble = |error: std::io::Error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), io_advice(error.kind()))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble(error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(trouble)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::usage(
            format!("{} is larger than a configuration can be", path.display()),
            "look what it is; `harvestman init` in another folder shows what belongs there",
        ));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::usage(
            format!("{} line {line}: the text is not UTF-8", path.display()),
            "save the file as UTF-8",
        )
    })
}

fn raw(value: &DeValue<'_>, line: &dyn Fn(usize) -> usize) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            i64::from_str_radix(&digits, number.radix())
                .map_or(Raw::Other("a number that is too large"), Raw::Integer)
        }
        DeValue::Float(number) => {
            number.as_str().replace('_', "").parse().map_or(Raw::Other("no number"), Raw::Float)
        }
        DeValue::Boolean(yes) => Raw::Flag(*yes),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
        DeValue::Array(items) => {
            let text = |item: &Spanned<DeValue<'_>>| {
                let text = item.get_ref().as_str()?.to_owned();
                Some((text, line(item.span().start)))
            };
            items
                .iter()
                .map(text)
                .collect::<Option<Vec<_>>>()
                .map_or(Raw::Other("a list of other things than texts"), Raw::List)
        }
    }
}
