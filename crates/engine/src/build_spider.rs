//! From the configuration of one spider to what the crawl keeps of it.

use std::{
    path::Path,
    sync::{Arc, RwLock},
};

use config::{
    Config,
    failure::Failure,
    setup::{self, ChangeCriteria, network, returns::Returns},
};
use manager::PurseId;
use model::SpiderId;
use seeder::{Blocks, SeedSet};

use crate::pipeline::spiders::Spider;

/// One spider as its configuration has it. `folder`: where relative paths start; `seeds`: what its seeds cover.
pub fn build_spider(
    (id, name): (SpiderId, &str),
    purse: PurseId,
    config: &Config,
    folder: &Path,
    blocks: &Blocks,
    seeds: Arc<RwLock<SeedSet>>,
) -> Result<Spider, Failure> {
    Ok(Spider {
        id,
        name: name.to_owned(),
        rules: setup::spider_rules(config, folder, name, blocks)?,
        seeds,
        returns: Returns::new(config, purse),
        overrides: config.overrides.clone(),
        notion: ChangeCriteria::new(config),
        gather: setup::gather(config)?,
        fetch_limits: Arc::new(setup::fetch_limits(config)),
        requisite_bytes_max: config.fetch.requisite_bytes_max,
        cookies: network::cookies(config, folder)?,
        credentials: network::known_at(config, name),
        logins: network::logins(config, name)?,
    })
}
