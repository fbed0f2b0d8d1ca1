//! A bounded memory of payloads already archived, so that identical content is stored once.
//!
//! Within a page the database knows its last version; this memory finds the same payload under other
//! URLs and on other sites, as far back as it reaches. It forgets the oldest first. Losing it (a restart)
//! costs disk, never correctness.

use std::{
    collections::{HashMap, VecDeque},
    hash::BuildHasher,
};

use foldhash::fast::FixedState;
use model::{CrawlUrl, RecordLocation, Timestamp};

pub struct Payloads {
    known: HashMap<[u8; 20], Original, FixedState>,
    order: VecDeque<[u8; 20]>,
    max: usize,
}

/// The record that a payload was first archived with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub url: CrawlUrl,
    pub date: Timestamp,
    pub location: RecordLocation,
}

impl Payloads {
    /// Below this a revisit record (about 500 bytes of its own) saves nothing.
    pub const BYTES_MIN: usize = 512;
    /// At about 170 bytes an entry: 11 MB.
    pub const ENTRIES_MAX: usize = 65_536;

    pub fn new(max: usize) -> Payloads {
        Payloads { known: HashMap::default(), order: VecDeque::new(), max }
    }

    pub fn remember(&mut self, digest: &[u8; 20], original: Original, bytes: usize) {
        if bytes < Payloads::BYTES_MIN {
            return;
        }
        // Another site had it first: who has it here first is another question.
        let key = match self.known.get(digest) {
            Some(first) if first.url.site_text() == original.url.site_text() => return,
            Some(_) => on_site(digest, &original.url),
            None => *digest,
        };
        if self.known.contains_key(&key) {
            return;
        }
        if self.order.len() >= self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(key);
        self.known.insert(key, original);
    }

    pub fn recall(&self, digest: &[u8; 20]) -> Option<&Original> {
        self.known.get(digest)
    }

    /// The page of the URL's own site that had it first.
    pub fn recall_on_site(&self, digest: &[u8; 20], url: &CrawlUrl) -> Option<&CrawlUrl> {
        let own = |first: &&Original| first.url.site_text() == url.site_text();
        let first = self.known.get(digest).filter(own);
        first.or_else(|| self.known.get(&on_site(digest, url)).filter(own)).map(|first| &first.url)
    }
}

/// The payload among those of one site.
fn on_site(digest: &[u8; 20], url: &CrawlUrl) -> [u8; 20] {
    let site = FixedState::default().hash_one(url.site_text()).to_le_bytes();
    let mut key = *digest;
    key.iter_mut().zip(site).for_each(|(byte, of_site)| *byte ^= of_site);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(url: &CrawlUrl, date: i64) -> Original {
        let location = RecordLocation { volume: 1, offset: 0, length: 1 };
        Original { url: url.clone(), date: Timestamp(date), location }
    }

    #[test]
    fn the_first_of_a_site_is_known_though_another_site_had_it_before() {
        let url = |text: &str| CrawlUrl::parse(text).expect("valid");
        let mut payloads = Payloads::new(9);
        let urls = ["http://a.example/", "http://b.example/1", "http://b.example/2"].map(url);
        urls.iter().for_each(|url| payloads.remember(&[1; 20], original(url, 1), 1_000));
        assert_eq!(payloads.recall(&[1; 20]), Some(&original(&urls[0], 1)));
        assert_eq!(payloads.recall_on_site(&[1; 20], &urls[2]), Some(&urls[1]));
        assert_eq!(payloads.recall_on_site(&[1; 20], &url("http://c.example/")), None);
        assert_eq!(payloads.recall_on_site(&[1; 20], &url("http://a.example/x")), Some(&urls[0]));
    }

    #[test]
    fn the_oldest_payload_is_forgotten_first_and_small_ones_are_never_kept() {
        let url = CrawlUrl::parse("http://a.example/").expect("valid");
        let mut payloads = Payloads::new(2);
        for n in 1..=3u8 {
            payloads.remember(&[n; 20], original(&url, i64::from(n)), 1_000);
        }
        payloads.remember(&[9; 20], original(&url, 9), 10);
        assert!(payloads.recall(&[1; 20]).is_none());
        assert_eq!(payloads.recall(&[3; 20]), Some(&original(&url, 3)));
        assert!(payloads.recall(&[9; 20]).is_none());
    }
}
