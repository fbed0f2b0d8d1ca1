//! The fetcher of a crawl, and who resolves names.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use config::{
    Config,
    failure::Failure,
    setup::{Setup, network},
};
use harvester::http::{DnsResolver, HttpFetcher};
use model::{BoxFuture, Clock, Fetch, FetchFailure, Resolution, Resolve, SpiderId, Timestamp};

/// The fetcher, and the resolver that goes with it.
#[derive(Clone)]
pub struct Network {
    pub fetcher: Arc<HttpFetcher>,
    names: Arc<Names>,
}

impl Network {
    pub fn new(setup: &Setup, config: &Config, clock: &Arc<dyn Clock>) -> Result<Network, Failure> {
        let fetcher = HttpFetcher::new(&setup.http, clock.clone());
        let fetcher = Arc::new(fetcher.map_err(|error| network::failure(config, &error))?);
        let names = Names {
            dns: DnsResolver::new(setup.dns.clone(), clock.clone()),
            way: AtomicU8::new(DIRECT),
            clock: clock.clone(),
        };
        Ok(Network { fetcher, names: Arc::new(names) })
    }

    pub fn fetch(&self) -> Arc<dyn Fetch> {
        self.fetcher.clone()
    }

    pub fn resolve(&self) -> Arc<dyn Resolve> {
        self.names.clone()
    }

    /// These are the spiders, with the profiles they have now.
    pub fn serve(&self, spiders: &[SpiderId]) {
        let proxied = spiders.iter().filter(|spider| self.fetcher.proxied(**spider)).count();
        let way = match proxied {
            0 => DIRECT,
            all if all == spiders.len() => PROXIED,
            _ => MIXED,
        };
        self.names.way.store(way, Ordering::Relaxed);
    }
}

const DIRECT: u8 = 0;
const PROXIED: u8 = 1;
const MIXED: u8 = 2;

/// Who resolves names: we do, or the proxy of every spider does. Where some spiders have such a proxy, we try,
/// and a name that only the proxy knows has no address: for the others that is a visit that failed.
struct Names {
    dns: DnsResolver,
    way: AtomicU8,
    clock: Arc<dyn Clock>,
}

/// How long a name is left to the proxies that we could not resolve.
const LEFT_FOR: Duration = Duration::from_secs(300);

impl Resolve for Names {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        let host = host.to_owned();
        Box::pin(async move {
            let left = |expires| Resolution { addresses: Vec::new(), expires };
            match self.way.load(Ordering::Relaxed) {
                PROXIED => Ok(left(Timestamp(i64::MAX))),
                MIXED => {
                    let found = self.dns.resolve(&host).await;
                    Ok(found.unwrap_or_else(|_| left(self.clock.now().plus(LEFT_FOR))))
                }
                _ => self.dns.resolve(&host).await,
            }
        })
    }
}
