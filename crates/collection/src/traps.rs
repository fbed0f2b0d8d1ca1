//! Traps: which patterns of URLs and which sites were stopped, why and since when.

use model::{Hazard, IdleToken, RefusalReason, SiteTraps, Stop, Timestamp, UrlTraps};
use serde::Serialize;
use store::{
    census::{Census, DecisionEntry},
    collection::Collection,
};

use crate::{Error, Listing, sites};

/// Decisions looked at for a site: as many as there can be idle parts and stops.
const DECISIONS_MAX: u32 = 200;

/// Something that a site has shown against its own URLs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trap {
    pub site: String,
    /// What lifts it: `harvestman traps lift SITE PATTERN`; `null`: of the site's page for what it does not have.
    pub pattern: Option<String>,
    /// `null`: nothing is stopped, because the user lifted it.
    pub hazard: Option<Hazard>,
    pub meaning: Option<&'static str>,
    pub measure: TrapMeasure,
    #[serde(serialize_with = "model::iso::option")]
    pub since: Option<Timestamp>,
    /// URLs of it that had been taken when it was stopped.
    pub taken: u64,
    /// Pages of it that came.
    pub kept: u64,
    /// Links to more of it that were refused since.
    pub refused: u64,
    /// Pages that waited to be visited and were not.
    pub held_back: u64,
    /// Links that lost the part that makes no difference.
    pub rewritten: u64,
    /// Links on every page are refused, not only those on pages like it.
    pub all: bool,
    pub examples: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrapMeasure {
    SiteStopped,
    PatternStopped,
    /// A part of URLs that makes no difference is taken out of links.
    Rewritten,
    #[default]
    Noted,
    /// The user has lifted it: it is never stopped.
    Lifted,
}

/// Of all sites, or of one.
pub fn list(collection: &Collection, site: Option<&str>) -> Result<Listing<Trap>, Error> {
    let census = Census::open(collection)?;
    let site = site.map(|site| sites::known(&census, site)).transpose()?;
    let mut rows = Vec::new();
    for (site, taught) in census.traps(site.as_deref())? {
        let left = Left::of(&census, &site, &taught)?;
        rows.extend(of_site(&site, &taught, &left));
    }
    Ok(Listing::whole(rows))
}

fn of_site(site: &str, taught: &SiteTraps, left: &Left) -> Vec<Trap> {
    let traps = &taught.urls;
    let of = |hazard: Option<Hazard>, pattern: Option<String>| {
        let meaning = hazard.map(Hazard::meaning);
        Trap { site: site.to_owned(), pattern, hazard, meaning, ..Trap::default() }
    };
    let stops = traps.stops().map(|(pattern, stop)| Trap {
        measure: match is_site(pattern, stop) {
            true => TrapMeasure::SiteStopped,
            false => TrapMeasure::PatternStopped,
        },
        since: Some(stop.since),
        taken: u64::from(stop.taken),
        kept: kept(taught, pattern, stop),
        refused: stop.refused,
        held_back: stop.held_back,
        all: stop.all,
        examples: stop.examples.clone(),
        ..of(Some(stop.hazard), Some(pattern.to_owned()))
    });
    let idle = traps.tokens.iter().map(|token| Trap {
        measure: TrapMeasure::Rewritten,
        since: Some(token.since),
        rewritten: token.mended,
        held_back: left.for_part(token),
        ..of(Some(token.hazard()), Some(token.place.to_string()))
    });
    let missing = traps.missing.filter(|missing| missing.looks.is_some()).map(|missing| Trap {
        measure: TrapMeasure::Noted,
        since: Some(missing.asked),
        ..of(Some(Hazard::Soft404), None)
    });
    let lifted = traps
        .lifted
        .iter()
        .map(|name| Trap { measure: TrapMeasure::Lifted, ..of(None, Some(name.clone())) });
    stops.chain(idle).chain(missing).chain(lifted).collect()
}

/// Pages that waited and were left because a part of their URLs makes no difference, by the rule: the decisions tell.
struct Left(Vec<DecisionEntry>);

impl Left {
    fn of(census: &Census, site: &str, taught: &SiteTraps) -> Result<Left, Error> {
        if taught.urls.tokens.is_empty() {
            return Ok(Left(Vec::new()));
        }
        let reason = RefusalReason::Trap.word();
        Ok(Left(census.refusals_of(Some(reason), Some(site), DECISIONS_MAX)?))
    }

    fn for_part(&self, token: &IdleToken) -> u64 {
        let rule = Stop::rule(token.hazard(), &token.place.to_string());
        self.0.iter().find(|entry| entry.rule == rule).map_or(0, |entry| entry.count)
    }
}

/// Pages of it that came; of the whole site, its near duplicates where it was stopped for these, else all that are
/// noted.
fn kept(taught: &SiteTraps, pattern: &str, stop: &Stop) -> u64 {
    let patterns = &taught.urls.patterns;
    let note = patterns.iter().find(|note| note.text == pattern);
    let near = stop.hazard == Hazard::NearDuplicates;
    let pages: u64 = match note {
        _ if pattern == UrlTraps::SITE => patterns.iter().map(|note| u64::from(note.pages)).sum(),
        None if near => taught.families.iter().map(|family| u64::from(family.pages)).sum(),
        None => 0,
        Some(note) if near => {
            u64::from(note.near.saturating_add(note.unlike).max(note.thin_row).max(note.pages))
        }
        Some(note) => return u64::from(note.pages),
    };
    pages.max(u64::from(stop.taken))
}

fn is_site(pattern: &str, stop: &Stop) -> bool {
    pattern == UrlTraps::SITE || pattern == stop.hazard.word()
}
