//! `gather` against what others make of the same pages.

/// A second opinion on links and titles.
mod lol_html;
/// Pages on their way into `gather`, and the reader of html5lib's files.
mod support;
/// The trees that html5lib expects.
mod tree_construction;
