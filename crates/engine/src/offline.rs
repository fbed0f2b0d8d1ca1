//! A collection opened as for a crawl that fetches nothing: to import, to rebuild, to read again.

use std::{path::Path, sync::Arc};

use config::{Config, FlagValues, Key, failure::Failure, setup::Setup};
use harvester::clock::RealClock;
use model::Clock;
use store::{spiders::SpiderRow, state::Flags};

use crate::{crawl::Crawl, network::Network, observe::Observer, steering::Steering};

/// What a [`crate::house::House`] is opened with.
pub struct Offline {
    pub crawl: Crawl,
    pub setup: Setup,
    pub steering: Steering,
}

impl Offline {
    pub fn new(
        folder: &Path,
        config: Config,
        flags: FlagValues,
        observer: Arc<dyn Observer>,
    ) -> Result<Offline, Failure> {
        let setup = Setup::new(&config, folder)?;
        let real: Arc<dyn Clock> = Arc::new(RealClock::new());
        let network = Network::new(&setup, &config, &real)?;
        let paths = folder.to_owned();
        let crawl = Crawl {
            folder: paths.clone(),
            observer,
            config: config.clone(),
            paths: paths.clone(),
            flags: flags.clone(),
            seeds: Vec::new(),
            fresh: false,
            forever: false,
            preview: None,
        };
        let mut steering = Steering::new(paths, flags, config, setup.blocks.clone(), network);
        steering.set(&[SpiderRow::default()])?;
        Ok(Offline { crawl, setup, steering })
    }
}

/// What was given now stands over what the last crawl was given on its command line.
pub fn with_saved(mut given: FlagValues, saved: &Flags) -> FlagValues {
    for (name, values) in saved {
        let Some(name) = Key::named(name).map(|key| key.name) else { continue };
        if !given.iter().any(|(given, values)| *given == name && !values.is_empty()) {
            given.push((name, values.clone()));
        }
    }
    given
}
