//! Old versions leave the archive by rule or to keep within a budget; their visits stay in history.

use model::Timestamp;
use serde::Serialize;
use store::{
    collection::{Collection, CrawlLock},
    forget::Progress,
    thin::{self as store_thin, Keep, Thinned as Removed},
};

use crate::Error;

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thinned {
    /// Nothing was changed; what only reading the volumes would tell is `None`.
    pub dry_run: bool,
    /// As `status` and `history` count them.
    pub versions: u64,
    /// Other bytes that a page had at visits that saw no change: archived, but no versions.
    pub copies: u64,
    /// Of the answers that held them: those that `left_bytes` and `store.versions_bytes_max` count, too.
    pub bytes: u64,
    /// Of volumes: requests, responses and revisits, also those of visits that found it unchanged.
    pub records: Option<u64>,
    /// What those records took on disk.
    pub records_bytes: Option<u64>,
    /// Volumes that were rewritten.
    pub volumes: Option<u64>,
    /// Versions that stay and had their content in one that went: they have it themselves now.
    pub records_completed: Option<u64>,
    /// Bytes of the versions that stay, as they were before.
    pub left_bytes: u64,
    /// Those that lost most first.
    pub sites: Vec<ThinnedSite>,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThinnedSite {
    pub site: String,
    pub versions: u64,
    pub bytes: u64,
}

/// What [`thin`] would remove. Who calls holds the lock.
pub fn preview(
    collection: &Collection,
    lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
) -> Result<Thinned, Error> {
    Ok(answer(store_thin::would_thin(collection, lock, keep, now)?, true))
}

/// Removes what is not to be kept. Who calls holds the lock.
pub fn thin(
    collection: &Collection,
    lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Thinned, Error> {
    Ok(answer(store_thin::thin(collection, lock, keep, now, progress)?, false))
}

fn answer(removed: Removed, dry_run: bool) -> Thinned {
    let known = |count: u64| (!dry_run).then_some(count);
    Thinned {
        dry_run,
        versions: removed.versions,
        copies: removed.copies,
        bytes: removed.bytes,
        records: known(removed.records),
        records_bytes: known(removed.records_bytes),
        volumes: known(removed.volumes_rewritten),
        records_completed: known(removed.made_whole),
        left_bytes: removed.left_bytes,
        sites: removed
            .sites
            .into_iter()
            .map(|site| ThinnedSite { site: site.site, versions: site.versions, bytes: site.bytes })
            .collect(),
        warnings: removed.warnings,
    }
}
