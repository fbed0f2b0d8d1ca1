//! Looking for replicas in a collection: the seeder's rules over what the census tells. Reads only, on a connection
//! of its own; what comes of it is written down by whoever crawls.
//!
//! The memory this takes follows the sites that share contents, not the pages: the database sorts contents by hash,
//! and of each site that is compared at most [`DOCUMENTS_MAX`] documents are looked at.

mod watch;

use std::{collections::HashMap, time::Duration};

use model::{CrawlUrl, StoreError, Timestamp};
use seeder::{Comparison, Document, Heuristic, Matching, Pair, Standing, choose_original};
use store::{
    census::{Census, SiteStanding},
    replicas::{ReplicaChange, ReplicaRow, ReplicaState},
};

pub use self::watch::{Watch, settle_findings};
use config::Replicas;

/// Documents of a site that are compared, those nearest to its entry: enough to tell.
const DOCUMENTS_MAX: u32 = 1_000;
/// What pairs for the list are found by: the paper's best ratio of precision to coverage. Folding asks for more.
pub const LISTED_BY: Heuristic = Heuristic::SameHomeAnd1Doc;

/// Sites with the same content.
#[derive(Clone, Debug)]
pub struct Group {
    pub original: Standing,
    /// Scheme, host and port by which it is reached.
    pub origin: String,
    pub replicas: Vec<(Standing, Comparison)>,
}

/// What a look has brought.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub groups: Vec<Group>,
    /// There was more than could be looked at.
    pub cut: bool,
}

/// All groups of sites that the heuristic takes for the same.
pub fn find(census: &Census, heuristic: Heuristic) -> Result<Found, StoreError> {
    let mut matching = Matching::default();
    census.each_content(|hash, site, home| matching.take(hash, site, home))?;
    let (pairs, cut) = matching.finish();
    let alike = pairs.into_iter().filter(|pair| heuristic.holds(&pair.seen));
    let mut found = Found { groups: Vec::new(), cut };
    for sites in joined(alike) {
        found.groups.extend(group(census, heuristic, &sites)?);
    }
    found.groups.sort_by(|a, b| {
        b.replicas.len().cmp(&a.replicas.len()).then_with(|| a.original.key.cmp(&b.original.key))
    });
    Ok(found)
}

/// The list as it is to be: what is new, what still holds, what does not any more.
pub fn review(
    census: &Census,
    mode: Replicas,
    again: Duration,
    now: Timestamp,
) -> Result<ReplicaChange, StoreError> {
    let known: HashMap<String, ReplicaRow> =
        census.replicas()?.into_iter().map(|row| (row.site.clone(), row)).collect();
    let mut rows: HashMap<String, ReplicaRow> = HashMap::new();
    for group in find(census, LISTED_BY)?.groups {
        for (replica, comparison) in &group.replicas {
            let before = known.get(&replica.key);
            if before.is_some_and(|before| keeps(before, mode, again, now)) {
                continue;
            }
            let row = row(&group, replica, comparison, mode, now);
            rows.insert(replica.key.clone(), row);
        }
    }
    for before in known.values() {
        let looked_at = match before.state {
            ReplicaState::Folded => look_again(census, before, mode, again, now)?,
            // Nothing of it rests: what was found now is all there is to say.
            ReplicaState::Reported if !rows.contains_key(&before.site) => {
                Some(ReplicaRow { state: ReplicaState::Dropped, looked: now, ..before.clone() })
            }
            _ => None,
        };
        rows.extend(looked_at.map(|row| (row.site.clone(), row)));
    }
    let mut rows: Vec<ReplicaRow> = rows.into_values().collect();
    rows.sort_by(|a, b| a.site.cmp(&b.site));
    Ok(ReplicaChange::Found { rows, again_ms: again.as_millis() as u64 })
}

/// What is known of a site stands: it is the user's word, or it rests and says nothing new, or it was dropped
/// because pages that have not been seen since are older than what showed it.
fn keeps(before: &ReplicaRow, mode: Replicas, again: Duration, now: Timestamp) -> bool {
    match before.state {
        ReplicaState::Lifted => true,
        ReplicaState::Folded => mode == Replicas::Fold,
        ReplicaState::Dropped => now.since(before.looked) < again,
        ReplicaState::Reported => false,
    }
}

fn row(
    group: &Group,
    replica: &Standing,
    comparison: &Comparison,
    mode: Replicas,
    now: Timestamp,
) -> ReplicaRow {
    let fold = mode == Replicas::Fold && !replica.seeded && comparison.may_fold();
    ReplicaRow {
        site: replica.key.clone(),
        original: group.original.key.clone(),
        origin: group.origin.clone(),
        heuristic: LISTED_BY.word().to_owned(),
        compared: comparison.compared,
        same: comparison.same,
        since: now,
        looked: now,
        state: if fold { ReplicaState::Folded } else { ReplicaState::Reported },
    }
}

