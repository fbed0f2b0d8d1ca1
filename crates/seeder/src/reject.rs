//! The reject list: URLs that are no content, shipped or named by the user.
//!
//! The shipped rules ([`shipped`]) are words that a whole path segment or query parameter must be, so
//! that `/cartography/` or `/blog/login-page-design` pass; the user's are regular expressions over the
//! whole URL, compiled into one automaton. Shipped rules can be switched off by name.

mod shipped;
mod words;

use std::sync::Arc;

use model::CrawlUrl;
use regex::bytes::{RegexSet, RegexSetBuilder};

use self::shipped::SHIPPED;
pub use self::shipped::ShippedRule;
use crate::pattern;

/// Of all patterns compiled into one automaton: thousands of usual ones.
const SET_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Debug)]
pub struct RejectList {
    /// A bit for each shipped rule that is in force.
    enabled: u64,
    patterns: Arc<[String]>,
    set: Option<RegexSet>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectError {
    #[error("the reject pattern {pattern} is not a regular expression: {what}")]
    Pattern { pattern: String, what: String },
    #[error("there is no shipped reject rule named {name}; there are {known}")]
    Unknown { name: String, known: String },
    #[error("the reject patterns are too large together: {what}")]
    TooLarge { what: String },
}

/// All shipped rules, no patterns.
impl Default for RejectList {
    fn default() -> RejectList {
        RejectList { enabled: ALL, patterns: Arc::default(), set: None }
    }
}

const ALL: u64 = u64::MAX >> (64 - SHIPPED.len());

impl RejectList {
    /// Nothing is rejected.
    pub fn none() -> RejectList {
        RejectList { enabled: 0, ..RejectList::default() }
    }

    /// Every rule that comes with the program, with its patterns and its reason.
    pub fn shipped() -> &'static [ShippedRule] {
        SHIPPED
    }

    /// Without these shipped rules.
    pub fn without<S: AsRef<str>>(mut self, names: &[S]) -> Result<RejectList, RejectError> {
        for name in names.iter().map(AsRef::as_ref) {
            let Some(at) = SHIPPED.iter().position(|rule| rule.name == name) else {
                let known: Vec<_> = SHIPPED.iter().map(|rule| rule.name).collect();
                return Err(RejectError::Unknown { name: name.into(), known: known.join(", ") });
            };
            self.enabled &= !(1 << at);
        }
        Ok(self)
    }

    /// With these regular expressions, which are looked for anywhere in the whole URL.
    pub fn with_patterns<S: AsRef<str>>(self, patterns: &[S]) -> Result<RejectList, RejectError> {
        let patterns: Vec<String> = patterns.iter().map(|p| p.as_ref().to_owned()).collect();
        // One by one first: the set's error does not say whose it is.
        for text in &patterns {
            let refuse = |what| RejectError::Pattern { pattern: text.clone(), what };
            pattern::of_url(text).map_err(refuse)?;
        }
        let mut builder = RegexSetBuilder::new(&patterns);
        let set = builder
            .unicode(false)
            .size_limit(SET_BYTES_MAX)
            .build()
            .map_err(|e| RejectError::TooLarge { what: pattern::what(&e) })?;
        let set = (!patterns.is_empty()).then_some(set);
        Ok(RejectList { patterns: patterns.into(), set, ..self })
    }

    /// The user's pattern that matches, if one does.
    pub(crate) fn pattern(&self, url: &CrawlUrl) -> Option<&str> {
        let set = self.set.as_ref()?;
        let first = set.matches(url.as_str().as_bytes()).iter().next()?;
        self.patterns.get(first).map(String::as_str)
    }

    /// The shipped rule that matches, if one does and is in force.
    pub(crate) fn shipped_rule(&self, url: &CrawlUrl) -> Option<&'static ShippedRule> {
        if self.enabled == 0 {
            return None;
        }
        words::find(url, self.enabled).and_then(|at| SHIPPED.get(at))
    }
}

#[cfg(test)]
mod tests;
