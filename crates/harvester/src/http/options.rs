//! What the fetcher can be told, with the defaults.

use std::{path::PathBuf, sync::Arc, time::Duration};

use model::{Cidr, Gate, OpenGate, Origin, limits};

use super::{overrides::Overrides, profile::HttpProfile, tls::TlsSetupError};

#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// For spiders without a profile of their own.
    pub profile: HttpProfile,
    /// PEM files of authorities trusted beside the web's own.
    pub extra_roots: Vec<PathBuf>,
    pub accept_invalid_certificates: bool,
    /// Special addresses that may be visited all the same (`--allow-address`).
    pub allow: Vec<Cidr>,
    /// Ports that browsers refuse, and that may be visited all the same.
    pub allow_ports: Vec<u16>,
    /// Addresses that may not be visited in any case; may change while the fetcher is at work.
    pub gate: Arc<dyn Gate>,
    /// The resolver's table, for the ports in it.
    pub overrides: Arc<Overrides>,
    /// Idle connections kept in all: each holds a descriptor and some 20 KB.
    pub idle_max: usize,
    /// One connection a site is the rule, a second one comes of its other scheme or of robots.txt.
    pub idle_per_origin_max: usize,
    /// Longer than the usual pause between two visits, shorter than most servers wait.
    pub idle_timeout: Duration,
    /// Addresses of one host tried for one fetch, within the time for connecting.
    pub addresses_tried_max: usize,
    /// Memory for long bodies, of all fetches together (`budget.rs`).
    pub long_bodies_bytes: u64,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            profile: HttpProfile::default(),
            extra_roots: Vec::new(),
            accept_invalid_certificates: false,
            allow: Vec::new(),
            allow_ports: Vec::new(),
            gate: Arc::new(OpenGate),
            overrides: Arc::default(),
            idle_max: 1_024,
            idle_per_origin_max: 2,
            idle_timeout: Duration::from_secs(30),
            addresses_tried_max: 4,
            long_bodies_bytes: limits::long_bodies_bytes(0),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    #[error("`{0}` cannot be the name of a header")]
    HeaderName(String),
    #[error("`{value}` cannot be the value of the header {name}")]
    HeaderValue { name: String, value: String },
    #[error("the header {0} is the crawler's own to send; leave it out")]
    Reserved(String),
    #[error("the credential for {origin} cannot be used: {reason}")]
    Credential { origin: Origin, reason: String },
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
}
