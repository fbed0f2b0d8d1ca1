//! From the configuration and the collection's spiders to the course of a crawl.
//!
//! `harvest.toml` is looked at while the crawl runs: what is changed there takes effect as a spider's own
//! settings do, as far as a running crawl can follow (docs/configuration.md says which keys need a restart).
//! A file with a mistake in it changes nothing and is told.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, RwLock},
};

use harvester::{
    http::HttpProfile,
    workbench::{SiteTerms, SpiderLimits, Terms},
};
use manager::PurseId;
use model::{Page, SiteKey, SpiderId, limits};
use seeder::{Blocks, SeedSet};
use store::spiders::SpiderRow;
use xxhash_rust::xxh3::xxh3_64;

use crate::build_spider::build_spider;
use crate::network::Network;
use crate::pipeline::{
    course::{Bounds, Budgets, Course, Fingerprints, Helm},
    spiders::Spider,
};
use config::{
    self, Config, FlagValues, Overrides, Revisit, SpiderConfig,
    failure::Failure,
    setup::{network as access, returns as revisiting, returns::COMMON},
};

pub struct Steering {
    folder: PathBuf,
    flags: FlagValues,
    config: Config,
    blocks: Blocks,
    network: Network,
    /// What each spider's seeds cover; outlives every change of the spider.
    seeds: BTreeMap<SpiderId, Arc<RwLock<SeedSet>>>,
    /// Of `harvest.toml` as it was last looked at.
    file: u64,
}

impl Steering {
    pub fn new(
        folder: PathBuf,
        flags: FlagValues,
        config: Config,
        blocks: Blocks,
        network: Network,
    ) -> Steering {
        let file = stamp(&folder);
        Steering { folder, flags, config, blocks, network, seeds: BTreeMap::new(), file }
    }

    pub fn set(&mut self, rows: &[SpiderRow]) -> Result<Course, Failure> {
        let mut spiders = Vec::with_capacity(rows.len());
        let mut purses = vec![(COMMON, revisiting::common_budget(&self.config.revisit))];
        let (mut returning, overrides) = (Vec::new(), self.config.overrides.clone());
        let (mut by_spider, mut profiles) = (BTreeMap::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let SpiderConfig { config, own } = self.config.for_spider(&row.name, &row.settings)?;
            by_spider.insert(row.id, (row.name.clone(), site_terms(&config)));
            let limits = SpiderLimits {
                paused: row.paused,
                fetches_max: own.max_fetches,
                pages_max: own.pages,
                bytes_max: own.bytes,
            };
            let bounds = Bounds { limits, time: own.time, spent: row.spent };
            let purse = revisiting::own_purse(row.id, &own);
            let paid_by = purse.as_ref().map_or(COMMON, |(purse, _)| *purse);
            purses.extend(purse);
            returning.push((row.id, fingerprint_of(&config.revisit, &overrides)));
            spiders.push((self.spider(row, paid_by, &config)?, bounds));
            profiles.push((row.id, access::profile(&config, &self.folder, &row.name)?, config));
        }
        self.let_in(&profiles)?;
        Ok(Course {
            spiders,
            terms: Arc::new(CourseTerms { by_spider, overrides }),
            pages_max: self.config.crawl.pages,
            bytes_max: self.config.crawl.bytes,
            fetches_max: self.config.etiquette.max_fetches,
            seeded_first: self.config.crawl.expansion == config::Expansion::After,
            fingerprint: Fingerprints { returning, ..self.fingerprint(rows) },
            budgets: Budgets { purses, site_share: self.config.revisit.site_share },
        })
    }

    fn spider(
        &mut self,
        row: &SpiderRow,
        purse: PurseId,
        config: &Config,
    ) -> Result<Spider, Failure> {
        let seeds = self.seeds.entry(row.id).or_default().clone();
        build_spider((row.id, &row.name), purse, config, &self.folder, &self.blocks, seeds)
    }

    /// The fetcher knows each spider by its profile from here on.
    fn let_in(&self, profiles: &[(SpiderId, HttpProfile, Config)]) -> Result<(), Failure> {
        for (id, profile, config) in profiles {
            let set = self.network.fetcher.set_profile(*id, profile);
            set.map_err(|error| access::failure(config, &error))?;
        }
        let spiders: Vec<SpiderId> = profiles.iter().map(|(id, ..)| *id).collect();
        self.network.serve(&spiders);
        Ok(())
    }

    fn fingerprint(&self, rows: &[SpiderRow]) -> Fingerprints {
        let (mut terms, mut borders) = (format!("{:x}", self.file), String::new());
        let (mut near, mut types) = (String::new(), String::new());
        let mut note = |line: String, key: &str| {
            terms.push_str(&line);
            if key == "hazards.near_duplicates" {
                near.push_str(&line);
            }
            if key == "fetch.media_types" {
                types.push_str(&line);
            }
            if is_border(key) {
                borders.push_str(&line);
            }
        };
        for setting in self.config.settings() {
            let name = setting.key.name;
            note(format!("\n{name}={:?}", setting.value), name);
        }
        for row in rows {
            for (key, value) in &row.settings {
                note(format!("\n{}: {key}={value}", row.name), key);
            }
        }
        let (terms, borders) = (xxh3_64(terms.as_bytes()), xxh3_64(borders.as_bytes()));
        let (near, types) = (xxh3_64(near.as_bytes()), xxh3_64(types.as_bytes()));
        let reach = self.config.reach(rows.iter().map(|row| (row.name.as_str(), &row.settings)));
        Fingerprints { terms, borders, near, reach, types, returning: Vec::new() }
    }
}

