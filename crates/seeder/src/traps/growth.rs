//! URLs that tell by themselves that they grow: the same folders again and again, the address of a page in the
//! query of the next, escapes that are escaped once more at every step.
//!
//! (VN 2.1.5; Heritrix refuses more than two repeats.) One pass each over the URL, no allocation but for the list
//! of segments.

use model::{CrawlUrl, Hazard};

/// Groups of so many folders are looked for in a row: `a/b/a/b`.
const GROUP_MAX: usize = 4;
/// Deeper paths are judged by their first folders.
const SEGMENTS_MAX: usize = 256;
/// Addresses inside an address: a way back to a page that has a way back is two.
const NESTED_MAX: usize = 3;
/// Parameters with addresses in them that are looked at.
const PARAMETERS_MAX: usize = 64;

/// What is wrong with it, if anything is. `repeats_max`: how often a group of folders may stand in a row; 0: no
/// matter how often.
pub fn growing(url: &CrawlUrl, repeats_max: usize) -> Option<Hazard> {
    if repeats_max > 0 && repeats(url.path(), repeats_max) {
        return Some(Hazard::RepeatedSegments);
    }
    let is_growing = is_escaped_again(url.path_and_query())
        || url.query().is_some_and(|query| is_nested(url.path(), query));
    is_growing.then_some(Hazard::GrowingUrl)
}

/// Whether some group of folders stands more than `max` times in a row.
fn repeats(path: &str, max: usize) -> bool {
    let count = path.bytes().filter(|b| *b == b'/').count();
    if count <= max {
        return false;
    }
    let segments: Vec<&str> = path.split('/').skip(1).take(SEGMENTS_MAX).collect();
    (1..=GROUP_MAX).any(|group| repeats_in_groups(&segments, group, max))
}

fn repeats_in_groups(segments: &[&str], group: usize, max: usize) -> bool {
    let mut run = 0;
    for at in group..segments.len() {
        let same = segments[at] == segments[at - group] && !is_place_number(segments[at]);
        run = if same { run + 1 } else { 0 };
        if run >= group * max {
            return true;
        }
    }
    false
}

/// Tiles of maps and buckets of numbers (`/0/0/0/0/`) repeat without end to it.
fn is_place_number(segment: &str) -> bool {
    segment.len() <= 2 && segment.bytes().all(|b| b.is_ascii_digit())
}

/// An escape of an escape of an escape, or an ampersand that was written for HTML over and over.
fn is_escaped_again(rest: &str) -> bool {
    // Most URLs have neither, and are done with.
    if !rest.bytes().any(|b| matches!(b, b'%' | b';')) {
        return false;
    }
    rest.contains("%2525") || count(rest, "amp%3B").max(count(rest, "amp;")) > NESTED_MAX || {
        let again = count(rest, "amp%253B");
        again > 1 || (again > 0 && rest.contains("amp%3B"))
    }
}

/// Whether the query holds whole addresses inside each other, or its own path again and again. Addresses side by
/// side, each in a parameter of its own, are ordinary, and so are parameters named after the page.
fn is_nested(path: &str, query: &str) -> bool {
    let may_have_schemes = query.bytes().any(|b| matches!(b, b'%' | b':'));
    if may_have_schemes && query.split('&').any(|parameter| schemes(parameter) >= NESTED_MAX) {
        return true;
    }
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if name.len() < 3 || count(query, name) < NESTED_MAX {
        return false;
    }
    // A way back that is written without escapes falls apart at its ampersands: its parts have one name.
    let mut found: Vec<(&str, usize)> = Vec::new();
    for parameter in query.split('&') {
        let key = parameter.split('=').next().unwrap_or_default();
        let times = paths(parameter, name);
        let at = found.iter().position(|(known, _)| *known == key);
        match at {
            Some(at) => found[at].1 += times,
            None if times > 0 && found.len() < PARAMETERS_MAX => found.push((key, times)),
            None => {}
        }
    }
    found.iter().any(|(_, times)| *times >= NESTED_MAX)
}

fn schemes(text: &str) -> usize {
    let plain = count(text, "http%3A") + count(text, "https%3A") + count(text, "://");
    plain + count(text, "http%253A") + count(text, "https%253A")
}

/// How often the name stands there as the end of a path: behind a slash, however escaped, and whole.
fn paths(text: &str, name: &str) -> usize {
    let is_path = |at: usize| {
        let (before, after) = (&text[..at], text[at + name.len()..].bytes().next());
        let behind_slash = before.ends_with('/') || before.ends_with("2F");
        let is_whole =
            after.is_none_or(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'-' | b'_'));
        behind_slash && is_whole
    };
    text.match_indices(name).filter(|(at, _)| is_path(*at)).count()
}

fn count(text: &str, part: &str) -> usize {
    text.match_indices(part).count()
}
