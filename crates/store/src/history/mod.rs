//! What happened to pages, read for people and scripts: changes in the order they were committed, and how
//! visits have adapted. All versions of one page are told by [`Census::page`](crate::census::Census::page).
//!
//! Everything here is a further question to the [`Census`](crate::census::Census): short reads, so that a
//! crawl's journal can start over between them. A new row of `visits` gets the next `seq` inside the one
//! transaction that commits it, so whoever has read up to a `seq` has missed nothing below it.

mod adaptation;
mod canonical;
mod changes;
mod duplicates;
mod known;
mod seek;

pub use adaptation::{Adaptation, AdaptationFilter};
pub use canonical::Canonical;
pub use changes::{ChangeEntry, ChangeFilter, ChangePiece};
pub use duplicates::Duplicates;

#[cfg(test)]
mod tests;
