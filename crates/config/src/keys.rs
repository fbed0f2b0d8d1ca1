//! What a key of the configuration is: its name, what it takes, its default, and one sentence about it.
//!
//! Reading, listing, the commented `harvest.toml`, the suggestions for mistyped names and the check of
//! `docs/configuration.md` all go by the one table [`KEYS`].

use std::time::Duration;

use super::check::Check;
pub use super::table::{KEYS, RENAMED};

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `section.name`, as in `harvest.toml`.
    pub name: &'static str,
    pub kind: Kind,
    /// As it would be written in `harvest.toml`.
    pub default: &'static str,
    pub doc: &'static str,
    pub example: &'static str,
    /// `"none"` is a value: no limit, or not set.
    pub optional: bool,
    /// Among the lines that `init` writes.
    pub common: bool,
    /// The flag of `crawl` and `run` that sets it, without the dashes.
    pub flag: Option<&'static str>,
    /// How far down it can be set.
    pub reach: Reach,
    /// Set for a spider, it takes effect while a crawl runs; otherwise with the next start.
    pub live: bool,
    /// A URL in it may carry a password, which is never shown.
    pub secret: bool,
}

/// For what a key can have a value of its own; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// One value for all.
    Collection,
    /// Each spider can have its own.
    Spider,
    /// An `[[override]]` can give it to sites.
    Site,
    /// An `[[override]]` can give it to single pages.
    Page,
}

impl Reach {
    pub fn word(self) -> &'static str {
        match self {
            Reach::Collection => "collection",
            Reach::Spider => "spider",
            Reach::Site => "site",
            Reach::Page => "page",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Count {
        min: u64,
        max: u64,
    },
    Size {
        min: u64,
    },
    Time,
    /// A time above zero, after which something is done again.
    Period,
    /// A time above zero, after which something ends.
    Limit,
    /// A time from `min` to `max`.
    Span {
        min: Duration,
        max: Duration,
    },
    Factor {
        max: f64,
    },
    /// A number above zero.
    Rate {
        max: f64,
    },
    Flag,
    /// `"off"`, `"on"` (also `false` and `true`), or the name of a file.
    Switch,
    OneOf(&'static [&'static str]),
    Text(Check),
    /// `commas`: in an environment variable the items may be separated by commas. Regular expressions
    /// hold commas themselves, so for them only the TOML form `['a', 'b']` is a list.
    List {
        check: Check,
        commas: bool,
    },
}

impl Key {
    pub const fn new(name: &'static str, kind: Kind, default: &'static str) -> Key {
        Key {
            name,
            kind,
            default,
            doc: "",
            example: default,
            optional: false,
            common: false,
            flag: None,
            reach: Reach::Collection,
            live: false,
            secret: false,
        }
    }

    /// A key whose default is to be without.
    pub const fn none(name: &'static str, kind: Kind) -> Key {
        let mut key = Key::new(name, kind, "\"none\"");
        key.optional = true;
        key
    }

    pub const fn doc(mut self, doc: &'static str) -> Key {
        self.doc = doc;
        self
    }

    pub const fn example(mut self, example: &'static str) -> Key {
        self.example = example;
        self
    }

    pub const fn flag(mut self, flag: &'static str) -> Key {
        self.flag = Some(flag);
        self
    }

    pub const fn reach(mut self, reach: Reach) -> Key {
        self.reach = reach;
        self
    }

    pub const fn live(mut self) -> Key {
        self.live = true;
        self
    }

    pub const fn secret(mut self) -> Key {
        self.secret = true;
        self
    }

    pub const fn common(mut self) -> Key {
        self.common = true;
        self
    }

    /// The key of this name.
    pub fn named(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The key that once had this name.
    pub fn formerly(name: &str) -> Option<&'static Key> {
        let (_, now) = RENAMED.iter().find(|(old, _)| *old == name)?;
        Key::named(now)
    }

    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// The name inside its section.
    pub fn short(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, short)| short)
    }

    /// `HARVESTMAN_SECTION_KEY`.
    pub fn variable(&self) -> String {
        variable_of(self.name)
    }
}

pub fn variable_of(name: &str) -> String {
    format!("HARVESTMAN_{}", name.replace('.', "_").to_uppercase())
}

/// The sections in the order of the table.
pub fn sections() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = KEYS.iter().map(Key::section).collect();
    names.dedup();
    names
}
