//! A start tag and its attributes, read without copying.

use std::borrow::Cow;

use super::{
    Element,
    cursor::{Cursor, is_space},
    decode_attribute,
};

/// Attributes beyond this many in one tag are read over: real tags have a dozen, hostile ones a
/// million.
const ATTRIBUTES_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct Tag<'a, 't> {
    pub(crate) element: Element,
    /// As written, case kept.
    pub(crate) name: &'a str,
    pub(crate) attributes: &'t [Attribute<'a>],
    pub(crate) self_closing: bool,
}

/// Name and value as written: case kept, character references not decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

impl<'a> Tag<'a, '_> {
    /// The decoded value of an attribute; of several with the same name the first counts.
    pub(crate) fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(decode_attribute)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|a| a.name.eq_ignore_ascii_case(name)).map(|a| a.value)
    }
}

/// Reads attributes up to and with the tag's `>`. Says whether the tag closes itself, or `None`
/// when the page ends first: such a tag is none.
pub(super) fn read_attributes<'a>(
    cursor: &mut Cursor<'a>,
    attributes: &mut Vec<Attribute<'a>>,
) -> Option<bool> {
    attributes.clear();
    loop {
        cursor.skip_while(is_space);
        match cursor.peek(0)? {
            b'>' => {
                cursor.at += 1;
                return Some(false);
            }
            b'/' => {
                cursor.at += 1;
                if cursor.peek(0)? == b'>' {
                    cursor.at += 1;
                    return Some(true);
                }
            }
            _ => {
                let attribute = read_attribute(cursor)?;
                if attributes.len() < ATTRIBUTES_MAX {
                    attributes.push(attribute);
                }
            }
        }
    }
}

fn read_attribute<'a>(cursor: &mut Cursor<'a>) -> Option<Attribute<'a>> {
    let start = cursor.at;
    // A leading `=` belongs to the name.
    cursor.at += 1;
    cursor.skip_while(|b| !is_space(b) && !matches!(b, b'/' | b'>' | b'='));
    let name = cursor.slice(start, cursor.at);
    cursor.skip_while(is_space);
    if cursor.peek(0)? != b'=' {
        return Some(Attribute { name, value: "" });
    }
    cursor.at += 1;
    cursor.skip_while(is_space);
    let value = match cursor.peek(0)? {
        quote @ (b'"' | b'\'') => {
            let start = cursor.at + 1;
            let end = cursor.find(start, quote)?;
            cursor.at = end + 1;
            cursor.slice(start, end)
        }
        b'>' => "",
        _ => {
            let start = cursor.at;
            cursor.skip_while(|b| !is_space(b) && b != b'>');
            cursor.slice(start, cursor.at)
        }
    };
    Some(Attribute { name, value })
}
