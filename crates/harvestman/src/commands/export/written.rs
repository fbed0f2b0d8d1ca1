//! What an export has written, what it left out, and how that is told: nobody takes a file that is not there, or not
//! whole, for the page.

use std::path::Path;

use model::CrawlUrl;
use serde_json::{Value, json};

use crate::{commands::Context, terminal::print};
use collection::archived::Kept;
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
};
use model::printable;

/// Named of each kind: enough to see what is wrong.
const NAMED_MAX: usize = 20;

#[derive(Default)]
pub(super) struct Written {
    pub versions: u64,
    pub files: u64,
    pub bytes: u64,
    /// Versions of pages that another stands for.
    pub folded: u64,
    /// Versions of pages that ask not to be shown from an archive.
    pub noarchive: u64,
    /// Versions whose record cannot be read.
    pub unreadable: Named,
    /// Versions that were archived without their body: they have no file.
    not_kept: Named,
    /// Versions of which only the beginning was archived.
    cut: Named,
}

impl Written {
    /// Whether there is anything of a version to be written.
    pub fn takes(&mut self, url: &CrawlUrl, kept: Kept) -> bool {
        let words = kept.words().unwrap_or_default();
        match kept {
            Kept::Whole => {}
            Kept::Beginning(_) => self.cut.add(url, &words),
            Kept::Nothing(_) => self.not_kept.add(url, &words),
        }
        !matches!(kept, Kept::Nothing(_))
    }

    pub fn tell(&self, context: &Context, out: &Path) -> Result<Exit, Failure> {
        if self.files == 0 && self.not_kept.count > 0 && self.unreadable.count == 0 {
            return Err(self.nothing());
        }
        if context.json {
            print(&format!("{}\n", self.json(out)))?;
        } else {
            self.say(context, out);
        }
        Ok(if self.unreadable.count == 0 { Exit::Done } else { Exit::Fault })
    }

    /// Not one version has a body.
    fn nothing(&self) -> Failure {
        let versions = some(self.not_kept.count, "version");
        let example = self.not_kept.lines.first().map_or("", String::as_str);
        Failure::usage(
            format!("nothing was written: {versions} archived without content, such as {example}"),
            "with store.content_bytes_max above 0 crawls keep what is new or has changed",
        )
    }

    fn json(&self, out: &Path) -> Value {
        json!({
            "out": out.display().to_string(), "versions": self.versions, "files": self.files,
            "bytes": self.bytes, "folded": self.folded, "noarchive": self.noarchive, "unreadable": self.unreadable.lines,
            "not_kept": self.not_kept.json(), "cut": self.cut.json(),
        })
    }

    fn say(&self, context: &Context, out: &Path) {
        self.unreadable.say(context, "left out");
        self.not_kept.say(context, "left out");
        self.cut.say(context, "not whole");
        context.say(&format!(
            "{} in {} ({}) below {}",
            some(self.versions, "version"),
            some(self.files, "file"),
            bytes(self.bytes),
            out.display()
        ));
        if self.folded > 0 {
            context.say(&format!(
                "{} of pages that name another as their canonical one left out (--unfolded has \
                 them too)",
                some(self.folded, "version")
            ));
        }
        if self.noarchive > 0 {
            context.say(&format!(
                "{} of pages that say noarchive left out (--include-noarchive has them too)",
                some(self.noarchive, "version")
            ));
        }
    }
}

/// Versions of one kind: how many, and the first of them by name.
#[derive(Default)]
pub(super) struct Named {
    count: u64,
    lines: Vec<String>,
}

impl Named {
    pub fn add(&mut self, url: &CrawlUrl, why: &str) {
        self.count += 1;
        if self.lines.len() < NAMED_MAX {
            self.lines.push(format!("{url}: {why}"));
        }
    }

    fn json(&self) -> Value {
        json!({ "versions": self.count, "such_as": self.lines })
    }

    fn say(&self, context: &Context, what: &str) {
        self.lines.iter().for_each(|line| context.say(&format!("{what}: {}", printable(line))));
        let more = self.count.saturating_sub(self.lines.len() as u64);
        if more > 0 {
            context.say(&format!("{what}: … and {} more", number(more)));
        }
    }
}
