//! Where redirects and refreshes lead, to see those that come back to where they began, also across hosts.
//!
//! A loop does no harm (a page that is known is not admitted again); it is only told. The trail is bounded
//! and lives as long as the process: what was long ago begins anew.

use std::collections::HashMap;

use model::{Fingerprint, Hazard, Link, LinkKind, Measure, Page, Sighting};

/// 16 bytes each; when there are more, all are forgotten.
const STEPS_MAX: usize = 20_000;
/// Loops longer than this are chains to us.
const LOOP_MAX: usize = 20;

#[derive(Default)]
pub struct Trail {
    steps: HashMap<Fingerprint, Fingerprint>,
}

impl Trail {
    /// What a visit shows of loops. `again`: the page is tried once more, and is no loop yet.
    pub fn walk(&mut self, page: &Page, links: &[Link], again: bool) -> Option<Sighting> {
        let forward = |link: &&Link| matches!(link.kind, LinkKind::Redirect | LinkKind::Refresh);
        let from = page.url.fingerprint();
        let Some(link) = links.iter().find(forward).filter(|_| !again) else {
            self.steps.remove(&from);
            return None;
        };
        let hazard = match link.kind {
            LinkKind::Redirect => Hazard::RedirectLoop,
            // A page that refreshes to itself is told by itself.
            _ if link.url == page.url => return None,
            _ => Hazard::RefreshLoop,
        };
        if self.steps.len() >= STEPS_MAX {
            self.steps.clear();
        }
        self.steps.insert(from, link.url.fingerprint());
        self.comes_back(from).then(|| Sighting::at(&page.url, hazard, Measure::Refused))
    }

    fn comes_back(&self, from: Fingerprint) -> bool {
        let mut at = from;
        (0..LOOP_MAX).any(|_| {
            let next = self.steps.get(&at).copied();
            at = next.unwrap_or(at);
            next == Some(from)
        })
    }
}
