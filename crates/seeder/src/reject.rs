//! The reject list: URLs that are no content, shipped or named by the user.
//!
//! The shipped rules ([`shipped`]) are words that a whole path segment or query parameter must be, so
//! that `/cartography/` or `/blog/login-page-design` pass; the user's are regular expressions over the
//! whole URL, compiled into one automaton. Shipped rules can be switched off by name. Views of a page (to be printed)
//! are refused where the page itself links to them; elsewhere they may be all there is.

mod shipped;
mod words;

use std::sync::Arc;

use model::{CrawlUrl, Fingerprint};
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

/// Rules that name views of pages.
const VARIANTS: u64 = {
    let (mut bits, mut at) = (0, 0);
    while at < SHIPPED.len() {
        if SHIPPED[at].variant {
            bits |= 1 << at;
        }
        at += 1;
    }
    bits
};

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

    /// The shipped rule that matches, if one does and is in force. `referrer`: the page on which the link stands,
    /// where that is known.
    pub(crate) fn shipped_rule(
        &self,
        url: &CrawlUrl,
        referrer: Option<Fingerprint>,
    ) -> Option<&'static ShippedRule> {
        // Nearly no URL has a word of the list: one look at it is enough to know.
        words::find(url, self.enabled)?;
        let found = words::find(url, self.enabled & !VARIANTS).or_else(|| {
            let at = words::find(url, self.enabled & VARIANTS)?;
            let is_on_page = |page: &CrawlUrl| Some(page.fingerprint()) == referrer;
            referrer.filter(|_| viewed(url).iter().any(is_on_page)).map(|_| at)
        });
        found.and_then(|at| SHIPPED.get(at))
    }
}

/// The pages of which the URL may be another view, by the shipped list: to be printed, for example.
pub fn viewed(url: &CrawlUrl) -> Vec<CrawlUrl> {
    let (path, query) = (url.path(), url.query());
    let start = &url.as_str()[..url.as_str().len() - url.path_and_query().len()];
    let is_view = |parameter: &&str| words::find_parameter(parameter, VARIANTS).is_some();
    let kept: Vec<&str> = query.iter().flat_map(|q| q.split('&')).filter(|p| !is_view(p)).collect();
    let tail = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let mut pages = Vec::new();
    if query.is_some_and(|query| query.split('&').any(|parameter| is_view(&parameter))) {
        pages.push(format!("{start}{path}{tail}"));
    } else if words::find(url, VARIANTS).is_some()
        && let Some((folder, _)) = path.trim_end_matches('/').rsplit_once('/')
    {
        pages.extend([format!("{start}{folder}{tail}"), format!("{start}{folder}/{tail}")]);
    }
    pages.iter().filter_map(|text| CrawlUrl::parse(text).ok()).collect()
}

#[cfg(test)]
mod tests;
