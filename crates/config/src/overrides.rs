//! `[[override]]`: other values for some sites or pages, told by conditions of the rules language.
//!
//! - The first table whose condition holds gives the value, key by key.
//! - An override stands above every layer, flags included: it is about fewer pages than they are.
//! - Keys about sites need a condition that holds for all pages of a site or for none.
//! - Looking up does not walk the tables: conditions are indexed by host, URL and the like.
//!
//! Not here: how tables are read ([`read`]).

mod read;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use foldhash::fast::RandomState;
use model::{CrawlUrl, FetchLimits, Fingerprint, SiteKey};
use seeder::Conditions;

pub(super) use self::read::read;
use super::{
    sections::{ChangeBy, Policy, narrow},
    value::Value,
};

/// Far more than people write by hand; a list of pages is one override with a file.
pub const OVERRIDES_MAX: usize = 10_000;

/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Overrides(Option<Arc<Tables>>);

#[derive(Debug, Default)]
struct Tables {
    tables: Vec<Table>,
    conditions: Conditions,
    /// The table of each condition.
    owners: Vec<usize>,
    /// Tables by the single pages that files list.
    listed: HashMap<Fingerprint, Vec<usize>, RandomState>,
    /// The file they stand in.
    path: PathBuf,
}

/// What a table says of the shortest and the longest period.
pub(super) struct Bounds<'a> {
    pub spider: Option<&'a str>,
    pub shortest: Option<Duration>,
    pub longest: Option<Duration>,
    pub path: &'a Path,
    pub line: usize,
}

#[derive(Clone, Debug, Default)]
struct Table {
    /// `None`: of any spider.
    spider: Option<String>,
    line: usize,
    /// The line that bounds the period, if one does.
    bounds_line: usize,
    /// As it was written, for listings.
    text: Vec<String>,
    site: SiteOverride,
    page: PageOverride,
}

/// What is otherwise on a site; `None` is as configured. In limits, the inner `None` lifts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteOverride {
    pub delay: Option<Duration>,
    pub connections: Option<usize>,
    pub site_pages: Option<Option<u64>>,
    pub site_bytes: Option<Option<u64>>,
    pub site_time: Option<Option<Duration>>,
    pub site_time_per_day: Option<Option<Duration>>,
}

/// What is otherwise with a page; `None` is as configured. In limits, the inner `None` lifts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageOverride {
    pub policy: Option<Policy>,
    pub period: Option<Duration>,
    pub period_min: Option<Duration>,
    pub period_max: Option<Duration>,
    pub importance: Option<f64>,
    pub change: Option<ChangeBy>,
    pub watch: Option<Arc<[String]>>,
    pub ignore: Option<Arc<[String]>>,
    pub depth: Option<Option<u16>>,
    pub depth_dynamic: Option<Option<u16>>,
    pub timeout: Option<Duration>,
    pub connect_timeout: Option<Duration>,
    pub tls_timeout: Option<Duration>,
    pub first_byte_timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    pub body_bytes_max: Option<u64>,
    pub compression_ratio_max: Option<u32>,
    pub media_types: Option<Arc<[String]>>,
}

impl Overrides {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What is otherwise on this site for this spider.
    pub fn site(&self, spider: &str, site: &SiteKey) -> SiteOverride {
        let mut found = SiteOverride::default();
        let Some(tables) = &self.0 else { return found };
        // Conditions about sites ask for the host alone, which any URL of the site has.
        let Ok(url) = CrawlUrl::parse(&format!("http://{site}/")) else { return found };
        for at in tables.conditions.holding(&url, 0) {
            let table = &tables.tables[tables.owners[at]];
            if table.is_for(spider) {
                found.fill(&table.site);
            }
        }
        found
    }

    /// What is otherwise with this page for this spider.
    pub fn page(&self, spider: &str, url: &CrawlUrl, level: u16) -> PageOverride {
        let mut found = PageOverride::default();
        for table in self.of_page(spider, url, level) {
            found.fill(&table.page);
        }
        found
    }

    /// The lines of `harvest.toml` whose overrides concern this page, in order.
    pub fn lines(&self, spider: &str, url: &CrawlUrl, level: u16) -> Vec<usize> {
        self.of_page(spider, url, level).map(|table| table.line).collect()
    }

    /// The spiders that overrides name, with the line.
    pub fn spiders(&self) -> impl Iterator<Item = (&str, usize)> {
        let tables = self.0.iter().flat_map(|tables| &tables.tables);
        tables.filter_map(|table| Some((table.spider.as_deref()?, table.line)))
    }

    /// Each table as it was written, line by line, with the line of `harvest.toml` where it begins.
    pub fn listing(&self) -> impl Iterator<Item = (usize, &[String])> {
        let tables = self.0.iter().flat_map(|tables| &tables.tables);
        tables.map(|table| (table.line, table.text.as_slice()))
    }

    /// What says of single pages when they come back: another list, and some may come otherwise.
    pub fn policies(&self) -> Vec<(&[String], u64)> {
        let Some(tables) = &self.0 else { return Vec::new() };
        // Files are in no order here: the sum is the same for the same pages.
        let mut listed = vec![0_u64; tables.tables.len()];
        for (fp, owners) in &tables.listed {
            owners.iter().for_each(|at| listed[*at] = listed[*at].wrapping_add(fp.0));
        }
        let says = |table: &Table| table.page.policy.is_some() || table.page.period.is_some();
        let all = tables.tables.iter().zip(listed);
        all.filter(|(table, _)| says(table)).map(|(t, pages)| (&t.text[..], pages)).collect()
    }

