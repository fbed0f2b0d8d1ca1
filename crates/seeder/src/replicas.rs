//! Replicas: sites with different names that serve the same content (duplicate hosts; VN, section 2.3).
//!
//! Everything is judged by fingerprints of content alone: [`Matching`] finds sites that share contents, in one
//! pass over all of them sorted by hash; [`Comparison`] looks at two sites closely; a [`Heuristic`] says whether
//! that makes them the same site; [`choose_original`] which of them is to stand for the others; [`Folds`] is the
//! list in force while a crawl runs.
//!
//! - A name alone is no evidence: `www.` is folded only where the contents are the same (Table II of the paper:
//!   4 % of second-level and 16 % of third-level sites are lost to the prefix).
//! - To fold asks for more than to report, because a link that is rewritten to a page that is not there is a page
//!   lost: see [`Comparison::may_fold`].

mod choice;
mod folds;
mod matching;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub use self::{
    choice::{Standing, choose_original},
    folds::Folds,
    matching::{Matching, Pair},
};

/// When two sites count as one. The paper compares these five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Heuristic {
    /// Equal home pages.
    SameHome,
    /// Equal home pages, and at least one more equal content.
    SameHomeAnd1Doc,
    /// At least two equal contents, which are at least this part of each site's: 60, 80, 100 per cent.
    Dups60,
    Dups80,
    Dups100,
}

/// What the paper's Table I says of a heuristic, in per cent (coverage: against that of Dups100), on 3.3 million
/// pages of 66,370 sites, looked at again after 98 days; and the same on a simulated web whose truth is known
/// (`harvestman/tests/it/replicas.rs`). How many sites of each kind that web has was set by looking at the paper's
/// figures, so that the two agree says nothing; they are held fast to see a change of the rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    pub paper_precision: u8,
    pub paper_coverage: f64,
    pub simulated_precision: u8,
    pub simulated_coverage: f64,
}

impl Heuristic {
    pub const ALL: &[Heuristic] = &[
        Heuristic::SameHome,
        Heuristic::SameHomeAnd1Doc,
        Heuristic::Dups60,
        Heuristic::Dups80,
        Heuristic::Dups100,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Heuristic::SameHome => "same-home",
            Heuristic::SameHomeAnd1Doc => "same-home-1doc",
            Heuristic::Dups60 => "dups-60",
            Heuristic::Dups80 => "dups-80",
            Heuristic::Dups100 => "dups-100",
        }
    }

    pub fn from_word(word: &str) -> Option<Heuristic> {
        Heuristic::ALL.iter().copied().find(|heuristic| heuristic.word() == word)
    }

    #[rustfmt::skip]
    pub fn trust(self) -> Trust {
        let (paper_precision, paper_coverage, simulated_precision, simulated_coverage) = match self {
            Heuristic::SameHome => (68, 6.6, 68, 5.3),
            Heuristic::SameHomeAnd1Doc => (92, 2.1, 92, 1.5),
            Heuristic::Dups60 => (90, 2.5, 87, 1.7),
            Heuristic::Dups80 => (92, 2.0, 92, 1.5),
            Heuristic::Dups100 => (94, 1.0, 94, 1.0),
        };
        Trust { paper_precision, paper_coverage, simulated_precision, simulated_coverage }
    }

    pub fn holds(self, seen: &Evidence) -> bool {
        let share = |per_cent: u64| {
            let of = u64::from(seen.contents.0.max(seen.contents.1));
            seen.equal >= 2 && u64::from(seen.equal) * 100 >= per_cent * of
        };
        match self {
            Heuristic::SameHome => seen.home,
            // The home page is one of the equal contents.
            Heuristic::SameHomeAnd1Doc => seen.home && seen.equal >= 2,
            Heuristic::Dups60 => share(60),
            Heuristic::Dups80 => share(80),
            Heuristic::Dups100 => share(100),
        }
    }
}

/// What two sites have in common. Contents are counted once, however many URLs of a site have them: a server that
/// answers everything with one page has one content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Their home pages are equal.
    pub home: bool,
    /// Contents that both have.
    pub equal: u32,
    /// Contents that each has.
    pub contents: (u32, u32),
}

/// A document of a site, as the last visit left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Path and query; `/` is the home page.
    pub path: String,
    /// `None`: it is gone.
    pub hash: Option<u64>,
}

/// Two sites looked at closely: also whether the same path leads to the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub seen: Evidence,
    /// Paths that were visited on both.
    pub compared: u32,
    /// Those among them with the same content.
    pub same: u32,
}

impl Comparison {
    pub fn of(one: &[Document], other: &[Document]) -> Comparison {
        let (ours, theirs) = (contents(one), contents(other));
        let home = home_of(one).is_some_and(|home| home_of(other) == Some(home));
        let equal = ours.intersection(&theirs).count();
        let seen = Evidence {
            home,
            equal: count(equal),
            contents: (count(ours.len()), count(theirs.len())),
        };
        let by_path: HashMap<&str, Option<u64>, RandomState> =
            one.iter().map(|document| (document.path.as_str(), document.hash)).collect();
        let mut comparison = Comparison { seen, ..Comparison::default() };
        for document in other {
            match (by_path.get(document.path.as_str()), document.hash) {
                // That neither has it says nothing.
                (None | Some(None), None) | (None, _) => {}
                (Some(ours), theirs) => {
                    comparison.compared += 1;
                    comparison.same += u32::from(*ours == theirs);
                }
            }
        }
        comparison
    }

    /// Whether links to one may be rewritten to the other: home page and at least one other content are equal
    /// *under the same paths*, and so are nine of ten paths that were seen on both. The paper goes by contents
    /// alone, but a URL is rewritten by its path.
    pub fn may_fold(&self) -> bool {
        self.seen.home
            && self.same >= 2
            && u64::from(self.same) * 10 >= u64::from(self.compared) * 9
    }

    /// Per cent of the paths compared.
    pub fn share(&self) -> u32 {
        (self.same * 100).checked_div(self.compared).unwrap_or(0)
    }
}

fn contents(documents: &[Document]) -> HashSet<u64, RandomState> {
    documents.iter().filter_map(|document| document.hash).collect()
}

fn home_of(documents: &[Document]) -> Option<u64> {
    documents.iter().find(|document| document.path == "/")?.hash
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
