//! `crawl.rules`: rules in the user's order; the first whose condition holds decides.
//!
//! A rule is `accept` or `reject` and a [`Condition`]. How the list and the scope go together is said in
//! [`crate::SpiderRules`]. Most of a long list cannot concern a given URL: [`index`] finds the few that
//! can, and a test holds it to what asking one after the other answers.

pub(crate) mod index;
mod shadow;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr, sync::Arc};

use model::CrawlUrl;

use self::index::Index;
use crate::condition::{Asked, Condition, Parser, RuleError};

/// Each is compiled and compared with those before it at start, which takes a second at most.
pub const RULES_MAX: usize = 10_000;

#[derive(Clone, Debug, Default)]
pub struct RuleList {
    rules: Arc<[ListedRule]>,
    index: Arc<Index>,
    asks_type: bool,
    asks_anchor: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    pub accept: bool,
    pub condition: Condition,
    /// As written.
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleListError {
    #[error("{error}")]
    Rule { text: String, error: RuleError },
    #[error("more than {RULES_MAX} rules")]
    TooMany,
}

/// The rule that decided, and its place in the list, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    pub number: usize,
    pub rule: &'a ListedRule,
}

impl RuleList {
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<RuleList, RuleListError> {
        if texts.len() > RULES_MAX {
            return Err(RuleListError::TooMany);
        }
        let rule = |text: &S| {
            let text = text.as_ref();
            let bad = |error| RuleListError::Rule { text: text.to_owned(), error };
            text.parse::<ListedRule>().map_err(bad)
        };
        let rules: Vec<ListedRule> = texts.iter().map(rule).collect::<Result<_, _>>()?;
        let index = Arc::new(Index::new(rules.iter().map(|rule| &rule.condition)));
        let asks_type = rules.iter().any(|rule| rule.condition.asks_type());
        let asks_anchor = rules.iter().any(|rule| rule.condition.asks_anchor());
        Ok(RuleList { rules: rules.into(), index, asks_type, asks_anchor })
    }

    /// The rule that decides by what the URL says of itself, if that is enough.
    pub fn decide(&self, url: &CrawlUrl, level: u16) -> Option<Ruling<'_>> {
        self.opinion(&Asked::new(url, level)).settled()
    }

    /// The same when the answer's head is there.
    pub fn decide_with_type(
        &self,
        url: &CrawlUrl,
        level: u16,
        media_type: &str,
    ) -> Option<Ruling<'_>> {
        self.opinion(&Asked::new(url, level).of_type(media_type)).settled()
    }

    pub(crate) fn opinion(&self, asked: &Asked<'_>) -> Opinion<'_> {
        let mut opinion = Opinion::default();
        if self.rules.is_empty() {
            return opinion;
        }
        for at in self.index.may_hold(asked.url) {
            let Some(rule) = self.rules.get(at as usize) else { continue };
            let truth = rule.condition.truth(asked);
            if truth == Some(false) {
                continue;
            }
            opinion.may_accept |= rule.accept;
            let ruling = Ruling { number: at as usize + 1, rule };
            if truth.is_some() {
                opinion.decided = Some(ruling);
                break;
            }
            opinion.waiting.get_or_insert(ruling);
        }
        opinion
    }

    /// Some rule asks for the media type of the answer.
    pub fn asks_type(&self) -> bool {
        self.asks_type
    }

    /// Some rule asks for the text of a link.
    pub fn asks_anchor(&self) -> bool {
        self.asks_anchor
    }

    pub fn rules(&self) -> &[ListedRule] {
        &self.rules
    }

    /// Rules that can never decide because an earlier one always does, each in a sentence.
    pub fn remarks(&self) -> Vec<String> {
        shadow::remarks(&self.rules)
    }
}

/// What the list says of a URL as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opinion<'a> {
    /// The first rule that surely holds.
    pub(crate) decided: Option<Ruling<'a>>,
    /// The first rule before it of which that cannot be told yet.
    pub(crate) waiting: Option<Ruling<'a>>,
    /// One of those that wait, or the one that decides, accepts.
    pub(crate) may_accept: bool,
}

impl<'a> Opinion<'a> {
    /// The rule that keeps the URL out, whatever is still to be known.
    pub(crate) fn rejecting(&self) -> Option<Ruling<'a>> {
        self.decided.filter(|_| !self.may_accept)
    }

    /// The URL is let in, whatever is still to be known.
    pub(crate) fn accepts(&self) -> bool {
        self.settled().is_some_and(|ruling| ruling.rule.accept)
    }

    fn settled(&self) -> Option<Ruling<'a>> {
        self.decided.filter(|_| self.waiting.is_none())
    }
}

impl ListedRule {
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for ListedRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<ListedRule, RuleError> {
        let mut parser = Parser::new(text)?;
        let accept = parser.one_of(&["accept", "reject"])? == "accept";
        let condition = parser.condition()?;
        if condition.asks_type() && condition.asks_anchor() {
            // The one is forgotten when the other comes: the rule could never be told.
            let what = "a rule asks for the anchor of a link or for the type of an answer, not for \
                        both: write two rules";
            return Err(RuleError { position: 1, what: what.to_owned() });
        }
        Ok(ListedRule { accept, condition, text: text.trim().to_owned() })
    }
}

/// The rule in its canonical spelling.
impl fmt::Display for ListedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.accept { "accept" } else { "reject" };
        write!(f, "{word} {}", self.condition)
    }
}
