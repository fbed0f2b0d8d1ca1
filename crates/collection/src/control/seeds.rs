//! Whether a seed is taken: by the rules of the spider it is for, the list of blocks, and what was forgotten.

use std::path::Path;

use config::{Config, setup};
use model::{Candidate, PageTerms, Verdict};
use seeder::{Block, Seed, SeedSet, SpiderRules};
use store::{
    census::Census,
    collection::Collection,
    control::{RefusedSeed, SeedLine},
    spiders::{DEFAULT_SPIDER, SpiderRow},
};

use crate::Error;

/// The rules for the seeds of one spider.
pub struct SeedRules(SpiderRules);

impl SeedRules {
    /// Of a collection that need not be there yet; `spider`: its name, or the first one.
    pub fn of(folder: &Path, spider: Option<&str>) -> Result<SeedRules, Error> {
        let base = Config::load(folder, Vec::new())?;
        let census = match Collection::open(folder) {
            Ok(collection) => Some(Census::open(&collection)?),
            Err(_) => None,
        };
        let rows = match &census {
            Some(census) => census.spiders()?,
            None => vec![SpiderRow::default()],
        };
        let row = spider_named(rows, spider.unwrap_or("default"))?;
        let config = base.for_spider(&row.name, &row.settings)?.config;
        let rules = setup::rules(&config, folder)?;
        if let Some(census) = census {
            census.each_block(|entry| {
                rules.blocks.add(Block::parse(&entry.pattern));
            })?;
            setup::keep_out_forgotten(&rules.blocks, census.tombstones()?);
        }
        Ok(SeedRules(rules))
    }

    /// The seed as the collection writes it.
    pub fn in_form(&self, seed: &Seed) -> Candidate {
        Candidate {
            url: self.0.form.apply_to_seed(&seed.url),
            spider: DEFAULT_SPIDER,
            level: 0,
            hops: 0,
            seed: true,
            terms: PageTerms { depth: seed.level, period: seed.period, ..PageTerms::default() },
            referrer: None,
        }
    }

    pub fn judge(&self, candidate: &Candidate) -> Result<SeedLine, RefusedSeed> {
        // Scope does not concern a seed, so there is no need to know the others.
        match self.0.judge(candidate, &SeedSet::default()) {
            Verdict::Accept => Ok(line(candidate)),
            Verdict::Reject(refusal) => {
                let url = Some(candidate.url.as_str().to_owned());
                Err(RefusedSeed { url, rule: refusal.rule })
            }
        }
    }
}

fn line(candidate: &Candidate) -> SeedLine {
    let PageTerms { depth, period, .. } = candidate.terms;
    let period_ms = period.and_then(|period| u64::try_from(period.as_millis()).ok());
    SeedLine { url: candidate.url.as_str().to_owned(), level: depth, period_ms }
}

/// The spider of this name.
pub fn spider_named(rows: Vec<SpiderRow>, name: &str) -> Result<SpiderRow, Error> {
    let found = rows.into_iter().find(|row| row.name == name);
    found.ok_or_else(|| Error::SpiderUnknown { name: name.to_owned() })
}
