//! Session identifiers under names that are known: `?PHPSESSID=`, `;jsessionid=`, `/(S(…))/`.
//!
//! Taken out of links where what stands there looks like an identifier; under names that also mean other things
//! (a `sid` may be the number of a story, a `session_id` a talk) only what nobody would write. VN: 27 % of the URLs it
//! visited had one, 3.5 % once it took cookies.

use model::CrawlUrl;

/// The shipped names; `*` at the end stands for any rest. Case does not matter.
pub const NAMES: [&str; 9] = [
    "phpsessid",
    "jsessionid",
    "sid",
    "sessionid",
    "session_id",
    "aspsessionid*",
    "oscsid",
    "zenid",
    "cftoken",
];

/// Of these, names that also stand for stories, sittings and talks.
const AMBIGUOUS: [&str; 3] = ["sid", "sessionid", "session_id"];
/// Shorter ones are numbers of things.
const IDENTIFIER_LEN: usize = 12;
/// 64 bits in hex: no number of a thing is so long and mixed.
const RANDOM_LEN: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionNames {
    /// Lower case.
    names: Vec<String>,
}

impl SessionNames {
    pub fn new(names: &[String]) -> SessionNames {
        SessionNames { names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    pub fn shipped() -> SessionNames {
        SessionNames { names: NAMES.map(str::to_owned).to_vec() }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The URL without its session, and the name it went by; `None`: it has none.
    pub fn strip(&self, url: &CrawlUrl) -> Option<(CrawlUrl, String)> {
        let rest = url.path_and_query();
        if self.names.is_empty() || !rest.bytes().any(|b| matches!(b, b'?' | b';' | b'(')) {
            return None;
        }
        let mut found = None;
        let path = self.path(url.path(), &mut found);
        let query = url.query().map(|query| self.query(query, &mut found));
        let name = found?;
        let start = &url.as_str()[..url.as_str().len() - rest.len()];
        let text = match query.filter(|query| !query.is_empty()) {
            None => [start, &path].concat(),
            Some(query) => [start, &path, "?", &query].concat(),
        };
        Some((CrawlUrl::parse(&text).ok()?, name))
    }

    fn path(&self, path: &str, found: &mut Option<String>) -> String {
        let mut kept = String::with_capacity(path.len());
        for segment in path.split('/').skip(1) {
            let mut parts = segment.split(';');
            let name = parts.next().unwrap_or_default();
            if is_cookieless(name) {
                *found = Some("(S(…))".to_owned());
                continue;
            }
            kept.extend(["/", name]);
            for part in parts {
                match self.name_of(part) {
                    Some(name) => *found = Some(name.to_owned()),
                    None => kept.extend([";", part]),
                }
            }
        }
        if kept.is_empty() { "/".to_owned() } else { kept }
    }

    fn query(&self, query: &str, found: &mut Option<String>) -> String {
        let mut kept: Vec<&str> = Vec::new();
        for parameter in query.split('&') {
            match self.name_of(parameter) {
                Some(name) => *found = Some(name.to_owned()),
                None => kept.push(parameter),
            }
        }
        kept.join("&")
    }

    /// The name of `name=value`, if it is a session's.
    fn name_of<'a>(&self, parameter: &'a str) -> Option<&'a str> {
        let (name, value) = parameter.split_once('=')?;
        let is_known = self.names.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => {
                name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
            }
            None => name.eq_ignore_ascii_case(known),
        });
        let is_ambiguous = AMBIGUOUS.iter().any(|known| name.eq_ignore_ascii_case(known));
        let is_session = if is_ambiguous { is_random(value) } else { is_identifier(value) };
        (is_known && is_session).then_some(name)
    }
}

/// Long, of letters and digits, and at least one digit.
pub(super) fn is_identifier(value: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'!' | b'~');
    value.len() >= IDENTIFIER_LEN
        && value.bytes().all(plain)
        && value.bytes().any(|b| b.is_ascii_digit())
}

/// Long, of letters and digits mixed and nothing else: no date, no number, no name of a thing.
fn is_random(value: &str) -> bool {
    value.len() >= RANDOM_LEN
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// ASP.NET without cookies: `(S(lit3py55t21z5v55vlm25s55))`, also `(X(1)S(…))`.
fn is_cookieless(segment: &str) -> bool {
    let inside = segment.strip_prefix('(').and_then(|inside| inside.strip_suffix("))"));
    let Some((_, token)) = inside.and_then(|inside| inside.rsplit_once("S(")) else { return false };
    token.len() >= IDENTIFIER_LEN && token.bytes().all(|b| b.is_ascii_alphanumeric())
}
