//! Sites: as somebody types them, and as a list.

use model::CrawlUrl;
use seeder::parse_seed;
use serde::Serialize;
use store::census::{Census, SORTED_MAX, SiteFilter, SitePlace, SiteSort};

use crate::{Error, cursor::Cursor};

pub use store::census::{SiteRow, SiteState};

/// What is asked for, in the words of whoever asks.
#[derive(Clone, Debug, Default)]
pub struct SitesQuery {
    /// A registrable domain, or a host of it.
    pub domain: Option<String>,
    pub seeded: bool,
    /// A word of [`SiteState`].
    pub state: Option<String>,
    /// Only those that do not answer.
    pub down: bool,
    /// A word of [`SiteSort`]; `None`: by pages, or by name where the sites are too many for that.
    pub sort: Option<String>,
    pub reverse: bool,
    pub limit: u32,
    /// [`SiteList::next`] of the piece before.
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteList {
    /// `None`: to count them would take longer than to list them.
    pub total: Option<u64>,
    pub sort: &'static str,
    pub rows: Vec<SiteRow>,
    /// `None`: these are the last.
    pub next: Option<String>,
}

pub fn list(census: &Census, query: &SitesQuery) -> Result<SiteList, Error> {
    let filter = SiteFilter {
        domain: query.domain.as_deref().map(domain_of).transpose()?,
        seeded: query.seeded,
        state: query.state.as_deref().map(state_of).transpose()?,
        down: query.down,
    };
    let known = census.counts()?.sites_known;
    let (order, after) = order(census, query, &filter, known)?;
    // One more than is shown tells whether there are others.
    let max = query.limit.saturating_add(1);
    let mut places = census.site_places(&filter, order, after.as_ref(), max)?;
    let has_more = places.len() > query.limit as usize;
    places.truncate(query.limit as usize);
    let next = places.last().filter(|_| has_more).map(|last| cursor(order, last));
    let mut rows = Vec::with_capacity(places.len());
    for place in &places {
        rows.extend(census.site_row(place.id)?);
    }
    let total = match filter == SiteFilter::default() {
        true => Some(known),
        false if known <= SORTED_MAX => Some(census.count_sites(&filter, SORTED_MAX)?),
        false => None,
    };
    Ok(SiteList { total, sort: order.0.word(), rows, next })
}

fn cursor((sort, reverse): (SiteSort, bool), last: &SitePlace) -> String {
    let (value, ids) = (last.value.clone(), vec![last.id]);
    Cursor { sort: sort.word().to_owned(), reverse, value, ids }.text()
}

type Order = (SiteSort, bool);

/// The order, and where to go on; a cursor keeps the order it was made in.
fn order(
    census: &Census,
    query: &SitesQuery,
    filter: &SiteFilter,
    known: u64,
) -> Result<(Order, Option<SitePlace>), Error> {
    let sort = query.sort.as_deref().map(sort_of).transpose()?;
    if let Some(text) = &query.after {
        let no_cursor = || Error::NoCursor { given: text.clone() };
        let cursor = Cursor::read(text, 1)?;
        let found = SiteSort::from_word(&cursor.sort).ok_or_else(no_cursor)?;
        let is_reversed = query.reverse && !cursor.reverse;
        if sort.is_some_and(|sort| sort != found) || is_reversed {
            return Err(no_cursor());
        }
        let id = cursor.ids.first().copied().ok_or_else(no_cursor)?;
        let place = SitePlace { value: cursor.value, id };
        return Ok(((found, cursor.reverse), Some(place)));
    }
    let sort = match sort {
        Some(sort) => sort,
        None if known <= SORTED_MAX => SiteSort::Known,
        None => SiteSort::Site,
    };
    if sort != SiteSort::Site
        && known > SORTED_MAX
        && census.count_sites(filter, SORTED_MAX + 1)? > SORTED_MAX
    {
        return Err(Error::TooManyToSort { what: "sites", sort: sort.word(), most: SORTED_MAX });
    }
    Ok(((sort, query.reverse), None))
}

fn sort_of(word: &str) -> Result<SiteSort, Error> {
    let known = || SiteSort::ALL.map(SiteSort::word).to_vec();
    SiteSort::from_word(word).ok_or_else(|| Error::unknown_word("sort", word, known()))
}

fn state_of(word: &str) -> Result<SiteState, Error> {
    let found = SiteState::ALL.into_iter().find(|state| state.word() == word);
    let known = || SiteState::ALL.map(SiteState::word).to_vec();
    found.ok_or_else(|| Error::unknown_word("state", word, known()))
}

fn domain_of(text: &str) -> Result<String, Error> {
    let host = text.strip_prefix('.').unwrap_or(text);
    let site = named(host)?;
    Ok(model::SiteKey::stored(&site).domain().to_owned())
}

/// The site that is meant, if the collection has it.
pub fn known(census: &Census, text: &str) -> Result<String, Error> {
    let site = named(text)?;
    match census.site(&site)? {
        Some(_) => Ok(site),
        None => Err(Error::SiteUnknown { site }),
    }
}

/// A site as somebody types it: its key, a host (in a network of one's own also one of a single word), or a
/// URL of it.
pub fn named(text: &str) -> Result<String, Error> {
    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let word = || CrawlUrl::parse(&format!("http://{text}/")).ok().filter(|_| is_word);
    match parse_seed(text) {
        Ok(url) => Ok(url.site_text().to_owned()),
        Err(why) => match word() {
            Some(url) => Ok(url.site_text().to_owned()),
            None => Err(Error::NoSite { given: text.to_owned(), why: why.to_string() }),
        },
    }
}
