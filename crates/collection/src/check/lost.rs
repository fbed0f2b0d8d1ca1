//! Records that the history names and that cannot be read: found where something is wrong with
//! their volumes, and through revisits that refer to them.

use std::collections::{BTreeSet, HashSet};

use model::Timestamp;
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    frontier::{NamedRecord, SqlFrontier},
};

use crate::{Error, archived::Archived};

/// Content that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LostContent {
    /// Records that visits name and that were found to be missing or damaged.
    pub records: u64,
    /// Pages that have their newest version in one of them; with `--repair` they are marked, and
    /// are fetched whole by the next crawl.
    pub pages: u64,
    /// Records that were marked before and cannot be read now either.
    pub known: u64,
    /// Records that were marked before and can be read again; with `--repair` they are marked no
    /// more.
    pub restored: u64,
}

/// `suspects`: volumes with which something is wrong. `follow`: what revisits refer to must be here
/// too, which is not so in the folder of a batch. With `repair` a time, what is found is marked.
pub(super) fn look(
    collection: &Collection,
    frontier: &mut SqlFrontier,
    suspects: &BTreeSet<u32>,
    follow: bool,
    repair: Option<Timestamp>,
) -> Result<LostContent, Error> {
    let census = Census::open(collection)?;
    // Nothing is decoded here.
    let archived = Archived::new(collection, &census, 0)?;
    let (restored, known) = split(&archived, frontier.lost_records()?)?;
    let mut lost = Vec::new();
    if !suspects.is_empty() {
        lost = split(&archived, frontier.records_in(suspects)?)?.1;
        if follow {
            let seen: HashSet<i64> = lost.iter().copied().collect();
            let mut revisits = frontier.revisit_records()?;
            revisits.retain(|revisit| !seen.contains(&revisit.seq));
            lost.extend(split(&archived, revisits)?.1);
        }
    }
    let pages = match repair {
        Some(now) => {
            frontier.mark_found(&restored, now)?;
            frontier.mark_lost(&lost, now)?.pages
        }
        None => frontier.pages_at_hand(&lost)?,
    };
    let count = |rows: &[i64]| rows.len() as u64;
    Ok(LostContent {
        records: count(&lost),
        pages,
        known: count(&known),
        restored: count(&restored),
    })
}

/// The rows whose records can be read, and those whose cannot.
fn split(
    archived: &Archived<'_>,
    records: Vec<NamedRecord>,
) -> Result<(Vec<i64>, Vec<i64>), Error> {
    let (mut whole, mut lost) = (Vec::new(), Vec::new());
    for record in records {
        match archived.is_intact(record.at)? {
            true => whole.push(record.seq),
            false => lost.push(record.seq),
        }
    }
    Ok((whole, lost))
}