/// A folded site whose time has come, once its home page was visited again; or all, where none is to be folded.
fn look_again(
    census: &Census,
    before: &ReplicaRow,
    mode: Replicas,
    again: Duration,
    now: Timestamp,
) -> Result<Option<ReplicaRow>, StoreError> {
    let dropped = ReplicaRow { state: ReplicaState::Dropped, looked: now, ..before.clone() };
    if mode != Replicas::Fold {
        return Ok(Some(dropped));
    }
    if now.since(before.looked) < again {
        return Ok(None);
    }
    let (replica, original) =
        (census.site_number(&before.site)?, census.site_number(&before.original)?);
    let Some((replica, original)) = replica.zip(original) else { return Ok(Some(dropped)) };
    let visited = census.standings(&[replica])?.remove(&replica).and_then(|s| s.home_visited);
    if visited.is_none_or(|visited| visited <= before.looked) {
        return Ok(None);
    }
    // Only what was seen since can say that it still is one.
    let fresh = documents(census, replica, Some(before.looked))?;
    let comparison = Comparison::of(&fresh, &documents(census, original, None)?);
    let Comparison { compared, same, .. } = comparison;
    Ok(Some(match comparison.may_fold() {
        true => ReplicaRow { looked: now, compared, same, ..before.clone() },
        false => ReplicaRow { compared, same, ..dropped },
    }))
}

fn group(
    census: &Census,
    heuristic: Heuristic,
    sites: &[i64],
) -> Result<Option<Group>, StoreError> {
    let known = census.standings(sites)?;
    let standings: Vec<Standing> = sites
        .iter()
        .filter_map(|site| known.get(site).map(|known| standing(*site, known)))
        .collect();
    let Some(original) = choose_original(&standings).cloned() else { return Ok(None) };
    let entries = census.documents(original.site, DOCUMENTS_MAX)?;
    let Some(origin) = entries.iter().find_map(|entry| origin_of(&entry.url)) else {
        return Ok(None);
    };
    let theirs = documents(census, original.site, None)?;
    let mut replicas = Vec::new();
    for replica in standings.into_iter().filter(|site| site.site != original.site) {
        let comparison = Comparison::of(&documents(census, replica.site, None)?, &theirs);
        // It may have been alike to another of the group only.
        if heuristic.holds(&comparison.seen) {
            replicas.push((replica, comparison));
        }
    }
    replicas.sort_by(|a, b| a.0.key.cmp(&b.0.key));
    Ok((!replicas.is_empty()).then_some(Group { original, origin, replicas }))
}

fn standing(site: i64, known: &SiteStanding) -> Standing {
    let SiteStanding { key, seeded, known, .. } = known;
    Standing { site, key: key.clone(), seeded: *seeded, known: *known }
}

/// `since`: only those visited after this moment.
fn documents(
    census: &Census,
    site: i64,
    since: Option<Timestamp>,
) -> Result<Vec<Document>, StoreError> {
    let entries = census.documents(site, DOCUMENTS_MAX)?;
    let fresh = entries.into_iter().filter(|entry| since.is_none_or(|since| entry.visited > since));
    let read = |url: &str| CrawlUrl::stored(url).ok().map(|url| url.path_and_query().to_owned());
    Ok(fresh
        .filter_map(|entry| Some(Document { path: read(&entry.url)?, hash: entry.hash }))
        .collect())
}

fn origin_of(url: &str) -> Option<String> {
    CrawlUrl::stored(url).ok().map(|url| url.origin().as_str().to_owned())
}

/// Sites that are alike, directly or through others: lists of at least two, each in order.
fn joined(pairs: impl Iterator<Item = Pair>) -> Vec<Vec<i64>> {
    let mut above: HashMap<i64, i64> = HashMap::new();
    fn top(above: &mut HashMap<i64, i64>, mut site: i64) -> i64 {
        while let Some(&next) = above.get(&site).filter(|next| **next != site) {
            let over = above.get(&next).copied().unwrap_or(next);
            above.insert(site, over);
            site = next;
        }
        site
    }
    for Pair { sites: (one, other), .. } in pairs {
        above.entry(one).or_insert(one);
        above.entry(other).or_insert(other);
        let (one, other) = (top(&mut above, one), top(&mut above, other));
        above.insert(one.max(other), one.min(other));
    }
    let mut groups: HashMap<i64, Vec<i64>> = HashMap::new();
    let sites: Vec<i64> = above.keys().copied().collect();
    for site in sites {
        groups.entry(top(&mut above, site)).or_default().push(site);
    }
    let mut groups: Vec<Vec<i64>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    groups
}

#[cfg(test)]
mod tests {
    use seeder::Evidence;

    use super::*;

    #[test]
    fn sites_that_are_alike_through_others_are_one_group() {
        let pair = |one, other| Pair { sites: (one, other), seen: Evidence::default() };
        let pairs = [pair(4, 9), pair(1, 2), pair(2, 7), pair(5, 7), pair(3, 4)];
        assert_eq!(joined(pairs.into_iter()), [vec![1, 2, 5, 7], vec![3, 4, 9]]);
    }
}
