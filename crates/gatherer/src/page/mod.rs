//! One pass over a page's tokens: links, visible text, title, headings and metadata together.

mod fold;
mod head;
mod links;
mod meta;
mod oddities;
mod reader;

pub(crate) use fold::FoldedText;
pub(crate) use links::{LinkSink, RawLink, link_kind, rel_bits};
pub use oddities::LongPiece;
pub(crate) use oddities::{DEPTH_MAX, Oddities};
pub(crate) use reader::{PageParts, read_page};

#[cfg(test)]
mod hazard_tests;
#[cfg(test)]
mod tests;

/// A page by itself, without the fields of its answer.
#[cfg(test)]
pub(crate) fn read_html<'a>(page: &'a str, options: &crate::GatherOptions) -> PageParts<'a> {
    read_page(page, LinkSink::new(0), crate::requisites::RequisiteSink::default(), options)
}
