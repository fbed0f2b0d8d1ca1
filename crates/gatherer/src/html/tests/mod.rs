//! Proof of the tokenizer: html5lib's cases, odd endings, and time that is linear by count.

mod html5lib;
mod linear;

use super::{
    Content, Element, Start, Tag, TokenSink, decode_attribute, push_decoded, replace_nul,
    tokenize_from,
};

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Start { name: String, attributes: Vec<(String, String)>, self_closing: bool },
    End(String),
    Text(String),
    Comment(String),
    Doctype,
}

/// Writes tokens down as html5lib's cases have them: decoded, text joined. Never leaves the data
/// state by itself.
#[derive(Default)]
struct Recorder {
    tokens: Vec<Token>,
}

impl<'a> TokenSink<'a> for Recorder {
    fn start_tag(&mut self, tag: &Tag<'a, '_>) -> Content {
        let mut attributes: Vec<(String, String)> = Vec::new();
        for attribute in tag.attributes {
            let name = without_nul(&attribute.name.to_ascii_lowercase());
            if attributes.iter().all(|(known, _)| *known != name) {
                attributes.push((name, decode_attribute(attribute.value).into_owned()));
            }
        }
        attributes.sort();
        let name = without_nul(&tag.name.to_ascii_lowercase());
        self.tokens.push(Token::Start { name, attributes, self_closing: tag.self_closing });
        Content::Data
    }

    fn end_tag(&mut self, _element: Element, name: &'a str) {
        self.tokens.push(Token::End(without_nul(&name.to_ascii_lowercase())));
    }

    fn text(&mut self, text: &'a str, content: Content) {
        let mut decoded = String::new();
        match content {
            Content::Data | Content::Rcdata => push_decoded(text, |piece| decoded.push_str(piece)),
            _ => decoded.push_str(text),
        }
        if !matches!(content, Content::Data | Content::Cdata) {
            decoded = without_nul(&decoded);
        }
        match self.tokens.last_mut() {
            Some(Token::Text(before)) => before.push_str(&decoded),
            _ => self.tokens.push(Token::Text(decoded)),
        }
    }

    fn comment(&mut self, text: &'a str) {
        self.tokens.push(Token::Comment(without_nul(text)));
    }

    fn doctype(&mut self, _text: &'a str) {
        self.tokens.push(Token::Doctype);
    }

    fn cdata_allowed(&self) -> bool {
        false
    }
}

/// In names, comments and raw text a NUL reads as U+FFFD; values are decoded so.
fn without_nul(text: &str) -> String {
    replace_nul(text).into_owned()
}

fn tokens(page: &str, content: Content, open: &str) -> Vec<Token> {
    let mut recorder = Recorder::default();
    tokenize_from(page, Start { content, open }, &mut recorder);
    recorder.tokens
}
