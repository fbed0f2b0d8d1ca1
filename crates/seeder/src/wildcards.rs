//! Domains under which every name resolves (a DNS wildcard; VN, 2.1.1), as far as they are known: hosts of such a domain that only its own pages
//! lead to are held back; those that somebody else links to are taken, for such domains have sites of worth too.
//!
//! [`Wildcards`] is a handle that many share; while no such domain is known a question costs one atomic read.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use foldhash::fast::RandomState;
use model::{CrawlUrl, Refusal, RefusalReason};

/// Hosts of one domain that are let in; beyond it the limit on hosts of a domain has long been reached.
const LET_IN_MAX: usize = 100_000;

type Hosts = HashSet<String, RandomState>;

#[derive(Clone, Default)]
pub struct Wildcards {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    any: AtomicBool,
    /// By registrable domain: its sites that are let in.
    list: RwLock<HashMap<String, Hosts, RandomState>>,
}

impl Wildcards {
    /// From now on sites of the domain are held back, but for these.
    pub fn add(&self, domain: &str, let_in: impl IntoIterator<Item = String>) {
        self.change(|list| list.entry(domain.to_owned()).or_default().extend(let_in));
    }

    pub fn remove(&self, domain: &str) {
        self.change(|list| drop(list.remove(domain)));
    }

    pub fn is_empty(&self) -> bool {
        !self.shared.any.load(Ordering::Acquire)
    }

    /// Whether the URL's site is one of such a domain and nobody from elsewhere has led to it.
    pub fn holds_back(&self, url: &CrawlUrl) -> bool {
        if self.is_empty() {
            return false;
        }
        let list = self.shared.list.read().unwrap_or_else(PoisonError::into_inner);
        list.get(url.domain()).is_some_and(|let_in| !let_in.contains(url.site_text()))
    }

    /// A page of another domain links to the URL: its site is let in. Whether it was held back until now.
    pub fn vouch(&self, url: &CrawlUrl) -> bool {
        if !self.holds_back(url) {
            return false;
        }
        let mut list = self.shared.list.write().unwrap_or_else(PoisonError::into_inner);
        match list.get_mut(url.domain()) {
            Some(let_in) if let_in.len() < LET_IN_MAX => let_in.insert(url.site_text().to_owned()),
            _ => false,
        }
    }

    /// The refusal of a site that is held back.
    pub fn refusal(url: &CrawlUrl) -> Refusal {
        Refusal { reason: RefusalReason::Trap, rule: rule(url.domain()) }
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<String, Hosts, RandomState>)) {
        let mut list = self.shared.list.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut list);
        self.shared.any.store(!list.is_empty(), Ordering::Release);
    }
}

pub(crate) fn rule(domain: &str) -> String {
    format!("trap: dns wildcard under {domain}")
}

impl fmt::Debug for Wildcards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.shared.list.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(list.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_of_a_wildcard_are_held_back_until_somebody_else_links_to_them() {
        let wildcards = Wildcards::default();
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        assert!(!wildcards.holds_back(&url("http://x.w.test/")));
        assert!(!wildcards.vouch(&url("http://x.w.test/")), "there is nothing to let in to");
        wildcards.add("w.test", ["www.w.test".to_owned()]);
        assert!(!wildcards.holds_back(&url("http://www.w.test/a")));
        assert!(wildcards.holds_back(&url("http://x.w.test/")));
        assert!(!wildcards.holds_back(&url("http://x.v.test/")));
        assert!(wildcards.vouch(&url("http://x.w.test/a")));
        assert!(!wildcards.vouch(&url("http://x.w.test/b")), "once");
        assert!(!wildcards.holds_back(&url("http://x.w.test/")));
        wildcards.remove("w.test");
        assert!(!wildcards.holds_back(&url("http://y.w.test/")));
    }
}
