//! Links of a page, both ways, and pages that are broken with the pages that link to them.
//!
//! The latest links of a page are those of the last visit that found any; all else is past.
//! The answers come from the index of the link segments, which is brought up to date first.

use std::collections::{HashMap, HashSet};

use model::{CrawlUrl, Fingerprint, LinkKind, LinkRel, PageState, StoreError, Timestamp};
use serde::Serialize;
use store::{
    census::{BrokenFilter, Census, PageStanding},
    collection::Collection,
    links::{
        StoredLink,
        index::{self, Entry, LinkIndex, Progress},
    },
};

/// Past records read to find who linked to a page: about a second.
const PAST_INCOMING_MAX: usize = 200_000;
/// Past records of one page that are read, the newest: each is a read of the disk.
const PAST_OUTGOING_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub incoming: bool,
    pub outgoing: bool,
    /// Also links that the latest visits did not find.
    pub past: bool,
    /// Rows either way.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLinks {
    pub url: String,
    /// `None`: the page is not in the collection, though others may link to it.
    pub page: Option<PageStanding>,
    /// `None`: nobody asked.
    pub incoming: Option<LinkRows>,
    pub outgoing: Option<LinkRows>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkRows {
    /// Pages at the other end.
    pub total: u64,
    pub rows: Vec<LinkRow>,
    /// There are others than these rows.
    pub more: bool,
}

/// All links of one page to another: of the first what it is like, and how many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkRow {
    /// The page at the other end.
    pub url: String,
    /// The first that is not empty.
    pub anchor: String,
    pub kind: LinkKind,
    /// Each of them says nofollow.
    pub nofollow: bool,
    pub links: u32,
    /// Of the last visit of the page at the other end; 0: it brought no answer. `None`: there was none.
    pub status: Option<u16>,
    pub failure: Option<String>,
    /// `None`: it is not in the collection.
    pub state: Option<PageState>,
    /// The latest visit of the linking page found it.
    pub current: bool,
    /// The visit that found it.
    pub at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BrokenPages {
    pub total: u64,
    pub rows: Vec<BrokenPage>,
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenPage {
    pub url: String,
    pub status: Option<u16>,
    pub failure: Option<String>,
    pub state: PageState,
    /// When its last answer was first given, and when last.
    pub since: Option<Timestamp>,
    pub visited: Option<Timestamp>,
    pub referrers: LinkRows,
}

pub fn links_of(
    collection: &Collection,
    census: &Census,
    url: &CrawlUrl,
    wanted: &Wanted,
    progress: Progress<'_>,
) -> Result<PageLinks, StoreError> {
    index::ask(collection, census, progress, |index| {
        let links = Links { index, census };
        let of = url.fingerprint();
        Ok(PageLinks {
            url: url.as_str().to_owned(),
            page: census.standing_of(url)?,
            incoming: wanted.incoming.then(|| links.incoming(of, wanted)).transpose()?,
            outgoing: wanted.outgoing.then(|| links.outgoing(of, wanted)).transpose()?,
        })
    })
}

/// Broken pages by site, each with at most `referrers_max` of the pages that link to it now.
pub fn broken(
    collection: &Collection,
    census: &Census,
    filter: &BrokenFilter,
    limit: u32,
    referrers_max: usize,
    progress: Progress<'_>,
) -> Result<BrokenPages, StoreError> {
    let wanted = Wanted { incoming: true, outgoing: false, past: false, limit: referrers_max };
    index::ask(collection, census, progress, |index| {
        let links = Links { index, census };
        let referred = |page: PageStanding| {
            Ok(BrokenPage {
                referrers: links.incoming(page.fp, &wanted)?,
                url: page.url,
                status: page.status,
                failure: page.failure,
                state: page.state,
                since: page.since,
                visited: page.visited,
            })
        };
        let pages = census.broken(filter, None, limit)?;
        let rows = pages.into_iter().map(referred).collect::<Result<Vec<_>, StoreError>>()?;
        let total = census.count_broken(filter)?.max(rows.len() as u64);
        Ok(BrokenPages { total, more: total > rows.len() as u64, rows })
    })
}

struct Links<'a> {
    index: &'a LinkIndex,
    census: &'a Census,
}

