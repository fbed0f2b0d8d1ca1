//! What a robots.txt says, to everybody ([`Robots`]) and to one crawler ([`Rules`]).
//!
//! RFC 9309 section 2.2: all groups that name the crawler are one; else those of `*`; else nothing is
//! forbidden. The match with the most octets decides, allow wins a tie, `/robots.txt` is always allowed.
//! Other records (section 2.2.4: Sitemap, Crawl-delay, unknown ones) neither end nor begin a group.

use std::{collections::HashSet, time::Duration};

use super::{
    lines::{self, Key, Line},
    pattern::{self, Pattern},
};

/// A robots.txt as read.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    groups: Vec<Group>,
    /// As written, in order, without repeats; they bind nobody in particular.
    sitemaps: Vec<String>,
    mistakes: u64,
    mended: u64,
}

impl Robots {
    pub fn parse(bytes: &[u8]) -> Robots {
        Robots::read(&lines::decode(bytes))
    }

    /// Text that [`super::decode`] gave, as the store keeps it.
    pub fn read(text: &str) -> Robots {
        let mut reader = Reader::default();
        for line in lines::lines(text) {
            reader.line(line);
        }
        reader.robots
    }

    /// What binds the crawler of this product token.
    pub fn rules(&self, token: &str) -> Rules {
        let named = |name: &str| self.groups.iter().any(|group| group.names(name));
        let name = if named(token) { token } else { "*" };
        let mut rules: Vec<Rule> = Vec::new();
        let mut crawl_delay = None;
        for group in self.groups.iter().filter(|group| group.names(name)) {
            rules.extend(group.rules.iter().cloned());
            crawl_delay = crawl_delay.max(group.delay_of(name));
        }
        // The first that matches decides, so a verdict looks at no more rules than it must.
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.octets()), !rule.allow));
        Rules { rules: rules.into_boxed_slice(), crawl_delay }
    }

    pub fn verdict(&self, token: &str, path_and_query: &str) -> RobotsVerdict {
        self.rules(token).verdict(path_and_query)
    }

    pub fn crawl_delay(&self, token: &str) -> Option<Duration> {
        self.rules(token).crawl_delay()
    }

    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Lines that mean nothing: no key, a key that nobody knows, rules for nobody. The others are obeyed all the
    /// same.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// Lines that are obeyed although they are not written as they should be: misspelled keys, no colon, HTML around
    /// them.
    pub fn mended(&self) -> u64 {
        self.mended
    }

    /// A group of its own speaks to this crawler.
    pub fn names(&self, token: &str) -> bool {
        self.groups.iter().any(|group| group.names(token))
    }
}

/// The rules that bind one crawler, ready to be asked. The default forbids nothing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Box<[Rule]>,
    crawl_delay: Option<Duration>,
}

impl Rules {
    pub fn verdict(&self, path_and_query: &str) -> RobotsVerdict {
        let path = pattern::normal(path_and_query);
        if path == b"/robots.txt" {
            return RobotsVerdict { allowed: true, rule: None, line: 0 };
        }
        match self.rules.iter().find(|rule| rule.pattern.matches(&path)) {
            Some(rule) => RobotsVerdict {
                allowed: rule.allow,
                rule: Some(rule.written.to_string()),
                line: rule.line,
            },
            None => RobotsVerdict { allowed: true, rule: None, line: 0 },
        }
    }

    /// The longest `Crawl-delay` that binds us, uncapped.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsVerdict {
    pub allowed: bool,
    /// The line that decided, as written; `None` when nothing matched.
    pub rule: Option<String>,
    /// Its number, from 1; 0 when nothing matched.
    pub line: u32,
}

#[derive(Clone, Debug, Default)]
struct Group {
    agents: Vec<Box<str>>,
    /// Each with how many names stood above it: it belongs to them, not to those the group gains later. One entry
    /// a line and not one a name, or a file of many names and many delays would cost their product.
    delays: Vec<(usize, Duration)>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Pattern,
    allow: bool,
    line: u32,
    written: Box<str>,
}

impl Group {
    fn names(&self, name: &str) -> bool {
        self.place_of(name).is_some()
    }

    fn delay_of(&self, name: &str) -> Option<Duration> {
        let place = self.place_of(name)?;
        let below = self.delays.iter().filter(|(names, _)| *names > place);
        below.map(|(_, delay)| *delay).max()
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.agents.iter().position(|agent| agent.eq_ignore_ascii_case(name))
    }
}

#[derive(Default)]
struct Reader {
    robots: Robots,
    /// The last group has its rules: the next User-agent line opens another.
    ruled: bool,
    sitemaps_seen: HashSet<String>,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) {
        let mistakes = self.robots.mistakes;
        match line.key {
            Key::UserAgent => self.agents(&line.value),
            Key::Allow => self.rule(&line, true),
            Key::Disallow => self.rule(&line, false),
            Key::CrawlDelay => self.crawl_delay(&line.value),
            Key::Sitemap => self.sitemap(&line.value),
            Key::Extension => return,
            Key::Unknown | Key::Nothing => self.robots.mistakes += 1,
        }
        let obeyed = self.robots.mistakes == mistakes;
        self.robots.mended += u64::from(obeyed && line.mended);
    }

    fn agents(&mut self, value: &str) {
        if self.ruled || self.robots.groups.is_empty() {
            self.robots.groups.push(Group::default());
            self.ruled = false;
        }
        if let Some(group) = self.robots.groups.last_mut() {
            group.agents.extend(product_tokens(value));
        }
    }

    fn rule(&mut self, line: &Line<'_>, allow: bool) {
        let path = &*line.value;
        // Rules before the first User-agent line bind nobody.
        let Some(group) = self.robots.groups.last_mut() else {
            self.robots.mistakes += 1;
            return;
        };
        self.ruled = true;
        if path.is_empty() {
            return;
        }
        let rule =
            |pattern| Rule { pattern, allow, line: line.number, written: line.written.into() };
        group.rules.push(rule(Pattern::new(path)));
        // Who allows a folder's index page means the folder, its other name (Google reads it so).
        if let Some(folder) = allow.then(|| folder_of_index(path)).flatten() {
            group.rules.push(rule(Pattern::new(&format!("{folder}$"))));
        }
    }

    fn crawl_delay(&mut self, value: &str) {
        let Some(delay) = seconds(value) else {
            self.robots.mistakes += 1;
            return;
        };
        let Some(group) = self.robots.groups.last_mut() else { return };
        group.delays.push((group.agents.len(), delay));
    }

    fn sitemap(&mut self, url: &str) {
        if !url.is_empty() && self.sitemaps_seen.insert(url.to_owned()) {
            self.robots.sitemaps.push(url.to_owned());
        }
    }
}

/// The names on a User-agent line: words between blanks and commas, each up to its first character that
/// cannot be part of a token (`Name/1.0` is `Name`). The RFC knows no digits in tokens; people use them.
fn product_tokens(value: &str) -> impl Iterator<Item = Box<str>> + '_ {
    value.split([' ', '\t', ',']).filter_map(|word| {
        if word.starts_with('*') {
            return Some("*".into());
        }
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        let name = &word[..end.unwrap_or(word.len())];
        (!name.is_empty()).then(|| name.into())
    })
}

fn folder_of_index(path: &str) -> Option<&str> {
    let slash = path.rfind('/')?;
    matches!(&path[slash + 1..], "index.html" | "index.htm").then(|| &path[..=slash])
}

/// Whole or broken seconds; nonsense and negative numbers are passed over.
fn seconds(value: &str) -> Option<Duration> {
    let number: f64 = value.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(number).ok()
}
