//! Bytes to links, text, metadata, fingerprints and language: pure functions.
//!
//! [`gather`] takes what went over the wire and cannot fail: whatever the web sends is data, and
//! what was odd about it is told in [`Gathered::problems`]. It reads a page once, builds no tree,
//! and its time and memory are linear in the body.
//!
//! The rooms: `media_type` and `charset` decide what the bytes are; `html` cuts a page into tokens;
//! `page` listens to them, `requisites` to what shows the page; `plain` reads text; `fields` reads header fields; `resolve` makes links
//! of references; `words`, `numbers`, `simhash` and `language` judge the text; `selection` says which of it tells of changes, and
//! `sketch` which of it never stands still.

mod charset;
mod fields;
mod gather;
mod gathered;
mod html;
mod language;
mod media_type;
mod numbers;
mod options;
mod page;
mod part;
mod plain;
mod requisites;
mod resolve;
mod robots;
mod selection;
mod simhash;
mod sketch;
mod words;

pub use gather::gather;
pub use gathered::{Examples, GatherProblem, Gathered, Refresh};
pub use language::{Language, judge as judge_language};
pub use numbers::each_number;
pub use options::{GatherOptions, LinkTags};
pub use page::LongPiece;
pub use part::gather_part;
pub use selection::Selection;
pub use simhash::{Heard, WordPrints, has_words, simhash, simhash_distance};
pub use sketch::{Comparison, compare_with_sketch, sketch};
