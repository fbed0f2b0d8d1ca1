//! How the room of a batch is shared out among sites of which more is due than there is room for.
//!
//! Every site gives a helping, then those that have more another one, and so on until the batch is full: a batch of
//! many sites is harvested sooner than one of few, for each is visited with pauses. Helpings grow, because what was
//! seen of a site is passed over each time. Of the pages only one helping is in memory, and of those before it
//! the fingerprints.

use model::{Fingerprint, Frontier, Page, Refill, SiteLease, SpiderId};

use super::{choose::Lending, file::LINE_PAGES_MAX};
use config::failure::Failure;

/// WIRE's figure for pages of one site in a batch.
pub(super) const HELPING_FIRST: usize = 500;
/// Pages looked at, beside the first of each site, that could not go: where so many are still to be judged, that
/// comes first.
const VAIN_MAX: usize = 1_000_000;

/// A site that is lent to the batch.
pub(super) struct Served {
    /// Without pages.
    pub(super) lease: SiteLease,
    pub(super) taken: usize,
    seen: Vec<Fingerprint>,
    helping: usize,
    pub(super) has_more: bool,
}

impl Lending<'_> {
    /// The first helping. Where nothing of it may go, the next ones, until something does.
    pub(super) fn first(
        &mut self,
        mut lease: SiteLease,
        paused: &[SpiderId],
    ) -> Result<Served, Failure> {
        let (pages, has_more) = (std::mem::take(&mut lease.pages), lease.more);
        let (seen, helping) = (Vec::new(), HELPING_FIRST);
        let mut site = Served { lease, taken: 0, seen, helping, has_more };
        self.serve(&mut site, &pages)?;
        while site.taken == 0 && self.goes_on(&site) {
            self.another(&mut site, paused)?;
        }
        Ok(site)
    }

    /// Further helpings, round by round.
    pub(super) fn rounds(
        &mut self,
        mut open: Vec<Served>,
        paused: &[SpiderId],
    ) -> Result<(), Failure> {
        while !open.is_empty() {
            for site in &mut open {
                if self.goes_on(site) {
                    self.another(site, paused)?;
                }
            }
            open.retain(|site| self.goes_on(site));
        }
        Ok(())
    }

    fn goes_on(&self, site: &Served) -> bool {
        site.has_more && self.left > 0 && self.vain < VAIN_MAX
    }

    fn another(&mut self, site: &mut Served, paused: &[SpiderId]) -> Result<(), Failure> {
        site.helping = (site.helping * 2).min(LINE_PAGES_MAX);
        let request = Refill {
            site: site.lease.site.id,
            fence: site.lease.fence,
            now: self.choice.now,
            pages_max: site.helping,
            again: Some(self.choice.now),
            paused: paused.to_vec(),
            except: site.seen.clone(),
            only: Vec::new(),
        };
        let pages = self.frontier.refill(&request)?;
        site.has_more = pages.len() >= site.helping;
        let taken = self.serve(site, &pages)?;
        self.vain += pages.len() - taken;
        Ok(())
    }

    fn serve(&mut self, site: &mut Served, pages: &[Page]) -> Result<usize, Failure> {
        let taken = self.take(&site.lease, pages)?;
        site.taken += taken;
        site.seen.extend(pages.iter().map(|page| page.url.fingerprint()));
        Ok(taken)
    }
}
