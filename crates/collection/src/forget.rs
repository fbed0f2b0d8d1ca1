//! Takedown: everything of a URL, a site or a domain leaves the collection, and a hash keeps it
//! out.

use model::Timestamp;
use seeder::Grave;
use serde::Serialize;
use store::{
    census::Census,
    collection::{Collection, CrawlLock},
    forget::{self as takedown, Forget, Progress, Removed, Target, Targets},
    tombstones::Tombstone,
};

use crate::{Error, listing::Listing};

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// Nothing was changed.
    pub dry_run: bool,
    pub sites: u64,
    pub pages: u64,
    pub visits: u64,
    /// Of volumes: requests, responses and revisits, robots.txt among them.
    pub records: u64,
    /// What they took on disk.
    pub bytes: u64,
    /// Links of its pages, and links of others to it.
    pub links: u64,
    /// Volumes that were rewritten.
    pub volumes: u64,
    /// Records of other pages that referred to content of it and have it themselves now.
    pub records_completed: u64,
    /// What could not be looked into.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TombstoneRow {
    /// `url`, `site` or `domain`.
    pub kind: String,
    #[serde(serialize_with = "model::iso::time")]
    pub created: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lifted {
    pub lifted: u64,
}

/// What [`forget`] would remove. Who calls holds the lock.
pub fn preview(
    collection: &Collection,
    lock: &CrawlLock,
    graves: &[Grave],
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Forgotten, Error> {
    let request = Forget { targets: targets(graves), tombstones: Vec::new(), now, progress };
    Ok(answer(takedown::would_forget(collection, lock, request)?, true))
}

/// Removes everything of these, and keeps them out. Who calls holds the lock.
pub fn forget(
    collection: &Collection,
    lock: &CrawlLock,
    graves: &[Grave],
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Forgotten, Error> {
    let mut frontier = collection.frontier()?;
    let key = frontier.tombstone_key(now)?;
    drop(frontier);
    let stone = |grave: &Grave| Tombstone {
        kind: grave.kind().to_owned(),
        hash: grave.hash(key),
        created: now,
    };
    let tombstones = graves.iter().map(stone).collect();
    let request = Forget { targets: targets(graves), tombstones, now, progress };
    Ok(answer(takedown::forget(collection, lock, request)?, false))
}

/// Lets these in again; what was removed stays removed. Who calls holds the lock.
pub fn undo(
    collection: &Collection,
    _lock: &CrawlLock,
    graves: &[Grave],
    now: Timestamp,
) -> Result<Lifted, Error> {
    let mut frontier = collection.frontier()?;
    let key = frontier.tombstones()?.map(|(key, _)| key).unwrap_or_default();
    let hashed = |grave: &Grave| (grave.kind().to_owned(), grave.hash(key));
    let which: Vec<_> = graves.iter().map(hashed).collect();
    let lifted = frontier.lift_tombstones(&which, now)?;
    frontier.write_state()?;
    Ok(Lifted { lifted })
}

/// What was forgotten: kind and time, the names are not kept.
pub fn list(census: &Census) -> Result<Listing<TombstoneRow>, Error> {
    let stones = census.tombstones()?.map(|(_, stones)| stones).unwrap_or_default();
    let row = |stone: Tombstone| TombstoneRow { kind: stone.kind, created: stone.created };
    Ok(Listing::whole(stones.into_iter().map(row).collect()))
}

fn targets(graves: &[Grave]) -> Targets {
    let target = |grave: &Grave| match grave {
        Grave::Url(url) => Target::Url(url.clone()),
        Grave::Site(site) => Target::Site(site.clone()),
        Grave::Domain(domain) => Target::Domain(domain.clone()),
    };
    Targets::new(graves.iter().map(target).collect())
}

fn answer(removed: Removed, dry_run: bool) -> Forgotten {
    Forgotten {
        dry_run,
        sites: removed.sites,
        pages: removed.pages,
        visits: removed.visits,
        records: removed.records,
        bytes: removed.bytes,
        links: removed.links,
        volumes: removed.volumes_rewritten,
        records_completed: removed.made_whole,
        warnings: removed.warnings,
    }
}
