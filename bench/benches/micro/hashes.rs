//! Hashes: of bodies for the archive (SHA-1, which its readers expect) and for telling changes, and of words for
//! telling near duplicates.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{BuildHasher, Hasher},
};

use aws_lc_rs::digest;
use divan::{Bencher, black_box};
use gatherer::WordPrints;
use xxhash_rust::xxh3::xxh3_64;

use crate::pages::{Page, bytes, count, pages, text_bytes};

fn bodies<T>(bencher: Bencher, hash: impl Fn(&[u8]) -> T + Sync) {
    bencher.counter(bytes()).counter(count()).bench(|| {
        for page in pages() {
            black_box(hash(&page.exchange.body));
        }
    });
}

#[divan::bench_group(name = "digest for the archive (page)")]
mod archive {
    use super::*;

    #[divan::bench(name = "harvestman, sha1")]
    fn ours(bencher: Bencher) {
        bodies(bencher, |body| store::warc::sha1(&[body]));
    }

    #[divan::bench(name = "harvestman, two of them at once")]
    fn pair(bencher: Bencher) {
        bodies(bencher, |body| store::warc::sha1_pair(body, [b"HTTP/1.1 200 OK\r\n\r\n", body]));
    }

    #[divan::bench(name = "aws-lc-rs SHA-1")]
    fn sha1(bencher: Bencher) {
        bodies(bencher, |body| digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, body));
    }

    #[divan::bench(name = "aws-lc-rs SHA-256")]
    fn sha256(bencher: Bencher) {
        bodies(bencher, |body| digest::digest(&digest::SHA256, body));
    }
}

#[divan::bench_group(name = "hash of the bytes (page)")]
mod content {
    use super::*;

    #[divan::bench(name = "harvestman, xxh3")]
    fn ours(bencher: Bencher) {
        bodies(bencher, xxh3_64);
    }

    #[divan::bench(name = "foldhash")]
    fn fold(bencher: Bencher) {
        let state = foldhash::quality::FixedState::default();
        bodies(bencher, |body| {
            let mut hasher = state.build_hasher();
            hasher.write(body);
            hasher.finish()
        });
    }

    #[divan::bench(name = "SipHash of the standard library")]
    fn sip(bencher: Bencher) {
        bodies(bencher, |body| {
            let mut hasher = DefaultHasher::new();
            hasher.write(body);
            hasher.finish()
        });
    }
}

#[divan::bench_group(name = "near-duplicate hash (page)")]
mod words {
    use super::*;

    fn texts<T>(bencher: Bencher, hash: impl Fn(&str) -> T + Sync) {
        bencher.counter(text_bytes()).counter(count()).bench(|| {
            for Page { text, .. } in pages() {
                black_box(hash(text));
            }
        });
    }

    #[divan::bench(name = "harvestman, simhash and skeleton")]
    fn ours(bencher: Bencher) {
        texts(bencher, WordPrints::of);
    }

    #[divan::bench(name = "simhash as in the paper, xxh3 of three words")]
    fn by_the_book(bencher: Bencher) {
        texts(bencher, textbook);
    }
}

/// Charikar's, with a counter for each bit.
fn textbook(text: &str) -> u64 {
    let mut counters = [0_i32; 64];
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut shingle = String::new();
    for three in words.windows(3) {
        shingle.clear();
        three.iter().for_each(|word| shingle.push_str(word));
        let hash = xxh3_64(shingle.as_bytes());
        for (bit, counter) in counters.iter_mut().enumerate() {
            *counter += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    }
    counters.iter().enumerate().fold(0, |all, (bit, sum)| all | u64::from(*sum > 0) << bit)
}
