//! Which sites share contents: one pass over (hash, site) sorted by both, in memory that does not follow the number
//! of pages.
//!
//! Contents that very many sites have (a default page, an error page, somebody's licence) would make pairs without
//! end: of such a group every site is paired with its first one alone. Sites that share *all* their contents are in
//! the same groups with the same first one, so none of them is missed.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::Evidence;

/// In groups up to this size every site is paired with every other: 120 pairs.
const GROUP_MAX: usize = 16;
/// Some 50 MB. Beyond it only pairs that are known already are counted.
const PAIRS_MAX: usize = 1_000_000;

#[derive(Debug, Default)]
pub struct Matching {
    pairs: HashMap<(i64, i64), Shared, RandomState>,
    sizes: HashMap<i64, u32, RandomState>,
    /// The group at hand.
    hash: u64,
    group: Vec<(i64, bool)>,
    cut: bool,
}

/// Two sites, the lower number first, and what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub sites: (i64, i64),
    pub seen: Evidence,
}

#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    equal: u32,
    home: bool,
}

impl Matching {
    /// Takes contents in the order of their hashes and, of equal ones, of their sites: a site may have a content a
    /// million times. `home`: it is the site's home page.
    pub fn take(&mut self, hash: u64, site: i64, home: bool) {
        if hash != self.hash {
            self.close();
            self.hash = hash;
        }
        match self.group.last_mut().filter(|(known, _)| *known == site) {
            Some((_, is_home)) => *is_home |= home,
            None => self.group.push((site, home)),
        }
    }

    /// All pairs that share something, and whether there were too many to keep.
    pub fn finish(mut self) -> (Vec<Pair>, bool) {
        self.close();
        let size = |site| self.sizes.get(&site).copied().unwrap_or(0);
        let pair = |(sites, shared): (&(i64, i64), &Shared)| Pair {
            sites: *sites,
            seen: Evidence {
                home: shared.home,
                equal: shared.equal,
                contents: (size(sites.0), size(sites.1)),
            },
        };
        let mut pairs: Vec<Pair> = self.pairs.iter().map(pair).collect();
        pairs.sort_unstable_by_key(|pair| pair.sites);
        (pairs, self.cut)
    }

    fn close(&mut self) {
        let mut group = std::mem::take(&mut self.group);
        debug_assert!(group.is_sorted_by(|a, b| a.0 < b.0), "sites come in their order");
        for (site, _) in &group {
            *self.sizes.entry(*site).or_default() += 1;
        }
        if group.len() <= GROUP_MAX {
            for (at, one) in group.iter().enumerate() {
                group[at + 1..].iter().for_each(|other| self.pair(*one, *other));
            }
        } else if let Some((first, rest)) = group.split_first() {
            rest.iter().for_each(|other| self.pair(*first, *other));
            // A home page among other sites' inner pages must not hide that homes are equal.
            let mut homes = group.iter().filter(|(_, home)| *home);
            if let Some(first_home) = homes.next().filter(|home| *home != first) {
                homes.for_each(|other| self.pair(*first_home, *other));
            }
        }
        group.clear();
        self.group = group;
    }

    fn pair(&mut self, one: (i64, bool), other: (i64, bool)) {
        let key = (one.0, other.0);
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&key) {
            self.cut = true;
            return;
        }
        let shared = self.pairs.entry(key).or_default();
        shared.equal += 1;
        shared.home |= one.1 && other.1;
    }
}
