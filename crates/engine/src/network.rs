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
use harvester::http::{DnsResolver, HttpFetcher, NamesBy};
use tokio::time::timeout;

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
        let ways = || spiders.iter().map(|spider| self.fetcher.names_by(*spider));
        let way = match () {
            () if ways().all(|way| way == NamesBy::Us) => DIRECT,
            () if ways().all(|way| way == NamesBy::ProxyAlone) => PROXIED,
            () => MIXED,
        };
        self.names.way.store(way, Ordering::Relaxed);
    }
}

const DIRECT: u8 = 0;
const PROXIED: u8 = 1;
const MIXED: u8 = 2;

/// Who resolves names: we do, or the proxy of every spider does (`socks5h`, chosen so that no name is asked for here).
/// Behind an HTTP proxy, and where only some spiders have a proxy, we try as well, because the addresses are what the
/// guard goes by; a name that only the proxy knows has none. Without a proxy that is a visit that failed.
struct Names {
    dns: DnsResolver,
    way: AtomicU8,
    clock: Arc<dyn Clock>,
}

/// How long a name is left to the proxies that we could not resolve.
const LEFT_FOR: Duration = Duration::from_secs(300);

/// How long we try. Behind a proxy there may be no name server at all, and every site would begin with this wait.
const TRIED_FOR: Duration = Duration::from_secs(2);

impl Resolve for Names {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        let host = host.to_owned();
        Box::pin(async move {
            let left = |expires| Resolution { addresses: Vec::new(), expires };
            match self.way.load(Ordering::Relaxed) {
                PROXIED => Ok(left(Timestamp(i64::MAX))),
                MIXED => {
                    let found = timeout(TRIED_FOR, self.dns.resolve(&host)).await;
                    let unknown = || left(self.clock.now().plus(LEFT_FOR));
                    Ok(found.ok().and_then(Result::ok).unwrap_or_else(unknown))
                }
                _ => self.dns.resolve(&host).await,
            }
        })
    }
}
