//! Families: pages of a site whose texts differ in next to nothing, found while the site is in hand.
//!
//! After Manku, Jain and Das Sarma (WWW 2007): simhashes of 64 bits that differ in at most 3 are near duplicates.
//! By the pigeonhole, such a pair agrees in at least one of four bands of 16 bits, so only pages that share a
//! band are compared. Of pages in one template about one pair in three hundred comes that near by chance (a tenth
//! of their words differing), so their titles must be the same too, numbers apart. The first page that looks like another founds a family with it; families are kept with
//! the site ([`model::SiteTraps::families`]), pages that are like no other only as long as it is in hand.
//!
//! A family is followed once: a page of it that leads to nothing new but more of the same
//! ([`crate::traps::near`]) gives no more links. Everything is bounded; what is forgotten costs a family its beginning, never a page.

use model::{CrawlUrl, Family, Fingerprint};

use crate::novelty::{Gist, Lately, Novelty};

/// Bits in which near duplicates may differ (Manku et al.: 3 of 64).
const DISTANCE_MAX: u32 = 3;
/// Families of one site: those with the fewest pages are given up for new ones.
const FAMILIES_MAX: usize = 64;
/// Pages like no other that are remembered in each of two generations: 40 bytes each, 160 KB a site.
const LONERS_MAX: usize = 2_048;

/// Words that a text must have for its simhash to say anything: below that, many pages of a template are alike.
pub const FAMILY_WORDS_MIN: usize = 20;

/// What tells near duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likeness {
    pub simhash: u64,
    /// Of the title without its digits.
    pub title: u64,
}

impl Likeness {
    pub fn new(simhash: u64, title: &str) -> Likeness {
        let letters = title.bytes().filter(|byte| !byte.is_ascii_digit());
        Likeness { simhash, title: fnv(letters) }
    }

    fn is_near(&self, simhash: u64, title: u64) -> bool {
        self.title == title && (self.simhash ^ simhash).count_ones() <= DISTANCE_MAX
    }
}

/// The pages of a site in hand that belong to no family yet.
#[derive(Default)]
pub struct Loners {
    young: Generation,
    old: Generation,
    lately: Lately,
}

/// A page's place in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinship {
    pub first: Fingerprint,
    /// Pages of the family, this one included.
    pub pages: u32,
}

impl Loners {
    /// What a page has that those before it had not. `kind`: the pattern of its URL.
    pub fn novelty(&mut self, kind: &str, url: &CrawlUrl, gist: Option<Gist>) -> Novelty {
        self.lately.judge(kind, url, gist)
    }

    /// A page that was fetched for the first time finds its family, founds one, or is remembered alone.
    pub fn join(
        &mut self,
        families: &mut Vec<Family>,
        like: Likeness,
        url: &CrawlUrl,
    ) -> Option<Kinship> {
        let fp = url.fingerprint();
        if let Some(family) = families.iter_mut().find(|f| like.is_near(f.simhash, f.title)) {
            family.pages = family.pages.saturating_add(1);
            return Some(Kinship { first: family.first, pages: family.pages });
        }
        let Some(first) = self.find(like) else {
            self.remember(Loner { like, fp });
            return None;
        };
        make_room(families);
        let Likeness { simhash, title } = first.like;
        families.push(Family { simhash, title, first: first.fp, pages: 2 });
        Some(Kinship { first: first.fp, pages: 2 })
    }

    fn find(&self, like: Likeness) -> Option<Loner> {
        self.young.find(like).or_else(|| self.old.find(like))
    }

    fn remember(&mut self, loner: Loner) {
        if self.young.loners.len() == LONERS_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.add(loner);
    }
}

/// The family of a page that is counted already, if it is not its first.
pub fn family_of(families: &[Family], like: Likeness, fp: Fingerprint) -> Option<Fingerprint> {
    let near = families.iter().find(|family| like.is_near(family.simhash, family.title))?;
    (near.first != fp).then_some(near.first)
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn make_room(families: &mut Vec<Family>) {
    if families.len() >= FAMILIES_MAX
        && let Some((least, _)) = families.iter().enumerate().min_by_key(|(_, f)| f.pages)
    {
        families.remove(least);
    }
}

#[derive(Clone, Copy)]
struct Loner {
    like: Likeness,
    fp: Fingerprint,
}

/// Pages by each of the four bands of their simhash: chains through the list, so that nothing is allocated by
/// the page and a whole generation is forgotten at once.
#[derive(Default)]
struct Generation {
    loners: Vec<Loner>,
    /// The loner before in the same bucket, for each band; counted from 1.
    before: Vec<[u16; BANDS]>,
    /// The last of each bucket; empty while there are few pages.
    heads: Vec<u16>,
}

const BANDS: usize = 4;
/// Buckets of a band.
const BUCKETS: usize = 1_024;
/// So many are looked at one by one: most sites have no more, and the buckets take 8 KB.
const FEW: usize = 64;

impl Generation {
    fn add(&mut self, loner: Loner) {
        self.loners.push(loner);
        let count = self.loners.len();
        if count <= FEW {
            return;
        }
        if self.heads.is_empty() {
            self.heads = vec![0; BANDS * BUCKETS];
            (1..count).for_each(|number| self.chain(number));
        }
        self.chain(count);
    }

    /// Puts the loner of this number, counted from 1, before the others of its buckets.
    fn chain(&mut self, number: usize) {
        let simhash = self.loners[number - 1].like.simhash;
        let before = std::array::from_fn(|band| {
            // At most LONERS_MAX: it fits.
            std::mem::replace(&mut self.heads[bucket(simhash, band)], number as u16)
        });
        self.before.push(before);
    }

    fn find(&self, like: Likeness) -> Option<Loner> {
        if self.heads.is_empty() {
            let shares = |other: &&Loner| {
                (0..BANDS)
                    .any(|band| bucket(like.simhash, band) == bucket(other.like.simhash, band))
            };
            let is_near = |other: &&Loner| like.is_near(other.like.simhash, other.like.title);
            return self.loners.iter().rev().filter(is_near).find(shares).copied();
        }
        (0..BANDS).find_map(|band| {
            let mut number = self.heads[bucket(like.simhash, band)];
            while number > 0 {
                let at = usize::from(number - 1);
                let other = &self.loners[at];
                if like.is_near(other.like.simhash, other.like.title) {
                    return Some(*other);
                }
                number = self.before[at][band];
            }
            None
        })
    }
}

fn bucket(simhash: u64, band: usize) -> usize {
    let bits = (simhash >> (16 * band)) as u16;
    // Both ends of the band have a say.
    band * BUCKETS + usize::from(bits ^ (bits >> 6)) % BUCKETS
}

#[cfg(test)]
mod tests;
