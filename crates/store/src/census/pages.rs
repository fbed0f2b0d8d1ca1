//! Pages as a list: filtered, sorted, and read in pieces by a cursor.
//!
//! The order [`PageSort::Id`] is that of the table and costs what is listed. All other orders look at every
//! page that the filter leaves, so callers hold them to [`SORTED_MAX`] pages. No index is added for them:
//! each would be written at every check-in.

use model::{CrawlUrl, PageState, SpiderId, StoreError, Timestamp};
use serde::{Serialize, Serializer};

use super::{Census, unknown};
use crate::sql::{self, Row, Value, params};

/// Pages that are sorted for one answer: some tens of milliseconds.
pub const SORTED_MAX: u64 = 100_000;

/// Conditions that hold together; the default is every page that is not a requisite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFilter {
    /// Key of a site.
    pub site: Option<String>,
    pub spider: Option<SpiderId>,
    pub state: Option<PageState>,
    /// Statuses of the last visit, both ends included; 0: it brought no answer.
    pub status: Option<(u16, u16)>,
    /// A media type, or what comes before its slash.
    pub media_type: Option<String>,
    pub seed: bool,
    /// How the URL begins. It is of one site, which is to be given as well.
    pub prefix: Option<String>,
    pub visited: Period,
    pub changed: Period,
    /// Parts of pages instead of pages.
    pub requisites: bool,
}

/// From a moment on, and before another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    pub since: Option<Timestamp>,
    pub before: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSort {
    /// By site in the order they were found, and within a site by fingerprint.
    Id,
    Url,
    /// The earliest first, pages without a due time last.
    Due,
    /// The newest first; pages without a time last.
    Visited,
    Changed,
    Found,
    /// The largest first.
    Visits,
    Bytes,
    /// The lowest first.
    Level,
}

impl PageSort {
    pub const ALL: [PageSort; 9] = [
        PageSort::Id,
        PageSort::Url,
        PageSort::Due,
        PageSort::Visited,
        PageSort::Changed,
        PageSort::Found,
        PageSort::Visits,
        PageSort::Bytes,
        PageSort::Level,
    ];

    pub fn word(self) -> &'static str {
        match self {
            PageSort::Id => "id",
            PageSort::Url => "url",
            PageSort::Due => "due",
            PageSort::Visited => "visited",
            PageSort::Changed => "changed",
            PageSort::Found => "found",
            PageSort::Visits => "visits",
            PageSort::Bytes => "bytes",
            PageSort::Level => "level",
        }
    }

    pub fn from_word(word: &str) -> Option<PageSort> {
        Self::ALL.into_iter().find(|sort| sort.word() == word)
    }

    fn is_descending(self) -> bool {
        !matches!(self, PageSort::Id | PageSort::Url | PageSort::Due | PageSort::Level)
    }

    /// Never NULL, so that a cursor can be compared with it.
    fn key(self) -> &'static str {
        match self {
            PageSort::Id => "0",
            PageSort::Url => "p.url",
            PageSort::Due => "coalesce(max(p.due, s.not_before), 9223372036854775807)",
            PageSort::Visited => "coalesce(p.visited, -9223372036854775808)",
            PageSort::Changed => "coalesce(p.changed, -9223372036854775808)",
            PageSort::Found => "p.found",
            PageSort::Visits => "p.visits",
            PageSort::Bytes => "coalesce((SELECT body_bytes FROM visits WHERE seq = p.run), -1)",
            PageSort::Level => "p.level",
        }
    }
}

/// What a row is sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortValue {
    Number(i64),
    Text(String),
}

impl SortValue {
    pub(super) fn stored(&self) -> Value {
        match self {
            SortValue::Number(number) => Value::Integer(*number),
            SortValue::Text(text) => Value::Text(text.clone()),
        }
    }

    pub(super) fn from_row(row: Row<'_>, column: usize) -> sql::Result<SortValue> {
        Ok(match row.get(column)? {
            Value::Text(text) => SortValue::Text(text),
            Value::Integer(number) => SortValue::Number(number),
            _ => return Err(unknown(column)),
        })
    }
}

/// The place of a page in a sorted list; no two pages have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePlace {
    pub value: SortValue,
    pub site: i64,
    pub fp: i64,
}

