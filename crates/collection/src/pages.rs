//! Pages as a list: with filters, in an order, and piece by piece.

use model::{CrawlUrl, PageState};
use seeder::parse_seed;
use serde::Serialize;
use store::census::{Census, PageFilter, PagePlace, PageSort, Period, SORTED_MAX};

use crate::{Error, cursor::Cursor, sites};

pub use store::census::PageRow;

/// What is asked for, in the words of whoever asks.
#[derive(Clone, Debug, Default)]
pub struct PagesQuery {
    /// A host, or a URL of the site.
    pub site: Option<String>,
    pub spider: Option<String>,
    /// A word of [`PageState`].
    pub state: Option<String>,
    /// `404`, `4xx`, or `failed`: no answer.
    pub status: Option<String>,
    /// `text/html`, or `image` for all of them.
    pub media_type: Option<String>,
    pub seed: bool,
    pub prefix: Option<String>,
    pub visited: Period,
    pub changed: Period,
    /// Parts of pages instead of pages.
    pub requisites: bool,
    /// A word of [`PageSort`]; `None`: by URL, or by id where the pages are too many for that.
    pub sort: Option<String>,
    pub reverse: bool,
    pub limit: u32,
    /// [`PageList::next`] of the piece before.
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageList {
    /// `None`: to count them would take longer than to list them.
    pub total: Option<u64>,
    pub sort: &'static str,
    pub rows: Vec<PageRow>,
    /// `None`: these are the last.
    pub next: Option<String>,
}

pub fn list(census: &Census, query: &PagesQuery) -> Result<PageList, Error> {
    let filter = filter(census, query)?;
    let at_most = census.pages_at_most(&filter)?;
    let (order, after) = order(census, query, &filter, at_most)?;
    // One more than is shown tells whether there are others.
    let max = query.limit.saturating_add(1);
    let mut places = census.page_places(&filter, order, after.as_ref(), max)?;
    let has_more = places.len() > query.limit as usize;
    places.truncate(query.limit as usize);
    let next = places.last().filter(|_| has_more).map(|last| cursor(order, last));
    let mut rows = Vec::with_capacity(places.len());
    for place in &places {
        rows.extend(census.page_row(place)?);
    }
    Ok(PageList { total: total(census, &filter, at_most)?, sort: order.0.word(), rows, next })
}

fn cursor((sort, reverse): (PageSort, bool), last: &PagePlace) -> String {
    let (value, ids) = (last.value.clone(), vec![last.site, last.fp]);
    Cursor { sort: sort.word().to_owned(), reverse, value, ids }.text()
}

/// Counted where that is as cheap as a sort, or known without counting.
fn total(census: &Census, filter: &PageFilter, at_most: u64) -> Result<Option<u64>, Error> {
    if at_most <= SORTED_MAX {
        return Ok(Some(census.count_pages(filter, u64::from(u32::MAX))?));
    }
    let everything = PageFilter { requisites: filter.requisites, ..PageFilter::default() };
    let counts = census.counts()?;
    let all = match filter.requisites {
        true => counts.requisites,
        false => counts.pages_known + counts.candidates + counts.pages_excluded,
    };
    Ok((*filter == everything).then_some(all))
}

type Order = (PageSort, bool);

/// The order, and where to go on. A cursor keeps the order it was made in, also where pages have become too
/// many to begin such a list.
fn order(
    census: &Census,
    query: &PagesQuery,
    filter: &PageFilter,
    at_most: u64,
) -> Result<(Order, Option<PagePlace>), Error> {
    let sort = query.sort.as_deref().map(sort_of).transpose()?;
    if let Some(text) = &query.after {
        let no_cursor = || Error::NoCursor { given: text.clone() };
        let cursor = Cursor::read(text, 2)?;
        let found = PageSort::from_word(&cursor.sort).ok_or_else(no_cursor)?;
        let is_reversed = query.reverse && !cursor.reverse;
        if sort.is_some_and(|sort| sort != found) || is_reversed {
            return Err(no_cursor());
        }
        let [site, fp] = cursor.ids[..] else { return Err(no_cursor()) };
        let place = PagePlace { value: cursor.value, site, fp };
        return Ok(((found, cursor.reverse), Some(place)));
    }
    let sort = match sort {
        Some(sort) => sort,
        None if at_most <= SORTED_MAX => PageSort::Url,
        None => PageSort::Id,
    };
    if sort != PageSort::Id && at_most > SORTED_MAX {
        let found = census.count_pages(filter, SORTED_MAX + 1)?;
        if found > SORTED_MAX {
            return Err(Error::TooManyToSort {
                what: "pages",
                sort: sort.word(),
                most: SORTED_MAX,
            });
        }
    }
    Ok(((sort, query.reverse), None))
}

fn sort_of(word: &str) -> Result<PageSort, Error> {
    let known = || PageSort::ALL.map(PageSort::word).to_vec();
    PageSort::from_word(word).ok_or_else(|| Error::unknown_word("sort", word, known()))
}

fn filter(census: &Census, query: &PagesQuery) -> Result<PageFilter, Error> {
    let mut site = query.site.as_deref().map(|site| sites::known(census, site)).transpose()?;
    let prefix = query.prefix.as_deref().map(prefix_of).transpose()?;
    if let Some(prefix) = &prefix {
        let of_prefix = sites::known(census, prefix.site_text())?;
        if site.as_ref().is_some_and(|site| *site != of_prefix) {
            return Err(Error::PrefixElsewhere { prefix: prefix.to_string(), site: of_prefix });
        }
        site = Some(of_prefix);
    }
    let spider = match &query.spider {
        Some(name) => Some(spider_id(census, name)?),
        None => None,
    };
    Ok(PageFilter {
        site,
        spider,
        state: query.state.as_deref().map(state_of).transpose()?,
        status: query.status.as_deref().map(status_of).transpose()?,
        media_type: query.media_type.as_deref().map(media_type_of),
        seed: query.seed,
        prefix: prefix.map(|prefix| prefix.to_string()),
        visited: query.visited,
        changed: query.changed,
        requisites: query.requisites,
    })
}

fn prefix_of(text: &str) -> Result<CrawlUrl, Error> {
    let given = text.strip_suffix('*').unwrap_or(text);
    parse_seed(given).map_err(|why| Error::NoUrl { given: text.to_owned(), why: why.to_string() })
}

fn spider_id(census: &Census, name: &str) -> Result<model::SpiderId, Error> {
    let rows = census.spiders()?;
    let found = rows.iter().find(|row| row.name == name).map(|row| row.id);
    found.ok_or_else(|| Error::SpiderUnknown { name: name.to_owned() })
}

fn state_of(word: &str) -> Result<PageState, Error> {
    let found = PageState::ALL.into_iter().find(|state| state.word() == word);
    let known = || PageState::ALL.map(PageState::word).to_vec();
    found.ok_or_else(|| Error::unknown_word("state", word, known()))
}

/// The statuses from, and up to.
fn status_of(text: &str) -> Result<(u16, u16), Error> {
    let class = text.strip_suffix("xx").and_then(|class| class.parse::<u16>().ok());
    match (text, class, text.parse::<u16>()) {
        ("failed", ..) => Ok((0, 0)),
        (_, Some(class @ 1..=9), _) => Ok((class * 100, class * 100 + 99)),
        (_, _, Ok(status @ 100..=999)) => Ok((status, status)),
        _ => Err(Error::unknown_word("status", text, vec!["404", "4xx", "failed"])),
    }
}

fn media_type_of(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    text.strip_suffix("/*").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_single_ones_classes_or_no_answer() {
        assert_eq!(status_of("404").unwrap(), (404, 404));
        assert_eq!(status_of("4xx").unwrap(), (400, 499));
        assert_eq!(status_of("failed").unwrap(), (0, 0));
        for wrong in ["", "xx", "44", "4x", "0xx", "60000", "70000xx"] {
            assert!(status_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_media_type_may_be_a_whole_class() {
        assert_eq!(media_type_of("Text/HTML"), "text/html");
        assert_eq!(media_type_of("image/*"), "image");
        assert_eq!(media_type_of("image"), "image");
    }
}
