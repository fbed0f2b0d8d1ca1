//! What a rule of `crawl.rules` asks about a URL: small tests, combined with `and`, `or` and `not`.
//!
//! ```text
//! condition  = all ( "or" all )*
//! all        = one ( "and" one )*
//! one        = "not" one | "(" condition ")" | test
//! test       = "any" | "dynamic" | "static"
//!            | ( "suffix" | "domain" | "host" | "url" | "prefix" | "scheme" | "extension" | "parameter" ) word+
//!            | "port" number+ | "level" ( "<=" | "<" | ">=" | ">" | "=" ) number
//!            | ( "path" | "query" | "anchor" ) "~" quoted | "type" word+
//! ```
//!
//! Several words after a test mean any of them. What is written is made canonical when it is read (hosts
//! as URLs have them, extensions in lower case), so that equal conditions are equal values, and what
//! [`fmt::Display`] writes is read back as the same value. Judging costs no allocation.
//!
//! **What is not known yet.** A link's text is known where the link is judged, not when the holder of
//! another site's lease judges the URL again; the media type is known when the answer's head is there. A
//! condition is therefore true, false or not to be told ([`Condition::truth`], Kleene's logic).

mod asked;
mod parse;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

use model::CrawlUrl;
use regex::bytes::Regex;

pub use self::asked::Asked;
pub(crate) use self::parse::Parser;
pub use self::parse::RuleError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Test(Test),
    Not(Box<Condition>),
    /// `and`; never empty, and no `All` directly inside.
    All(Vec<Condition>),
    /// `or`; never empty, and no `Either` directly inside.
    Either(Vec<Condition>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    Any,
    /// Likely made by a program on demand ([`crate::Marking`]).
    Dynamic,
    Static,
    /// The part is one of these words.
    Words(Part, Vec<String>),
    Port(Vec<u16>),
    Level(Comparison, u16),
    Path(Pattern),
    /// A URL without a query matches no pattern.
    Query(Pattern),
    /// The answer is of one of these media types; `image/*` is a group of them.
    Type(Vec<String>),
    /// The text of a link to it.
    Anchor(Pattern),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The host lies below it; kept without the dot in front.
    Suffix,
    /// The host is it or lies below it.
    Domain,
    Host,
    /// The URL is it.
    Url,
    /// The URL begins with it.
    Prefix,
    Scheme,
    Extension,
    /// The query has a parameter of this name; `*` at the end stands for any rest.
    Parameter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
}

/// A regular expression over bytes.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(crate) text: String,
    pub(crate) regex: Regex,
}

impl Condition {
    /// Whether it surely holds for what a URL says of itself.
    pub fn holds(&self, url: &CrawlUrl, level: u16) -> bool {
        self.truth(&Asked::new(url, level)) == Some(true)
    }

    /// `None`: what is known is not enough to tell.
    pub fn truth(&self, asked: &Asked<'_>) -> Option<bool> {
        match self {
            Condition::Test(test) => test.truth(asked),
            Condition::Not(inner) => inner.truth(asked).map(|holds| !holds),
            Condition::All(parts) => unless_one_is(false, parts, asked),
            Condition::Either(parts) => unless_one_is(true, parts, asked),
        }
    }

    /// It can be told only when the answer's head is there.
    pub fn asks_type(&self) -> bool {
        self.has(&|test| matches!(test, Test::Type(_)))
    }

    /// It can be told only where a link is judged.
    pub fn asks_anchor(&self) -> bool {
        self.has(&|test| matches!(test, Test::Anchor(_)))
    }

    fn has(&self, is_one: &dyn Fn(&Test) -> bool) -> bool {
        match self {
            Condition::Test(test) => is_one(test),
            Condition::Not(inner) => inner.has(is_one),
            Condition::All(parts) | Condition::Either(parts) => {
                parts.iter().any(|part| part.has(is_one))
            }
        }
    }
}

