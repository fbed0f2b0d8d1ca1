//! Reports over a whole collection: how visits follow changes, hazards, duplicates, mirrors. Broken pages are in
//! [`crate::links`].

mod adaptation;
mod duplicates;
mod hazards;
mod mirrors;

pub use adaptation::{AdaptationRow, adaptation};
pub use duplicates::{DuplicateKind, DuplicateRow, duplicates};
pub use hazards::{HazardRow, hazards};
pub use mirrors::{Mirror, MirrorGroup, Mirrors, Rate, mirrors};
