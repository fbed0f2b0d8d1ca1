//! A robots.txt that somebody wrapped into HTML: where its lines are, and what they say without the tags.
//!
//! Editors of pages, and servers that dress up every text, send `<pre>User-agent: *<br>Disallow: /x</pre>`. A browser
//! shows two lines there, and they are meant as two. Tags that a browser breaks a line at end a line; those that only
//! dress words vanish. Only tags of HTML count: `/<name>` in a rule is a path. Each byte is looked at a bounded number
//! of times.

use std::borrow::Cow;

use super::lines::is_blank;

/// The longest name of a tag that is known here is `blockquote`.
const NAME_BYTES_MAX: usize = 10;

/// The lines that stand in one line of the file: itself, where it has no tag that breaks it.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        match tags(text).find(|tag| tag.breaks) {
            None => rest = None,
            Some(tag) => {
                rest = Some(&text[tag.end..]);
                return Some(&text[..tag.start]);
            }
        }
        Some(text)
    })
}

/// A piece without the tags that dress it, and whether there were any.
pub(super) fn bare(piece: &str) -> Cow<'_, str> {
    let mut bare = String::new();
    let mut from = 0;
    for tag in tags(piece) {
        bare.push_str(&piece[from..tag.start]);
        from = tag.end;
    }
    if from == 0 {
        return Cow::Borrowed(piece);
    }
    bare.push_str(&piece[from..]);
    Cow::Owned(bare)
}

/// The file is a page of HTML, so that `&amp;` in it means `&`.
pub(super) fn is_page(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_blank(c));
    text.starts_with("<!") || tags(text).next().is_some_and(|tag| tag.start == 0)
}

/// The few entities that occur in paths and around them.
pub(super) fn without_entities(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('&') {
        return text;
    }
    let plain = [("&nbsp;", " "), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(text.into_owned(), |text, (entity, plain)| text.replace(entity, plain));
    Cow::Owned(plain)
}

#[derive(Clone, Copy)]
struct Tag {
    start: usize,
    end: usize,
    breaks: bool,
}

fn tags(text: &str) -> impl Iterator<Item = Tag> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'<', &text.as_bytes()[at..])?;
            let Some(breaks) = kind(&text[start + 1..]) else {
                at = start + 1;
                continue;
            };
            // Nothing that is opened ends any more: what is left is text.
            let end = start + memchr::memchr(b'>', &text.as_bytes()[start..])? + 1;
            at = end;
            return Some(Tag { start, end, breaks });
        }
    })
}

/// Whether the tag whose inside begins here breaks a line; `None`: it is no tag.
fn kind(inside: &str) -> Option<bool> {
    let is_declaration = || inside.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("?xml"));
    if inside.starts_with('!') || is_declaration() {
        return Some(true);
    }
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let beginning = &inside.as_bytes()[..inside.len().min(NAME_BYTES_MAX + 1)];
    let ends = beginning.iter().position(|b| !b.is_ascii_alphanumeric())?;
    if !matches!(beginning[ends], b'>' | b'/' | b' ' | b'\t') {
        return None;
    }
    let name = &inside[..ends];
    let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is(BREAKING) {
        return Some(true);
    }
    is(DRESSING).then_some(false)
}

const BREAKING: &[&str] = &[
    "br",
    "p",
    "pre",
    "div",
    "html",
    "head",
    "body",
    "title",
    "meta",
    "link",
    "base",
    "style",
    "script",
    "noscript",
    "hr",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tr",
    "td",
    "th",
    "center",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "main",
    "section",
    "article",
    "header",
    "footer",
    "nav",
    "form",
    "textarea",
    "xmp",
    "listing",
    "plaintext",
];

const DRESSING: &[&str] = &[
    "a", "b", "i", "u", "s", "em", "strong", "span", "font", "tt", "code", "kbd", "samp", "small",
    "big", "mark", "wbr",
];
