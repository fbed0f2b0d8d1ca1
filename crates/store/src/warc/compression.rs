//! How volumes are packed: what the user may choose, and what their names say.

/// Gzip is read by every tool there is; zstd takes less time and less room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    Gzip,
    /// "WARC Zstandard" 1.0 of the IIPC.
    Zstd,
}

impl Compression {
    pub(super) const ALL: [Compression; 2] = [Compression::Gzip, Compression::Zstd];

    /// Of the names of sealed volumes.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Compression::Gzip => ".warc.gz",
            Compression::Zstd => ".warc.zst",
        }
    }

    /// What each record's bytes begin with: a gzip member of RFC 1952, a frame of RFC 8878.
    pub(super) fn magic(self) -> &'static [u8] {
        match self {
            Compression::Gzip => &[0x1f, 0x8b, 0x08],
            Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        }
    }
}
