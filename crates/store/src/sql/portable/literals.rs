//! String literals of the source that are statements, or the beginning of one.

use std::collections::BTreeMap;

/// A literal that begins as a statement does.
pub(super) struct Literal {
    pub place: String,
    pub text: String,
    /// It is put together with something else, not by gaps of its own.
    composed: bool,
}

const VERBS: [&str; 6] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "REPLACE "];

impl Literal {
    pub fn has_gaps(&self) -> bool {
        self.composed || self.text.contains('{')
    }

    /// Whether one of the texts has the parts of this one between the gaps, in their order.
    pub fn is_among(&self, texts: &BTreeMap<String, String>) -> bool {
        let plain = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts: Vec<&str> = parts(&plain);
        texts.keys().any(|text| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut rest = text.as_str();
            parts.iter().all(|part| match rest.find(part.trim()) {
                Some(at) => {
                    rest = &rest[at + part.trim().len()..];
                    true
                }
                None => false,
            })
        })
    }
}

fn parts(text: &str) -> Vec<&str> {
    text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)).collect()
}

pub(super) fn literals_of((name, text): &(String, String)) -> Vec<Literal> {
    let bytes = text.as_bytes();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => line += 1,
            b'/' if bytes[at..].starts_with(b"//") => {
                at += text[at..].find('\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'\'' if bytes.get(at + 1) == Some(&b'"') => at += 2,
            b'\'' if bytes[at..].starts_with(b"'\\\"'") => at += 3,
            b'"' => {
                let end = end_of(bytes, at + 1);
                let literal = plain(&text[at + 1..end]);
                if VERBS.iter().any(|verb| literal.starts_with(verb)) && literal.len() > 12 {
                    let before = text[..at].trim_end();
                    let composed = before.ends_with("concat!(")
                        || bytes.get(end + 1) == Some(&b',')
                            && text[..at]
                                .rfind("concat!(")
                                .is_some_and(|open| !text[open..at].contains(')'));
                    found.push(Literal {
                        place: format!("{name}:{line}"),
                        text: literal,
                        composed,
                    });
                }
                line += text[at..end].matches('\n').count();
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn end_of(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Without the line breaks that the source has for its own sake.
fn plain(text: &str) -> String {
    let mut made = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {
                    let rest = chars.as_str().trim_start();
                    chars = rest.chars();
                }
                Some(c) => made.push(c),
                None => {}
            },
            c => made.push(c),
        }
    }
    made
}
