//! Who may enter: which URLs become pages of a crawl, and why the others do not.
//!
//! Pure: text and URLs in, verdicts out. Start with [`SpiderRules`] (the ordered rules that judge a
//! candidate), then [`sort_links`] (what becomes of a page's links) and [`SeedSet`] (what the seeds
//! cover). [`RejectList`] holds the shipped list of URLs that are no content; [`SeedReader`] reads seeds
//! from text.
//!
//! Counting is not here: limits on pages are exact only where the site's lease is held.

mod links;
mod objection;
mod reject;
mod rules;
mod seeds;
mod seedset;

pub use links::{Sorted, sort_links};
pub use reject::{RejectError, RejectList, ShippedRule};
pub use rules::{ExternalPolicy, RuleStep, Scope, SpiderRules, StepVerdict};
pub use seeds::{SeedError, SeedReader, parse_seed};
pub use seedset::SeedSet;
