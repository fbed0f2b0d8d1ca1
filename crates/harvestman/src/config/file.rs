//! `harvest.toml` to raw values with their lines. Unknown sections and keys end here.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Written,
    keys::{KEYS, Key, sections},
    origin::Origin,
    suggest::nearest,
    value::Raw,
};
use crate::exit::{Failure, io_advice};

/// A configuration above this is something else under a wrong name.
const FILE_BYTES_MAX: u64 = 1_000_000;

/// The values of the file; none when there is no file.
pub fn read(path: &Path) -> Result<Vec<Written>, Failure> {
    match text_of(path)? {
        Some(text) => parse(&text, path),
        None => Ok(Vec::new()),
    }
}

pub fn parse(text: &str, path: &Path) -> Result<Vec<Written>, Failure> {
    let document = DeTable::parse(text).map_err(|error| syntax(text, path, &error))?;
    let mut written = Vec::new();
    for (section, value) in document.get_ref().iter() {
        let at = Place { text, path };
        let Some(table) = value.get_ref().as_table() else {
            return Err(at.outside_a_section(section));
        };
        if !sections().contains(&section.get_ref().as_ref()) {
            return Err(at.unknown_section(section));
        }
        for (name, value) in table.iter() {
            written.push(at.written(section.get_ref(), name, value)?);
        }
    }
    Ok(written)
}

/// A value alone, as in the table of defaults or a variable: `["a", "b"]`.
pub fn parse_value(text: &str) -> Result<Raw, String> {
    let value = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
    Ok(raw(value.get_ref(), &|_| 0))
}

/// What is being read, for naming places in it.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Place<'_> {
    fn written(
        self,
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
        Ok(Written { key, raw, origin: Origin::File { path: self.path.to_owned(), line } })
    }

    fn line(self, offset: usize) -> usize {
        line_of(self.text, offset)
    }

    fn sentence(self, line: usize, what: &str) -> String {
        format!("{} line {line}: {what}", self.path.display())
    }

    fn outside_a_section(self, name: &Spanned<impl AsRef<str>>) -> Failure {
        let short = name.get_ref().as_ref();
        let line = self.line(name.span().start);
        let what_to_do = match KEYS.iter().find(|key| key.short() == short) {
            Some(key) => format!("write it under [{}]", key.section()),
            None => format!("write keys under one of the sections {}", section_list()),
        };
        Failure::usage(self.sentence(line, &format!("{short:?} is in no section")), what_to_do)
    }

    fn unknown_section(self, name: &Spanned<impl AsRef<str>>) -> Failure {
        let typed = name.get_ref().as_ref();
        let line = self.line(name.span().start);
        let what_to_do = match nearest(typed, sections()) {
            Some(near) => format!("did you mean [{near}]?"),
            None => format!("known sections are {}", section_list()),
        };
        Failure::usage(self.sentence(line, &format!("unknown section [{typed}]")), what_to_do)
    }

    fn unknown_key(self, section: &str, name: &str, line: usize) -> Failure {
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
    format!("`harvestman config` lists every key; [{section}] has {}", names_in(section))
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

fn syntax(text: &str, path: &Path, error: &toml::de::Error) -> Failure {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
    Failure::usage(
        format!("{} line {line}: {message}", path.display()),
        "write one `key = value` per line under a [section]; texts, times and sizes stand in quotes",
    )
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
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
