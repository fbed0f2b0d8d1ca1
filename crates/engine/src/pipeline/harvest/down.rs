//! Sites that are down: once an hour has brought no answer, they are left for half as long as they have been silent,
//! in the end for a month; never forgotten.
//!
//! Without this every page of such a site would be tried by itself, with retries of its own.

use harvester::{
    failure::{Health, health, wait_while_down},
    workbench::Assignment,
};
use model::{
    CrawlUrl, Down, FailureKind, Hazard, Measure, Purpose, Release, Sighting, SiteDelta, SiteKey,
    Timestamp,
};

use super::Harvest;

/// Silence from which on a site is told to be down for long.
const LONG: std::time::Duration = std::time::Duration::from_secs(3 * 24 * 3600);

impl Harvest {
    /// What an answer, or none, says of the site as a whole.
    pub(super) fn note_health(
        &mut self,
        assignment: &Assignment,
        outcome: Result<u16, FailureKind>,
        now: Timestamp,
    ) {
        let Some(held) = self.state.hand.get(&assignment.site.key) else { return };
        let health = health(outcome);
        held.silent = health == Health::Down;
        match health {
            // A robots.txt is answered by many a server that has nothing else to give.
            Health::Up if assignment.purpose == Purpose::Robots => {}
            Health::Up => held.learned |= held.traps.down.take().is_some(),
            Health::Down => {
                let since = held.traps.down.map_or(now, |down| down.since.min(now));
                let tries = held.traps.down.map_or(0, |down| down.tries).saturating_add(1);
                held.traps.down = Some(Down { since, tries });
                held.learned = true;
            }
            Health::Unsaid => {}
        }
    }

    /// How long the site has been silent is written down with what is checked in, and told when it is long.
    pub(super) fn note_silence(
        &mut self,
        url: &CrawlUrl,
        delta: &mut SiteDelta,
        sightings: &mut Vec<Sighting>,
        now: Timestamp,
    ) {
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        if std::mem::take(&mut held.learned) {
            delta.traps = Some(held.traps.clone());
        }
        let away = held.traps.down.filter(|_| held.silent).map(|down| now.since(down.since));
        if away.is_some_and(|away| away >= LONG) {
            sightings.push(Sighting::at(url, Hazard::SiteDown, Measure::Noted));
        }
    }

    /// Gives a silent site back until it is worth another question.
    pub(super) fn rest_while_down(&mut self, site: &SiteKey, now: Timestamp) {
        let Some(held) = self.state.hand.get(site) else { return };
        let quiet = held.silent && held.is_quiet();
        let away = held.traps.down.map(|down| now.since(down.since));
        let Some(wait) = away.and_then(wait_while_down).filter(|_| quiet) else { return };
        tracing::info!(%site, ?wait, "site is down: no requests for a while");
        self.give_back(site, Release::NotBefore(now.plus(wait)), now);
    }
}
