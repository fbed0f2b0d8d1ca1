//! What else than the rules may be against a URL: a block, quarantine, a wildcard of its domain, robots.txt.
//! Traps are in [`super::trapped`].

use harvester::robots::Robots;
use model::{CrawlUrl, PageState, Refusal, RefusalReason, RobotsAnswer, StoreError};
use seeder::{Block, Blocks, RuleStep, StepVerdict, Wildcards};
use store::census::{Census, DecisionEntry, PageStory};

use crate::{
    Error,
    decisions::Decided,
    quarantine::{self, Quarantined},
};

/// The block that keeps away from the URL, with the user's reason. By which address a host is reached is
/// known only from what a crawl refused there.
pub(super) fn block(
    census: &Census,
    blocks: &Blocks,
    url: &CrawlUrl,
    story: Option<&PageStory>,
    decided: &Decided,
) -> Result<Option<RuleStep>, StoreError> {
    let excluded = story.is_none_or(|story| story.page.state == PageState::Excluded);
    // A refusal stands under the site that links; what was refused is the example's site.
    let is_own = |entry: &&DecisionEntry| {
        let example = CrawlUrl::parse(&entry.example);
        entry.reason == RefusalReason::Blocked.word()
            && example.is_ok_and(|example| example.site_text() == url.site_text())
    };
    let by_address = || {
        let refused = decided.0.iter().filter(is_own).filter(|_| excluded);
        let patterns = refused.filter_map(|entry| entry.rule.strip_prefix("block: "));
        let mut ranges = patterns.filter_map(|text| Block::parse(text).ok());
        ranges.find(|block| matches!(block, Block::Addresses(_)) && blocks.contains(block))
    };
    let found = blocks.find(url).map(|pattern| pattern.to_string());
    let Some(pattern) = found.or_else(|| by_address().map(|block| block.to_string())) else {
        return Ok(None);
    };
    let why = match census.block(&pattern)? {
        Some(entry) if !entry.reason.is_empty() => entry.reason,
        _ => "it is on the list of blocks".to_owned(),
    };
    let rule = Refusal::blocked(&pattern).rule;
    Ok(Some(RuleStep { rule, verdict: StepVerdict::Decided, why }))
}

/// A page that is left alone because it crashed the parser, or whose site is.
pub(super) fn quarantine(census: &Census, url: &CrawlUrl) -> Result<Option<RuleStep>, Error> {
    let Some(found) = quarantine::of(census, url)? else { return Ok(None) };
    let (refusal, what) = match &found {
        Quarantined::Page(url) => (Refusal::quarantined(false), url),
        Quarantined::Site(site) => (Refusal::quarantined(true), site),
    };
    let why = format!("to have it read again: harvestman quarantine lift {what}");
    Ok(Some(RuleStep { rule: refusal.rule, verdict: StepVerdict::Decided, why }))
}

pub(super) fn wildcard(url: &CrawlUrl) -> RuleStep {
    let why = format!(
        "every name under {} resolves, and only its own pages lead to this one; to take it: harvestman seed {}",
        url.domain(),
        url.home()
    );
    RuleStep { rule: Wildcards::refusal(url).rule, verdict: StepVerdict::Decided, why }
}

/// How the step of a robots.txt begins that says neither yes nor no.
pub(super) const UNREADABLE: &str = "it cannot be read for now";

/// It refuses only until the server answers.
pub(super) fn is_for_now(step: &RuleStep) -> bool {
    step.why.starts_with(UNREADABLE)
}

/// robots.txt is asked last, as it is in a crawl; from the stored copy. `is_reach_new`: that it could not be
/// read was under other settings.
pub(super) fn robots(
    census: &Census,
    url: &CrawlUrl,
    token: &str,
    is_reach_new: bool,
) -> Result<RuleStep, StoreError> {
    let step = |rule: &str, verdict, why: String| RuleStep { rule: rule.to_owned(), verdict, why };
    let Some(copy) = census.robots(url)? else {
        let why = "not read yet: it is asked for before the first page".to_owned();
        return Ok(step("robots.txt", StepVerdict::Passed, why));
    };
    Ok(match copy.answer {
        RobotsAnswer::Rules(text) => {
            let verdict = Robots::read(&text).verdict(token, url.path_and_query());
            let line = verdict.rule.unwrap_or_else(|| "no rule matches".to_owned());
            let decided = if verdict.allowed { StepVerdict::Passed } else { StepVerdict::Decided };
            step("robots.txt", decided, line)
        }
        RobotsAnswer::Unavailable { status } => {
            step("robots.txt", StepVerdict::Passed, format!("there is none (status {status})"))
        }
        RobotsAnswer::Unreachable { .. } if is_reach_new => {
            let why = "it could not be read with the old settings; the next crawl tries again";
            step("robots.txt", StepVerdict::Passed, why.to_owned())
        }
        RobotsAnswer::Unreachable { why } => {
            let why = format!("{UNREADABLE}, so nothing is visited: {why}");
            step("robots.txt", StepVerdict::Decided, why)
        }
    })
}