impl Links<'_> {
    fn incoming(&self, target: Fingerprint, wanted: &Wanted) -> Result<LinkRows, StoreError> {
        let mut found = LinkRows::default();
        if !wanted.past {
            found.total = self.index.count_linking_to(target)?.latest;
            for entry in self.index.linking_to(target, None) {
                if found.rows.len() >= wanted.limit {
                    break;
                }
                let entry = entry?;
                if entry.latest {
                    found.rows.extend(self.referrer(&entry, target)?);
                }
            }
            found.more = found.total > found.rows.len() as u64;
            return Ok(found);
        }
        let (entries, all) = self.past_referrers(target)?;
        found.total = entries.len() as u64;
        for entry in &entries {
            if found.rows.len() >= wanted.limit {
                break;
            }
            found.rows.extend(self.referrer(entry, target)?);
        }
        found.more = !all || found.total > found.rows.len() as u64;
        Ok(found)
    }

    /// The last record of each page that ever linked to this one, and whether all were read.
    fn past_referrers(&self, target: Fingerprint) -> Result<(Vec<Entry>, bool), StoreError> {
        let mut last: HashMap<Fingerprint, Entry> = HashMap::new();
        let mut referrers = self.index.linking_to(target, None);
        for entry in referrers.by_ref().take(PAST_INCOMING_MAX) {
            let entry = entry?;
            last.insert(entry.source, entry);
        }
        let all = referrers.next().is_none();
        let mut entries: Vec<Entry> = last.into_values().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        Ok((entries, all))
    }

    /// What a record says of its links to this page; `None` when it cannot be read.
    fn referrer(&self, entry: &Entry, target: Fingerprint) -> Result<Option<LinkRow>, StoreError> {
        let Some(record) = self.index.read(entry)? else { return Ok(None) };
        let links = record.links.iter().filter(|link| link.fp == target);
        let Some(mut row) = folded(links, entry) else { return Ok(None) };
        let Some(page) = self.census.standing(record.site, record.source)? else { return Ok(None) };
        row.url.clone_from(&page.url);
        row.take(page);
        Ok(Some(row))
    }

    fn outgoing(&self, source: Fingerprint, wanted: &Wanted) -> Result<LinkRows, StoreError> {
        let records = self.index.records_of(source)?;
        let mut found = LinkRows::default();
        let mut seen = HashSet::new();
        let newest = records.iter().rev().filter(|entry| entry.latest || wanted.past);
        for (read, entry) in newest.enumerate() {
            if read == PAST_OUTGOING_MAX {
                found.more = true;
                break;
            }
            let Some(record) = self.index.read(entry)? else { continue };
            for links in by_target(&record.links) {
                if links.first().is_some_and(|link| seen.insert(link.fp)) {
                    found.total += 1;
                    let row = folded(links.into_iter(), entry);
                    self.add_target(&mut found, row, wanted.limit)?;
                }
            }
        }
        found.more |= found.total > found.rows.len() as u64;
        Ok(found)
    }

    fn add_target(
        &self,
        found: &mut LinkRows,
        row: Option<LinkRow>,
        limit: usize,
    ) -> Result<(), StoreError> {
        let Some(mut row) = row.filter(|_| found.rows.len() < limit) else { return Ok(()) };
        if let Ok(url) = CrawlUrl::parse(&row.url)
            && let Some(page) = self.census.standing_of(&url)?
        {
            row.take(page);
        }
        found.rows.push(row);
        Ok(())
    }
}

impl LinkRow {
    fn take(&mut self, page: PageStanding) {
        self.status = page.status;
        self.failure = page.failure;
        self.state = Some(page.state);
    }
}

/// The links of a record by the page they lead to, in the order of the first of each.
fn by_target(links: &[StoredLink]) -> Vec<Vec<&StoredLink>> {
    let mut places = HashMap::new();
    let mut targets: Vec<Vec<&StoredLink>> = Vec::new();
    for link in links {
        let place = *places.entry(link.fp).or_insert(targets.len());
        match targets.get_mut(place) {
            Some(same) => same.push(link),
            None => targets.push(vec![link]),
        }
    }
    targets
}

/// Links to one page as one row.
fn folded<'a>(links: impl Iterator<Item = &'a StoredLink>, entry: &Entry) -> Option<LinkRow> {
    let mut row: Option<LinkRow> = None;
    for link in links {
        let nofollow = link.rel.contains(LinkRel::NOFOLLOW);
        match &mut row {
            Some(row) => {
                row.links = row.links.saturating_add(1);
                row.nofollow &= nofollow;
                if row.anchor.is_empty() {
                    row.anchor.clone_from(&link.anchor);
                }
            }
            None => {
                row = Some(LinkRow {
                    url: link.url.clone(),
                    anchor: link.anchor.clone(),
                    kind: link.kind,
                    nofollow,
                    links: 1,
                    status: None,
                    failure: None,
                    state: None,
                    current: entry.latest,
                    at: entry.at,
                });
            }
        }
    }
    row
}
