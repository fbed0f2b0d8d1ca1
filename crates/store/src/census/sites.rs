//! Sites as a list: filtered, sorted, and read in pieces by a cursor.
//!
//! By key the list costs what it shows, for the key has an index. Other orders read every site, so callers hold
//! them to [`SORTED_MAX`](super::SORTED_MAX) sites.

use model::{SiteTraps, StoreError, Timestamp};
use serde::Serialize;

use super::{Census, pages::SortValue, unknown};
use crate::sql::{self, Row, Value, params};

/// Conditions that hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteFilter {
    /// A registrable domain.
    pub domain: Option<String>,
    pub seeded: bool,
    pub state: Option<SiteState>,
    /// Only those that did not answer when they were last asked.
    pub down: bool,
}

/// What a site is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteState {
    /// Leased: by a crawl, or by a batch.
    Active,
    /// Pages are left out for now: of spiders that are paused, or that have reached a limit there.
    Resting,
    /// Something is or will be due.
    Waiting,
    /// Nothing is due.
    Idle,
}

impl SiteState {
    pub const ALL: [SiteState; 4] =
        [SiteState::Active, SiteState::Resting, SiteState::Waiting, SiteState::Idle];

    pub fn word(self) -> &'static str {
        match self {
            SiteState::Active => "active",
            SiteState::Resting => "resting",
            SiteState::Waiting => "waiting",
            SiteState::Idle => "idle",
        }
    }

    fn condition(self) -> &'static str {
        match self {
            SiteState::Active => "leased = 1",
            SiteState::Resting => "leased = 0 AND resting = 1",
            SiteState::Waiting => {
                "leased = 0 AND resting = 0 AND (due IS NOT NULL OR due_again IS NOT NULL)"
            }
            SiteState::Idle => "leased = 0 AND resting = 0 AND due IS NULL AND due_again IS NULL",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteSort {
    /// By key.
    Site,
    /// The largest first, as all but `Due`.
    Known,
    Fetched,
    Failed,
    Visits,
    Bytes,
    /// The earliest first, sites without a due time last.
    Due,
}

impl SiteSort {
    pub const ALL: [SiteSort; 7] = [
        SiteSort::Site,
        SiteSort::Known,
        SiteSort::Fetched,
        SiteSort::Failed,
        SiteSort::Visits,
        SiteSort::Bytes,
        SiteSort::Due,
    ];

    pub fn word(self) -> &'static str {
        match self {
            SiteSort::Site => "site",
            SiteSort::Known => "known",
            SiteSort::Fetched => "fetched",
            SiteSort::Failed => "failed",
            SiteSort::Visits => "visits",
            SiteSort::Bytes => "bytes",
            SiteSort::Due => "due",
        }
    }

    pub fn from_word(word: &str) -> Option<SiteSort> {
        Self::ALL.into_iter().find(|sort| sort.word() == word)
    }

    fn is_descending(self) -> bool {
        !matches!(self, SiteSort::Site | SiteSort::Due)
    }

    /// Never NULL, so that a cursor can be compared with it.
    fn key(self) -> &'static str {
        match self {
            SiteSort::Site => "key",
            SiteSort::Due => "coalesce(min(due, due_again), due, due_again, 9223372036854775807)",
            _ => self.word(),
        }
    }
}

/// The place of a site in a sorted list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePlace {
    pub value: SortValue,
    pub id: i64,
}

/// Every field of a site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRow {
    pub site: String,
    pub domain: String,
    pub seeded: bool,
    pub state: SiteState,
    /// The first its name was last resolved to, …
    pub address: Option<String>,
    /// … and when that was.
    #[serde(serialize_with = "model::iso::option")]
    pub resolved: Option<Timestamp>,
    /// All URLs known of it, requisites and refused ones included.
    pub urls: u64,
    /// Those among them without a query, …
    #[serde(rename = "static")]
    pub fixed: u64,
    /// … and with one.
    pub dynamic: u64,
    /// Pages admitted, as in all that follow: without candidates, excluded ones and requisites.
    pub known: u64,
    /// Not answered yet.
    pub waiting: u64,
    /// Answered with content at least once.
    pub fetched: u64,
    /// Failing now.
    pub failed: u64,
    pub duplicates: u64,
    pub requisites: u64,
    pub visits: u64,
    /// Over the wire.
    pub bytes: u64,
    #[serde(serialize_with = "model::iso::option")]
    pub due: Option<Timestamp>,
    /// Of the last answer.
    pub response_ms: Option<u64>,
    /// How often the delay is doubled at present, after errors.
    pub backoff: u8,
    /// It has not answered since.
    #[serde(serialize_with = "model::iso::option")]
    pub down_since: Option<Timestamp>,
    /// The site of which it is a mirror.
    pub mirror_of: Option<String>,
}

