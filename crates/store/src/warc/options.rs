//! What an archive is opened with: what its volumes say of themselves, and who numbers them.

use std::path::Path;

use model::{StoreError, Timestamp, limits};

use super::{compression::Compression, index::Identity};

/// What every volume says of itself, and how large it may grow.
#[derive(Clone, Debug)]
pub struct WarcOptions {
    /// Name and version of the program.
    pub software: String,
    pub user_agent: String,
    /// Who runs the crawl and how to reach them; empty when nobody said.
    pub operator: String,
    /// How robots.txt is treated, in words.
    pub robots: String,
    /// A volume is sealed before it grows over this.
    pub volume_bytes_max: u64,
    /// Begins the names of volumes; for people.
    pub prefix: String,
    /// Of volumes that are begun from now on.
    pub compression: Compression,
}

impl Default for WarcOptions {
    fn default() -> WarcOptions {
        WarcOptions {
            software: "Harvestman".to_owned(),
            user_agent: String::new(),
            operator: String::new(),
            robots: "obey (RFC 9309)".to_owned(),
            volume_bytes_max: limits::VOLUME_BYTES_MAX,
            prefix: "harvest".to_owned(),
            compression: Compression::default(),
        }
    }
}

/// Gives volumes their numbers, and keeps what became of them.
pub trait Register: Send + Sync {
    /// The number of a volume that is about to be begun in this folder: no smaller than `at_least`, and never given
    /// before. `name` says what its file will be called.
    fn begin(
        &self,
        at_least: u32,
        folder: &Path,
        name: &dyn Fn(u32) -> String,
    ) -> Result<u32, StoreError>;

    /// It goes on in another folder.
    fn moved(&self, number: u32, folder: &Path) -> Result<(), StoreError>;

    fn sealed(&self, number: u32, file: &Identity, at: Timestamp) -> Result<(), StoreError>;
}
