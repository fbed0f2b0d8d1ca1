//! Populations that were recorded instead of drawn: a collection's own history, or a list of change times.
//!
//! What happened between two visits of a collection is not known: a change counts from the visit that saw it.
//! Pages that were found later count as if they had been there, unchanged, from the first day.

use std::collections::HashMap;

use model::{CrawlUrl, StoreError};
use store::census::Census;

use super::{
    changes::{Changes, DAY},
    population::{Population, averaging_one},
};

/// More days than anybody simulates: a time in the wrong unit.
const DAYS_MAX: i64 = 3_650;
/// Some 800 MB of moments.
const CHANGES_MAX: usize = 100_000_000;

/// A page as it was recorded.
#[derive(Clone, Debug)]
struct Recorded {
    site: String,
    importance: f64,
    changes: Vec<i64>,
}

/// A collection's own visits.
pub fn from_history(census: &Census) -> Result<Result<Population, String>, StoreError> {
    let mut pages = Vec::new();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    census.moments(&mut |page| {
        (first, last) = (first.min(page.first.0), last.max(page.last.0));
        pages.push(Recorded {
            site: page.site,
            importance: 1.0,
            changes: page.changes.into_iter().map(|at| at.0).collect(),
        });
    })?;
    Ok(assemble("history", pages, first, last))
}

/// Lines of `page,change_time[,importance[,site]]`; a page that never changed has an empty time. Times are
/// all dates or all numbers of days.
pub fn from_csv(name: &str, text: &str) -> Result<Population, String> {
    let mut pages: HashMap<String, Recorded> = HashMap::new();
    let mut order = Vec::new();
    let (mut dates, mut numbers) = (None, None);
    let mut count = 0;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || at == 0 && is_header(line) {
            continue;
        }
        let told = |why: String| format!("line {}: {why}", at + 1);
        let fields = fields(line).map_err(told)?;
        let entry = Entry::read(&fields).map_err(told)?;
        match entry.time {
            Some(Moment::Date(_)) => dates = dates.or(Some(at + 1)),
            Some(Moment::Days(_)) => numbers = numbers.or(Some(at + 1)),
            None => {}
        }
        if let (Some(date), Some(days)) = (dates, numbers) {
            return Err(format!(
                "line {date} has a date and line {days} a number of days; give one or the other"
            ));
        }
        count += 1;
        if count > CHANGES_MAX {
            return Err(told(format!("more than {CHANGES_MAX} changes; take a part of them")));
        }
        let page = pages.entry(entry.page.clone()).or_insert_with(|| {
            order.push(entry.page.clone());
            let (site, importance) = (entry.site(), entry.importance.unwrap_or(1.0));
            Recorded { site, importance, changes: Vec::new() }
        });
        page.importance = entry.importance.unwrap_or(page.importance);
        page.changes.extend(entry.time.map(Moment::millis));
    }
    let mut list: Vec<Recorded> = order.iter().filter_map(|page| pages.remove(page)).collect();
    list.iter_mut().for_each(|page| page.changes.sort_unstable());
    let moments = || list.iter().flat_map(|page| page.changes.iter().copied());
    let first =
        if dates.is_some() { moments().min().unwrap_or(0).div_euclid(DAY) * DAY } else { 0 };
    let last = moments().max().unwrap_or(0);
    assemble(name, list, first, last)
}

/// One line.
struct Entry {
    page: String,
    time: Option<Moment>,
    importance: Option<f64>,
    site: Option<String>,
}

#[derive(Clone, Copy)]
enum Moment {
    Date(i64),
    Days(f64),
}

impl Moment {
    fn millis(self) -> i64 {
        match self {
            Moment::Date(at) => at,
            Moment::Days(days) => (days * DAY as f64) as i64,
        }
    }
}

impl Entry {
    fn read(fields: &[String]) -> Result<Entry, String> {
        let field = |at: usize| fields.get(at).map(|text| text.trim()).filter(|t| !t.is_empty());
        if fields.len() > 4 {
            return Err(format!("{} fields; give page,change_time,importance,site", fields.len()));
        }
        let page = field(0).ok_or("no page; give page,change_time")?.to_owned();
        if fields.len() < 2 {
            return Err("no change time; give page,change_time, empty if it never changed".into());
        }
        let importance = field(2)
            .map(|text| {
                let number = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
                number.ok_or_else(|| format!("{text:?} is no importance; give a number above 0"))
            })
            .transpose()?;
        let time = field(1).map(moment).transpose()?;
        Ok(Entry { page, time, importance, site: field(3).map(str::to_owned) })
    }

