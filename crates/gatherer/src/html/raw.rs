//! Where the text of raw elements ends: at their own end tag and nothing else.
//!
//! Scripts have a past: inside `<!--` a `<script>` opens an inner one whose `</script>` does not
//! count (HTML standard 13.2.5.17 to 13.2.5.31, the escaped and double escaped states).

use super::cursor::{Cursor, is_space};

/// The place of the `</` of the end tag, or `None` when the element never ends.
pub(super) fn end(cursor: &mut Cursor<'_>, name: &str) -> Option<usize> {
    let mut from = cursor.at;
    loop {
        let at = cursor.find(from, b'<')?;
        if cursor.byte_at(at + 1) == Some(b'/') && is_name_at(cursor, at + 2, name) {
            return Some(at);
        }
        from = at + 1;
    }
}

pub(super) fn script_end(cursor: &mut Cursor<'_>, name: &str) -> Option<usize> {
    let mut from = cursor.at;
    let mut escape = Escape::None;
    loop {
        let at = match escape {
            Escape::None => cursor.find(from, b'<')?,
            _ => cursor.find_either(from, b'<', b'>')?,
        };
        from = at + 1;
        if cursor.byte_at(at) == Some(b'>') {
            escape = escape.at_close(cursor, at);
            continue;
        }
        let is_end = cursor.byte_at(at + 1) == Some(b'/');
        match escape {
            Escape::Double(since) if is_end && is_name_at(cursor, at + 2, "script") => {
                escape = Escape::Single(since);
            }
            Escape::Double(_) => {}
            _ if is_end && is_name_at(cursor, at + 2, name) => return Some(at),
            Escape::Single(since) if is_name_at(cursor, at + 1, "script") => {
                escape = Escape::Double(since);
            }
            Escape::None if cursor.is_word_at(at + 1, "!--") => {
                escape = Escape::Single(at + 2);
                from = at + 4;
            }
            _ => {}
        }
    }
}

/// With the place of the two dashes that opened it: they may also be those of the `-->`.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Single(usize),
    Double(usize),
}

impl Escape {
    fn at_close(self, cursor: &mut Cursor<'_>, at: usize) -> Escape {
        match self {
            Escape::Single(since) | Escape::Double(since)
                if at >= since + 2
                    && cursor.byte_at(at - 1) == Some(b'-')
                    && cursor.byte_at(at - 2) == Some(b'-') =>
            {
                Escape::None
            }
            other => other,
        }
    }
}

/// Whether a tag name at `place` is exactly `name`.
fn is_name_at(cursor: &mut Cursor<'_>, place: usize, name: &str) -> bool {
    !name.is_empty()
        && cursor.is_word_at(place, name)
        && cursor
            .byte_at(place + name.len())
            .is_some_and(|b| is_space(b) || matches!(b, b'/' | b'>'))
}
