//! Where in a URL a part stands that may make no difference: how two URLs differ by one, what is left without it,
//! and the URL with something else there.
//!
//! A whole parameter or segment is read as such. An identifier in the midst of one (`/page;tok=…`, `/page-….html`,
//! `?a=1;s=…`) is known by what stands right before it, a mark with the name if it has one, and by the ending.

use std::{borrow::Cow, ops::Range};

use model::{CrawlUrl, TokenPlace};

use super::{
    pattern::{folder_of, is_token, kind_of},
    session::is_identifier,
};

/// Names and endings are shorter; what is longer is no name.
const MARK_MAX: usize = 24;
const END_MAX: usize = 8;

/// The folder of a page, whatever stands in the part.
pub(super) fn folder(url: &CrawlUrl, place: &TokenPlace) -> String {
    folder_of(&path_without(url, place))
}

/// A number for the kind of page, whatever stands in the part.
pub(super) fn kind(url: &CrawlUrl, place: &TokenPlace) -> u32 {
    kind_of(&path_without(url, place))
}

fn path_without<'a>(url: &'a CrawlUrl, place: &TokenPlace) -> Cow<'a, str> {
    let path = url.path();
    match place {
        TokenPlace::Segment(at, _) => {
            let mut segments: Vec<&str> = path.split('/').collect();
            if let Some(slot) = segments.get_mut(usize::from(*at) + 1) {
                *slot = "*";
            }
            segments.join("/").into()
        }
        TokenPlace::Within(mark, end) => match within(path, mark, end) {
            Some(value) => [&path[..value.start], &path[value.end..]].concat().into(),
            None => path.into(),
        },
        TokenPlace::Query(_) | TokenPlace::Pair(..) => path.into(),
    }
}

pub(super) type Values = [Option<String>; 2];

/// The part in which two URLs differ, and what stands there, as it may be read: the likelier first.
pub(super) fn readings(
    a: &CrawlUrl,
    b: &CrawlUrl,
) -> impl Iterator<Item = (TokenPlace, Values)> + use<> {
    let whole = difference(a, b);
    let is_whole = whole.as_ref().is_some_and(|(place, _)| match place {
        TokenPlace::Segment(_, start) => start.is_empty(),
        _ => true,
    });
    let inner = (!is_whole).then(|| inner_difference(a, b)).flatten();
    whole.into_iter().chain(inner)
}

/// The one whole part in which two URLs differ, and what stands there.
pub(super) fn difference(a: &CrawlUrl, b: &CrawlUrl) -> Option<(TokenPlace, Values)> {
    if a.authority() != b.authority() || a == b {
        return None;
    }
    if a.path() == b.path() {
        return query_difference(a.query().unwrap_or_default(), b.query().unwrap_or_default());
    }
    (a.query() == b.query()).then(|| path_difference(a.path(), b.path())).flatten()
}

fn query_difference(a: &str, b: &str) -> Option<(TokenPlace, Values)> {
    let only = |these: &str, those: &str| -> Option<Option<(String, String)>> {
        let mut only = parameters(these).filter(|one| parameters(those).all(|other| other != *one));
        let first = only.next();
        only.next()
            .is_none()
            .then(|| first.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    match (only(a, b)?, only(b, a)?) {
        (Some((name, one)), Some((other, two))) => {
            let is_session = name == other && is_identifier(&one) && is_identifier(&two);
            is_session.then_some((TokenPlace::Query(name), [Some(one), Some(two)]))
        }
        (Some((name, value)), None) | (None, Some((name, value))) => {
            let place = match is_identifier(&value) {
                true => TokenPlace::Query(name),
                false => TokenPlace::Pair(name, value.clone()),
            };
            Some((place, [Some(value), None]))
        }
        (None, None) => None,
    }
}

fn path_difference(a: &str, b: &str) -> Option<(TokenPlace, Values)> {
    if a.matches('/').count() != b.matches('/').count() {
        return None;
    }
    let mut differing = a.split('/').skip(1).zip(b.split('/').skip(1)).enumerate();
    let mut differing = differing.by_ref().filter(|(_, (one, two))| one != two);
    let (at, (one, two)) = differing.next()?;
    if differing.next().is_some() {
        return None;
    }
    let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    let start = one[..same].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let (head, tails) = (&one[..start], [&one[start..], &two[start..]]);
    let is_session = tails.iter().all(|tail| is_session_word(tail));
    let place = TokenPlace::Segment(u8::try_from(at).ok()?, head.to_owned());
    is_session.then(|| (place, [Some(one.to_owned()), Some(two.to_owned())]))
}

/// The one word, somewhere, in which two URLs differ.
fn inner_difference(a: &CrawlUrl, b: &CrawlUrl) -> Option<(TokenPlace, Values)> {
    if a.authority() != b.authority() || a == b {
        return None;
    }
    let (one, two) = (a.path_and_query(), b.path_and_query());
    let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    let start = one[..same].rfind(|c: char| !c.is_ascii_alphanumeric())? + 1;
    let (word, other) = (word_of(&one[start..]), word_of(&two[start..]));
    let behind = &one[start + word.len()..];
    let is_one = is_session_word(word) && is_session_word(other);
    if !is_one || behind != &two[start + other.len()..] {
        return None;
    }
    let (mark, end) = (mark_of(&one[..start])?, end_of(behind));
    // Whole segments are read otherwise, unless there is an ending.
    let is_inner = mark != "/" || !end.is_empty();
    let place = TokenPlace::Within(mark.to_owned(), end.to_owned());
    is_inner.then(|| (place, [Some(word.to_owned()), Some(other.to_owned())]))
}

fn word_of(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_alphanumeric).count()]
}

