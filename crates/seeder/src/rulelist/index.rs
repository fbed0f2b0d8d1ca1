//! Which of many rules can hold for a URL at all.
//!
//! Most conditions need something of the URL that can be looked up: a host or one above it, an extension,
//! a parameter, a pattern of the path. A rule stands under each key that one of its ways to hold needs;
//! one that has a way without a key (`level`, `not`, `dynamic`) is always asked. Keys only narrow the
//! choice: the condition itself is asked afterwards.

use std::{borrow::Cow, collections::HashMap};

use foldhash::fast::RandomState;
use model::CrawlUrl;
use regex::bytes::{RegexSet, RegexSetBuilder};

use crate::condition::{Condition, Part, Test, parameters};

/// For the lazily built automaton of all path patterns together; when it is full, matching gets slower.
const AUTOMATON_BYTES_MAX: usize = 16 << 20;

type Places = HashMap<Box<str>, Vec<u32>, RandomState>;

#[derive(Debug, Default)]
pub(crate) struct Index {
    hosts: Places,
    urls: Places,
    extensions: Places,
    parameters: Places,
    paths: Patterns,
    queries: Patterns,
    /// Rules without a key.
    always: Vec<u32>,
}

#[derive(Debug, Default)]
struct Patterns {
    texts: Vec<String>,
    /// The rule of each pattern.
    rules: Vec<u32>,
    set: Option<RegexSet>,
}

/// What a URL must have for a rule to hold. The order is that of worth: the cheap and telling last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Query(String),
    Path(String),
    Parameter(String),
    Extension(String),
    /// This host or one below it.
    Host(String),
    Url(String),
}

impl Index {
    pub(crate) fn new<'a>(conditions: impl IntoIterator<Item = &'a Condition>) -> Index {
        let mut index = Index::default();
        for (at, condition) in (0..).zip(conditions) {
            match keys(condition) {
                Some(keys) => keys.into_iter().for_each(|key| index.put(key, at)),
                None => index.always.push(at),
            }
        }
        for patterns in [&mut index.paths, &mut index.queries] {
            // Patterns that are too large together are asked one by one.
            if !patterns.build() {
                index.always.append(&mut patterns.rules);
            }
        }
        index
    }

    fn put(&mut self, key: Key, rule: u32) {
        let (places, word) = match key {
            Key::Url(url) => (&mut self.urls, url),
            Key::Host(host) => (&mut self.hosts, host),
            Key::Extension(extension) => (&mut self.extensions, extension),
            Key::Parameter(name) => (&mut self.parameters, name),
            Key::Path(pattern) => return self.paths.put(pattern, rule),
            Key::Query(pattern) => return self.queries.put(pattern, rule),
        };
        places.entry(word.into()).or_default().push(rule);
    }

    /// In the order of the list.
    pub(crate) fn may_hold(&self, url: &CrawlUrl) -> Vec<u32> {
        let mut found = self.always.clone();
        if !self.hosts.is_empty() {
            self.by_host(url.host(), &mut found);
        }
        add(&self.urls, url.as_str(), &mut found);
        if !self.extensions.is_empty()
            && let Some(extension) = url.extension()
        {
            add(&self.extensions, &lower(extension), &mut found);
        }
        if !self.parameters.is_empty() {
            parameters(url).for_each(|name| add(&self.parameters, name, &mut found));
        }
        self.paths.find(url.path(), &mut found);
        if let Some(query) = url.query() {
            self.queries.find(query, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The host itself and everything it lies below.
    fn by_host(&self, host: &str, found: &mut Vec<u32>) {
        add(&self.hosts, host, found);
        for (dot, _) in host.match_indices('.') {
            add(&self.hosts, &host[dot + 1..], found);
        }
    }
}

impl Patterns {
    fn put(&mut self, pattern: String, rule: u32) {
        self.texts.push(pattern);
        self.rules.push(rule);
    }

    /// Whether all of them go into one automaton.
    fn build(&mut self) -> bool {
        let texts = std::mem::take(&mut self.texts);
        if texts.is_empty() {
            return true;
        }
        let mut builder = RegexSetBuilder::new(texts);
        builder.unicode(false).size_limit(AUTOMATON_BYTES_MAX).dfa_size_limit(AUTOMATON_BYTES_MAX);
        self.set = builder.build().ok();
        self.set.is_some()
    }

    fn find(&self, text: &str, found: &mut Vec<u32>) {
        let Some(set) = &self.set else { return };
        let matches = set.matches(text.as_bytes());
        found.extend(matches.iter().filter_map(|at| self.rules.get(at)));
    }
}

fn add(places: &Places, word: &str, found: &mut Vec<u32>) {
    if let Some(rules) = places.get(word) {
        found.extend_from_slice(rules);
    }
}

/// Keys of which a URL must have one for the condition to hold; `None` when it can hold without.
fn keys(condition: &Condition) -> Option<Vec<Key>> {
    match condition {
        Condition::Test(test) => keys_of_test(test),
        Condition::Not(_) => None,
        Condition::Either(parts) => {
            let each: Option<Vec<Vec<Key>>> = parts.iter().map(keys).collect();
            Some(each?.concat())
        }
        // Any part's keys would do; the best are those whose worst is best.
        Condition::All(parts) => {
            parts.iter().filter_map(keys).max_by_key(|keys| keys.iter().min().cloned())
        }
    }
}

fn keys_of_test(test: &Test) -> Option<Vec<Key>> {
    let each = |words: &[String], key: fn(String) -> Key| words.iter().cloned().map(key).collect();
    match test {
        Test::Words(Part::Suffix | Part::Domain | Part::Host, words) => {
            Some(each(words, Key::Host))
        }
        Test::Words(Part::Url, words) => Some(each(words, Key::Url)),
        Test::Words(Part::Prefix, words) => {
            words.iter().map(|word| host_of(word).map(Key::Host)).collect()
        }
        Test::Words(Part::Extension, words) => Some(each(words, Key::Extension)),
        Test::Words(Part::Parameter, words) if !words.iter().any(|word| word.ends_with('*')) => {
            Some(each(words, Key::Parameter))
        }
        Test::Path(pattern) => Some(vec![Key::Path(pattern.text.clone())]),
        Test::Query(pattern) => Some(vec![Key::Query(pattern.text.clone())]),
        _ => None,
    }
}

fn host_of(prefix: &str) -> Option<String> {
    CrawlUrl::parse(prefix).ok().map(|url| url.host().to_owned())
}

fn lower(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}
