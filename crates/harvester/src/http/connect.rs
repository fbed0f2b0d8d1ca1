//! From a URL to a stream: each address judged by the guard at the moment of connecting, tried in turn
//! within the time for connecting, then proxy and TLS where they are due.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use model::{CrawlUrl, FailureKind, FetchLimits};
use rustls::pki_types::ServerName;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use super::{
    HttpOptions,
    dns::literal,
    guard::Guard,
    overrides::Overrides,
    profiles::Way,
    proxy::Proxy,
    socks::{Refused, Target},
    stream::Stream,
    tls,
};

pub struct Connector {
    guard: Guard,
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
    pub address: Option<IpAddr>,
}

impl Connector {
    pub fn new(options: &HttpOptions) -> Connector {
        Connector {
            guard: Guard::new(options.allow.clone(), options.gate.clone()),
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
        let (tcp, address) = match way.proxy() {
            Some(proxy) if proxy.resolves() => (self.through(proxy, url, until).await?, None),
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
        let fail = |kind, detail| ConnectFailure { kind, detail, address };
        let name = server_name(url.host()).ok_or_else(|| {
            fail(FailureKind::Tls, "the host is not a name a certificate can hold".to_owned())
        })?;
        match timeout_at(until, way.tls.connector(url).connect(name, tcp)).await {
            Ok(Ok(stream)) => {
                let stream = Stream::Tls(Box::new(stream));
                Ok(Connected { stream, address, connect, tls: start.elapsed() })
            }
            Ok(Err(error)) => Err(fail(FailureKind::Tls, tls::say(&error))),
            Err(_) => {
                let detail = format!("no TLS handshake within {:?}", until - start);
                Err(fail(FailureKind::ConnectTimeout, detail))
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
        let mut failure = ConnectFailure {
            kind: FailureKind::DnsUnknown,
            detail: format!("no address is known for {}", url.host()),
            address: None,
        };
        let mut left = addresses.len().min(self.addresses_tried_max);
        let mut tried = false;
        for &address in addresses {
            if let Err(refused) = self.guard.check(address) {
                let detail = refused.to_string();
                let kind = FailureKind::AddressRefused;
                // That another address did not answer says more than that this one may not be asked.
                if !tried {
                    failure = ConnectFailure { kind, detail, address: Some(address) };
                }
                continue;
            }
            if left == 0 {
                break;
            }
            let port = self.overrides.port(url.host(), address).unwrap_or(url.port_or_default());
            let share = until.saturating_duration_since(Instant::now()) / left as u32;
            left -= 1;
            tried = true;
            match try_one(proxy, SocketAddr::new(address, port), share).await {
                Ok(tcp) => return Ok((tcp, address)),
                Err((kind, detail)) => {
                    failure = ConnectFailure { kind, detail, address: Some(address) };
                }
            }
            if failure.kind == FailureKind::Proxy {
                failure.address = None;
                break;
            }
        }
        Err(failure)
    }

    /// Names are left to the proxy.
    async fn through(
        &self,
        proxy: &Proxy,
        url: &CrawlUrl,
        until: Instant,
    ) -> Result<TcpStream, ConnectFailure> {
        self.check_named(url.host())?;
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
        Err(ConnectFailure { kind, detail, address: None })
    }

    /// A proxy resolves names, but an address spelled out in a URL is judged before it is passed on.
    fn check_named(&self, host: &str) -> Result<(), ConnectFailure> {
        let loopback = host == "localhost" || host.ends_with(".localhost");
        let address = match literal(host) {
            Some(address) => address,
            None if loopback => IpAddr::from([127, 0, 0, 1]),
            None => return Ok(()),
        };
        self.guard.check(address).map_err(|refused| ConnectFailure {
            kind: FailureKind::AddressRefused,
            detail: refused.to_string(),
            address: Some(address),
        })
    }
}

fn late(proxy: &Proxy) -> Refused {
    (FailureKind::Proxy, format!("the proxy {proxy:?} is down: no answer in time"))
}

async fn try_one(
    proxy: Option<&Proxy>,
    to: SocketAddr,
    share: Duration,
) -> Result<TcpStream, Refused> {
    if let Some(proxy) = proxy {
        let opened = tokio::time::timeout(share, proxy.open(Some(Target::Address(to)))).await;
        return opened.unwrap_or_else(|_| Err(late(proxy)));
    }
    let fail = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::TimedOut => FailureKind::ConnectTimeout,
            _ => FailureKind::ConnectRefused,
        };
        (kind, format!("cannot connect to {to}: {error}"))
    };
    match tokio::time::timeout(share, TcpStream::connect(to)).await {
        Ok(Ok(tcp)) => {
            // Without it the last piece of a request could wait for an acknowledgement.
            let _ = tcp.set_nodelay(true);
            Ok(tcp)
        }
        Ok(Err(error)) => Err(fail(error)),
        Err(_) => {
            Err((FailureKind::ConnectTimeout, format!("no connection to {to} within {share:?}")))
        }
    }
}

fn server_name(host: &str) -> Option<ServerName<'static>> {
    match literal(host) {
        Some(address) => Some(ServerName::IpAddress(address.into())),
        None => ServerName::try_from(host.to_owned()).ok(),
    }
}
