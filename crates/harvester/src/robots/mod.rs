//! robots.txt: reading it, asking it, and the life of the copy we hold (RFC 9309).
//!
//! - [`Robots`] is a file as read: groups, rules, sitemaps. Reading cannot fail; every line that can be
//!   understood is obeyed, the rest passed over.
//! - [`Rules`] is the part of it that binds one crawler: what the workbench keeps in memory.
//! - [`answered`] says what a fetch of the file means: a new copy, or another hop to follow.
//!
//! Where the RFC leaves room or its implementers disagree, the choice is written beside the code that
//! makes it; the doubtful rows of the public test data and our decision on each are in `tests.rs`.

mod copy;
mod lines;
mod markup;
mod pattern;
mod rules;

pub use copy::{Next, UNREACHABLE_FIRST_WAIT, UNREACHABLE_WAIT_MAX, answered, is_unreachable};
pub use lines::decode;
pub use rules::{Robots, RobotsVerdict, Rules};

/// The product token by which robots.txt files name this crawler.
pub const TOKEN: &str = "harvestman";

#[cfg(test)]
mod tests;
