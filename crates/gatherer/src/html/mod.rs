//! HTML bytes to tokens, as the HTML standard's section 13.2.5 has them, without building a tree.
//!
//! The border of this room is [`tokenize`] and [`TokenSink`]: whoever wants another tokenizer
//! exchanges what is behind them. Tokens are slices of the page (nothing is copied), in document
//! order. Parse errors are not reported: a browser would show the page all the same.
//!
//! Invariant: every scan goes forward only, so time is linear in the page whatever it holds; no
//! token depends on how deep tags are nested.

mod cursor;
mod element;
mod foreign;
mod markup;
mod raw;
mod references;
mod tag;
mod tokenizer;

pub(crate) use element::{Break, Element};
pub(crate) use foreign::Foreign;
pub(crate) use references::{decode_attribute, push_decoded, replace_nul};
pub(crate) use tag::Tag;
pub(crate) use tokenizer::tokenize;

#[cfg(test)]
pub(crate) use tokenizer::{Start, tokenize_from};

#[cfg(test)]
mod tests;

/// Takes tokens as they come. Like the standard's tree builder it also says, after a start tag, how
/// what follows is to be read.
pub(crate) trait TokenSink<'a> {
    fn start_tag(&mut self, tag: &Tag<'a, '_>) -> Content;
    fn end_tag(&mut self, element: Element, name: &'a str);
    /// Character references are not decoded yet; only text of `Data` and `Rcdata` has them. Nor is a NUL replaced:
    /// what becomes of it the tree builder says ([`replace_nul`]).
    fn text(&mut self, text: &'a str, content: Content);
    fn comment(&mut self, _text: &'a str) {}
    fn doctype(&mut self, _text: &'a str) {}
    /// The page ended inside a tag, which so is none.
    fn unfinished_tag(&mut self, _bytes: usize) {}
    /// `<![CDATA[` opens a section in SVG and MathML only; elsewhere it is a comment.
    fn cdata_allowed(&self) -> bool;
}

/// The states of the tokenizer between tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Data,
    /// Text up to the end tag of the same name, with character references: title, textarea.
    Rcdata,
    /// Text up to the end tag of the same name: style, iframe, xmp …
    Rawtext,
    Script,
    /// All the rest is text.
    Plaintext,
    /// A CDATA section in foreign content.
    Cdata,
}