    /// As given, or the host of the URL.
    fn site(&self) -> String {
        let host = || CrawlUrl::parse(&self.page).ok().map(|url| url.site().to_string());
        self.site.clone().or_else(host).unwrap_or_default()
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(days) = text.parse::<f64>() {
        return match days {
            days if (0.0..=DAYS_MAX as f64).contains(&days) => Ok(Moment::Days(days)),
            _ => Err(format!("{text} is no day between 0 and {DAYS_MAX}")),
        };
    }
    let date = text.parse::<jiff::Timestamp>().map(|at| at.as_millisecond());
    let date = date.or_else(|_| {
        let day = text.parse::<jiff::civil::Date>()?;
        day.to_zoned(jiff::tz::TimeZone::UTC).map(|at| at.timestamp().as_millisecond())
    });
    date.map(Moment::Date).map_err(|_| {
        format!("{text:?} is no time; give a date such as 2026-05-01T12:00:00Z or a number of days")
    })
}

fn is_header(line: &str) -> bool {
    let second = line.split(',').nth(1).unwrap_or_default();
    second.contains("time") || second.contains("change")
}

/// Split at commas; a field in double quotes may hold them.
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                fields[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields[last].push(c),
        }
    }
    if quoted { Err("a quote that does not end".into()) } else { Ok(fields) }
}

fn assemble(
    name: &str,
    mut pages: Vec<Recorded>,
    first: i64,
    last: i64,
) -> Result<Population, String> {
    if pages.is_empty() {
        return Err("there is no page in it".into());
    }
    let days = (last.saturating_sub(first)).div_euclid(DAY) + 1;
    if pages.iter().all(|page| page.changes.is_empty()) {
        return Err("no page ever changed in it: every policy would do".into());
    }
    if !(2..=DAYS_MAX).contains(&days) {
        return Err(format!("it spans {days} days; between 2 and {DAYS_MAX} can be simulated"));
    }
    pages.sort_by(|a, b| a.site.cmp(&b.site));
    let mut site = Vec::with_capacity(pages.len());
    for of_site in pages.chunk_by(|a, b| a.site == b.site) {
        let number = site.last().map_or(0, |last| last + 1);
        site.extend(of_site.iter().map(|_| number));
    }
    // Whoever knew all would know that a page without a change in this time changes less than once in it.
    let rate = |page: &Recorded| (page.changes.len() as f64).max(0.5) / days as f64;
    Ok(Population {
        name: name.to_owned(),
        days: days as u32,
        rates: pages.iter().map(rate).collect(),
        importance: averaging_one(pages.iter().map(|page| page.importance).collect()),
        site,
        // A moment before the first visit is none.
        changes: Changes::of(
            pages
                .into_iter()
                .map(|page| page.changes.into_iter().map(|at| (at - first).max(1)).collect()),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_dates_becomes_a_population() {
        let text = "url,change_time,importance,site\n\
            http://a.example/1,2026-05-01T12:00:00Z,2\n\
            # a remark\n\
            http://a.example/1,2026-05-03\n\
            \"http://b.example/?a,b\",2026-05-02T00:00:00+02:00\n\
            http://a.example/2,,1\n";
        let population = from_csv("x.csv", text).unwrap();
        assert_eq!((population.pages(), population.sites(), population.days), (3, 2, 3));
        assert_eq!(population.site, [0, 0, 1]);
        assert_eq!(population.changes.of_page(0), [DAY / 2, 2 * DAY]);
        assert_eq!(population.changes.of_page(2), [22 * DAY / 24]);
        assert_eq!(population.importance, [1.5, 0.75, 0.75]);
        assert!((population.rates[1] - 0.5 / 3.0).abs() < 1e-9, "never seen to change");
    }

    #[test]
    fn days_count_from_the_first_and_pages_need_no_url() {
        let population = from_csv("x", "one,0.5\ntwo,3.25\none,2\n").unwrap();
        assert_eq!((population.days, population.sites()), (4, 1));
        assert_eq!(population.changes.of_page(0), [DAY / 2, 2 * DAY]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, why) in [
            ("", "no page"),
            ("a\n", "line 1: no change time"),
            ("a,1\nb,soon\n", "line 2: \"soon\" is no time"),
            ("a,1\nb,-4\n", "line 2: -4 is no day"),
            ("a,1\na,2026-01-01\n", "line 2 has a date and line 1 a number of days"),
            ("a,1,much\n", "line 1: \"much\" is no importance"),
            ("a,1,1,s,x\n", "line 1: 5 fields"),
            (",1\n", "line 1: no page"),
            ("\"a,1\n", "line 1: a quote"),
            ("a,\n", "no page ever changed"),
            ("a,0.5\n", "it spans 1 days"),
            ("a,2026-01-01\na,2126-01-01\n", "can be simulated"),
        ] {
            let error = from_csv("x", text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
