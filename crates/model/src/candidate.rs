//! A URL asking to be admitted, and the answer.

use serde::{Deserialize, Serialize};

use crate::{CrawlUrl, Fingerprint, Page, PageTerms, SpiderId};

#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub url: CrawlUrl,
    pub spider: SpiderId,
    /// Level it would have in its own site.
    pub level: u16,
    /// Redirects that led here in a row; 0 for a plain link.
    pub hops: u8,
    /// A seed, or what a seed redirected to: its site joins the seeds' scope.
    pub seed: bool,
    pub terms: PageTerms,
    /// The page it was found on.
    pub referrer: Option<Fingerprint>,
}

/// A page as it would ask to be let in today.
impl From<&Page> for Candidate {
    fn from(page: &Page) -> Candidate {
        Candidate {
            url: page.url.clone(),
            spider: page.spider,
            level: page.level,
            hops: page.hops,
            seed: page.seed,
            terms: page.terms,
            referrer: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    Reject(Refusal),
}

/// Every refusal has a reason that can be asked for later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: RefusalReason,
    /// The rule that did it, in the words of the configuration: `scope = "site"`, `robots.txt: Disallow: /x`.
    pub rule: String,
}

impl Refusal {
    /// The user keeps away from it; `pattern` as it stands on the list of blocks.
    pub fn blocked(pattern: &str) -> Refusal {
        Refusal { reason: RefusalReason::Blocked, rule: format!("block: {pattern}") }
    }

    /// The user had it forgotten. What is written down of such a refusal must not name it.
    pub fn forgotten() -> Refusal {
        Refusal { reason: RefusalReason::Blocked, rule: Refusal::FORGOTTEN.to_owned() }
    }

    /// Browsers refuse the port, and so do we.
    pub fn bad_port(port: u16) -> Refusal {
        Refusal { reason: RefusalReason::Port, rule: format!("port {port}{}", Refusal::BAD_PORT) }
    }

    pub fn is_bad_port(rule: &str) -> bool {
        rule.ends_with(Refusal::BAD_PORT)
    }

    const BAD_PORT: &str = ", which browsers refuse";

    /// Reading the page, or so many pages of its site, broke down.
    pub fn quarantined(site: bool) -> Refusal {
        let times = crate::limits::BREAKDOWNS_MAX;
        let rule = match site {
            true => format!("quarantine: reading {times} pages of the site broke down"),
            false => format!("quarantine: its reading broke down {times} times"),
        };
        Refusal { reason: RefusalReason::Trap, rule }
    }

    pub const FORGOTTEN: &str = "forgotten by the user";

    pub fn is_forgotten(&self) -> bool {
        self.rule == Refusal::FORGOTTEN
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// Not http or https.
    Scheme,
    /// Not a URL at all.
    Invalid,
    TooLong,
    /// Outside what the spider is to crawl.
    Scope,
    /// A rule of the user's own.
    Rule,
    /// The user's script.
    Filter,
    /// Deeper than the level limit.
    Depth,
    /// The reject list, shipped or the user's.
    RejectList,
    Robots,
    /// `rel=nofollow`, meta robots, X-Robots-Tag.
    Nofollow,
    /// More redirects in a row than allowed.
    Redirects,
    /// The site's or the crawl's limit is reached.
    Limit,
    Blocked,
    Trap,
    /// An unusual port that was not asked for, or one that browsers refuse.
    Port,
    /// A private or otherwise special address.
    Address,
    /// The answer's media type is not wanted.
    MediaType,
    /// The answer announced more bytes than are wanted.
    TooLarge,
    /// Links of this kind are only counted.
    Logged,
}

impl RefusalReason {
    pub const ALL: [RefusalReason; 19] = [
        RefusalReason::Scheme,
        RefusalReason::Invalid,
        RefusalReason::TooLong,
        RefusalReason::Scope,
        RefusalReason::Rule,
        RefusalReason::Filter,
        RefusalReason::Depth,
        RefusalReason::RejectList,
        RefusalReason::Robots,
        RefusalReason::Nofollow,
        RefusalReason::Redirects,
        RefusalReason::Limit,
        RefusalReason::Blocked,
        RefusalReason::Trap,
        RefusalReason::Port,
        RefusalReason::Address,
        RefusalReason::MediaType,
        RefusalReason::TooLarge,
        RefusalReason::Logged,
    ];

    pub fn word(self) -> &'static str {
        match self {
            RefusalReason::Scheme => "scheme",
            RefusalReason::Invalid => "invalid",
            RefusalReason::TooLong => "too-long",
            RefusalReason::Scope => "scope",
            RefusalReason::Rule => "rule",
            RefusalReason::Filter => "filter",
            RefusalReason::Depth => "depth",
            RefusalReason::RejectList => "reject-list",
            RefusalReason::Robots => "robots",
            RefusalReason::Nofollow => "nofollow",
            RefusalReason::Redirects => "redirects",
            RefusalReason::Limit => "limit",
            RefusalReason::Blocked => "blocked",
            RefusalReason::Trap => "trap",
            RefusalReason::Port => "port",
            RefusalReason::Address => "address",
            RefusalReason::MediaType => "media-type",
            RefusalReason::TooLarge => "too-large",
            RefusalReason::Logged => "logged",
        }
    }

    pub fn from_word(word: &str) -> Option<RefusalReason> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}
