//! Sites with the same content, by one of VN's heuristics, with the evidence and how far each heuristic is to be
//! trusted.

use seeder::{Comparison, Heuristic, Standing};
use serde::Serialize;
use store::census::Census;

use crate::{
    Error,
    replicas::{Group, find},
};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mirrors {
    pub heuristic: &'static str,
    /// Pairs in a hundred that still held after 98 days.
    pub precision: Rate,
    /// Pairs found, in per cent of those that the strictest heuristic finds.
    pub coverage: Rate,
    /// Groups of sites with the same content.
    pub total: u64,
    /// The largest first.
    pub rows: Vec<MirrorGroup>,
    /// Not all pairs of sites could be compared.
    pub cut: bool,
}

/// As published for the Portuguese web, and on a simulated one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    pub published: f64,
    pub simulated: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MirrorGroup {
    /// The site that stands for the others.
    pub site: String,
    /// A seed names it.
    pub seed: bool,
    pub mirrors: Vec<Mirror>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mirror {
    pub site: String,
    pub seed: bool,
    pub same_home: bool,
    /// Contents that both sites have, …
    pub contents_same: u32,
    /// … and how many the first has, …
    pub contents_original: u32,
    /// … and this one.
    pub contents: u32,
    /// Paths that were visited on both, …
    pub paths_compared: u32,
    /// … and those with the same content.
    pub paths_same: u32,
    /// The same in per cent.
    pub share: u32,
    pub may_be_folded: bool,
}

pub fn mirrors(census: &Census, heuristic: Heuristic) -> Result<Mirrors, Error> {
    let found = find(census, heuristic)?;
    let trust = heuristic.trust();
    Ok(Mirrors {
        heuristic: heuristic.word(),
        precision: Rate {
            published: f64::from(trust.paper_precision),
            simulated: f64::from(trust.simulated_precision),
        },
        coverage: Rate { published: trust.paper_coverage, simulated: trust.simulated_coverage },
        total: found.groups.len() as u64,
        rows: found.groups.iter().map(group).collect(),
        cut: found.cut,
    })
}

fn group(group: &Group) -> MirrorGroup {
    MirrorGroup {
        site: group.original.key.clone(),
        seed: group.original.seeded,
        mirrors: group.replicas.iter().map(|(site, compared)| mirror(site, compared)).collect(),
    }
}

fn mirror(site: &Standing, comparison: &Comparison) -> Mirror {
    Mirror {
        site: site.key.clone(),
        seed: site.seeded,
        same_home: comparison.seen.home,
        contents_same: comparison.seen.equal,
        contents_original: comparison.seen.contents.0,
        contents: comparison.seen.contents.1,
        paths_compared: comparison.compared,
        paths_same: comparison.same,
        share: comparison.share(),
        may_be_folded: comparison.may_fold() && !site.seeded,
    }
}
