//! Two versions of a page, compared by what a reader sees or by what was served.

use gatherer::GatherProblem;
use model::{Stopped, Timestamp};
use serde::Serialize;
use store::census::PageStory;

use super::Diff;
use crate::{
    Error,
    archived::{Archived, Kept, stopped_word},
    versions::{Opened, Picked, Versions, Which, is_noarchive},
};

/// A longer line of a source is broken where tags meet: many pages are served as one line.
const SOURCE_LINE_MAX: usize = 200;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    Text,
    Source,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageDiff {
    pub url: String,
    pub of: Of,
    pub old: ComparedVersion,
    pub new: ComparedVersion,
    /// The page asks not to be shown from an archive.
    pub noarchive: bool,
    #[serde(flatten)]
    pub diff: Diff,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedVersion {
    pub version: usize,
    #[serde(serialize_with = "model::iso::time")]
    pub seen: Timestamp,
    pub title: String,
    pub bytes: u64,
    pub kept: Kept,
    /// Why it is not whole.
    #[serde(serialize_with = "stopped_word")]
    pub stopped: Option<Stopped>,
}

/// Without `new` the newest version, without `old` the one before the other. `context`: unchanged lines
/// around changed ones.
pub fn compare(
    archived: &Archived<'_>,
    story: &PageStory,
    (old, new): (Option<Which>, Option<Which>),
    of: Of,
    context: usize,
) -> Result<PageDiff, Error> {
    let url = &story.page.url;
    let (old, new) = picks(&Versions::new(&story.visits), url, old, new)?;
    let old = Side::read(archived, story, &old, of)?;
    let new = Side::read(archived, story, &new, of)?;
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.text.lines().collect(), new.text.lines().collect());
    let diff = Diff::of(&before, &after, context);
    let noarchive = old.noarchive || new.noarchive;
    Ok(PageDiff { url: url.clone(), of, old: old.version, new: new.version, noarchive, diff })
}

fn picks<'a>(
    versions: &Versions<'a>,
    url: &str,
    old: Option<Which>,
    new: Option<Which>,
) -> Result<(Picked<'a>, Picked<'a>), Error> {
    let newest = versions.newest().ok_or_else(|| Error::NeverFetched { url: url.to_owned() })?;
    let new = new.map_or(Ok(newest), |which| versions.pick(which))?;
    let old = match old {
        Some(which) => versions.pick(which)?,
        None if new.number > 1 => versions.pick(Which::Number(new.number - 1))?,
        None => return Err(Error::OneVersion { url: url.to_owned() }),
    };
    Ok((old, new))
}

/// One of the two versions with what is compared of it.
struct Side {
    version: ComparedVersion,
    noarchive: bool,
    text: String,
}

impl Side {
    fn read(
        archived: &Archived<'_>,
        story: &PageStory,
        picked: &Picked<'_>,
        of: Of,
    ) -> Result<Side, Error> {
        let opened = Opened::read(archived, picked)?;
        let (kept, stopped) = (Kept::of(&opened.exchange), opened.exchange.stopped);
        let (url, version) = (story.page.url.clone(), picked.number);
        if let (Kept::Nothing, Some(stopped)) = (kept, stopped) {
            return Err(Error::ContentCut { url, version, stopped });
        }
        comparable(&opened, url, version, of)?;
        let version = ComparedVersion {
            version,
            seen: picked.seen,
            title: opened.gathered.title.clone(),
            bytes: opened.exchange.body.len() as u64,
            kept,
            stopped,
        };
        let noarchive = is_noarchive(story, &opened.gathered);
        let text = match of {
            Of::Source => in_lines(&opened.source()),
            Of::Text => opened.gathered.text,
        };
        Ok(Side { version, noarchive, text })
    }
}

/// Bytes that are no text have no lines; text of other kinds than pages (styles, scripts) has them as it is.
fn comparable(opened: &Opened, url: String, version: usize, of: Of) -> Result<(), Error> {
    for problem in &opened.gathered.problems {
        match problem {
            GatherProblem::NotText { found, .. } => {
                return Err(Error::NotText { url, version, media_type: found.clone() });
            }
            GatherProblem::NotWanted { media_type } if of == Of::Text => {
                let media_type = media_type.clone();
                return Err(Error::NoVisibleText { url, version, media_type });
            }
            _ => {}
        }
    }
    Ok(())
}

/// A line too long to be read is broken where tags meet.
fn in_lines(source: &str) -> String {
    let mut broken = String::with_capacity(source.len() + source.len() / 16);
    for line in source.lines() {
        match line.chars().count() > SOURCE_LINE_MAX {
            true => broken.push_str(&line.replace("><", ">\n<")),
            false => broken.push_str(line),
        }
        broken.push('\n');
    }
    broken
}
