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

use harvester::workbench::Terms;
use model::Clock;

use crate::{house::House, observe::Observer, offline::Offline};
use config::{Config, failure::Failure};

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
        let Offline { crawl, setup, mut steering } =
            Offline::new(folder, config.clone(), Vec::new(), observer)?;
        let mut house = House::open(&crawl, &setup, &mut steering, clock)?;
        house.recover(&crawl, clock)?;
        let terms = steering.set(&house.frontier.spiders()?)?.terms;
        Ok(Home { config, house, terms })
    }
}
