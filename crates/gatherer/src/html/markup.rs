//! What opens with `<!` or `<?`: comments with all their odd endings, doctypes, CDATA sections.

use super::{Content, TokenSink, cursor::Cursor};

/// At `<!`.
pub(super) fn declaration<'a>(cursor: &mut Cursor<'a>, sink: &mut impl TokenSink<'a>) -> Content {
    cursor.at += 2;
    if cursor.starts_with(b"--") {
        cursor.at += 2;
        comment(cursor, sink);
    } else if cursor.is_word_at(cursor.at, "doctype") {
        cursor.at += 7;
        // Even inside quotes a `>` ends it.
        let text = up_to_close(cursor);
        sink.doctype(text);
    } else if sink.cdata_allowed() && cursor.starts_with(b"[CDATA[") {
        cursor.at += 7;
        return Content::Cdata;
    } else {
        bogus_comment(cursor, sink);
    }
    Content::Data
}

pub(super) fn bogus_comment<'a>(cursor: &mut Cursor<'a>, sink: &mut impl TokenSink<'a>) {
    let text = up_to_close(cursor);
    sink.comment(text);
}

/// Behind `<![CDATA[`.
pub(super) fn cdata_section<'a>(cursor: &mut Cursor<'a>, sink: &mut impl TokenSink<'a>) {
    let start = cursor.at;
    let mut from = start;
    let (text_end, end) = loop {
        match cursor.find(from, b'>') {
            None => break (cursor.end(), cursor.end()),
            Some(at) if at >= start + 2 && ends_with(cursor, at, b"]]") => break (at - 2, at + 1),
            Some(at) => from = at + 1,
        }
    };
    if text_end > start {
        sink.text(cursor.slice(start, text_end), Content::Cdata);
    }
    cursor.at = end;
}

/// Behind `<!--`. It ends at `-->` or `--!>`, at once with `>` or `->`, or where the page ends.
fn comment<'a>(cursor: &mut Cursor<'a>, sink: &mut impl TokenSink<'a>) {
    let start = cursor.at;
    for abrupt in [b">".as_slice(), b"->"] {
        if cursor.starts_with(abrupt) {
            cursor.at += abrupt.len();
            return sink.comment("");
        }
    }
    let mut from = start;
    while let Some(at) = cursor.find(from, b'>') {
        for ending in [b"--".as_slice(), b"--!"] {
            if at >= start + ending.len() && ends_with(cursor, at, ending) {
                cursor.at = at + 1;
                return sink.comment(cursor.slice(start, at - ending.len()));
            }
        }
        from = at + 1;
    }
    let rest = cursor.slice(start, cursor.end());
    cursor.at = cursor.end();
    sink.comment(without_begun_ending(rest));
}

/// The page ended in the middle of a comment's ending: that is no text of it.
fn without_begun_ending(rest: &str) -> &str {
    ["--!", "--", "-"].into_iter().find_map(|ending| rest.strip_suffix(ending)).unwrap_or(rest)
}

fn ends_with(cursor: &mut Cursor<'_>, at: usize, ending: &[u8]) -> bool {
    let first = at - ending.len();
    ending.iter().enumerate().all(|(i, &byte)| cursor.byte_at(first + i) == Some(byte))
}

fn up_to_close<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    let start = cursor.at;
    match cursor.find(start, b'>') {
        Some(end) => {
            cursor.at = end + 1;
            cursor.slice(start, end)
        }
        None => {
            cursor.at = cursor.end();
            cursor.slice(start, cursor.end())
        }
    }
}
