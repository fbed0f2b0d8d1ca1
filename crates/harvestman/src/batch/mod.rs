//! Batches: a closed unit of work that is chosen at home, harvested on another machine and brought back.
//!
//! [`file`] is how a batch travels, [`choose`] what goes into one, [`helpings`] how much of each site, [`outpost`] the
//! folder in which it is harvested (a small collection of its own, so that a kill there loses nothing), [`reach`]
//! whether it had a network at all, [`import`] the way home: the records enter the archive and are settled as those are
//! that a crash left behind.

pub mod choose;
pub mod file;
mod helpings;
pub mod import;
mod moment;
pub mod outpost;
pub mod reach;

use std::sync::Arc;

use harvester::{clock::RealClock, workbench::Terms};
use model::Clock;
use store::spiders::SpiderRow;

use crate::{
    access::Network, commands::Context, config::Config, crawling::Crawl, exit::Failure,
    house::House, setup::Setup, steering::Steering,
};

pub use self::moment::Moment;

/// The home collection, opened as for a crawl that fetches nothing.
pub struct Home {
    pub config: Config,
    pub house: House,
    pub terms: Arc<dyn Terms>,
}

impl Home {
    /// `clock`: what the collection takes for now.
    pub fn open(context: &Context, clock: &Arc<dyn Clock>) -> Result<Home, Failure> {
        let config = context.config(Vec::new())?;
        let (paths, flags) = (context.folder.clone(), Vec::new());
        let crawl = Crawl {
            context,
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
