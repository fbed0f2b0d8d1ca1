//! One table of a list of tables (`[[override]]`, `[[credential]]`, `[[login]]`, `[[webhook]]`) as it was
//! written:
//! names and values with their lines, inner tables flattened to dotted names.

use std::{path::Path, sync::Arc};

use super::{suggest::nearest, value::Raw};
use crate::failure::Failure;

#[derive(Clone, Debug)]
pub(super) struct Item {
    /// `override`, without the brackets.
    pub kind: &'static str,
    pub path: Arc<Path>,
    pub line: usize,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    pub raw: Raw,
    pub line: usize,
}

impl Item {
    pub fn take(&mut self, name: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.name == name)?;
        Some(self.entries.remove(at))
    }

    /// All whose names begin with `start`, without it.
    pub fn take_below(&mut self, start: &str) -> Vec<Entry> {
        let (below, rest) = std::mem::take(&mut self.entries)
            .into_iter()
            .partition(|entry| entry.name.starts_with(start));
        self.entries = rest;
        let bare = |entry: Entry| Entry { name: entry.name[start.len()..].to_owned(), ..entry };
        Vec::into_iter(below).map(bare).collect()
    }

    /// The text of an entry; one that is no text is a mistake, told without what it is.
    pub fn text(&mut self, name: &str, mistakes: &mut Vec<Failure>) -> Option<(String, usize)> {
        let entry = self.take(name)?;
        match entry.raw {
            Raw::Text(text) if !text.trim().is_empty() => Some((text, entry.line)),
            _ => {
                let what = format!("{name} is no text, or an empty one");
                mistakes.push(self.wrong(entry.line, &what, "write some text in quotes"));
                None
            }
        }
    }

    /// What is left after everything known was taken.
    pub fn refuse_rest(&self, known: &[&'static str], mistakes: &mut Vec<Failure>) {
        for entry in &self.entries {
            let what = format!("unknown key {:?} in [[{}]]", entry.name, self.kind);
            let meant = match nearest(&entry.name, known.iter().copied()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("known are {}", known.join(", ")),
            };
            mistakes.push(self.wrong(entry.line, &what, &meant));
        }
    }

    pub fn wrong(&self, line: usize, what: &str, what_to_do: &str) -> Failure {
        Failure::usage(format!("{} line {line}: {what}", self.path.display()), what_to_do)
    }

    /// Where relative paths start.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}