/// What stands right before a word: a sign, and the name between it and the sign before that.
fn mark_of(before: &str) -> Option<&str> {
    let last = before.len().checked_sub(1)?;
    if !before.ends_with('=') {
        return Some(&before[last..]);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let sign = before[..last].rfind(|c: char| !is_name(c))?;
    let mark = &before[sign..];
    // A parameter of the query is read as such.
    let is_parameter = mark.starts_with('?') || mark.starts_with('&') && before.contains('?');
    (!is_parameter && mark.len() <= MARK_MAX).then_some(mark)
}

/// An ending such as `.html`, where a word has one.
fn end_of(behind: &str) -> &str {
    let len = behind.find(['/', '?', '&', ';']).unwrap_or(behind.len());
    let end = &behind[..len];
    if end.starts_with('.') && end.len() <= END_MAX { end } else { "" }
}

/// Where the identifier stands.
fn within(text: &str, mark: &str, end: &str) -> Option<Range<usize>> {
    text.rmatch_indices(mark).find_map(|(at, _)| {
        let from = at + mark.len();
        let to = from + word_of(&text[from..]).len();
        let is_it = is_session_word(&text[from..to]) && text[to..].starts_with(end);
        is_it.then_some(from..to)
    })
}

/// In a path many words are long and have digits: only what nobody would write is taken for an identifier.
fn is_session_word(word: &str) -> bool {
    let word = word.trim_end_matches([')', ';']);
    is_identifier(word) && is_token(word) && !word.contains('-')
}

/// What stands in the part, and a number for all the rest; `None`: the URL has no such part.
pub(super) fn rest_of<'a>(url: &'a CrawlUrl, place: &TokenPlace) -> Option<(Option<&'a str>, u64)> {
    let path = url.path();
    match place {
        TokenPlace::Query(name) => {
            let found = parameters(url.query().unwrap_or_default()).find(|(n, _)| n == name);
            let value = found.map(|(_, value)| value).filter(|value| is_identifier(value));
            Some((value, rest_hash(path, url, |(n, v)| n != name || !is_identifier(v))))
        }
        TokenPlace::Pair(name, value) => {
            let is_it = |(n, v): (&str, &str)| n == name && v == value;
            let found = parameters(url.query().unwrap_or_default()).find(|pair| is_it(*pair));
            Some((found.map(|(_, value)| value), rest_hash(path, url, |pair| !is_it(pair))))
        }
        TokenPlace::Segment(at, start) => {
            let segment = path.split('/').nth(usize::from(*at) + 1)?;
            let tail = segment.strip_prefix(start.as_str())?;
            if !is_session_word(tail) {
                return None;
            }
            let from = segment.as_ptr() as usize - path.as_ptr() as usize;
            let rest = [&path[..from], &path[from + segment.len()..]].concat();
            Some((Some(segment), rest_hash(&rest, url, |_| true)))
        }
        TokenPlace::Within(mark, end) => {
            let text = url.path_and_query();
            let value = within(text, mark, end)?;
            let rest = [&text[..value.start], &text[value.end..]].concat();
            Some((Some(&text[value]), number(rest.as_bytes())))
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

fn rest_hash(path: &str, url: &CrawlUrl, keep: impl Fn((&str, &str)) -> bool) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write(path.as_bytes());
    let query = url.query().unwrap_or_default();
    for (name, value) in parameters(query).filter(|(name, value)| keep((name, value))) {
        for piece in ["&", name, "=", value] {
            hasher.write(piece.as_bytes());
        }
    }
    hasher.finish()
}

/// The URL with another value in the part.
pub(super) fn with_value(
    url: &CrawlUrl,
    place: &TokenPlace,
    value: Option<&str>,
) -> Option<CrawlUrl> {
    let rest = url.path_and_query();
    let start = &url.as_str()[..url.as_str().len() - rest.len()];
    let text = match place {
        TokenPlace::Segment(at, _) => {
            let mut segments: Vec<&str> = url.path().split('/').collect();
            let slot = segments.get_mut(usize::from(*at) + 1)?;
            *slot = value?;
            let query = url.query().map_or(String::new(), |query| format!("?{query}"));
            [start, &segments.join("/"), &query].concat()
        }
        TokenPlace::Within(mark, end) => {
            let old = within(rest, mark, end)?;
            [start, &rest[..old.start], value?, &rest[old.end..]].concat()
        }
        TokenPlace::Query(name) | TokenPlace::Pair(name, _) => {
            let old = url.query().unwrap_or_default();
            let mut query: Vec<String> = Vec::new();
            let mut put = value;
            for parameter in old.split('&').filter(|parameter| !parameter.is_empty()) {
                let (other, held) = parameter.split_once('=').unwrap_or((parameter, ""));
                let is_part = match place {
                    TokenPlace::Pair(_, value) => held == value,
                    _ => is_identifier(held),
                };
                if other != name || !is_part {
                    query.push(parameter.to_owned());
                } else {
                    query.extend(put.take().map(|value| format!("{name}={value}")));
                }
            }
            query.extend(put.map(|value| format!("{name}={value}")));
            let mark = if query.is_empty() { "" } else { "?" };
            [start, url.path(), mark, &query.join("&")].concat()
        }
    };
    CrawlUrl::parse(&text).ok()
}

pub(super) fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
    let all = query.split('&').filter(|parameter| !parameter.is_empty());
    all.map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}
