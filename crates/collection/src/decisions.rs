//! What was refused: by which rule, how often, and where it was found.

use model::{RefusalReason, StoreError, Timestamp};
use serde::Serialize;
use store::census::{Census, DecisionEntry};

use crate::{
    Error,
    remedies::{remedy, remedy_of},
    sites,
};

/// What is asked for, in the words of whoever asks.
#[derive(Clone, Debug, Default)]
pub struct DecisionsQuery {
    /// A word of [`RefusalReason`].
    pub reason: Option<String>,
    /// A host, or a URL of the site: what was refused on it, and for its links.
    pub site: Option<String>,
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionList {
    /// Links refused in all.
    pub total: u64,
    /// Most first.
    pub reasons: Vec<ReasonCount>,
    /// Those that refused most first.
    pub rows: Vec<SiteDecision>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    pub reason: String,
    pub count: u64,
    /// `None` for a reason of a later version.
    pub how_to_lift: Option<&'static str>,
}

/// How often a rule refused on a site, with an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SiteDecision {
    pub site: String,
    pub reason: String,
    pub rule: String,
    /// What can be done about it, where its rule says more than its reason.
    pub how_to_lift: Option<&'static str>,
    pub count: u64,
    pub example: String,
    /// The page on which the example was found.
    pub referrer: Option<String>,
    #[serde(serialize_with = "model::iso::time")]
    pub last: Timestamp,
}

pub fn list(census: &Census, query: &DecisionsQuery) -> Result<DecisionList, Error> {
    let reason = query.reason.as_deref().map(reason_of).transpose()?;
    let word = reason.map(RefusalReason::word);
    let site = query.site.as_deref().map(sites::named).transpose()?;
    let mut counts = census.refusal_counts(site.as_deref())?;
    if let (true, Some(site)) = (counts.is_empty(), &site) {
        sites::known(census, site)?;
    }
    counts.retain(|(found, _)| word.is_none_or(|word| word == found));
    let entries = census.refusals_of(word, site.as_deref(), query.limit)?;
    Ok(DecisionList {
        total: counts.iter().map(|(_, count)| count).sum(),
        reasons: counts.into_iter().map(ReasonCount::of).collect(),
        rows: entries.into_iter().map(SiteDecision::of).collect(),
    })
}

fn reason_of(word: &str) -> Result<RefusalReason, Error> {
    let known = || RefusalReason::ALL.map(RefusalReason::word).to_vec();
    RefusalReason::from_word(word).ok_or_else(|| Error::unknown_word("reason", word, known()))
}

impl ReasonCount {
    fn of((reason, count): (String, u64)) -> ReasonCount {
        let how_to_lift = RefusalReason::from_word(&reason).map(remedy_of);
        ReasonCount { reason, count, how_to_lift }
    }
}

impl SiteDecision {
    fn of(entry: DecisionEntry) -> SiteDecision {
        let DecisionEntry { site, reason, rule, count, example, referrer, last } = entry;
        let how_to_lift = RefusalReason::from_word(&reason)
            .map(|reason| (remedy(reason, &rule), remedy_of(reason)))
            .filter(|(of_rule, of_reason)| of_rule != of_reason)
            .map(|(of_rule, _)| of_rule);
        SiteDecision { site, reason, rule, how_to_lift, count, example, referrer, last }
    }
}

/// Refusals on one site, for those who ask about one of its pages.
pub(crate) struct Decided(pub Vec<DecisionEntry>);

impl Decided {
    pub fn on_site(census: &Census, site: &str, max: u32) -> Result<Decided, StoreError> {
        census.decisions_on(site, max).map(Decided)
    }

    pub fn rows(self) -> Vec<SiteDecision> {
        self.0.into_iter().map(SiteDecision::of).collect()
    }
}
