//! A domain under which every name resolves, and whose pages name ten new ones each.

use std::fmt::Write;

use model::Timestamp;

use crate::{Hazard, dice::mix};

use super::{
    Answer, Request, SimWeb,
    reply::{Reply, small_page},
};

/// New names on each page.
const NAMES: u64 = 10;

impl SimWeb {
    /// The host is a name under one with [`Hazard::Wildcard`], or that one itself.
    pub(super) fn is_below_wildcard(&self, host: &str) -> bool {
        self.wildcard_over(host).is_some()
    }

    fn wildcard_over<'a>(&self, host: &'a str) -> Option<&'a str> {
        if self.hazards.is_empty() {
            return None;
        }
        let starts = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        std::iter::once(host).chain(starts).find(|name| {
            self.hazards
                .get(*name)
                .is_some_and(|placed| placed.iter().any(|at| at.hazard == Hazard::Wildcard))
        })
    }

    pub(super) fn wildcard_answer(
        &self,
        host: &str,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Answer {
        let Some(domain) = self.wildcard_over(host) else { return super::answer::not_found(now) };
        if request.path() == "/robots.txt" {
            return super::answer::not_found(now);
        }
        let place = [host, request.target].concat();
        let hash = place.bytes().fold(self.options.seed, |hash, b| mix(hash, u64::from(b)));
        let mut body = format!("<p>Welcome to {place}.</p>\n");
        for name in 0..NAMES {
            let label = mix(hash, name + 1);
            let _ = writeln!(body, "<a href=\"http://n{label:x}.{domain}/\">more</a>");
        }
        Reply::new(200, now).html().whole(small_page(host, &body))
    }
}
