//! From the text of a rule to its condition; every refusal names the character where it was and what
//! was expected there.
//!
//! Bounded: a rule has at most [`RULE_BYTES_MAX`] bytes, nests at most [`NESTING_MAX`] deep, and its
//! regular expressions are bounded in size ([`crate::pattern`]).

use std::mem;

use model::CrawlUrl;
use regex::bytes::Regex;

use super::{Comparison, Condition, Part, Pattern, Test};
use crate::pattern;

/// Room for a long list of extensions; a rule is read by people and stored with what it refuses.
const RULE_BYTES_MAX: usize = 4_096;
/// `not` and parentheses inside each other: far more than anybody reads, far less than a stack holds.
const NESTING_MAX: usize = 32;

const KEYWORDS: [&str; 3] = ["and", "or", "not"];
/// Words that begin a test. As the second of several words they are taken for a forgotten `and`; in quotes
/// they are words like any other.
const TESTS: [&str; 17] = [
    "any",
    "dynamic",
    "static",
    "suffix",
    "domain",
    "host",
    "url",
    "prefix",
    "scheme",
    "extension",
    "parameter",
    "port",
    "level",
    "path",
    "query",
    "type",
    "anchor",
];

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {position}: {what}")]
pub struct RuleError {
    /// Counted from 1.
    pub position: usize,
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Quoted(&'a str),
    Open,
    Close,
    End,
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    /// Where the next token is looked for.
    at: usize,
    token: Token<'a>,
    /// Where `token` began.
    start: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Parser<'a>, RuleError> {
        let mut parser = Parser { text, at: 0, token: Token::End, start: 0 };
        if text.len() > RULE_BYTES_MAX {
            parser.start = RULE_BYTES_MAX;
            return parser.refuse(format!("the rule is longer than {RULE_BYTES_MAX} bytes"));
        }
        parser.advance()?;
        Ok(parser)
    }