/// Every field of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageRow {
    pub url: String,
    pub site: String,
    /// `None`: its spider was removed without a trace, which does not happen.
    pub spider: Option<String>,
    pub state: PageState,
    pub seed: bool,
    pub requisite: bool,
    /// Links from the entry page of its site.
    pub level: u16,
    /// Of the last visit; 0: no answer. `None`: never visited.
    pub status: Option<u16>,
    /// Why the last visit brought no answer.
    pub failure: Option<String>,
    pub media_type: Option<String>,
    pub charset: Option<String>,
    pub language: Option<String>,
    pub title: Option<String>,
    /// Of the content of the current version.
    pub bytes: Option<u64>,
    /// Of its text.
    pub text_bytes: Option<u64>,
    #[serde(serialize_with = "hex")]
    pub content_hash: Option<u64>,
    /// URL of an earlier page of the site with the same content.
    pub duplicate_of: Option<String>,
    /// URL of the first page of the site with nearly the same text.
    pub near_duplicate_of: Option<String>,
    pub canonical: Option<String>,
    pub location: Option<String>,
    pub links_internal: Option<u32>,
    pub links_external: Option<u32>,
    /// When a link or seed first led to it.
    #[serde(serialize_with = "model::iso::time")]
    pub found: Timestamp,
    /// First visit that brought content.
    #[serde(serialize_with = "model::iso::option")]
    pub first_fetched: Option<Timestamp>,
    #[serde(serialize_with = "model::iso::option")]
    pub visited: Option<Timestamp>,
    /// Last visit that showed a change.
    #[serde(serialize_with = "model::iso::option")]
    pub changed: Option<Timestamp>,
    #[serde(serialize_with = "model::iso::option")]
    pub due: Option<Timestamp>,
    pub visits: u64,
    /// Failed visits in a row.
    pub failures: u16,
    /// Visits whose content could be compared with that of the visit before, …
    pub compared: u64,
    /// … and those among them that showed a change.
    pub changes: u64,
    /// Time between visits that saw the same content.
    pub unchanged_seconds: u64,
    /// Of the first visit that saw the current version: until the first byte, and in all.
    pub latency_ms: Option<u64>,
    pub elapsed_ms: Option<u64>,
    pub bytes_per_second: Option<u64>,
}

fn hex<S: Serializer>(hash: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match hash {
        Some(hash) => to.serialize_str(&format!("{hash:016x}")),
        None => to.serialize_none(),
    }
}

/// The visits row of the last visit: visits that saw the same again are folded into an earlier row.
const LAST_VISIT: &str = "CASE p.state WHEN 2 THEN p.run ELSE (SELECT seq FROM visits \
     WHERE site = p.site AND fp = p.fp ORDER BY last DESC, seq DESC LIMIT 1) END";

impl Census {
    /// The places of pages behind `after`.
    pub fn page_places(
        &self,
        filter: &PageFilter,
        (sort, reverse): (PageSort, bool),
        after: Option<&PagePlace>,
        max: u32,
    ) -> Result<Vec<PagePlace>, StoreError> {
        let mut question = Conditions::of(filter);
        let is_descending = sort.is_descending() != reverse;
        if let Some(place) = after {
            question.behind(place, sort, is_descending, filter.site.is_some());
        }
        let way = if is_descending { "DESC" } else { "ASC" };
        let key = sort.key();
        let order = match sort {
            PageSort::Id => format!("p.site {way}, p.fp {way}"),
            _ => format!("{key} {way}, p.site {way}, p.fp {way}"),
        };
        let from = match sort {
            PageSort::Due => "pages p /*CROSS*/ JOIN sites s ON s.id = p.site",
            _ => "pages p",
        };
        let sql = format!(
            "SELECT {key}, p.site, p.fp FROM {from} WHERE {} ORDER BY {order} LIMIT {max}",
            question.sql
        );
        self.list(&sql, &question.values[..], |row| {
            let value = SortValue::from_row(row, 0)?;
            Ok(PagePlace { value, site: row.get(1)?, fp: row.get(2)? })
        })
    }

