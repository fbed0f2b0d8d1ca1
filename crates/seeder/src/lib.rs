//! Who may enter: which URLs become pages of a crawl, and why the others do not.
//!
//! Pure: text and URLs in, verdicts out. Start with [`SpiderRules`] (the ordered rules that judge a
//! candidate), then [`sort_links`] and [`sort_requisites`] (what becomes of a page's links and parts) and [`SeedSet`] (what the seeds
//! cover). [`Blocks`] is what must not be visited at all. [`RejectList`] holds the shipped list of URLs
//! that are no content; [`read_seeds`] reads seeds from lists, zone files, sitemaps and OPML.
//!
//! What the user says on top: [`RuleList`] (ordered rules in a small language of conditions), [`Script`]
//! (a function of their own), [`UrlForm`] (how URLs are rewritten before they are judged).
//!
//! What sites say of their pages: [`read_notice`] (sitemaps, feeds, robots.rdf) and [`sort_notice`].
//!
//! Sites with the same content under several names: [`Heuristic`], [`Comparison`], [`Folds`].
//! What sites do to have no end: [`traps`].
//! What a site teaches about itself: [`Loners`] finds families of near duplicates.
//!
//! Counting is not here: limits on pages are exact only where the site's lease is held.

mod block;
mod block_reach;
mod blocks;
mod condition;
mod conditions;
mod depths;
mod families;
mod forgotten;
mod form;
mod links;
mod logged;
mod marking;
mod notices;
mod novelty;
mod objection;
mod pattern;
mod reject;
mod replicas;
mod requisites;
mod rulelist;
mod rules;
mod script;
mod seeds;
mod seedset;
pub mod traps;
mod wildcards;

pub use block::Block;
pub use blocks::Blocks;
pub use condition::{Condition, RuleError};
pub use conditions::Conditions;
pub use depths::{Depths, OtherDepth};
pub use families::{FAMILY_WORDS_MIN, Kinship, Likeness, Loners, family_of};
pub use forgotten::{Forgotten, Grave};
pub use form::{Rewrite, UrlForm, parse_host_pattern};
pub use links::{Sorted, sort_links};
pub use logged::LogList;
pub use marking::Marking;
pub use notices::{
    Announced, Announcements, NoticeRules, NoticeText, Sitemaps, SortedNotice, feeds_of,
    notice_candidate, notices_of_robots, read_date, read_notice, sort_notice,
};
pub use novelty::{Gist, Lately, Novelty, shown};
pub use reject::{RejectError, RejectList, ShippedRule, viewed};
pub use replicas::{
    Comparison, Document, Evidence, Folds, Heuristic, Matching, Pair, Standing, Trust,
    choose_original,
};
pub use requisites::{Requisites, sort_requisites};
pub use rulelist::{ListedRule, RuleList, RuleListError};
pub use rules::{Expansion, ExternalPolicy, RuleStep, Scope, SpiderRules, StepVerdict};
pub use script::{SCRIPT_BYTES_MAX, Script, ScriptError};
pub use seeds::{
    LineReader, Seed, SeedError, SeedKind, SeedReader, Seeds, parse_seed, read_seeds, unpacked,
};
pub use seedset::SeedSet;
pub use wildcards::Wildcards;
