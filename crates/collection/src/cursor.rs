//! Cursors of listings: where one piece ended, so that the next begins behind it.
//!
//! A cursor names the last row by the values it is sorted by, not by its number in the list, so that rows that
//! come or go meanwhile neither repeat another nor hide it. For callers it is a text without meaning; it needs
//! no quoting in a shell or a URL.

use std::fmt::Write;

use store::census::SortValue;

use crate::Error;

/// A cursor taken apart: the name of the order, whether it is reversed, what the last row is sorted by, and the
/// numbers that tell it from rows with the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub sort: String,
    pub reverse: bool,
    pub value: SortValue,
    pub ids: Vec<i64>,
}

impl Cursor {
    pub fn text(&self) -> String {
        let way = if self.reverse { "r" } else { "f" };
        let mut text = format!("{}.{way}", self.sort);
        match &self.value {
            SortValue::Number(number) => drop(write!(text, ".n{number}")),
            SortValue::Text(value) => drop(write!(text, ".t{}", escaped(value))),
        }
        for id in &self.ids {
            let _ = write!(text, ".{id}");
        }
        text
    }

    /// `ids`: how many it must have.
    pub fn read(text: &str, ids: usize) -> Result<Cursor, Error> {
        let parts: Vec<&str> = text.split('.').collect();
        parsed(&parts, ids).ok_or_else(|| Error::NoCursor { given: text.to_owned() })
    }
}

fn parsed(parts: &[&str], count: usize) -> Option<Cursor> {
    let [sort, way, value, ids @ ..] = parts else { return None };
    let reverse = match *way {
        "f" => false,
        "r" => true,
        _ => return None,
    };
    let value = match value.split_at_checked(1)? {
        ("n", number) => SortValue::Number(number.parse().ok()?),
        ("t", text) => SortValue::Text(unescaped(text)?),
        _ => return None,
    };
    let ids: Vec<i64> = ids.iter().map(|id| id.parse().ok()).collect::<Option<_>>()?;
    (ids.len() == count).then(|| Cursor { sort: (*sort).to_owned(), reverse, value, ids })
}

/// Letters, digits, `-`, `/` and `:` stay; any other byte becomes `_` and two hexadecimal digits.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'/' | b':' => {
                escaped.push(char::from(byte));
            }
            _ => drop(write!(escaped, "_{byte:02x}")),
        }
    }
    escaped
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'_' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_needs_no_quoting_and_comes_back_as_it_was() {
        let value = SortValue::Text("https://a.example/x?y=1&z='é'_.".to_owned());
        let cursor = Cursor { sort: "url".into(), reverse: true, value, ids: vec![3, -4] };
        let text = cursor.text();
        assert!(!text.contains(['?', '&', '\'', ' ', '=']), "{text}");
        assert_eq!(Cursor::read(&text, 2).unwrap(), cursor);
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in
            ["", "url", "url.f", "url.f.n", "url.x.n1.2", "url.f.n1", "id.f.t_9.1.2", "a.f..1.2"]
        {
            assert!(Cursor::read(text, 2).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,40}") {
            let _ = Cursor::read(&text, 1);
        }

        #[test]
        fn every_value_survives(value in ".{0,40}", id in any::<i64>()) {
            let value = SortValue::Text(value);
            let cursor = Cursor { sort: "url".into(), reverse: false, value, ids: vec![id] };
            prop_assert_eq!(Cursor::read(&cursor.text(), 1).unwrap(), cursor);
        }
    }
}
