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
use crate::condition::{Condition, Parser, RuleError};

/// Each is compiled and compared with those before it at start, which takes a second at most.
pub const RULES_MAX: usize = 5_000;

#[derive(Clone, Debug, Default)]
pub struct RuleList {
    rules: Arc<[ListedRule]>,
    index: Arc<Index>,
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
        Ok(RuleList { rules: rules.into(), index })
    }

    /// The first rule that speaks of this URL.
    pub fn decide(&self, url: &CrawlUrl, level: u16) -> Option<Ruling<'_>> {
        if self.rules.is_empty() {
            return None;
        }
        let holds = |at: &u32| {
            self.rules.get(*at as usize).is_some_and(|rule| rule.condition.holds(url, level))
        };
        let first = self.index.may_hold(url).into_iter().find(holds)? as usize;
        Some(Ruling { number: first + 1, rule: &self.rules[first] })
    }

    pub fn rules(&self) -> &[ListedRule] {
        &self.rules
    }

    /// Rules that can never decide because an earlier one always does, each in a sentence.
    pub fn remarks(&self) -> Vec<String> {
        shadow::remarks(&self.rules)
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
