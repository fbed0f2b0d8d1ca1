//! How long check-ins wait for company before they are committed.
//!
//! A commit writes the row of each site in it, and of each table the leaves its pages lie in, once. Where every site
//! gives a page a second, as polite crawls of many sites do, commits of a second write all of that for every page; so
//! they wait longer where they cost much, and for several pages of each site. Where they cost little nobody waits.

use std::time::Duration;

use model::limits;

pub struct Pace {
    /// Zero: nobody waits, whatever a commit costs.
    shortest: Duration,
    /// What the last commit took.
    took: Duration,
}

/// Of the writer's time, commits are to take no more than one in so many parts.
const SHARE: u32 = 20;
/// Pages of each site that are worth waiting for.
const PAGES_OF_A_SITE: usize = 4;

impl Pace {
    pub fn new(shortest: Duration) -> Pace {
        Pace { shortest, took: Duration::ZERO }
    }

    pub fn committed(&mut self, took: Duration) {
        self.took = took;
    }

    /// The longest that a check-in waits.
    pub fn patience(&self) -> Duration {
        match self.shortest.is_zero() {
            true => Duration::ZERO,
            false => (self.took * SHARE).min(limits::SETTLE_EVERY_MAX).max(self.shortest),
        }
    }

    /// So many pages of so many sites wait for nobody.
    pub fn pages(&self, sites: usize) -> usize {
        (PAGES_OF_A_SITE * sites).clamp(limits::SETTLE_PAGES, limits::SETTLE_PAGES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn cheap_commits_come_every_second_and_dear_ones_less_often_but_within_five() {
        let mut pace = Pace::new(SECOND);
        assert_eq!(pace.patience(), SECOND);
        for (took_ms, wait_ms) in
            [(5, 1_000), (50, 1_000), (100, 2_000), (200, 4_000), (900, 5_000)]
        {
            pace.committed(Duration::from_millis(took_ms));
            assert_eq!(pace.patience(), Duration::from_millis(wait_ms), "{took_ms}");
        }
        pace.committed(Duration::from_millis(5));
        assert_eq!(pace.patience(), SECOND, "one slow commit is soon forgotten");
    }

    #[test]
    fn under_simulated_time_nobody_waits() {
        let mut pace = Pace::new(Duration::ZERO);
        pace.committed(SECOND);
        assert_eq!(pace.patience(), Duration::ZERO);
    }

    #[test]
    fn a_commit_of_many_sites_has_several_pages_of_each_as_far_as_memory_goes() {
        let pace = Pace::new(SECOND);
        assert_eq!(
            [1, 500, 1_000, 9_000].map(|sites| pace.pages(sites)),
            [2_000, 2_000, 4_000, 6_000]
        );
    }
}