/// Of all that says which pages of a spider have a due after every visit.
fn fingerprint_of(revisit: &Revisit, overrides: &Overrides) -> u64 {
    let Revisit { policy, frequency_on_seeds, .. } = revisit;
    let overridden = overrides.policies();
    xxh3_64(format!("{policy:?} {frequency_on_seeds} {overridden:?}").as_bytes())
}

/// Whether the key says who may enter, and not how much or how fast.
fn is_border(key: &str) -> bool {
    const HOW_MUCH: [&str; 8] = [
        "pages",
        "site_pages",
        "domain_pages",
        "bytes",
        "site_bytes",
        "for",
        "site_time",
        "site_time_per_day",
    ];
    match key.split_once('.') {
        Some(("crawl", name)) => !HOW_MUCH.contains(&name),
        Some(("fetch", name)) => matches!(name, "media_types" | "allow_ports"),
        Some(("gather", name)) => matches!(name, "link_tags" | "log_tags"),
        Some((section, _)) => matches!(section, "reject" | "url" | "hazards"),
        None => false,
    }
}

impl Helm for Steering {
    fn course(&mut self, spiders: &[SpiderRow]) -> Result<Course, String> {
        self.set(spiders).map_err(|failure| failure.sentence)
    }

    fn has_changed(&mut self) -> bool {
        let file = stamp(&self.folder);
        if std::mem::replace(&mut self.file, file) == file {
            return false;
        }
        match Config::load(&self.folder, self.flags.clone()) {
            Ok(config) => {
                self.config = config;
                true
            }
            Err(failure) => {
                tracing::warn!("harvest.toml changed and is not used: {}", failure.sentence);
                false
            }
        }
    }
}

/// What the file holds, in a number; a file that cannot be read counts as empty.
fn stamp(folder: &std::path::Path) -> u64 {
    xxh3_64(&fs::read(folder.join(config::FILE_NAME)).unwrap_or_default())
}

/// What each spider's configuration says of sites, and what is otherwise on some.
struct CourseTerms {
    by_spider: BTreeMap<SpiderId, (String, SiteTerms)>,
    overrides: Overrides,
}

impl Terms for CourseTerms {
    fn of(&self, spider: SpiderId, site: &SiteKey) -> SiteTerms {
        let first = || self.by_spider.values().next();
        let found = self.by_spider.get(&spider).or_else(first);
        let (name, terms) = found.expect("a course has at least one spider");
        if self.overrides.is_empty() {
            return terms.clone();
        }
        let other = self.overrides.site(name, site);
        SiteTerms {
            pause: other.delay.unwrap_or(terms.pause),
            pause_big: terms.pause_big.filter(|_| other.delay.is_none()),
            connections: other.connections.unwrap_or(terms.connections),
            pages_max: other.site_pages.unwrap_or(terms.pages_max),
            bytes_max: other.site_bytes.unwrap_or(terms.bytes_max),
            visit_time_max: other.site_time.unwrap_or(terms.visit_time_max),
            day_time_max: other.site_time_per_day.unwrap_or(terms.day_time_max),
            ..terms.clone()
        }
    }

    fn importance(&self, page: &Page) -> f32 {
        if self.overrides.is_empty() {
            return 1.0;
        }
        let name = self.by_spider.get(&page.spider).map_or("", |(name, _)| name);
        let other = self.overrides.page(name, &page.url, page.level);
        other.importance.map_or(1.0, |importance| importance as f32)
    }
}

fn site_terms(config: &Config) -> SiteTerms {
    let (etiquette, crawl) = (&config.etiquette, &config.crawl);
    SiteTerms {
        pause: etiquette.delay,
        pause_big: etiquette.big_site_delay.filter(|_| !etiquette.no_pauses()),
        big_site_pages: etiquette.big_site_pages,
        connections: etiquette.connections,
        pages_max: crawl.site_pages,
        bytes_max: crawl.site_bytes,
        domain_pages_max: crawl.domain_pages,
        visit_time_max: crawl.site_time,
        day_time_max: crawl.site_time_per_day,
        // What a server packs is never longer than what it unpacks to by more than its framing.
        answer_bytes_max: longest_body(config) + limits::HEAD_BYTES_MAX as u64,
    }
}

/// Of pages, and of their parts where they are asked for.
fn longest_body(config: &Config) -> u64 {
    let pages = config.fetch.body_bytes_max;
    if config.crawl.requisites { pages.max(config.fetch.requisite_bytes_max) } else { pages }
}
