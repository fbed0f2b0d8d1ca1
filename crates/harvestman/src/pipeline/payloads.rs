//! A bounded memory of payloads already archived, so that identical content is stored once.
//!
//! Within a page the database knows its last version; this memory finds the same payload under other
//! URLs and on other sites, as far back as it reaches. It forgets the oldest first. Losing it (a restart)
//! costs disk, never correctness.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use model::{CrawlUrl, Timestamp};

pub struct Payloads {
    known: HashMap<[u8; 20], (CrawlUrl, Timestamp), FixedState>,
    order: VecDeque<[u8; 20]>,
    max: usize,
}

impl Payloads {
    /// Below this a revisit record (about 500 bytes of its own) saves nothing.
    pub const BYTES_MIN: usize = 512;
    /// At about 150 bytes an entry: 10 MB.
    pub const ENTRIES_MAX: usize = 65_536;

    pub fn new(max: usize) -> Payloads {
        Payloads { known: HashMap::default(), order: VecDeque::new(), max }
    }

    pub fn remember(&mut self, digest: &[u8; 20], url: &CrawlUrl, date: Timestamp, bytes: usize) {
        if bytes < Payloads::BYTES_MIN || self.known.contains_key(digest) {
            return;
        }
        if self.order.len() >= self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(*digest);
        self.known.insert(*digest, (url.clone(), date));
    }

    pub fn recall(&self, digest: &[u8; 20]) -> Option<(CrawlUrl, Timestamp)> {
        self.known.get(digest).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_payload_is_forgotten_first_and_small_ones_are_never_kept() {
        let url = CrawlUrl::parse("http://a.example/").expect("valid");
        let mut payloads = Payloads::new(2);
        for n in 1..=3u8 {
            payloads.remember(&[n; 20], &url, Timestamp(i64::from(n)), 1_000);
        }
        payloads.remember(&[9; 20], &url, Timestamp(9), 10);
        assert!(payloads.recall(&[1; 20]).is_none());
        assert_eq!(payloads.recall(&[3; 20]), Some((url, Timestamp(3))));
        assert!(payloads.recall(&[9; 20]).is_none());
    }
}