    /// The tables that bound periods.
    pub(super) fn bounds(&self) -> impl Iterator<Item = Bounds<'_>> {
        let tables = self.0.iter().flat_map(|all| all.tables.iter().map(move |one| (all, one)));
        tables.filter(|(_, one)| one.bounds_line > 0).map(|(all, one)| Bounds {
            spider: one.spider.as_deref(),
            shortest: one.page.period_min,
            longest: one.page.period_max,
            path: &all.path,
            line: one.bounds_line,
        })
    }

    fn of_page<'a>(
        &'a self,
        spider: &str,
        url: &CrawlUrl,
        level: u16,
    ) -> impl Iterator<Item = &'a Table> {
        let mut found = Vec::new();
        if let Some(tables) = &self.0 {
            found.extend(tables.conditions.holding(url, level).map(|at| tables.owners[at]));
            found.extend(tables.listed.get(&url.fingerprint()).into_iter().flatten());
            found.retain(|table| tables.tables[*table].is_for(spider));
            found.sort_unstable();
            found.dedup();
        }
        found.into_iter().filter_map(|at| self.0.as_ref()?.tables.get(at))
    }
}

impl Table {
    fn is_for(&self, spider: &str) -> bool {
        self.spider.as_deref().is_none_or(|name| name == spider)
    }

    /// Whether there is room for this key; its value was read by the key's own rules.
    fn set(&mut self, key: &str, value: &Value) -> bool {
        self.set_site(key, value) || self.set_page(key, value)
    }

    fn set_site(&mut self, key: &str, value: &Value) -> bool {
        let site = &mut self.site;
        match key {
            "etiquette.delay" => site.delay = time(value),
            "etiquette.connections" => site.connections = count(value).map(narrow),
            "crawl.site_pages" => site.site_pages = Some(count(value)),
            "crawl.site_bytes" => site.site_bytes = Some(count(value)),
            "crawl.site_time" => site.site_time = Some(time(value)),
            "crawl.site_time_per_day" => site.site_time_per_day = Some(time(value)),
            _ => return false,
        }
        true
    }

    fn set_page(&mut self, key: &str, value: &Value) -> bool {
        let page = &mut self.page;
        match (key, value) {
            ("revisit.policy", Value::Text(word)) => page.policy = Some(Policy::named(word)),
            ("revisit.period", _) => page.period = time(value),
            ("revisit.period_min", _) => page.period_min = time(value),
            ("revisit.period_max", _) => page.period_max = time(value),
            ("revisit.importance", Value::Factor(factor)) => page.importance = Some(*factor),
            ("revisit.change", Value::Text(word)) => page.change = Some(ChangeBy::named(word)),
            ("revisit.watch", Value::List(items)) => page.watch = Some(items.as_slice().into()),
            ("revisit.ignore", Value::List(items)) => page.ignore = Some(items.as_slice().into()),
            ("crawl.depth", _) => page.depth = Some(count(value).map(narrow)),
            ("crawl.depth_dynamic", _) => page.depth_dynamic = Some(count(value).map(narrow)),
            ("fetch.timeout", _) => page.timeout = time(value),
            ("fetch.connect_timeout", _) => page.connect_timeout = time(value),
            ("fetch.tls_timeout", _) => page.tls_timeout = time(value),
            ("fetch.first_byte_timeout", _) => page.first_byte_timeout = time(value),
            ("fetch.idle_timeout", _) => page.idle_timeout = time(value),
            ("fetch.body_bytes_max", _) => page.body_bytes_max = count(value),
            ("fetch.compression_ratio_max", _) => {
                page.compression_ratio_max = count(value).map(narrow)
            }
            ("fetch.media_types", Value::List(items)) => {
                page.media_types = Some(items.as_slice().into());
            }
            _ => return false,
        }
        true
    }
}

/// Takes from the second what the first does not say.
macro_rules! fill {
    ($upper:ident, $lower:ident: $($field:ident),+ $(,)?) => {
        $(if $upper.$field.is_none() { $upper.$field.clone_from(&$lower.$field); })+
    };
}

impl SiteOverride {
    fn fill(&mut self, lower: &SiteOverride) {
        fill!(self, lower: delay, connections, site_pages, site_bytes, site_time, site_time_per_day);
    }
}

impl PageOverride {
    fn fill(&mut self, lower: &PageOverride) {
        fill!(self, lower: period_min, period_max);
        fill!(self, lower: policy, period, importance, depth, depth_dynamic);
        fill!(self, lower: change, watch, ignore);
        fill!(self, lower: timeout, connect_timeout, tls_timeout, first_byte_timeout, idle_timeout);
        fill!(self, lower: body_bytes_max, compression_ratio_max, media_types);
    }

    /// The limits of one fetch as they are with this page.
    pub fn limit(&self, limits: &mut FetchLimits) {
        let put = |mine: Option<Duration>, there: &mut Duration| {
            if let Some(mine) = mine {
                *there = mine;
            }
        };
        put(self.timeout, &mut limits.total);
        put(self.connect_timeout, &mut limits.connect);
        put(self.tls_timeout, &mut limits.tls);
        put(self.first_byte_timeout, &mut limits.first_byte);
        put(self.idle_timeout, &mut limits.idle);
        limits.body_bytes_max = self.body_bytes_max.unwrap_or(limits.body_bytes_max);
        limits.ratio_max = self.compression_ratio_max.unwrap_or(limits.ratio_max);
        if let Some(types) = &self.media_types {
            limits.media_types = types.to_vec();
        }
    }
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Count(n) | Value::Size(n) => Some(*n),
        _ => None,
    }
}

fn time(value: &Value) -> Option<Duration> {
    match value {
        Value::Time(time) => Some(*time),
        _ => None,
    }
}
