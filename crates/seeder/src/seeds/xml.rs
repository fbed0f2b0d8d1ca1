//! As much of XML as sitemaps and OPML need: a tolerant scanner over a stream, never a tree.
//!
//! - Tags with attributes, text, CDATA; comments, instructions and DOCTYPE are passed over.
//! - The five predefined entities and numeric ones are read; nothing is ever declared or expanded, so no
//!   document grows beyond its bytes.
//! - Every byte is looked at once. A longer tag or text is cut at [`PIECE_BYTES_MAX`].

use std::io::{self, BufRead};

/// A tag with all its attributes, or the text between two tags: four times what one URL may take.
pub(crate) const PIECE_BYTES_MAX: usize = 4 * super::LINE_BYTES_MAX;

pub(crate) struct Xml<R> {
    reader: R,
    line: u64,
    doctype: Option<Doctype>,
}

/// What a document type brought along. None of it is ever read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doctype {
    /// A name alone, as HTML has it.
    Plain,
    /// Declarations of another file.
    External,
    /// Declarations of its own: entities, as a rule.
    Declares,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Also of an element without content, which has no [`Piece::Close`].
    Open(Tag),
    Close(String),
    Text(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// With its prefix.
    pub name: String,
    /// It closes itself.
    pub is_empty: bool,
    attributes: String,
}

impl<R: BufRead> Xml<R> {
    pub(crate) fn new(reader: R) -> Xml<R> {
        Xml { reader, line: 1, doctype: None }
    }

    pub(crate) fn inner(&self) -> &R {
        &self.reader
    }

    /// The worst that was passed over so far.
    pub(crate) fn doctype(&self) -> Option<Doctype> {
        self.doctype
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// `None` at the end; a tag that the end cuts off is not told.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        loop {
            match self.peek()? {
                None => return Ok(None),
                Some(b'<') => {
                    if let Some(piece) = self.markup()? {
                        return Ok(Some(piece));
                    }
                }
                Some(_) => return self.text().map(Some),
            }
        }
    }

    fn text(&mut self) -> io::Result<Piece> {
        let mut text = Vec::new();
        while let Some(byte) = self.peek()?.filter(|&b| b != b'<') {
            self.keep(&mut text, byte);
            self.bump(byte);
        }
        Ok(Piece::Text(resolved(&String::from_utf8_lossy(&text))))
    }

    /// Something that begins with `<`; `None` for what is passed over.
    fn markup(&mut self) -> io::Result<Option<Piece>> {
        self.take()?;
        match self.peek()? {
            Some(b'!') => self.declaration(),
            Some(b'?') => self.through(b"?>", false).map(|_| None),
            _ => self.tag(),
        }
    }

    fn declaration(&mut self) -> io::Result<Option<Piece>> {
        self.take()?;
        let mut head = Vec::new();
        for expected in [&b"--"[..], b"[CDATA["] {
            for &wanted in expected {
                if self.peek()? != Some(wanted) {
                    break;
                }
                head.push(wanted);
                self.bump(wanted);
            }
            if !head.is_empty() {
                break;
            }
        }
        match head.as_slice() {
            b"--" => self.through(b"-->", false).map(|_| None),
            b"[CDATA[" => {
                let text = self.through(b"]]>", true)?;
                Ok(Some(Piece::Text(String::from_utf8_lossy(&text).into_owned())))
            }
            _ => self.pass_doctype().map(|()| None),
        }
    }

    /// Passes over everything up to its `>`, the declarations in brackets too.
    fn pass_doctype(&mut self) -> io::Result<()> {
        let (mut quote, mut brackets) = (None, 0u32);
        self.doctype = self.doctype.max(Some(Doctype::Plain));
        while let Some(byte) = self.take()? {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => {
                    quote = Some(byte);
                    self.doctype = self.doctype.max(Some(Doctype::External));
                }
                (None, b'[') => {
                    brackets += 1;
                    self.doctype = Some(Doctype::Declares);
                }
                (None, b']') => brackets = brackets.saturating_sub(1),
                (None, b'>') if brackets == 0 => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }

    fn tag(&mut self) -> io::Result<Option<Piece>> {
        let (mut tag, mut quote) = (Vec::new(), None);
        loop {
            let Some(byte) = self.take()? else { return Ok(None) };
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'>') => break,
                _ => {}
            }
            self.keep(&mut tag, byte);
        }
        let tag = String::from_utf8_lossy(&tag);
        if let Some(name) = tag.strip_prefix('/') {
            return Ok(Some(Piece::Close(name.trim().to_owned())));
        }
        let (name, attributes) =
            tag.split_once(|c: char| c.is_whitespace() || c == '/').unwrap_or((&tag, ""));
        let (name, attributes) = (name.to_owned(), attributes.to_owned());
        let is_empty = tag.ends_with('/');
        Ok(Some(Piece::Open(Tag { name, is_empty, attributes })))
    }

    /// Reads through the end mark; what stands before it when it is wanted.
    fn through(&mut self, end: &[u8], wanted: bool) -> io::Result<Vec<u8>> {
        let mut kept = Vec::new();
        // The last bytes seen; marks have at most three.
        let mut tail = [0u8; 3];
        while let Some(byte) = self.take()? {
            tail = [tail[1], tail[2], byte];
            if wanted {
                self.keep(&mut kept, byte);
            }
            if tail.ends_with(end) {
                kept.truncate(kept.len().saturating_sub(end.len()));
                break;
            }
        }
        Ok(kept)
    }

    fn keep(&self, kept: &mut Vec<u8>, byte: u8) {
        if kept.len() < PIECE_BYTES_MAX {
            kept.push(byte);
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.reader.fill_buf()?.first().copied())
    }

    fn take(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.bump(byte);
        }
        Ok(byte)
    }

    fn bump(&mut self, byte: u8) {
        self.reader.consume(1);
        self.line += u64::from(byte == b'\n');
    }
}