impl Census {
    /// The places of sites behind `after`.
    pub fn site_places(
        &self,
        filter: &SiteFilter,
        (sort, reverse): (SiteSort, bool),
        after: Option<&SitePlace>,
        max: u32,
    ) -> Result<Vec<SitePlace>, StoreError> {
        let (mut conditions, mut values) = conditions(filter);
        let is_descending = sort.is_descending() != reverse;
        let (way, than) = if is_descending { ("DESC", '<') } else { ("ASC", '>') };
        let key = sort.key();
        if let Some(place) = after {
            match sort {
                // Keys are unique, and their index is used for this form.
                SiteSort::Site => conditions.push_str(&format!(" AND key {than} ?")),
                _ => conditions.push_str(&format!(" AND ({key}, id) {than} (?, ?)")),
            }
            values.push(place.value.stored());
            values.extend((sort != SiteSort::Site).then_some(Value::Integer(place.id)));
        }
        let order = match sort {
            SiteSort::Site => format!("key {way}"),
            _ => format!("{key} {way}, id {way}"),
        };
        let sql =
            format!("SELECT {key}, id FROM sites WHERE {conditions} ORDER BY {order} LIMIT {max}");
        self.list(&sql, &values[..], |row| {
            Ok(SitePlace { value: SortValue::from_row(row, 0)?, id: row.get(1)? })
        })
    }

    /// How many sites the filter leaves, counted up to `max`.
    pub fn count_sites(&self, filter: &SiteFilter, max: u64) -> Result<u64, StoreError> {
        let (conditions, values) = conditions(filter);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM sites WHERE {conditions} LIMIT {max}) AS found"
        );
        let count = self.list(&sql, &values[..], |row| row.get(0))?;
        Ok(count.first().map_or(0, |count: &i64| *count as u64))
    }

    pub fn site_row(&self, id: i64) -> Result<Option<SiteRow>, StoreError> {
        let sql = "SELECT s.key, s.domain, s.seeded, s.leased, s.resting, \
             coalesce(min(s.due, s.due_again), s.due, s.due_again), s.pages, s.known, s.fetched, \
             s.failed, s.duplicates, s.requisites, s.visits, s.bytes, s.last_response, s.backoff, \
             CASE WHEN instr(s.traps, '\"down\":') > 0 THEN s.traps END, r.original, s.address, s.resolved, s.dynamic, s.waiting \
             FROM sites s LEFT JOIN replicas r ON r.site = s.key AND r.state IN ('reported', 'folded') \
             WHERE s.id = ?1";
        Ok(self.list(sql, params![id], site_row)?.pop())
    }
}

fn conditions(filter: &SiteFilter) -> (String, Vec<Value>) {
    let (mut sql, mut values) = (String::from("1 = 1"), Vec::new());
    if let Some(domain) = &filter.domain {
        sql.push_str(" AND domain = ?");
        values.push(Value::Text(domain.clone()));
    }
    if filter.seeded {
        sql.push_str(" AND seeded = 1");
    }
    if filter.down {
        // As the index has it.
        sql.push_str(" AND instr(traps, '\"down\":') > 0");
    }
    if let Some(state) = filter.state {
        sql.push_str(" AND ");
        sql.push_str(state.condition());
    }
    (sql, values)
}

fn site_row(row: Row<'_>) -> sql::Result<SiteRow> {
    let count = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
    let due = row.get::<Option<i64>>(5)?.map(Timestamp);
    let state = match (row.get(3)?, row.get(4)?) {
        (true, _) => SiteState::Active,
        (_, true) => SiteState::Resting,
        _ if due.is_some() => SiteState::Waiting,
        _ => SiteState::Idle,
    };
    let traps: Option<String> = row.get(16)?;
    let traps = traps.map(|text| serde_json::from_str::<SiteTraps>(&text));
    let down = traps.transpose().map_err(|_| unknown(16))?.and_then(|traps| traps.down);
    Ok(SiteRow {
        site: row.get(0)?,
        domain: row.get(1)?,
        seeded: row.get(2)?,
        state,
        address: row.get(18)?,
        resolved: row.get::<Option<i64>>(19)?.map(Timestamp),
        urls: count(6)?,
        fixed: count(6)?.saturating_sub(count(20)?),
        dynamic: count(20)?,
        known: count(7)?,
        waiting: count(21)?,
        fetched: count(8)?,
        failed: count(9)?,
        duplicates: count(10)?,
        requisites: count(11)?,
        visits: count(12)?,
        bytes: count(13)?,
        // A lease has its end in `due`.
        due: due.filter(|_| state != SiteState::Active),
        response_ms: Some(count(14)?).filter(|ms| *ms > 0),
        backoff: row.get(15)?,
        down_since: down.map(|down| down.since),
        mirror_of: row.get::<Option<String>>(17)?.filter(|original| !original.is_empty()),
    })
}
