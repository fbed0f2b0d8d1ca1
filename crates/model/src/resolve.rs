//! The naming seam: a host name in, addresses and their life out.

use std::net::IpAddr;

use crate::{BoxFuture, FetchFailure, Timestamp};

pub trait Resolve: Send + Sync {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    pub addresses: Vec<IpAddr>,
    /// When to ask again.
    pub expires: Timestamp,
}
