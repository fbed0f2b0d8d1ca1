//! WARC volumes: what was said on the wire, kept so that other people's tools read it (WARC/1.1).
//!
//! Start with [`WarcArchive`] (writing and recovery), then [`Volumes`] (random access), [`WarcReader`]
//! (any WARC file, record by record) and [`Verifier`] (what `check` asks).
//!
//! Invariants:
//! - one gzip member or zstd frame per record, of one kind in a volume; a request and its response (or revisit) lie behind each other;
//! - a volume is named `….warc.gz.open` or `….warc.zst.open` while it grows, and is synced before it gets its final name,
//!   so a sealed volume is whole;
//! - an open volume is written only in whole pairs, so that a crash tears at most its tail;
//! - nothing here reads a clock: dates are those of the exchanges.

mod archive;
mod compression;
mod date;
mod dictionary;
mod digest;
mod digest_pair;
mod disk;
mod edit;
mod encode;
mod frame;
mod frames;
mod hashed;
mod http;
mod ids;
pub(crate) mod index;
mod kept;
mod ledger;
mod member;
mod met;
mod moving;
mod names;
mod not_modified;
mod opened;
mod options;
mod pairs;
mod press;
mod reader;
mod rebuild;
mod record;
mod recover;
mod repack;
mod room;
mod short;
mod train;
mod unpacked;
mod verify;
mod volume;
mod whole;

pub use archive::{Teller, WarcArchive};
pub use compression::Compression;
pub use digest::{digest_text, parse_digest, sha1};
pub use digest_pair::sha1_pair;
pub use hashed::hex;
pub use http::{HttpParts, dechunk};
pub use ids::{RecordIds, parse_record_id, record_id_text};
pub use index::{Identity, IndexState, index_state, make_index, sealed_identity};
pub use kept::VolumeLengths;
pub use names::{VolumeFileName, Volumes};
pub use options::{Register, WarcOptions};
pub use pairs::{Pair, Pairs};
pub use reader::{BLOCK_BYTES_MAX, ReadError, Record, WarcReader};
pub use rebuild::Adopted;
pub use recover::{Adoption, Cut, Recovery};
pub use verify::{Problem, Report, Verifier, verify_record, verify_volume};

pub(crate) use date::date_text;
pub(crate) use edit::{Edit, Moved, Moves, record_at, rewrite};
pub(crate) use ids::draw;
#[cfg(test)]
pub(crate) use not_modified::in_old_form;
pub(crate) use not_modified::{in_new_form, is_old_form};
pub(crate) use press::Press;
pub(crate) use repack::without_dictionary;
pub(crate) use whole::{made_whole, referring_to};

#[cfg(test)]
pub(crate) mod tests;
