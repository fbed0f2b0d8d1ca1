//! What a running crawl says to a command that was handed over to it.

use std::{path::Path, time::Duration};

use harvester::clock::RealClock;
use model::Clock;
use store::control::{self, Outcome};

use config::failure::Failure;

/// A running crawl looks for commands every second.
const PATIENCE: Duration = Duration::from_secs(5);

/// The outcome of the command of this number; `None` when it did not come within what it usually takes.
pub fn wait(database: &Path, id: i64) -> Result<Option<Outcome>, Failure> {
    let clock = RealClock::new();
    let until = clock.now().plus(PATIENCE);
    while clock.now() < until {
        if let Some(outcome) = control::result_of(database, id)? {
            return Ok(Some(outcome));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(None)
}