    /// How many pages the filter leaves, counted up to `max`.
    pub fn count_pages(&self, filter: &PageFilter, max: u64) -> Result<u64, StoreError> {
        let question = Conditions::of(filter);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM pages p WHERE {} LIMIT {max}) AS found",
            question.sql
        );
        let count = self.list(&sql, &question.values[..], |row| row.get(0))?;
        Ok(count.first().map_or(0, |count: &i64| *count as u64))
    }

    /// How many rows have to be looked at for a filter at most, by the counters alone.
    pub fn pages_at_most(&self, filter: &PageFilter) -> Result<u64, StoreError> {
        if let Some(site) = &filter.site {
            let sql = "SELECT pages FROM sites WHERE key = ?1";
            let pages = self.list(sql, [site], |row| row.get::<i64>(0))?;
            return Ok(pages.first().map_or(0, |pages| *pages as u64));
        }
        let counts = self.counts()?;
        let pages = counts.pages_known + counts.candidates + counts.pages_excluded;
        Ok(pages + counts.requisites)
    }

    /// How many seeds there are, and how many of them were never visited; at most `max` are looked at.
    pub fn seeds_waiting(&self, max: u32) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*), count(*) FILTER (WHERE state < 2) \
             FROM (SELECT state FROM pages WHERE seed = 1 LIMIT ?1) AS seeds";
        let counts = self.list(sql, [max], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(counts
            .first()
            .map_or((0, 0), |(all, waiting): &(i64, i64)| (*all as u64, *waiting as u64)))
    }

    pub fn page_row_of(&self, url: &CrawlUrl) -> Result<Option<PageRow>, StoreError> {
        let Some(site) = self.site_number(url.site_text())? else { return Ok(None) };
        let fp = url.fingerprint().0 as i64;
        self.page_row(&PagePlace { value: SortValue::Number(0), site, fp })
    }

    /// The page at a place; `None`: it was forgotten since.
    pub fn page_row(&self, place: &PagePlace) -> Result<Option<PageRow>, StoreError> {
        let sql = format!(
            "SELECT p.url, s.key, n.name, p.state, p.seed, p.requisite, p.level, l.status, l.failure, \
             f.media_type, f.charset, f.language, f.title, r.body_bytes, f.text_bytes, \
             r.content_hash, (SELECT url FROM pages WHERE site = p.site AND fp = f.duplicate_of), \
             (SELECT url FROM pages WHERE site = p.site AND fp = f.near_of), f.canonical, \
             f.location, f.links_internal, f.links_external, p.found, p.first, p.visited, \
             p.changed, max(p.due, s.not_before), p.visits, p.failures, p.compared, p.changes, \
             (SELECT coalesce(sum(max(last - first, 0)), 0) FROM visits WHERE site = p.site \
             AND fp = p.fp AND change IN (0, 1, 2, 3, 7)), r.latency, r.elapsed, r.wire_bytes / r.count \
             FROM pages p JOIN sites s ON s.id = p.site LEFT JOIN spiders n ON n.id = p.spider \
             LEFT JOIN page_facts f ON f.site = p.site AND f.fp = p.fp \
             LEFT JOIN visits r ON r.seq = p.run LEFT JOIN visits l ON l.seq = {LAST_VISIT} \
             WHERE p.site = ?1 AND p.fp = ?2"
        );
        Ok(self.list(&sql, params![place.site, place.fp], page_row)?.pop())
    }
}

