//! Deliveries beside a crawl: a thread that looks every second, and at the end sees that what the crawl has
//! found goes out.

use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use model::StoreError;

use super::{Courier, PAUSE, Round};

/// How long a crawl that has ended stays for deliveries; what is left then waits for the next.
const PATIENCE: u32 = 20;
/// Trouble with the database is met by the crawl itself; here it is only waited for.
const TROUBLE: Duration = Duration::from_secs(10);

pub struct Watch(pub Courier);

/// What became of deliveries while a crawl ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub delivered: u64,
    /// By webhook: what went wrong last, where nothing arrived since.
    pub failing: Vec<(String, String)>,
}

impl Watch {
    /// Until `stop` hangs up: then everything is committed, and a last look is due.
    pub fn run(mut self, stop: &Receiver<()>) -> Watched {
        let (mut delivered, mut failing) = (0, HashMap::new());
        let mut left = PATIENCE;
        loop {
            let ending = match stop.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Timeout) => false,
                Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            };
            let busy = self.look(&mut delivered, &mut failing).unwrap_or_else(|error| {
                tracing::warn!(%error, "webhooks cannot be looked after");
                if !ending {
                    let _ = stop.recv_timeout(TROUBLE);
                }
                false
            });
            if ending {
                left -= 1;
                if !busy || left == 0 {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        Watched { delivered, failing: failing.into_iter().collect() }
    }

    /// One round for each; whether one of them has more to send.
    fn look(
        &mut self,
        delivered: &mut u64,
        failing: &mut HashMap<String, String>,
    ) -> Result<bool, StoreError> {
        let mut busy = false;
        for (at, name) in self.0.names().into_iter().enumerate() {
            match self.0.round(at, false)? {
                Round::Idle | Round::Waiting => {}
                Round::Delivered(changes) => {
                    *delivered += changes as u64;
                    failing.remove(&name);
                    busy = true;
                }
                Round::Failed(why) => {
                    tracing::info!(webhook = name, why, "a delivery failed and is tried again");
                    failing.insert(name, why);
                }
                Round::Buried(why) => {
                    tracing::warn!(webhook = name, why, "a delivery was given up");
                    failing.insert(name, format!("given up: {why}"));
                }
            }
        }
        Ok(busy)
    }
}
