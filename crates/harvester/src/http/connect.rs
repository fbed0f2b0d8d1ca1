//! From a URL to a stream: each address judged by the guard at the moment of connecting, tried one after the
//! other within the time for connecting, then proxy and TLS where they are due.
//!
//! The next address does not wait until the one before is given up, but only a moment (`race.rs`), and the
//! families take turns: a host whose IPv6 (or IPv4) is dead is reached by the other at once.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use model::{CrawlUrl, FailureKind, FetchLimits, Hazard, Measure, Met, Refusal, is_bad_port};
use rustls::pki_types::ServerName;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use super::{
    HttpOptions,
    dns::literal,
    guard::{AddressRefused, Guard},
    overrides::Overrides,
    profiles::Way,
    proxy::Proxy,
    race::race,
    socks::{Refused, Target},
    stream::Stream,
    tls,
};

pub struct Connector {
    guard: Guard,
    allow_ports: Vec<u16>,
    overrides: Arc<Overrides>,
    addresses_tried_max: usize,
}

pub struct Connected {
    pub stream: Stream,
    /// `None` behind a proxy: which server it asks is not ours to know.
    pub address: Option<IpAddr>,
    pub connect: Duration,
    pub tls: Duration,
}

pub struct ConnectFailure {
    pub kind: FailureKind,
    pub detail: String,
    pub met: Option<Met>,
    pub address: Option<IpAddr>,
    /// The rule of ours that forbids it.
    pub refusal: Option<Box<Refusal>>,
}

impl Connector {
    pub fn new(options: &HttpOptions) -> Connector {
        Connector {
            guard: Guard::new(options.allow.clone(), options.gate.clone()),
            allow_ports: options.allow_ports.clone(),
            overrides: options.overrides.clone(),
            addresses_tried_max: options.addresses_tried_max.max(1),
        }
    }

    /// Whether a connection made earlier may still be used: a block may have come since.
    pub fn may_reuse(&self, address: Option<IpAddr>) -> bool {
        address.is_none_or(|address| self.guard.check(address).is_ok())
    }

    /// `end` is when the whole fetch must be over.
    pub async fn connect(
        &self,
        way: &Way,
        url: &CrawlUrl,
        addresses: &[IpAddr],
        limits: &FetchLimits,
        end: Instant,
    ) -> Result<Connected, ConnectFailure> {
        let start = Instant::now();
        let until = end.min(start + limits.connect);
        self.check_port(url)?;
        let (tcp, address) = match way.proxy() {
            Some(proxy) if proxy.resolves() => {
                (self.through(proxy, url, addresses, until).await?, None)
            }
            proxy => {
                let (tcp, address) = self.to_addresses(proxy, url, addresses, until).await?;
                (tcp, Some(address))
            }
        };
        let connect = start.elapsed();
        if !url.is_https() {
            let stream = Stream::Plain(tcp);
            return Ok(Connected { stream, address, connect, tls: Duration::ZERO });
        }
        let start = Instant::now();
        let until = end.min(start + limits.tls);
        let fail = |kind, detail, what| {
            let met = Some(Met::new(Hazard::TlsError, Measure::Refused).of(what));
            ConnectFailure { met, ..ConnectFailure::new(kind, detail, address) }
        };
        let name = server_name(url.host()).ok_or_else(|| {
            let detail = "the host is not a name a certificate can hold".to_owned();
            fail(FailureKind::Tls, detail, "another name")
        })?;
        match timeout_at(until, way.tls.connector(url).connect(name, tcp)).await {
            Ok(Ok(stream)) => {
                let stream = Stream::Tls(Box::new(stream));
                Ok(Connected { stream, address, connect, tls: start.elapsed() })
            }
            Ok(Err(error)) => Err(fail(FailureKind::Tls, tls::say(&error), tls::word(&error))),
            Err(_) => {
                let detail = format!("no TLS handshake within {:?}", until - start);
                Err(fail(FailureKind::ConnectTimeout, detail, "no handshake in time"))
            }
        }
    }

    async fn to_addresses(
        &self,
        proxy: Option<&Proxy>,
        url: &CrawlUrl,
        addresses: &[IpAddr],
        until: Instant,
    ) -> Result<(TcpStream, IpAddr), ConnectFailure> {
        let own = literal(url.host());
        let addresses = if addresses.is_empty() { own.as_slice() } else { addresses };
        let mut refused = None;
        let mut allowed = Vec::with_capacity(addresses.len());
        for &address in addresses {
            match self.guard.check(address) {
                Ok(()) => allowed.push(address),
                Err(error) => refused = Some((address, error)),
            }
        }
        // That an allowed address did not answer says more than that another may not be asked.
        if allowed.is_empty() {
            return Err(match refused {
                Some((address, error)) => address_refused(address, &error),
                None => {
                    let detail = format!("no address is known for {}", url.host());
                    ConnectFailure::new(FailureKind::DnsUnknown, detail, None)
                }
            });
        }
        let mut allowed = in_turns(&allowed);
        allowed.truncate(self.addresses_tried_max);
        let to = |address| {
            let port = self.overrides.port(url.host(), address).unwrap_or(url.port_or_default());
            SocketAddr::new(address, port)
        };
        match proxy {
            Some(proxy) => one_by_one(proxy, allowed.into_iter().map(to).collect(), until).await,
            None => {
                let attempts = allowed.into_iter().map(|address| self.direct(to(address), until));
                let outcome = race(attempts.collect()).await;
                outcome.unwrap_or_else(|| Err(unexpected()))
            }
        }
    }