/// The first part that is `deciding` decides; else all must be known.
fn unless_one_is(deciding: bool, parts: &[Condition], asked: &Asked<'_>) -> Option<bool> {
    let mut all = Some(!deciding);
    for part in parts {
        match part.truth(asked) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

impl Test {
    fn truth(&self, asked: &Asked<'_>) -> Option<bool> {
        let url = asked.url;
        Some(match self {
            Test::Any => true,
            Test::Dynamic => asked.marking.is_dynamic(url),
            Test::Static => !asked.marking.is_dynamic(url),
            Test::Words(part, words) => words.iter().any(|word| part.is(word, url)),
            Test::Port(ports) => ports.contains(&url.port_or_default()),
            Test::Level(comparison, bound) => comparison.holds(asked.level, *bound),
            Test::Path(pattern) => pattern.regex.is_match(url.path().as_bytes()),
            Test::Query(pattern) => {
                url.query().is_some_and(|query| pattern.regex.is_match(query.as_bytes()))
            }
            Test::Type(types) => {
                let media_type = asked.media_type?;
                types.iter().any(|wanted| is_of_type(media_type, wanted))
            }
            Test::Anchor(pattern) => {
                asked.anchors?.iter().any(|text| pattern.regex.is_match(text.as_bytes()))
            }
        })
    }
}

impl Part {
    pub(crate) const ALL: [Part; 8] = [
        Part::Suffix,
        Part::Domain,
        Part::Host,
        Part::Url,
        Part::Prefix,
        Part::Scheme,
        Part::Extension,
        Part::Parameter,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Part::Suffix => "suffix",
            Part::Domain => "domain",
            Part::Host => "host",
            Part::Url => "url",
            Part::Prefix => "prefix",
            Part::Scheme => "scheme",
            Part::Extension => "extension",
            Part::Parameter => "parameter",
        }
    }

    fn is(self, word: &str, url: &CrawlUrl) -> bool {
        match self {
            Part::Suffix => is_below(url.host(), word),
            Part::Domain => url.host() == word || is_below(url.host(), word),
            Part::Host => url.host() == word,
            Part::Url => url.as_str() == word,
            Part::Prefix => url.as_str().starts_with(word),
            Part::Scheme => url.scheme() == word,
            Part::Extension => {
                url.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(word))
            }
            Part::Parameter => parameters(url).any(|name| is_named(name, word)),
        }
    }
}

impl Comparison {
    pub(crate) const ALL: [Comparison; 5] = [
        Comparison::AtMost,
        Comparison::Below,
        Comparison::AtLeast,
        Comparison::Above,
        Comparison::Equal,
    ];

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Comparison::AtMost => "<=",
            Comparison::Below => "<",
            Comparison::AtLeast => ">=",
            Comparison::Above => ">",
            Comparison::Equal => "=",
        }
    }

    fn holds(self, level: u16, bound: u16) -> bool {
        match self {
            Comparison::AtMost => level <= bound,
            Comparison::Below => level < bound,
            Comparison::AtLeast => level >= bound,
            Comparison::Above => level > bound,
            Comparison::Equal => level == bound,
        }
    }
}

/// The names of the query's parameters, as written.
pub(crate) fn parameters(url: &CrawlUrl) -> impl Iterator<Item = &str> {
    let pairs = url.query().into_iter().flat_map(|query| query.split('&'));
    pairs.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name))
}

/// `www.example.org` lies below `example.org` and `org`.
pub(crate) fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

fn is_of_type(media_type: &str, wanted: &str) -> bool {
    match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => {
            media_type.split_once('/').is_some_and(|(main, _)| main.eq_ignore_ascii_case(group))
        }
        None => media_type.eq_ignore_ascii_case(wanted),
    }
}

fn is_named(name: &str, word: &str) -> bool {
    match word.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == word,
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Test(test) => test.fmt(f),
            Condition::Not(inner) => {
                f.write_str("not ")?;
                inner.fmt_inside(f)
            }
            Condition::All(parts) => join(f, parts, " and ", Condition::fmt_inside),
            Condition::Either(parts) => join(f, parts, " or ", Condition::fmt),
        }
    }
}

impl Condition {
    /// Under `not` and `and`, where an `or` (and under `not` an `and`) needs its parentheses.
    fn fmt_inside(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::All(_) | Condition::Either(_) => write!(f, "({self})"),
            Condition::Test(_) | Condition::Not(_) => write!(f, "{self}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Any => f.write_str("any"),
            Test::Dynamic => f.write_str("dynamic"),
            Test::Static => f.write_str("static"),
            Test::Words(part, words) => {
                f.write_str(part.word())?;
                let dot = if *part == Part::Suffix { "." } else { "" };
                words.iter().try_for_each(|word| write_word(f, &format!("{dot}{word}")))
            }
            Test::Port(ports) => {
                f.write_str("port")?;
                ports.iter().try_for_each(|port| write!(f, " {port}"))
            }
            Test::Level(comparison, bound) => write!(f, "level {} {bound}", comparison.sign()),
            Test::Path(pattern) => write!(f, "path ~ {}", Quoted(&pattern.text)),
            Test::Query(pattern) => write!(f, "query ~ {}", Quoted(&pattern.text)),
            Test::Type(types) => {
                f.write_str("type")?;
                types.iter().try_for_each(|media_type| write_word(f, media_type))
            }
            Test::Anchor(pattern) => write!(f, "anchor ~ {}", Quoted(&pattern.text)),
        }
    }
}

/// In the quotes that it does not hold itself; no text that was read holds both.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('\'') { '"' } else { '\'' };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    parts: &[Condition],
    between: &str,
    write: fn(&Condition, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        write(part, f)?;
    }
    Ok(())
}

fn write_word(f: &mut fmt::Formatter<'_>, word: &str) -> fmt::Result {
    match parse::is_plain(word) {
        true => write!(f, " {word}"),
        false => write!(f, " {}", Quoted(word)),
    }
}
