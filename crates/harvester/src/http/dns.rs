//! `DnsResolver`: names to addresses by hickory, behind our own cache.
//!
//! hickory's cache is off: its concurrent identical lookups have exhausted descriptors and its time-outs
//! run long, so here one lookup a name is in flight, lookups are counted by a semaphore, and one clock
//! bounds each. IPv4 addresses come first, IPv6 as fall-back. Overrides and literal addresses never
//! reach a name server; `localhost` is the loopback (RFC 6761), which the guard then judges.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::op::ResponseCode,
};
use model::{BoxFuture, Clock, FailureKind, FetchFailure, Resolution, Resolve};
use tokio::sync::Semaphore;

use super::{
    name_cache::{Known, Leader, NameAnswer, NameCache, Place},
    overrides::Overrides,
};

#[derive(Clone, Debug)]
pub struct DnsOptions {
    /// Name servers to ask; empty means the system's.
    pub servers: Vec<SocketAddr>,
    pub overrides: Arc<Overrides>,
    /// For one name, all tries and both families together.
    pub timeout: Duration,
    /// Answers are kept at least this long, since many sites give a TTL of seconds …
    pub ttl_min: Duration,
    /// … and at most this long, so that a moved site is found again.
    pub ttl_max: Duration,
    /// How long a name that does not exist is not asked for again.
    pub negative_ttl: Duration,
    /// The same after trouble with the name servers.
    pub trouble_ttl: Duration,
    /// Lookups in flight at once: more would drown a home router's resolver.
    pub lookups_max: usize,
    /// Names remembered; about 200 bytes each.
    pub names_max: usize,
    /// Addresses kept of one answer.
    pub addresses_max: usize,
}

impl Default for DnsOptions {
    fn default() -> DnsOptions {
        DnsOptions {
            servers: Vec::new(),
            overrides: Arc::default(),
            timeout: Duration::from_secs(5),
            ttl_min: Duration::from_secs(60),
            ttl_max: Duration::from_secs(6 * 3600),
            negative_ttl: Duration::from_secs(15 * 60),
            trouble_ttl: Duration::from_secs(60),
            lookups_max: 64,
            names_max: 50_000,
            addresses_max: 16,
        }
    }
}

pub struct DnsResolver {
    options: DnsOptions,
    clock: Arc<dyn Clock>,
    /// Without a usable system configuration every lookup fails with this text; overrides still work.
    servers: Result<TokioResolver, String>,
    cache: NameCache,
    lookups: Semaphore,
}

impl DnsResolver {
    pub fn new(options: DnsOptions, clock: Arc<dyn Clock>) -> DnsResolver {
        let servers = build(&options).map_err(|e| format!("no DNS server is usable: {e}"));
        let cache = NameCache::new(options.names_max);
        let lookups = Semaphore::new(options.lookups_max.max(1));
        DnsResolver { options, clock, servers, cache, lookups }
    }

    async fn find(&self, host: &str) -> Result<Resolution, FetchFailure> {
        if let Some(addresses) = self.without_asking(host) {
            let expires = self.clock.now().plus(self.options.ttl_max);
            return Ok(Resolution { addresses, expires });
        }
        let known = loop {
            match self.cache.place(host, self.clock.now()) {
                Place::Known(known) => break known,
                Place::Wait(answer) => {
                    if let Ok(known) = answer.await {
                        break known;
                    }
                }
                Place::Lead(leader) => break self.lead(leader, host).await,
            }
        };
        match known.answer {
            NameAnswer::Addresses(addresses) => {
                Ok(Resolution { addresses: addresses.to_vec(), expires: known.expires })
            }
            NameAnswer::Failure(kind, detail) => Err(failure(kind, detail.to_string())),
        }
    }

    fn without_asking(&self, host: &str) -> Option<Vec<IpAddr>> {
        if let Some(addresses) = self.options.overrides.addresses(host) {
            return Some(addresses);
        }
        if let Some(address) = literal(host) {
            return Some(vec![address]);
        }
        let loopback = host == "localhost" || host.ends_with(".localhost");
        loopback.then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
    }

    async fn lead(&self, leader: Leader<'_>, host: &str) -> Known {
        let (answer, life) = self.ask(host).await;
        let known = Known { answer, expires: self.clock.now().plus(life) };
        leader.answer(known.clone());
        known
    }

    async fn ask(&self, host: &str) -> (NameAnswer, Duration) {
        let trouble = |detail: String| {
            let answer = NameAnswer::Failure(FailureKind::DnsTrouble, detail.into());
            (answer, self.options.trouble_ttl)
        };
        let servers = match &self.servers {
            Ok(servers) => servers,
            Err(detail) => return trouble(detail.clone()),
        };
        let Ok(_permit) = self.lookups.acquire().await else {
            return trouble("the resolver is closed".to_owned());
        };
        // The final dot keeps the system's search domains out.
        let lookup = servers.lookup_ip(format!("{host}."));
        match tokio::time::timeout(self.options.timeout, lookup).await {
            Err(_) => trouble(format!("no answer for {host} within {:?}", self.options.timeout)),
            Ok(Err(error)) if is_unknown(&error) => {
                let detail = format!("the name {host} does not exist");
                let answer = NameAnswer::Failure(FailureKind::DnsUnknown, detail.into());
                (answer, self.options.negative_ttl)
            }
            Ok(Err(error)) => trouble(format!("looking up {host} failed: {error}")),
            Ok(Ok(found)) => {
                let ttl = found.as_lookup().answers().iter().map(|record| record.ttl).min();
                let ttl = Duration::from_secs(ttl.unwrap_or(0).into());
                let life = ttl.clamp(self.options.ttl_min, self.options.ttl_max);
                let addresses = ipv4_first(found.iter(), self.options.addresses_max);
                (NameAnswer::Addresses(addresses.into()), life)
            }
        }
    }
}

impl Resolve for DnsResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        let host = host.to_owned();
        Box::pin(async move { self.find(&host).await })
    }
}

/// A host that is an address already; `CrawlUrl` has brought every spelling to one form.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn build(options: &DnsOptions) -> Result<TokioResolver, NetError> {
    let mut builder = if options.servers.is_empty() {
        TokioResolver::builder_tokio()?
    } else {
        let servers = options.servers.iter().map(server).collect();
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let tuned = builder.options_mut();
    tuned.cache_size = 0;
    tuned.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    tuned.timeout = tuned.timeout.min(options.timeout / 2);
    tuned.attempts = tuned.attempts.min(2);
    builder.build()
}

fn server(address: &SocketAddr) -> NameServerConfig {
    let mut config = NameServerConfig::udp_and_tcp(address.ip());
    config.connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut config.connections {
        connection.port = address.port();
    }
    config
}

/// The name servers answered, and there is nothing at that name.
fn is_unknown(error: &NetError) -> bool {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => {
            matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError)
        }
        // A label too long or with bytes that no name can have.
        NetError::Proto(_) => true,
        _ => false,
    }
}

fn ipv4_first(found: impl Iterator<Item = IpAddr>, most: usize) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) && addresses.len() < 4 * most {
            addresses.push(address);
        }
    }
    addresses.sort_by_key(|address| address.is_ipv6());
    addresses.truncate(most.max(1));
    addresses
}

fn failure(kind: FailureKind, detail: String) -> FetchFailure {
    FetchFailure::new(kind, detail)
}

#[cfg(test)]
#[path = "dns_tests.rs"]
mod tests;