impl Tag {
    /// The value of an attribute, entities read. Names are compared without regard to case: people's
    /// programs write xmlUrl in every way.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes.as_str();
        while let Some((before, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let (value, next) = match after.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    after[1..].split_once(quote).unwrap_or((&after[1..], ""))
                }
                _ => after.split_once(char::is_whitespace).unwrap_or((after, "")),
            };
            let found = before.split_whitespace().next_back().unwrap_or_default();
            if found.eq_ignore_ascii_case(name) {
                return Some(resolved(value));
            }
            rest = next;
        }
        None
    }
}

/// The text with its entities read; unknown ones stay as they are.
fn resolved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // The longest is &#x10FFFF;
        let window = &after.as_bytes()[..after.len().min(10)];
        let end = window.iter().position(|&b| b == b';');
        match end.and_then(|end| entity(&after[..end]).map(|c| (c, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &after[end + 1..];
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => {}
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &[u8]) -> Vec<Piece> {
        let mut xml = Xml::new(text);
        std::iter::from_fn(|| xml.next_piece().unwrap()).collect()
    }

    fn texts(text: &str) -> String {
        pieces(text.as_bytes())
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn tags_text_and_attributes_are_told() {
        let read = pieces(b"<?xml version='1.0'?><!-- <a> --><a x='1 > 0' Y=\"&amp;\"/>t<b>u</b >");
        let Piece::Open(tag) = &read[0] else { panic!("{read:?}") };
        assert_eq!(tag.name, "a");
        assert_eq!(tag.attribute("x").as_deref(), Some("1 > 0"));
        assert_eq!(tag.attribute("y").as_deref(), Some("&"));
        assert_eq!(tag.attribute("z"), None);
        assert_eq!(read[1], Piece::Text("t".into()));
        assert!(matches!(&read[2], Piece::Open(tag) if tag.name == "b"));
        assert_eq!(read[4], Piece::Close("b".into()));
    }

    #[test]
    fn only_predefined_and_numeric_entities_are_read_and_nothing_is_expanded() {
        assert_eq!(texts("a&amp;b&lt;&gt;&quot;&apos;&#65;&#x42;"), "a&b<>\"'AB");
        assert_eq!(texts("&x;&;&#xd800;&#99999999;&amp"), "&x;&;&#xd800;&#99999999;&amp");
        let bomb = "<!DOCTYPE a [<!ENTITY x \"]>yyyy\"><!ENTITY z '&x;&x;'>]><a>&z;</a>";
        assert_eq!(texts(bomb), "&z;");
        assert_eq!(texts("<a><![CDATA[<b>&amp;]]]]></a>"), "<b>&amp;]]");
        let doctype = |text: &str| {
            let mut xml = Xml::new(text.as_bytes());
            while xml.next_piece().unwrap().is_some() {}
            xml.doctype()
        };
        assert_eq!(doctype(bomb), Some(Doctype::Declares));
        assert_eq!(doctype("<!DOCTYPE rss SYSTEM 'x.dtd'><rss/>"), Some(Doctype::External));
        assert_eq!(doctype("<!doctype html><p>"), Some(Doctype::Plain));
        assert_eq!(doctype("<a><![CDATA[<!DOCTYPE a [x]>]]></a>"), None);
    }

    #[test]
    fn a_text_or_tag_without_end_is_cut() {
        let long = "a".repeat(3 * PIECE_BYTES_MAX);
        assert_eq!(texts(&long).len(), PIECE_BYTES_MAX);
        assert_eq!(pieces(format!("<{long}").as_bytes()), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(pieces(&bytes).len() <= bytes.len());
        }

        #[test]
        fn any_markup_is_read_to_its_end(text in "([<>/!?\\[\\]\"'&;#=a-c é-]|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<!DOCTYPE){0,60}") {
            let read = pieces(text.as_bytes());
            prop_assert!(read.len() <= text.len());
            for piece in read {
                if let Piece::Open(tag) = piece {
                    let _ = tag.attribute("a");
                }
            }
        }
    }
}
