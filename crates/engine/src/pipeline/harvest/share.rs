//! A site's share of this machine. Pauses are for the servers' sake; between sites that all may be visited it is
//! reading and archiving that is scarce, and one whose pages cost a hundred times the usual (bodies cut at the limit,
//! thousands of links, bombs) would have a hundred times its share, at the others' cost.
//!
//! So while pages wait to be read, a site yields to the others after a page that was dear: for as long as all others
//! would need to have as much, by how long the queue is. With a full queue nobody has more than an equal share; with
//! an empty one everybody has what there is. Pages of the usual price never wait for this, however busy the machine:
//! an ordinary crawl goes as it would without. Nor does a site for a single page that was dear: time is read from the
//! wall, and a thread that had to wait for its processor is no fault of the page.

use std::time::Duration;

use model::{SiteDelta, Timestamp, limits::GATHER_QUEUE};

use super::Harvest;

/// A page is dear that costs more than this many usual ones …
const DEAR: u32 = 4;
/// … and more than this: about what a thread waits for its processor when it has to.
const DEAR_MIN: Duration = Duration::from_millis(10);
/// What a new page costs in the loop and the writer (`bench/run frontier`): it is paid after the site has gone on.
const ROW: Duration = Duration::from_micros(40);
/// Pages over which the usual price is reckoned, about.
const PAGES: u32 = 64;
/// A site is never kept waiting longer for one page: below what would make a lease be given back.
const YIELD_MAX: Duration = Duration::from_secs(20);

/// What pages cost lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prices {
    usual: Option<Duration>,
}

impl Prices {
    /// By how much a page that took this long was dear.
    fn hear(&mut self, took: Duration) -> Duration {
        let usual = self.usual.unwrap_or(took);
        self.usual = Some((usual * (PAGES - 1) + took) / PAGES);
        took.saturating_sub((usual * DEAR).max(DEAR_MIN))
    }
}

impl Harvest {
    /// A page of the site was archived and read, which took so long, and brought new pages to be written down.
    pub(super) fn share_machine(&mut self, delta: &SiteDelta, took: Duration, now: Timestamp) {
        let rows = u32::try_from(delta.admitted.len()).unwrap_or(u32::MAX);
        let excess = self.state.prices.hear(took + ROW.saturating_mul(rows));
        let others = self.state.hand.len().saturating_sub(1);
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        let before = std::mem::replace(&mut held.dear, excess);
        let pause = yields(excess.min(before), others, self.state.gathering);
        if !pause.is_zero() {
            self.workbench.yield_to_others(&delta.key, now.plus(pause), now);
        }
    }
}

/// How long a site yields after a page that was so dear, when so many pages wait to be read.
fn yields(excess: Duration, others: usize, waiting: usize) -> Duration {
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    let all = excess.saturating_mul(others).as_secs_f64();
    let fill = waiting.min(GATHER_QUEUE) as f64 / GATHER_QUEUE as f64;
    Duration::from_secs_f64((all * fill).min(YIELD_MAX.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn pages_of_the_usual_price_never_wait_and_dear_ones_by_what_they_cost() {
        let mut prices = Prices::default();
        assert_eq!(prices.hear(MS), Duration::ZERO);
        for _ in 0..1_000 {
            assert_eq!(prices.hear(MS), Duration::ZERO);
            assert_eq!(prices.hear(MS / 2), Duration::ZERO);
        }
        assert_eq!(prices.hear(DEAR_MIN), Duration::ZERO, "it may have waited for its turn");
        assert_eq!(prices.hear(50 * MS), 40 * MS);
        for _ in 0..1_000 {
            prices.hear(5 * MS);
        }
        let excess = prices.hear(50 * MS);
        assert!(excess > 29 * MS && excess < 31 * MS, "{excess:?}");
    }

    #[test]
    fn a_dear_site_yields_its_equal_share_to_a_full_queue_and_nothing_to_an_empty_one() {
        let dear = 10 * MS;
        assert_eq!(yields(dear, 100, 0), Duration::ZERO);
        assert_eq!(yields(dear, 0, GATHER_QUEUE), Duration::ZERO);
        assert_eq!(yields(Duration::ZERO, 100, GATHER_QUEUE), Duration::ZERO);
        assert_eq!(yields(dear, 100, GATHER_QUEUE), 1_000 * MS);
        assert_eq!(yields(dear, 100, GATHER_QUEUE / 4), 250 * MS);
        assert_eq!(yields(dear, usize::MAX, usize::MAX), YIELD_MAX);
    }
}
