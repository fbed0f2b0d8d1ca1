//! What tells a payload from others: SHA-1 where a record says it, a fast hash where nobody but we compare it.

use model::{Exchange, Page};
use store::warc::{sha1, sha1_pair};
use xxhash_rust::xxh3::xxh3_128;

/// The digests of an answer.
pub(super) struct Digests {
    /// Of the payload as it came, which tells whether it has changed.
    pub(super) whole: [u8; 20],
    /// As it is archived.
    pub(super) stored: [u8; 20],
    /// Of the block that it becomes, where all of the answer is likely to be archived.
    pub(super) block: Option<[u8; 20]>,
}

impl Digests {
    /// That of a payload which is archived cut is in no record, and only compared with those of other visits: it need not
    /// be the dear one. A page keeps to the kind that it has as long as its payload is the same, whatever is kept of it.
    pub(super) fn of(exchange: &Exchange, cut: Option<&Exchange>, page: Option<&Page>) -> Digests {
        let entity = &exchange.entity;
        let last = page.and_then(|page| page.last.as_ref());
        let is_cheap = match last {
            Some(last) => is_compared(&last.payload_digest, entity),
            None => cut.is_some(),
        };
        if is_cheap || cut.is_some() {
            let whole = if is_cheap { compared(entity) } else { sha1(&[entity]) };
            let stored = sha1(&[&cut.unwrap_or(exchange).entity]);
            return Digests { whole, stored, block: None };
        }
        if last.is_some() || exchange.status != 200 {
            let whole = sha1(&[entity]);
            return Digests { whole, stored: whole, block: None };
        }
        let block = [&exchange.response_head[..], &exchange.wire_body];
        let (whole, block) = sha1_pair(entity, block);
        Digests { whole, stored: whole, block: Some(block) }
    }
}

/// What tells a payload from others, though not from one that was made to look like it.
fn compared(payload: &[u8]) -> [u8; 20] {
    let mut digest = [0; 20];
    digest[..16].copy_from_slice(&xxh3_128(payload).to_le_bytes());
    digest[16..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    digest
}

/// Whether this is how it was told from others before.
fn is_compared(digest: &[u8; 20], payload: &[u8]) -> bool {
    digest[16..] == (payload.len() as u32).to_le_bytes() && *digest == compared(payload)
}
