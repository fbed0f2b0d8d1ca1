//! The gate: what must not be visited whatever the other rules say.
//!
//! It is asked again before every visit and every connection, because it may change while a crawl runs.

use std::{fmt, net::IpAddr};

use crate::{CrawlUrl, Page, Refusal};

pub trait Gate: fmt::Debug + Send + Sync {
    fn refuses_url(&self, url: &CrawlUrl) -> Option<Refusal>;

    fn refuses_address(&self, address: IpAddr) -> Option<Refusal>;

    /// A page that was let in once: whether it still may be visited.
    fn refuses_page(&self, _page: &Page) -> Option<Refusal> {
        None
    }
}

/// Asked when the head of an answer is there: whether its body is wanted.
pub trait TypeGate: fmt::Debug + Send + Sync {
    /// `media_type` as the server declares it, without parameters.
    fn refuses_type(&self, media_type: &str) -> bool;
}

/// Lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn refuses_url(&self, _url: &CrawlUrl) -> Option<Refusal> {
        None
    }

    fn refuses_address(&self, _address: IpAddr) -> Option<Refusal> {
        None
    }
}