/// A WHERE clause and its values.
struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    fn of(filter: &PageFilter) -> Conditions {
        let requisite = i32::from(filter.requisites);
        let mut all = Conditions { sql: format!("p.requisite = {requisite}"), values: Vec::new() };
        if let Some(site) = &filter.site {
            all.and("p.site = (SELECT id FROM sites WHERE key = ?)", [site.clone().into()]);
        }
        if filter.seed {
            all.and("p.seed = 1", []);
        }
        if let Some(spider) = filter.spider {
            all.and("p.spider = ?", [i64::from(spider.0).into()]);
        }
        if let Some(state) = filter.state {
            all.and("p.state = ?", [i64::from(state as u8).into()]);
        }
        if let Some(prefix) = &filter.prefix {
            let length = prefix.chars().count() as i64;
            all.and("substr(p.url, 1, ?) = ?", [length.into(), prefix.clone().into()]);
        }
        all.within("p.visited", filter.visited);
        all.within("p.changed", filter.changed);
        if let Some((least, most)) = filter.status {
            let status = format!("(SELECT status FROM visits WHERE seq = {LAST_VISIT})");
            let both = [i64::from(least).into(), i64::from(most).into()];
            all.and(&format!("{status} BETWEEN ? AND ?"), both);
        }
        if let Some(wanted) = &filter.media_type {
            let is_it = match wanted.contains('/') {
                true => "f.media_type = ?",
                false => "substr(f.media_type, 1, instr(f.media_type, '/') - 1) = ?",
            };
            all.and(
                &format!(
                    "EXISTS (SELECT 1 FROM page_facts f WHERE f.site = p.site AND f.fp = p.fp AND {is_it})"
                ),
                [wanted.clone().into()],
            );
        }
        all
    }

    fn and<const N: usize>(&mut self, condition: &str, values: [Value; N]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    fn within(&mut self, column: &str, period: Period) {
        if let Some(since) = period.since {
            self.and(&format!("{column} >= ?"), [since.0.into()]);
        }
        if let Some(before) = period.before {
            self.and(&format!("{column} < ?"), [before.0.into()]);
        }
    }

    /// What comes after a place. Of one site the fingerprint alone is compared: with the site beside it SQLite
    /// would begin at the first page of the site every time.
    fn behind(&mut self, place: &PagePlace, sort: PageSort, is_descending: bool, one_site: bool) {
        let than = if is_descending { '<' } else { '>' };
        let (site, fp) = (Value::Integer(place.site), Value::Integer(place.fp));
        match sort {
            PageSort::Id if one_site => self.and(&format!("p.fp {than} ?"), [fp]),
            PageSort::Id => self.and(&format!("(p.site, p.fp) {than} (?, ?)"), [site, fp]),
            _ => self.and(
                &format!("({}, p.site, p.fp) {than} (?, ?, ?)", sort.key()),
                [place.value.stored(), site, fp],
            ),
        }
    }
}

fn page_row(row: Row<'_>) -> sql::Result<PageRow> {
    let moment = |column: usize| row.get::<Option<i64>>(column).map(|at| at.map(Timestamp));
    let number = |column: usize| row.get::<Option<i64>>(column).map(|n| n.map(|n| n as u64));
    let count = |column: usize| row.get::<i64>(column).map(|n| n as u64);
    let text = |column: usize| {
        let text: Option<String> = row.get(column)?;
        Ok::<_, sql::Error>(text.filter(|text| !text.is_empty()))
    };
    let (elapsed_ms, wire_bytes) = (number(33)?, number(34)?);
    let speed = |(bytes, ms): (u64, u64)| bytes.saturating_mul(1_000) / ms.max(1);
    Ok(PageRow {
        url: row.get(0)?,
        site: row.get(1)?,
        spider: row.get(2)?,
        state: PageState::from_stored(row.get(3)?).ok_or_else(|| unknown(3))?,
        seed: row.get(4)?,
        requisite: row.get(5)?,
        level: row.get(6)?,
        status: row.get(7)?,
        failure: row.get(8)?,
        media_type: text(9)?,
        charset: text(10)?,
        language: text(11)?,
        title: text(12)?,
        bytes: number(13)?,
        text_bytes: number(14)?,
        content_hash: number(15)?,
        duplicate_of: row.get(16)?,
        near_duplicate_of: row.get(17)?,
        canonical: row.get(18)?,
        location: row.get(19)?,
        links_internal: row.get(20)?,
        links_external: row.get(21)?,
        found: Timestamp(row.get(22)?),
        first_fetched: moment(23)?,
        visited: moment(24)?,
        changed: moment(25)?,
        due: moment(26)?,
        visits: count(27)?,
        failures: row.get(28)?,
        compared: count(29)?,
        changes: count(30)?,
        unchanged_seconds: count(31)? / 1_000,
        latency_ms: number(32)?,
        elapsed_ms,
        bytes_per_second: wire_bytes.zip(elapsed_ms).map(speed),
    })
}
