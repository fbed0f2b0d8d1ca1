//! Links of a page, both ways, and pages that are broken with the pages that link to them.
//!
//! The latest links of a page are those of the last visit that found any; all else is past.
//! The answers come from the index of the link segments, which is brought up to date first.

use std::collections::{HashMap, HashSet};

use model::{CrawlUrl, Fingerprint, LinkKind, LinkRel, PageState, SiteId, StoreError, Timestamp};
use serde::Serialize;
use store::{
    census::{BrokenFilter, Census, PageStanding},
    collection::Collection,
    links::{
        LinkPosition, StoredLink,
        index::{self, Entry, LinkIndex, Progress},
    },
};

use crate::Error;

/// Past records read to find who linked to a page: about a second.
const PAST_INCOMING_MAX: usize = 200_000;
/// Past records of one page that are read, the newest: each is a read of the disk.
const PAST_OUTGOING_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub incoming: bool,
    pub outgoing: bool,
    /// Also links that the latest visits did not find.
    pub past: bool,
    /// Rows either way.
    pub limit: usize,
    /// `next` of an earlier answer about the same direction.
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLinks {
    pub url: String,
    /// `None`: the page is not in the collection, though others may link to it.
    pub state: Option<PageState>,
    /// Of its last visit; 0: it brought no answer. `None`: there was none.
    pub status: Option<u16>,
    /// `None`: nobody asked.
    pub incoming: Option<LinkRows>,
    pub outgoing: Option<LinkRows>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkRows {
    /// Pages at the other end; `None`: there are so many past ones that they were not all counted.
    pub total: Option<u64>,
    pub rows: Vec<LinkRow>,
    /// Where to go on; `None`: these are the last.
    pub next: Option<String>,
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
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BrokenPages {
    pub total: u64,
    pub rows: Vec<BrokenPage>,
    /// Where to go on; `None`: these are the last.
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenPage {
    pub url: String,
    pub status: Option<u16>,
    pub failure: Option<String>,
    pub state: PageState,
    /// When its last answer was first given, and when last.
    #[serde(serialize_with = "model::iso::option")]
    pub since: Option<Timestamp>,
    #[serde(serialize_with = "model::iso::option")]
    pub visited: Option<Timestamp>,
    pub referrers: LinkRows,
}

pub fn links_of(
    collection: &Collection,
    census: &Census,
    url: &CrawlUrl,
    wanted: &Wanted,
    progress: Progress<'_>,
) -> Result<PageLinks, Error> {
    let after = After::read(wanted)?;
    let answer = index::ask(collection, census, progress, |index| {
        let links = Links { index, census };
        let of = url.fingerprint();
        let page = census.standing_of(url)?;
        let incoming = || links.incoming(of, wanted, &after);
        let outgoing = || links.outgoing(of, wanted, &after);
        Ok(PageLinks {
            url: url.as_str().to_owned(),
            state: page.as_ref().map(|page| page.state),
            status: page.and_then(|page| page.status),
            incoming: wanted.incoming.then(incoming).transpose()?,
            outgoing: wanted.outgoing.then(outgoing).transpose()?,
        })
    });
    Ok(answer?)
}

/// Which broken pages are asked for.
#[derive(Clone, Debug)]
pub struct BrokenWanted {
    pub filter: BrokenFilter,
    pub limit: u32,
    /// `next` of an earlier answer.
    pub after: Option<String>,
    /// Of each page, of those that link to it now.
    pub referrers_max: usize,
}

/// Broken pages by site, each with some of the pages that link to it.
pub fn broken(
    collection: &Collection,
    census: &Census,
    wanted: &BrokenWanted,
    progress: Progress<'_>,
) -> Result<BrokenPages, Error> {
    let after = wanted.after.as_deref().map(page_place).transpose()?;
    let of_each = Wanted {
        incoming: true,
        outgoing: false,
        past: false,
        limit: wanted.referrers_max,
        after: None,
    };
    let answer = index::ask(collection, census, progress, |index| {
        let links = Links { index, census };
        let referred = |page: PageStanding| {
            Ok(BrokenPage {
                referrers: links.incoming(page.fp, &of_each, &After::default())?,
                url: page.url,
                status: page.status,
                failure: page.failure,
                state: page.state,
                since: page.since,
                visited: page.visited,
            })
        };
        let limit = usize::try_from(wanted.limit).unwrap_or(usize::MAX);
        let mut pages = census.broken(&wanted.filter, after, wanted.limit.saturating_add(1))?;
        let over = pages.len() > limit;
        pages.truncate(limit);
        let last = pages.last().filter(|_| over);
        let next = last.map(|page| format!("{}-{}", page.site.0, page.fp.0));
        let rows = pages.into_iter().map(referred).collect::<Result<Vec<_>, StoreError>>()?;
        let total = census.count_broken(&wanted.filter)?.max(rows.len() as u64);
        Ok(BrokenPages { total, rows, next })
    });
    Ok(answer?)
}

/// Where an answer goes on.
#[derive(Clone, Copy, Debug, Default)]
struct After {
    /// Links to a page: the last record that was read.
    position: Option<LinkPosition>,
    /// All others: rows that were given before.
    rows: usize,
}

impl After {
    fn read(wanted: &Wanted) -> Result<After, Error> {
        let Some(text) = wanted.after.as_deref() else { return Ok(After::default()) };
        let wrong = || Error::NoCursor { given: text.to_owned() };
        if wanted.incoming == wanted.outgoing {
            return Err(wrong());
        }
        if wanted.incoming && !wanted.past {
            let (segment, offset) = text.split_once('-').ok_or_else(wrong)?;
            let number = |_| wrong();
            let segment = segment.parse().map_err(number)?;
            let offset = offset.parse().map_err(|_| wrong())?;
            return Ok(After { position: Some((segment, offset)), rows: 0 });
        }
        Ok(After { position: None, rows: text.parse().map_err(|_| wrong())? })
    }
}

fn page_place(text: &str) -> Result<(SiteId, Fingerprint), Error> {
    let place = || {
        let (site, fp) = text.split_once('-')?;
        Some((SiteId(site.parse().ok()?), Fingerprint(fp.parse().ok()?)))
    };
    place().ok_or_else(|| Error::NoCursor { given: text.to_owned() })
}

struct Links<'a> {
    index: &'a LinkIndex,
    census: &'a Census,
}

impl Links<'_> {
    fn incoming(
        &self,
        target: Fingerprint,
        wanted: &Wanted,
        after: &After,
    ) -> Result<LinkRows, StoreError> {
        if wanted.past {
            return self.past_incoming(target, wanted, after);
        }
        let total = Some(self.index.count_linking_to(target)?.latest);
        let mut found = LinkRows { total, ..LinkRows::default() };
        let mut last = None;
        for entry in self.index.linking_to(target, after.position) {
            let entry = entry?;
            if !entry.latest {
                continue;
            }
            if found.rows.len() >= wanted.limit {
                found.next = last.map(|(segment, offset)| format!("{segment}-{offset}"));
                break;
            }
            last = Some(entry.position);
            found.rows.extend(self.referrer(&entry, target)?);
        }
        Ok(found)
    }

    fn past_incoming(
        &self,
        target: Fingerprint,
        wanted: &Wanted,
        after: &After,
    ) -> Result<LinkRows, StoreError> {
        let (entries, all) = self.past_referrers(target)?;
        let total = all.then_some(entries.len() as u64);
        let mut found = LinkRows { total, ..LinkRows::default() };
        for (read, entry) in entries.iter().enumerate().skip(after.rows) {
            if found.rows.len() >= wanted.limit {
                found.next = Some(read.to_string());
                break;
            }
            found.rows.extend(self.referrer(entry, target)?);
        }
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

    fn outgoing(
        &self,
        source: Fingerprint,
        wanted: &Wanted,
        after: &After,
    ) -> Result<LinkRows, StoreError> {
        let records = self.index.records_of(source)?;
        let mut found = LinkRows::default();
        let (mut seen, mut all) = (HashSet::new(), true);
        let newest = records.iter().rev().filter(|entry| entry.latest || wanted.past);
        for (read, entry) in newest.enumerate() {
            if read == PAST_OUTGOING_MAX {
                all = false;
                break;
            }
            let Some(record) = self.index.read(entry)? else { continue };
            for links in by_target(&record.links) {
                if !links.first().is_some_and(|link| seen.insert(link.fp)) {
                    continue;
                }
                let is_wanted = seen.len() > after.rows && found.rows.len() < wanted.limit;
                if let Some(row) = folded(links.into_iter(), entry).filter(|_| is_wanted) {
                    found.rows.push(self.with_standing(row)?);
                }
            }
        }
        found.total = all.then_some(seen.len() as u64);
        let given = after.rows + found.rows.len();
        found.next = (seen.len() > given).then(|| given.to_string());
        Ok(found)
    }

    fn with_standing(&self, mut row: LinkRow) -> Result<LinkRow, StoreError> {
        if let Ok(url) = CrawlUrl::parse(&row.url)
            && let Some(page) = self.census.standing_of(&url)?
        {
            row.take(page);
        }
        Ok(row)
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
