//! The list of blocks in force, made to be asked for every link: some lookups by hash, whatever its length.
//!
//! [`Blocks`] is a handle that many share; what is added or removed holds for all of them at once. While
//! nothing is blocked a question costs one atomic read.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::IpAddr,
    ops::Bound,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use foldhash::fast::RandomState;
use model::{Cidr, CrawlUrl, Gate, Refusal};

use crate::{Block, Forgotten};

#[derive(Clone, Default)]
pub struct Blocks {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    any: AtomicBool,
    list: RwLock<BlockList>,
}

impl Blocks {
    /// How many were not on the list before.
    pub fn add(&self, blocks: impl IntoIterator<Item = Block>) -> u64 {
        self.change(|list| blocks.into_iter().filter(|block| list.insert(block)).count() as u64)
    }

    /// How many were on the list.
    pub fn remove(&self, blocks: impl IntoIterator<Item = Block>) -> u64 {
        self.change(|list| blocks.into_iter().filter(|block| list.remove(block)).count() as u64)
    }

    /// The pattern that keeps away from this URL, by its text alone.
    pub fn find(&self, url: &CrawlUrl) -> Option<Arc<str>> {
        self.ask(|list| list.find(url))
    }

    pub fn find_address(&self, address: IpAddr) -> Option<Arc<str>> {
        self.ask(|list| list.find_address(address))
    }

    /// What the user had forgotten stays out like what is blocked, but by its hash alone.
    pub fn set_forgotten(&self, forgotten: Forgotten) {
        self.change(|list| list.forgotten = forgotten);
    }

    pub fn is_forgotten(&self, url: &CrawlUrl) -> bool {
        self.ask(|list| list.forgotten.holds(url).then_some(())).is_some()
    }

    pub fn contains(&self, block: &Block) -> bool {
        self.ask(|list| list.contains(block).then_some(())).is_some()
    }

    pub fn len(&self) -> usize {
        self.shared.list.read().unwrap_or_else(PoisonError::into_inner).len
    }

    pub fn is_empty(&self) -> bool {
        !self.shared.any.load(Ordering::Acquire)
    }

    fn ask<T>(&self, question: impl FnOnce(&BlockList) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        question(&self.shared.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut BlockList) -> T) -> T {
        let mut list = self.shared.list.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = change(&mut list);
        let any = list.len > 0 || !list.forgotten.is_empty();
        self.shared.any.store(any, Ordering::Release);
        outcome
    }
}

impl Gate for Blocks {
    fn refuses_url(&self, url: &CrawlUrl) -> Option<Refusal> {
        if self.is_forgotten(url) {
            return Some(Refusal::forgotten());
        }
        self.find(url).map(|pattern| Refusal::blocked(&pattern))
    }

    fn refuses_address(&self, address: IpAddr) -> Option<Refusal> {
        self.find_address(address).map(|pattern| Refusal::blocked(&pattern))
    }
}

/// A list can have a million entries: only their number is worth telling.
impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks({})", self.len())
    }
}

/// From what is looked up to the pattern as it is written.
type Named = HashMap<Arc<str>, Arc<str>, RandomState>;

#[derive(Default)]
struct BlockList {
    urls: Named,
    hosts: Named,
    domains: Named,
    prefixes: BTreeMap<Arc<str>, Arc<str>>,
    ranges: HashMap<Cidr, Arc<str>, RandomState>,
    /// How many ranges there are of each family (4 or 6) and length.
    lengths: BTreeMap<(u8, u8), usize>,
    len: usize,
    forgotten: Forgotten,
}

impl BlockList {
    fn insert(&mut self, block: &Block) -> bool {
        let pattern: Arc<str> = Arc::from(block.to_string());
        let new = match block {
            Block::Url(text) => self.urls.insert(text.clone(), pattern).is_none(),
            Block::Prefix(text) => self.prefixes.insert(text.clone(), pattern).is_none(),
            Block::Host(host) => self.hosts.insert(host.clone(), pattern).is_none(),
            Block::Domain(domain) => self.domains.insert(domain.clone(), pattern).is_none(),
            Block::Addresses(range) => {
                let new = self.ranges.insert(*range, pattern).is_none();
                *self.lengths.entry(length_of(range)).or_default() += usize::from(new);
                new
            }
        };
        self.len += usize::from(new);
        new
    }

