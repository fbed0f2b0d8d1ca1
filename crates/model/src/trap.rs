//! What a site has taught about its own traps: kept with the site, written by the holder of its lease.
//!
//! Plain data; what it means, and how a visit changes it, is for the seeder to say (`seeder::traps`). Everything
//! in it is bounded there.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteTraps {}

impl SiteTraps {
    pub fn is_empty(&self) -> bool {
        *self == SiteTraps::default()
    }
}
