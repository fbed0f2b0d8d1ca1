//! The loop over a page: text, then a tag or other markup, then text again.

use super::{
    Content, Element, Tag, TokenSink,
    cursor::{Cursor, is_space},
    markup, raw,
    tag::{self, Attribute},
};

pub(crate) fn tokenize<'a>(page: &'a str, sink: &mut impl TokenSink<'a>) {
    run(&mut Tokenizer::new(page), sink, Content::Data);
}

pub(super) struct Tokenizer<'a> {
    pub(super) cursor: Cursor<'a>,
    /// Kept between tags so that no tag allocates.
    attributes: Vec<Attribute<'a>>,
    /// Name of the start tag that raw text is inside of.
    open: &'a str,
}

impl<'a> Tokenizer<'a> {
    fn new(page: &'a str) -> Tokenizer<'a> {
        Tokenizer { cursor: Cursor::new(page), attributes: Vec::with_capacity(16), open: "" }
    }
}

fn run<'a>(tokens: &mut Tokenizer<'a>, sink: &mut impl TokenSink<'a>, mut content: Content) {
    while !tokens.cursor.is_done() {
        content = match content {
            Content::Data => data(tokens, sink),
            Content::Rcdata | Content::Rawtext | Content::Script => raw_text(tokens, sink, content),
            Content::Plaintext => {
                let cursor = &mut tokens.cursor;
                sink.text(cursor.slice(cursor.at, cursor.end()), Content::Plaintext);
                cursor.at = cursor.end();
                Content::Plaintext
            }
            Content::Cdata => {
                markup::cdata_section(&mut tokens.cursor, sink);
                Content::Data
            }
        }
    }
}

/// Text up to the next markup, and that markup.
fn data<'a>(tokens: &mut Tokenizer<'a>, sink: &mut impl TokenSink<'a>) -> Content {
    let cursor = &mut tokens.cursor;
    let start = cursor.at;
    let mut from = start;
    // A `<` that opens nothing is text: the text goes on behind it.
    let open = loop {
        match cursor.find(from, b'<') {
            None => break cursor.end(),
            Some(at) if opens_markup(cursor, at) => break at,
            Some(at) => from = at + 1,
        }
    };
    if open > start {
        sink.text(cursor.slice(start, open), Content::Data);
    }
    cursor.at = open;
    if cursor.is_done() {
        return Content::Data;
    }
    match cursor.peek(1) {
        Some(b'/') => {
            end_tag_or_comment(tokens, sink);
            Content::Data
        }
        Some(b'!') => markup::declaration(cursor, sink),
        Some(b'?') => {
            cursor.at += 1;
            markup::bogus_comment(cursor, sink);
            Content::Data
        }
        _ => start_tag(tokens, sink),
    }
}

fn opens_markup(cursor: &mut Cursor<'_>, at: usize) -> bool {
    match cursor.byte_at(at + 1) {
        Some(b'/') => cursor.byte_at(at + 2).is_some(),
        Some(b'!' | b'?') => true,
        Some(byte) => byte.is_ascii_alphabetic(),
        None => false,
    }
}

fn start_tag<'a>(tokens: &mut Tokenizer<'a>, sink: &mut impl TokenSink<'a>) -> Content {
    let cursor = &mut tokens.cursor;
    let start = cursor.at;
    cursor.at += 1;
    let name = tag_name(cursor);
    let Some(self_closing) = tag::read_attributes(cursor, &mut tokens.attributes) else {
        cursor.at = cursor.end();
        sink.unfinished_tag(cursor.at - start);
        return Content::Data;
    };
    tokens.open = name;
    let element = Element::of(name);
    sink.start_tag(&Tag { element, name, attributes: &tokens.attributes, self_closing })
}

fn tag_name<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    let start = cursor.at;
    cursor.skip_while(|b| !is_space(b) && !matches!(b, b'/' | b'>'));
    cursor.slice(start, cursor.at)
}

/// At `</` with something behind it.
fn end_tag_or_comment<'a>(tokens: &mut Tokenizer<'a>, sink: &mut impl TokenSink<'a>) {
    let cursor = &mut tokens.cursor;
    cursor.at += 2;
    match cursor.peek(0) {
        Some(byte) if byte.is_ascii_alphabetic() => end_tag(tokens, sink),
        Some(b'>') => cursor.at += 1,
        _ => markup::bogus_comment(cursor, sink),
    }
}

/// At the name of an end tag.
fn end_tag<'a>(tokens: &mut Tokenizer<'a>, sink: &mut impl TokenSink<'a>) {
    let cursor = &mut tokens.cursor;
    let name = tag_name(cursor);
    match tag::read_attributes(cursor, &mut tokens.attributes) {
        Some(_) => sink.end_tag(Element::of(name), name),
        None => cursor.at = cursor.end(),
    }
}

/// The text of a raw element and its end tag.
fn raw_text<'a>(
    tokens: &mut Tokenizer<'a>,
    sink: &mut impl TokenSink<'a>,
    content: Content,
) -> Content {
    let cursor = &mut tokens.cursor;
    let start = cursor.at;
    let end = match content {
        Content::Script => raw::script_end(cursor, tokens.open),
        _ => raw::end(cursor, tokens.open),
    };
    let text_end = end.unwrap_or(cursor.end());
    if text_end > start {
        sink.text(cursor.slice(start, text_end), content);
    }
    cursor.at = text_end;
    if end.is_some() {
        cursor.at += 2;
        end_tag(tokens, sink);
    }
    Content::Data
}

/// Where a test begins: the tokenizer's state and the start tag it came from.
#[cfg(test)]
pub(crate) struct Start<'a> {
    pub(crate) content: Content,
    pub(crate) open: &'a str,
}

/// Returns how many bytes were looked at.
#[cfg(test)]
pub(crate) fn tokenize_from<'a>(
    page: &'a str,
    start: Start<'a>,
    sink: &mut impl TokenSink<'a>,
) -> u64 {
    let mut tokens = Tokenizer::new(page);
    tokens.open = start.open;
    run(&mut tokens, sink, start.content);
    tokens.cursor.looked
}