    fn remove(&mut self, block: &Block) -> bool {
        let gone = match block {
            Block::Url(text) => self.urls.remove(text).is_some(),
            Block::Prefix(text) => self.prefixes.remove(text).is_some(),
            Block::Host(host) => self.hosts.remove(host).is_some(),
            Block::Domain(domain) => self.domains.remove(domain).is_some(),
            Block::Addresses(range) => self.remove_range(range),
        };
        self.len -= usize::from(gone);
        gone
    }

    fn remove_range(&mut self, range: &Cidr) -> bool {
        let gone = self.ranges.remove(range).is_some();
        if gone && let Some(count) = self.lengths.get_mut(&length_of(range)) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&length_of(range));
            }
        }
        gone
    }

    fn contains(&self, block: &Block) -> bool {
        match block {
            Block::Url(text) => self.urls.contains_key(text),
            Block::Prefix(text) => self.prefixes.contains_key(text),
            Block::Host(host) => self.hosts.contains_key(host),
            Block::Domain(domain) => self.domains.contains_key(domain),
            Block::Addresses(range) => self.ranges.contains_key(range),
        }
    }

    fn find(&self, url: &CrawlUrl) -> Option<Arc<str>> {
        let (text, host, site) = (url.as_str(), url.host(), url.site_text());
        // Without the scheme: what was written so holds for both.
        let bare = &text[url.scheme().len() + 1..];
        let named = |list: &Named, name: &str| list.get(name).cloned();
        let by_host = || named(&self.hosts, host).or_else(|| named(&self.hosts, site));
        by_host()
            .or_else(|| self.domain_of(host))
            .or_else(|| named(&self.urls, text).or_else(|| named(&self.urls, bare)))
            .or_else(|| self.prefix_of(text).or_else(|| self.prefix_of(bare)))
            .or_else(|| self.find_address(literal(host)?))
    }

    /// The host itself, then what follows each of its dots.
    fn domain_of(&self, host: &str) -> Option<Arc<str>> {
        if self.domains.is_empty() {
            return None;
        }
        let mut rest = host;
        loop {
            if let Some(pattern) = self.domains.get(rest) {
                return Some(pattern.clone());
            }
            rest = rest.split_once('.')?.1;
        }
    }

    /// Of all texts in order, a prefix stands before what it begins. The last one before `text` is either
    /// a prefix of it or shares a beginning with it, and no prefix is longer than that.
    fn prefix_of(&self, text: &str) -> Option<Arc<str>> {
        let mut text = text;
        loop {
            let before = (Bound::Unbounded, Bound::Included(text));
            let (prefix, pattern) = self.prefixes.range::<str, _>(before).next_back()?;
            if text.starts_with(&**prefix) {
                return Some(pattern.clone());
            }
            let shared = text.bytes().zip(prefix.bytes()).take_while(|(a, b)| a == b).count();
            text = &text[..text.floor_char_boundary(shared)];
        }
    }

    fn find_address(&self, address: IpAddr) -> Option<Arc<str>> {
        let address = address.to_canonical();
        let own = family(address);
        let lengths = self.lengths.range((own, 0)..=(own, u8::MAX)).rev();
        lengths.into_iter().find_map(|((_, length), _)| {
            let base = Cidr::new(address, *length).edges().0;
            self.ranges.get(&Cidr::new(base, *length)).cloned()
        })
    }
}

fn length_of(range: &Cidr) -> (u8, u8) {
    (family(range.edges().0), range.prefix())
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 4 } else { 6 }
}

/// The address that a URL spells out.
fn literal(host: &str) -> Option<IpAddr> {
    if !host.starts_with(|c: char| c == '[' || c.is_ascii_digit()) {
        return None;
    }
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests;
