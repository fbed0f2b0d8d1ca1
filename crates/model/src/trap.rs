//! What a site has taught about its own traps: kept with the site, written by the holder of its lease.
//!
//! Plain data; what it means, and how a visit changes it, is for the seeder to say (`seeder::traps`). Everything
//! in it is bounded there.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, Timestamp};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteTraps {
    /// Pages whose texts differ in next to nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<Family>,
    /// It does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Down>,
}

/// A site that does not answer, or only with errors of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Down {
    /// The first question in vain.
    pub since: Timestamp,
    /// Questions in vain.
    pub tries: u32,
}

/// Pages of a site that are near duplicates of its first (`seeder::families`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Of the first page.
    pub simhash: u64,
    /// Hash of its title without digits.
    pub title: u64,
    pub first: Fingerprint,
    /// Pages of it, the first among them.
    pub pages: u32,
    /// Patterns of their URLs (as hashes), and how many pages each has given.
    pub kinds: Vec<(u64, u32)>,
}

impl SiteTraps {
    pub fn is_empty(&self) -> bool {
        *self == SiteTraps::default()
    }
}