    async fn direct(
        &self,
        to: SocketAddr,
        until: Instant,
    ) -> Result<(TcpStream, IpAddr), ConnectFailure> {
        let fail = |kind, detail| Err(ConnectFailure::new(kind, detail, Some(to.ip())));
        let began = Instant::now();
        match timeout_at(until, TcpStream::connect(to)).await {
            Ok(Ok(tcp)) => {
                // Without it the last piece of a request could wait for an acknowledgement.
                let _ = tcp.set_nodelay(true);
                Ok((tcp, to.ip()))
            }
            Ok(Err(error)) => {
                let kind = match error.kind() {
                    std::io::ErrorKind::TimedOut => FailureKind::ConnectTimeout,
                    _ => FailureKind::ConnectRefused,
                };
                fail(kind, format!("cannot connect to {to}: {error}"))
            }
            Err(_) => {
                let took = began.elapsed();
                fail(FailureKind::ConnectTimeout, format!("no connection to {to} within {took:?}"))
            }
        }
    }

    /// Names are left to the proxy; where we resolved one all the same, it leads nowhere private.
    async fn through(
        &self,
        proxy: &Proxy,
        url: &CrawlUrl,
        addresses: &[IpAddr],
        until: Instant,
    ) -> Result<TcpStream, ConnectFailure> {
        self.check_named(url.host())?;
        // Which of them the proxy would take, nobody knows.
        addresses.iter().try_for_each(|address| self.check_address(*address))?;
        let port = url.port_or_default();
        let target = match literal(url.host()) {
            Some(address) => Target::Address(SocketAddr::new(address, port)),
            None => Target::Name(url.host(), port),
        };
        let target = (url.is_https() || !proxy.is_http()).then_some(target);
        let (kind, detail) = match timeout_at(until, proxy.open(target)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(refused)) => refused,
            Err(_) => late(proxy),
        };
        Err(ConnectFailure::new(kind, detail, None))
    }

    /// A proxy resolves names, but an address spelled out in a URL is judged before it is passed on.
    fn check_named(&self, host: &str) -> Result<(), ConnectFailure> {
        let loopback = host == "localhost" || host.ends_with(".localhost");
        let address = match literal(host) {
            Some(address) => address,
            None if loopback => IpAddr::from([127, 0, 0, 1]),
            None => return Ok(()),
        };
        self.check_address(address)
    }

    fn check_address(&self, address: IpAddr) -> Result<(), ConnectFailure> {
        self.guard.check(address).map_err(|refused| address_refused(address, &refused))
    }

    /// Links are judged before they get here; a robots.txt can be redirected to any port.
    fn check_port(&self, url: &CrawlUrl) -> Result<(), ConnectFailure> {
        let port = url.port_or_default();
        if !is_bad_port(port) || self.allow_ports.contains(&port) {
            return Ok(());
        }
        let refusal = Refusal::bad_port(port);
        let detail = format!("{}; allow it with fetch.allow_ports", refusal.rule);
        let failure = ConnectFailure::new(FailureKind::AddressRefused, detail, None);
        Err(ConnectFailure { refusal: Some(Box::new(refusal)), ..failure })
    }
}

impl ConnectFailure {
    fn new(kind: FailureKind, detail: String, address: Option<IpAddr>) -> ConnectFailure {
        ConnectFailure { kind, detail, met: None, address, refusal: None }
    }
}

fn address_refused(address: IpAddr, refused: &AddressRefused) -> ConnectFailure {
    let (kind, detail) = (FailureKind::AddressRefused, refused.to_string());
    let refusal = Some(Box::new(refused.refusal()));
    ConnectFailure { refusal, ..ConnectFailure::new(kind, detail, Some(address)) }
}

fn late(proxy: &Proxy) -> Refused {
    (FailureKind::Proxy, format!("the proxy {proxy:?} is down: no response in time"))
}

/// Through a proxy that is told addresses: each has its share of the time.
async fn one_by_one(
    proxy: &Proxy,
    addresses: Vec<SocketAddr>,
    until: Instant,
) -> Result<(TcpStream, IpAddr), ConnectFailure> {
    let mut left = addresses.len() as u32;
    let mut failure = None;
    for to in addresses {
        let share = until.saturating_duration_since(Instant::now()) / left.max(1);
        left = left.saturating_sub(1);
        let opened = tokio::time::timeout(share, proxy.open(Some(Target::Address(to)))).await;
        let (kind, detail) = match opened.unwrap_or_else(|_| Err(late(proxy))) {
            Ok(tcp) => return Ok((tcp, to.ip())),
            Err(refused) => refused,
        };
        let is_proxys = kind == FailureKind::Proxy;
        let address = (!is_proxys).then_some(to.ip());
        failure = Some(ConnectFailure::new(kind, detail, address));
        if is_proxys {
            break;
        }
    }
    Err(failure.unwrap_or_else(unexpected))
}

/// The families by turns, beginning with that of the first address (RFC 8305 section 4).
fn in_turns(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let first_is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (mut one, mut other): (Vec<IpAddr>, Vec<IpAddr>) =
        addresses.iter().partition(|address| address.is_ipv6() == first_is_v6);
    one.reverse();
    other.reverse();
    let mut turns = Vec::with_capacity(addresses.len());
    while !(one.is_empty() && other.is_empty()) {
        turns.extend(one.pop());
        turns.extend(other.pop());
    }
    turns
}

/// There was an address, so there was an attempt.
fn unexpected() -> ConnectFailure {
    let detail = "no address was tried".to_owned();
    ConnectFailure::new(FailureKind::ConnectRefused, detail, None)
}

fn server_name(host: &str) -> Option<ServerName<'static>> {
    match literal(host) {
        Some(address) => Some(ServerName::IpAddress(address.into())),
        None => ServerName::try_from(host.to_owned()).ok(),
    }
}
