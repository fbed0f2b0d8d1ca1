//! One pass over a page's tokens: links, visible text, title, headings and metadata together.

mod fold;
mod links;
mod meta;
mod reader;

pub(crate) use links::{LinkSink, RawLink, link_kind, rel_bits};
pub(crate) use reader::{PageParts, read_page};

#[cfg(test)]
mod tests;
