//! The list of replicas in force: URLs of one are rewritten to its original, by its path.
//!
//! [`Folds`] is a handle that many share, like [`crate::Blocks`]; while nothing is folded a question costs one
//! atomic read. What a seed names is never asked here.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use foldhash::fast::RandomState;
use model::CrawlUrl;

#[derive(Clone, Default)]
pub struct Folds {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    any: AtomicBool,
    /// From a site to the origin (scheme, host and port) that stands for it.
    list: RwLock<HashMap<String, Arc<str>, RandomState>>,
}

impl Folds {
    /// From now on `origin` (`https://example.org`) stands for the site.
    pub fn add(&self, site: &str, origin: &str) {
        self.change(|list| drop(list.insert(site.to_owned(), Arc::from(origin))));
    }

    pub fn remove(&self, site: &str) {
        self.change(|list| drop(list.remove(site)));
    }

    pub fn is_empty(&self) -> bool {
        !self.shared.any.load(Ordering::Acquire)
    }

    /// The same path at the original, where the URL's site is a replica.
    pub fn fold(&self, url: &CrawlUrl) -> Option<CrawlUrl> {
        if self.is_empty() {
            return None;
        }
        let list = self.shared.list.read().unwrap_or_else(PoisonError::into_inner);
        let one_step = |url: &CrawlUrl| {
            let origin = list.get(url.site_text())?;
            CrawlUrl::parse(&[origin, url.path_and_query()].concat()).ok()
        };
        // An original may have been found to be a replica in its turn, also of one of its own.
        let first = one_step(url)?;
        Some(one_step(&first).unwrap_or(first))
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<String, Arc<str>, RandomState>)) {
        let mut list = self.shared.list.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut list);
        self.shared.any.store(!list.is_empty(), Ordering::Release);
    }
}

impl fmt::Debug for Folds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.shared.list.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_map().entries(list.iter()).finish()
    }
}
