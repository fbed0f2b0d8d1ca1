//! Batches: a closed unit of work that is chosen at home, harvested on another machine and brought back.
//!
//! [`file`] is how a batch travels, [`export`] makes one, [`choose`] says what goes into it, [`helpings`] how much of each site, [`outpost`] the
//! folder in which it is harvested (a small collection of its own, so that a kill there loses nothing), [`reach`]
//! whether it had a network at all, [`import`] the way home: the records enter the archive and are settled as those are
//! that a crash left behind.

pub mod choose;
pub mod export;
pub mod file;
mod helpings;
pub mod import;
mod moment;
pub mod outpost;
pub mod reach;

use std::{path::Path, sync::Arc};

use harvester::{clock::RealClock, workbench::Terms};
use model::Clock;
use store::spiders::SpiderRow;

use crate::{crawl::Crawl, house::House, network::Network, observe::Observer, steering::Steering};
use config::{Config, failure::Failure, setup::Setup};

pub use self::moment::Moment;

/// The home collection, opened as for a crawl that fetches nothing.
pub struct Home {
    pub config: Config,
    pub house: House,
    pub terms: Arc<dyn Terms>,
}

impl Home {
    /// `clock`: what the collection takes for now.
    pub fn open(
        folder: &Path,
        observer: Arc<dyn Observer>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Home, Failure> {
        let config = Config::load(folder, Vec::new())?;
        let (paths, flags) = (folder.to_owned(), Vec::new());
        let crawl = Crawl {
            folder: folder.to_owned(),
            observer,
            config: config.clone(),
            paths: paths.clone(),
            flags: flags.clone(),
            seeds: Vec::new(),
            fresh: false,
            forever: false,
            preview: None,
        };
        let setup = Setup::new(&config, &paths)?;
        let real: Arc<dyn Clock> = Arc::new(RealClock::new());
        let network = Network::new(&setup, &config, &real)?;
        let mut steering =
            Steering::new(paths, flags, config.clone(), setup.blocks.clone(), network);
        steering.set(&[SpiderRow::default()])?;
        let mut house = House::open(&crawl, &setup, &mut steering, clock)?;
        house.recover(&crawl, clock)?;
        let terms = steering.set(&house.frontier.spiders()?)?.terms;
        Ok(Home { config, house, terms })
    }
}
