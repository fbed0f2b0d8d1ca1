//! Asking for absurd names: whether every name under a domain resolves (VN, 2.1.1). Only the resolver is asked, nobody
//! is visited.

use std::hash::BuildHasher;

use model::{Hazard, Measure, Sighting};
use store::frontier::{Suspect, Wildcard};

use super::Harvest;
use crate::pipeline::messages::{Order, Settle};

impl Harvest {
    pub(super) fn probe(&mut self, suspects: Vec<Suspect>) {
        for suspect in suspects {
            if !self.state.probing.insert(suspect.domain.clone()) {
                continue;
            }
            let names = [0, 1].map(|number| self.absurd_name(&suspect.domain, number));
            self.state.resolving += 1;
            self.spawner.probe(suspect, names);
        }
    }

    /// A name that nobody has registered. Nobody can foresee it either: which it is differs from process to process.
    fn absurd_name(&self, domain: &str, number: u8) -> String {
        format!("x{:016x}.{domain}", self.state.secret.hash_one((domain, number)))
    }

    pub(super) fn probed(&mut self, domain: String, wildcard: Option<bool>) {
        self.state.resolving -= 1;
        self.order(Order::Probed(domain, wildcard));
    }

    /// Written down: from now on its sites are held back, or no longer.
    pub(super) fn wildcard(&mut self, domain: &str, found: Option<Wildcard>) {
        self.state.probing.remove(domain);
        let Some(Wildcard { domain, let_in }) = found else {
            // What was refused for it is a candidate again.
            self.state.check_at = Some(self.clock.now());
            return self.spiders.wildcards.remove(domain);
        };
        tracing::info!(%domain, "every name under it resolves");
        self.spiders.wildcards.add(&domain, let_in);
        let sighting = Sighting {
            example: format!("http://{}/", self.absurd_name(&domain, 0)),
            site: domain,
            hazard: Hazard::DnsWildcard,
            what: String::new(),
            measure: Measure::Refused,
            count: 1,
        };
        let busy = self.clock.busy();
        self.settle(Settle { sightings: vec![sighting], busy, ..Settle::default() });
    }
}
