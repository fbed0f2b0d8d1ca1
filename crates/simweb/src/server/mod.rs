//! The simulated web on loopback: a small HTTP/1.1 server that can also misbehave.
//!
//! All hosts live behind one port of each listening address and are told apart by their `Host` field.
//! Stopping (or dropping) a server ends its connections; what was under way is still logged.

mod connection;
mod control;
mod request;
#[cfg(test)]
mod tests;
mod tls;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::Timestamp;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use crate::{Log, LogOptions, SimWeb};

/// The servers' notion of now.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

#[derive(Clone)]
pub struct ServerOptions {
    /// Empty: all addresses of the web.
    pub addresses: Vec<IpAddr>,
    /// 0: any free one, the same on all addresses.
    pub port: u16,
    /// Also listen for TLS, on another port of the same addresses.
    pub tls: bool,
    pub tls_port: u16,
    pub now: Now,
    pub log: LogOptions,
    /// How long a silent or endless answer is kept up: no connection stays for ever.
    pub hold_max: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            addresses: Vec::new(),
            port: 0,
            tls: false,
            tls_port: 0,
            now: real_time(),
            log: LogOptions::default(),
            hold_max: Duration::from_secs(600),
        }
    }
}

pub struct Server {
    addr: SocketAddr,
    tls_addr: Option<SocketAddr>,
    root_pem: Option<String>,
    log: Arc<Log>,
    listeners: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts listening; connections are served by tasks of the runtime this is called in.
    pub async fn start(web: Arc<SimWeb>, options: ServerOptions) -> io::Result<Server> {
        let began = Instant::now();
        let micros = Arc::new(move || began.elapsed().as_micros() as u64);
        let log = Log::new(&web, options.log.clone(), micros)?;
        let addresses = match options.addresses.is_empty() {
            true => web.addresses(),
            false => options.addresses.clone(),
        };
        let hall = Arc::new(Hall {
            web: Arc::clone(&web),
            log: Arc::clone(&log),
            now: Arc::clone(&options.now),
            hold_max: options.hold_max,
        });
        let (plain, addr) = bind(&addresses, options.port).await?;
        let mut listeners: Vec<JoinHandle<()>> =
            plain.into_iter().map(|l| tokio::spawn(accept(l, None, Arc::clone(&hall)))).collect();
        let (mut tls_addr, mut root_pem) = (None, None);
        if options.tls {
            let certificates = tls::certificates(web)?;
            let (secure, addr) = bind(&addresses, options.tls_port).await?;
            tls_addr = Some(addr);
            root_pem = Some(certificates.root_pem);
            for listener in secure {
                let acceptor = Some(certificates.acceptor.clone());
                listeners.push(tokio::spawn(accept(listener, acceptor, Arc::clone(&hall))));
            }
        }
        Ok(Server { addr, tls_addr, root_pem, log, listeners })
    }

    /// The first address; the port is the same on all.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_addr
    }

    /// The authority that signed the hosts' certificates, for clients that are to trust them.
    pub fn root_pem(&self) -> Option<&str> {
        self.root_pem.as_deref()
    }

    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Ends all connections; the log is complete when this returns.
    pub async fn stop(mut self) -> Arc<Log> {
        for listener in std::mem::take(&mut self.listeners) {
            listener.abort();
            // An aborted task is not an error here: that is how they end.
            let _ = listener.await;
        }
        // Their connections were aborted with them and are dropped at the next turn of the runtime.
        tokio::task::yield_now().await;
        Arc::clone(&self.log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

/// The wall clock of this machine.
pub fn real_time() -> Now {
    Arc::new(wall)
}

/// Begins at `start` and runs `speed` times as fast as the wall clock: a week of changes in minutes.
pub fn faster_time(start: Timestamp, speed: f64) -> Now {
    let began = Instant::now();
    Arc::new(move || start.plus(began.elapsed().mul_f64(speed)))
}

/// What all connections share.
struct Hall {
    web: Arc<SimWeb>,
    log: Arc<Log>,
    now: Now,
    hold_max: Duration,
}

async fn bind(addresses: &[IpAddr], port: u16) -> io::Result<(Vec<TcpListener>, SocketAddr)> {
    let mut port = port;
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let listener = TcpListener::bind((*address, port)).await.map_err(|e| {
            io::Error::new(e.kind(), format!("cannot listen on {address}:{port}: {e}"))
        })?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    let first = addresses.first().copied().unwrap_or(IpAddr::from([127, 0, 0, 1]));
    Ok((listeners, SocketAddr::new(first, port)))
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, hall: Arc<Hall>) {
    // Dropped with this task, and with it all connections.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(greet(stream, tls.clone(), Arc::clone(&hall)));
                }
                // Out of file handles: they come back when connections end.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn greet(stream: TcpStream, tls: Option<TlsAcceptor>, hall: Arc<Hall>) {
    let Ok(address) = stream.local_addr() else { return };
    // Without it small answers would wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let connection = hall.log.connection();
    match tls {
        None => connection::serve(stream, false, address.ip(), connection, &hall).await,
        Some(acceptor) => {
            if let Ok(stream) = acceptor.accept(stream).await {
                connection::serve(stream, true, address.ip(), connection, &hall).await;
            }
        }
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
