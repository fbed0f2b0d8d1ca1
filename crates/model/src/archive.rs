//! The archiving seam: an exchange in, the place of its record out.

use serde::{Deserialize, Serialize};

use crate::{Exchange, StoreError, Timestamp};

pub trait Archive: Send + Sync {
    /// Writes request and response (or revisit) of one exchange behind each other; callable from many
    /// threads. The bytes are on disk only after the next [`Archive::sync`].
    fn append(&self, entry: &ArchiveEntry<'_>) -> Result<RecordLocation, StoreError>;

    /// Hands what was appended to the operating system: safe from the end of this process, though not yet
    /// from that of the machine.
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Everything appended before the call is on disk when it returns.
    fn sync(&self) -> Result<(), StoreError>;

    /// The record at this location has its visit in the transaction that is being prepared.
    fn settled(&self, location: RecordLocation);

    /// The place below which every record is settled, given what [`Archive::settled`] was told; to be
    /// stored in the same transaction.
    fn mark(&self) -> Mark;

    /// Whether a record can be where it was written. A look at the lengths of volumes as they were
    /// when they were last looked at ([`Archive::look`]): what is damaged inside is not seen.
    fn holds(&self, _location: RecordLocation) -> bool {
        true
    }

    /// The exchange of the record at this place, as far as it can be read; content codings are not
    /// undone.
    fn exchange(&self, _location: RecordLocation) -> Result<Option<Exchange>, StoreError> {
        Ok(None)
    }

    /// Looks for volumes that were deleted since the last time; an error when the one that is being
    /// written was, or the folder of all. Cheap enough for every second.
    fn look(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Closes the open volume for good: it gets its final name.
    fn seal(&self) -> Result<(), StoreError>;
}

#[derive(Clone, Debug)]
pub struct ArchiveEntry<'a> {
    pub exchange: &'a Exchange,
    pub record_id: RecordId,
    /// SHA-1 of `exchange.entity`; computed by the caller because change detection needs it too.
    pub payload_digest: [u8; 20],
    /// Of head and wire body, where the caller made it beside the other; only with [`EntryKind::Response`].
    pub block_digest: Option<[u8; 20]>,
    pub kind: EntryKind,
}

#[derive(Clone, Debug)]
pub enum EntryKind {
    /// The whole response.
    Response,
    /// The same payload as an earlier record: head only.
    SamePayload(RefersTo),
    /// 304.
    NotModified(RefersTo),
}

#[derive(Clone, Debug)]
pub struct RefersTo {
    pub target_uri: String,
    pub date: Timestamp,
    /// Digest of the payload at hand (for a 304 the earlier one).
    pub payload_digest: [u8; 20],
}

/// UUID of the response (or revisit) record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(pub u128);

/// Where a record pair begins: its volume's number and the offset of the *response* (or revisit) member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordLocation {
    pub volume: u32,
    pub offset: u64,
    /// Compressed length of the response member.
    pub length: u32,
}

/// Every record of earlier volumes, and of `volume` below `offset`, is settled; so are those listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub volume: u32,
    pub offset: u64,
    /// Offsets of settled response records above `offset` as (volume, offset): few, because gathering is nearly in order.
    pub above: Vec<(u32, u64)>,
}