    /// The first word of the rule, if it is one of `words`.
    pub(crate) fn one_of(&mut self, words: &[&'static str]) -> Result<&'static str, RuleError> {
        let found = words.iter().find(|word| self.token == Token::Word(word));
        match found {
            Some(word) => self.advance().map(|()| *word),
            None => self.expected(&words.join(" or ")),
        }
    }

    pub(crate) fn condition(&mut self) -> Result<Condition, RuleError> {
        let condition = self.either(0)?;
        match self.token {
            Token::End => Ok(condition),
            _ => self.expected("and, or, or the end of the rule"),
        }
    }

    fn either(&mut self, depth: usize) -> Result<Condition, RuleError> {
        let mut parts = Vec::new();
        loop {
            match self.all(depth)? {
                Condition::Either(inner) => parts.extend(inner),
                one => parts.push(one),
            }
            if !self.skip("or")? {
                return Ok(single(parts, Condition::Either));
            }
        }
    }

    fn all(&mut self, depth: usize) -> Result<Condition, RuleError> {
        let mut parts = Vec::new();
        loop {
            match self.one(depth)? {
                Condition::All(inner) => parts.extend(inner),
                one => parts.push(one),
            }
            if !self.skip("and")? {
                return Ok(single(parts, Condition::All));
            }
        }
    }

    fn one(&mut self, depth: usize) -> Result<Condition, RuleError> {
        if depth > NESTING_MAX {
            return self.refuse(format!("more than {NESTING_MAX} conditions inside each other"));
        }
        if self.skip("not")? {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.token != Token::Open {
            return self.test().map(Condition::Test);
        }
        self.advance()?;
        let inner = self.either(depth + 1)?;
        if self.token != Token::Close {
            return self.expected("and, or, or )");
        }
        self.advance()?;
        Ok(inner)
    }

    fn test(&mut self) -> Result<Test, RuleError> {
        let Token::Word(word) = self.token else { return self.expected_test() };
        if let Some(part) = Part::ALL.into_iter().find(|part| part.word() == word) {
            self.advance()?;
            return self.words(part);
        }
        let test = match word {
            "any" => Test::Any,
            "dynamic" => Test::Dynamic,
            "static" => Test::Static,
            "port" => return self.ports(),
            "level" => return self.level(),
            "path" => return self.pattern(pattern::of_url).map(Test::Path),
            "query" => return self.pattern(pattern::of_url).map(Test::Query),
            "anchor" => return self.pattern(pattern::of_prose).map(Test::Anchor),
            "type" => return self.types(),
            _ => return self.expected_test(),
        };
        self.advance()?;
        Ok(test)
    }

    fn words(&mut self, part: Part) -> Result<Test, RuleError> {
        let mut words = Vec::new();
        while let Some(text) = self.value(words.is_empty()) {
            match canonical(part, text) {
                Ok(word) => words.push(word),
                Err(what) => return self.refuse(what),
            }
            self.advance()?;
        }
        match words.is_empty() {
            true => self.expected(example(part)),
            false => Ok(Test::Words(part, words)),
        }
    }

    fn ports(&mut self) -> Result<Test, RuleError> {
        self.advance()?;
        let mut ports = Vec::new();
        while let Some(text) = self.value(ports.is_empty()) {
            match text.parse::<u16>() {
                Ok(port) if port > 0 => ports.push(port),
                _ => return self.expected("a port from 1 to 65535"),
            }
            self.advance()?;
        }
        match ports.is_empty() {
            true => self.expected("a port from 1 to 65535"),
            false => Ok(Test::Port(ports)),
        }
    }

    fn level(&mut self) -> Result<Test, RuleError> {
        self.advance()?;
        let sign = |comparison: &Comparison| self.token == Token::Word(comparison.sign());
        let Some(comparison) = Comparison::ALL.into_iter().find(sign) else {
            return self.expected("<=, <, >=, > or = between spaces");
        };
        self.advance()?;
        let Some(bound) = self.value(true).and_then(|text| text.parse().ok()) else {
            return self.expected("a level from 0 to 65535");
        };
        self.advance()?;
        Ok(Test::Level(comparison, bound))
    }

    fn types(&mut self) -> Result<Test, RuleError> {
        let example = "a media type, such as text/html or image/*";
        self.advance()?;
        let mut types = Vec::new();
        while let Some(text) = self.value(types.is_empty()) {
            match is_media_type(text) {
                true => types.push(text.to_ascii_lowercase()),
                false => return self.expected(example),
            }
            self.advance()?;
        }
        match types.is_empty() {
            true => self.expected(example),
            false => Ok(Test::Type(types)),
        }
    }

    fn pattern(
        &mut self,
        compile: fn(&str) -> Result<Regex, String>,
    ) -> Result<Pattern, RuleError> {
        self.advance()?;
        if self.token != Token::Word("~") {
            return self.expected("~ between spaces");
        }
        self.advance()?;
        let Token::Quoted(text) = self.token else {
            return self.expected("a regular expression in quotes, such as '^/docs/'");
        };
        match compile(text) {
            Ok(regex) => {
                let pattern = Pattern { text: text.to_owned(), regex };
                self.advance().map(|()| pattern)
            }
            Err(what) => self.refuse(format!("it is no valid regular expression ({what})")),
        }
    }

    /// The token as somebody's word: quoted, or none of the language's own.
    fn value(&self, is_first: bool) -> Option<&'a str> {
        let is_free = |word| !KEYWORDS.contains(&word) && (is_first || !TESTS.contains(&word));
        match self.token {
            Token::Quoted(text) => Some(text),
            Token::Word(word) if is_free(word) => Some(word),
            _ => None,
        }
    }

    fn skip(&mut self, keyword: &str) -> Result<bool, RuleError> {
        let is_next = self.token == Token::Word(keyword);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn advance(&mut self) -> Result<(), RuleError> {
        let rest = &self.text[self.at..];
        let space = rest.len() - rest.trim_start().len();
        let rest = &rest[space..];
        self.start = self.at + space;
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('(') => (Token::Open, 1),
            Some(')') => (Token::Close, 1),
            Some(quote @ ('\'' | '"')) => match rest[1..].find(quote) {
                Some(length) => (Token::Quoted(&rest[1..=length]), length + 2),
                None => return self.refuse(format!("the closing {quote} is missing")),
            },
            Some(_) => {
                let length = rest.find(ends_word).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
        };
        self.at = self.start + length;
        self.token = token;
        Ok(())
    }

    fn expected_test<T>(&self) -> Result<T, RuleError> {
        self.expected(
            "not, ( or a condition (suffix, domain, host, url, prefix, scheme, port, extension, path, \
             query, parameter, level, type, anchor, dynamic, static or any)",
        )
    }

    fn expected<T>(&self, what: &str) -> Result<T, RuleError> {
        let found = match self.token {
            Token::Word(word) => format!("`{}`", shortened(word)),
            Token::Quoted(text) => format!("'{}'", shortened(text)),
            Token::Open => "(".to_owned(),
            Token::Close => ")".to_owned(),
            Token::End => "the end of the rule".to_owned(),
        };
        self.refuse(format!("expected {what}, found {found}"))
    }

    fn refuse<T>(&self, what: String) -> Result<T, RuleError> {
        let before = self.text.char_indices().take_while(|(at, _)| *at < self.start);
        Err(RuleError { position: before.count() + 1, what })
    }
}

/// Needs no quotes when it is written.
pub(super) fn is_plain(word: &str) -> bool {
    let is_ours = KEYWORDS.contains(&word) || TESTS.contains(&word);
    !word.is_empty() && !word.contains(ends_word) && !is_ours
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '\'' | '"')
}

/// A list of one is that one.
fn single(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.as_mut_slice() {
        [one] => mem::replace(one, Condition::Test(Test::Any)),
        _ => many(parts),
    }
}

/// `main/sub` or `main/*`; `*/*` is any.
fn is_media_type(text: &str) -> bool {
    let is_name = |part: &str| {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
        !part.is_empty() && part.bytes().all(is_token)
    };
    text.split_once('/').is_some_and(|(main, sub)| match main {
        "*" => sub == "*",
        _ => is_name(main) && (sub == "*" || is_name(sub)),
    })
}

/// As URLs have it.
fn canonical(part: Part, text: &str) -> Result<String, String> {
    let wrong = || format!("`{}` is not {}", shortened(text), example(part));
    match part {
        Part::Suffix | Part::Domain => {
            let host = host(text.strip_prefix('.').unwrap_or(text)).ok_or_else(wrong)?;
            let last = host.rsplit('.').next().unwrap_or_default();
            let is_name = !last.bytes().all(|b| b.is_ascii_digit()) && !host.starts_with('[');
            is_name.then_some(host).ok_or_else(wrong)
        }
        Part::Host => host(text).ok_or_else(wrong),
        Part::Prefix | Part::Url => match CrawlUrl::parse(text) {
            Ok(url) => Ok(url.as_str().to_owned()),
            Err(_) => Err(wrong()),
        },
        Part::Scheme => {
            let scheme = text.to_ascii_lowercase();
            matches!(scheme.as_str(), "http" | "https").then_some(scheme).ok_or_else(wrong)
        }
        Part::Extension => {
            let bare = text.strip_prefix('.').unwrap_or(text);
            let is_one = !bare.is_empty() && !bare.contains(['/', '.', '?', '#', ' ']);
            is_one.then(|| bare.to_ascii_lowercase()).ok_or_else(wrong)
        }
        Part::Parameter => {
            let is_one = !text.is_empty() && !text.contains(['&', '=', '?', '#', ' ']);
            is_one.then(|| text.to_owned()).ok_or_else(wrong)
        }
    }
}

fn host(text: &str) -> Option<String> {
    let has_port = text.contains(':') && !text.ends_with(']');
    if text.is_empty() || has_port || text.contains(['/', '?', '#', '@', '\\']) {
        return None;
    }
    CrawlUrl::parse(&format!("http://{text}/")).ok().map(|url| url.host().to_owned())
}

fn example(part: Part) -> &'static str {
    match part {
        Part::Suffix => "the end of a host name, such as .pt",
        Part::Domain => "a domain, such as example.org",
        Part::Host => "a host without port, such as www.example.org",
        Part::Url => "a whole URL, such as https://example.org/news.html",
        Part::Prefix => "the beginning of a URL, such as https://example.org/docs/",
        Part::Scheme => "http or https",
        Part::Extension => "an extension, such as jpg",
        Part::Parameter => "the name of a query parameter, such as sid",
    }
}

/// As much of somebody's text as a message shows.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
