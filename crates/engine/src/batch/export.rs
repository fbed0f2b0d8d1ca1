//! A batch goes out: pages are chosen, their sites lent to it, and both written into a file.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use model::{Clock, SpiderId, Timestamp};
use serde::Serialize;
use serde_json::Value;
use store::frontier::SqlFrontier;

use super::{
    Home,
    choose::{Choice, Lent},
    file::{BatchWriter, FORMAT, Header, VERSION},
    outpost,
};
use crate::observe::Observer;
use config::failure::{Failure, cannot_write};

#[derive(Clone, Debug)]
pub struct BatchWanted {
    /// Must not exist.
    pub file: PathBuf,
    /// `None`: as many as `revisit.batch` says.
    pub pages_max: Option<usize>,
    /// Only pages of this spider.
    pub spider: Option<String>,
    /// How long nobody else visits its sites.
    pub lease: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportedBatch {
    pub batch: i64,
    pub file: PathBuf,
    pub sites: u64,
    pub pages: u64,
    /// When its leases end.
    #[serde(serialize_with = "model::iso::time")]
    pub until: Timestamp,
    /// Pages that would have had room, but for `revisit.batch_site_max`.
    pub over_site_max: u64,
}

pub fn export(
    folder: &Path,
    observer: Arc<dyn Observer>,
    wanted: &BatchWanted,
    clock: &Arc<dyn Clock>,
) -> Result<ExportedBatch, Failure> {
    if wanted.file.exists() {
        return Err(Failure::usage(
            format!("{} exists", wanted.file.display()),
            "name a new file, or remove that one",
        ));
    }
    let mut home = Home::open(folder, observer, clock)?;
    let spider = spider(&home, wanted.spider.as_deref())?;
    let manners = manners(&home, spider)?;
    let now = clock.now();
    let frontier = &mut home.house.frontier;
    let until = now.plus(wanted.lease);
    let batch = frontier.begin_batch(now, until, &absolute(&wanted.file)?)?;
    let choice = Choice {
        spiders: &home.house.stage.spiders,
        terms: &*home.terms,
        spider,
        pages_max: wanted.pages_max,
        batch,
        now,
        lease: wanted.lease,
    };
    let mut blocks = Vec::new();
    frontier.each_block(|entry| blocks.push(entry.pattern))?;
    let collection = frontier.collection_id(now)?;
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        collection,
        batch,
        made: now,
        until,
        sites: 0,
        pages: 0,
        manners,
        blocks,
    };
    let Lent { sites, pages, over_site_max } = lend(&choice, frontier, &wanted.file, header)
        .or_else(|failure| {
            // It was not there before, and a file without its batch must not be harvested.
            let _ = fs::remove_file(&wanted.file);
            frontier.forget_batch(batch, now)?;
            Err(failure)
        })?;
    Ok(ExportedBatch { batch, file: wanted.file.clone(), sites, pages, until, over_site_max })
}

/// Writes the batch as its sites are lent.
fn lend(
    choice: &Choice<'_>,
    frontier: &mut SqlFrontier,
    file: &Path,
    mut header: Header,
) -> Result<Lent, Failure> {
    let mut writer = BatchWriter::begin(file, &header)?;
    let lent = choice.lend(frontier, &mut |site| writer.add(site))?;
    if lent.sites == 0 {
        return Err(nothing_due());
    }
    (header.sites, header.pages) = (lent.sites, lent.pages);
    // A kill before the file stands leaves no batch, one after it leaves a batch that is out.
    writer.finish(&header)?;
    frontier.batch_is_out(choice.batch, (lent.sites, lent.pages), choice.now)?;
    Ok(lent)
}

/// Who looks for it later may stand in another folder.
fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| cannot_write(file, &error))
}

fn nothing_due() -> Failure {
    Failure::usage(
        "no page is due that could go into a batch",
        "see when the next one is with: harvestman status",
    )
}

fn spider(home: &Home, name: Option<&str>) -> Result<Option<SpiderId>, Failure> {
    let Some(name) = name else { return Ok(None) };
    match home.house.stage.spiders.named(name) {
        Some(spider) => Ok(Some(spider.id)),
        None => Err(collection::Error::SpiderUnknown { name: name.to_owned() }.into()),
    }
}

/// Those of the one spider whose pages go out; where several do, those they have in common.
fn manners(home: &Home, spider: Option<SpiderId>) -> Result<BTreeMap<String, Value>, Failure> {
    let rows = home.house.frontier.spiders()?;
    let only = match (spider, &rows[..]) {
        (Some(id), _) => rows.iter().find(|row| row.id == id),
        (None, [row]) => Some(row),
        (None, _) => None,
    };
    Ok(match only {
        Some(row) => outpost::manners(&home.config.for_spider(&row.name, &row.settings)?.config),
        None => outpost::manners(&home.config),
    })
}
