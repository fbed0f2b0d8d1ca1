//! Pages that could not be read, those that are left alone for it, and letting them be read again.

use model::{CrawlUrl, Timestamp, limits::BREAKDOWNS_MAX};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    control::{Command, Outcome},
    frontier::Breakdown,
};

use crate::{Error, Listing, control::Control};

/// A page that could not be read, so many times in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuarantineRow {
    pub url: String,
    pub site: String,
    pub times: u32,
    /// What happened the last time.
    pub how: String,
    /// It is not visited any more; else it is only noted.
    pub quarantined: bool,
    #[serde(serialize_with = "model::iso::time")]
    pub first: Timestamp,
    #[serde(serialize_with = "model::iso::time")]
    pub last: Timestamp,
}

/// Those that failed most often first.
pub fn list(collection: &Collection) -> Result<Listing<QuarantineRow>, Error> {
    let rows = Census::open(collection)?.breakdowns()?;
    Ok(Listing::whole(rows.into_iter().map(QuarantineRow::from).collect()))
}

/// What became of the wish to have pages read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuarantineLifted {
    pub pages: u64,
    /// Of what was named, that of which nothing was noted.
    pub unknown: Vec<String>,
    /// A running crawl has not answered yet.
    pub pending: bool,
}

/// Pages by their URL, and all of a site by its name.
pub fn lift(control: &Control, given: &[String]) -> Result<QuarantineLifted, Error> {
    let mut lifted = QuarantineLifted::default();
    for what in given {
        match control.apply(Command::LiftQuarantine { what: what.clone() })? {
            Outcome::Lifted { pages: 0 } => lifted.unknown.push(what.clone()),
            Outcome::Lifted { pages } => lifted.pages += pages,
            _ => lifted.pending = true,
        }
    }
    match lifted.pages == 0 && !lifted.pending {
        true => Err(Error::NotQuarantined { given: given.to_vec() }),
        false => Ok(lifted),
    }
}

/// What keeps a page from being visited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quarantined {
    Page(String),
    Site(String),
}

/// Whether the page is left alone, or its site.
pub fn of(census: &Census, url: &CrawlUrl) -> Result<Option<Quarantined>, Error> {
    let rows = census.breakdowns()?;
    let site = url.site_text();
    let of_site = rows.iter().filter(|row| is_in(row) && row.site == site).count();
    let own = rows.iter().any(|row| is_in(row) && row.url == url.as_str());
    Ok(match own {
        true => Some(Quarantined::Page(url.as_str().to_owned())),
        false if of_site >= BREAKDOWNS_MAX as usize => Some(Quarantined::Site(site.to_owned())),
        false => None,
    })
}

fn is_in(row: &Breakdown) -> bool {
    row.count >= BREAKDOWNS_MAX
}

impl From<Breakdown> for QuarantineRow {
    fn from(row: Breakdown) -> QuarantineRow {
        let quarantined = is_in(&row);
        let Breakdown { site, url, count, how, first, last } = row;
        QuarantineRow { url, site, times: count, how, quarantined, first, last }
    }
}
