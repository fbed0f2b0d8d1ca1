//! Verdicts are looked at again: a part of URLs that was found idle ([`super::token`]), and a pattern that was stopped
//! for its copies ([`super::copies`]), are held against each page that comes in spite of them.
//!
//! Such pages are those that were on their way, and samples that are taken on purpose. What turns out to be wrong is
//! taken back, told ([`Recheck::take_cleared`]), and what was left out for it is taken up again. A page that differs
//! under another identifier is first asked for once more: a page that differs each time says nothing of identifiers.

use model::{CrawlUrl, Fingerprint, Looks, Stop, TokenPlace, UrlTraps};

use super::{
    looks::{TEXT_BYTES_MIN, have_one_text},
    place::{kind, rest_of},
    token::{is_learned_at, matters, votes_of},
    watch::Seen,
};

/// Pages that wait for the one they are compared with, or for their second answer: there are few samples at a time.
const WAITING_MAX: usize = 32;

#[derive(Clone, Debug, Default)]
pub(super) struct Recheck {
    /// Spellings that came before any other of the same page.
    alone: Vec<(TokenPlace, u64, Looks)>,
    /// Pages that were asked for once more, and what they looked like.
    asked: Vec<(Fingerprint, Looks, TokenPlace)>,
    again: bool,
    cleared: Vec<(String, Stop)>,
}

enum Verdict {
    Same,
    Other,
    /// Too little text, or differing in numbers alone: a clock, a counter.
    Unclear,
}

impl Recheck {
    /// The page came a second time, because it was asked for: what it says is no news but for that.
    pub fn answered(&mut self, traps: &mut UrlTraps, url: &CrawlUrl, looks: &Looks) -> bool {
        let fp = url.fingerprint();
        let Some(at) = self.asked.iter().position(|(asked, ..)| *asked == fp) else { return false };
        let (_, before, place) = self.asked.swap_remove(at);
        if have_one_text(&before, looks) {
            self.vote(traps, &place, url, false);
        }
        true
    }

    /// Whether the page is one under another spelling than the site's, or was: it is explained by that.
    pub fn spelling(
        &mut self,
        traps: &mut UrlTraps,
        url: &CrawlUrl,
        looks: &Looks,
        memory: &[Seen],
    ) -> bool {
        let mut is_other = false;
        for at in 0..traps.tokens.len() {
            let token = &traps.tokens[at];
            let Some((value, rest)) = rest_of(url, &token.place) else { continue };
            if !is_learned_at(token, url) {
                continue;
            }
            let (place, is_own) = (token.place.clone(), value == token.value.as_deref());
            let verdict = if is_own || value.is_none() {
                self.waited_for(&place, rest).map(|before| compare(&before, looks))
            } else {
                is_other |= !self.is_apart(traps, &place, url);
                let of_page = |seen: &&Seen| {
                    let other = rest_of(&seen.url, &place);
                    seen.url != *url && other.is_some_and(|(_, other)| other == rest)
                };
                let before = memory.iter().rev().find(of_page);
                if before.is_none() && self.alone.len() < WAITING_MAX {
                    self.alone.push((place.clone(), rest, *looks));
                }
                before.map(|before| compare(&before.looks, looks))
            };
            match verdict {
                Some(Verdict::Same) => self.vote(traps, &place, url, true),
                Some(Verdict::Other) => self.doubt(traps, place, url, looks),
                Some(Verdict::Unclear) | None => {}
            }
        }
        is_other
    }

    /// What was taken back since the last time, as the name and what was told of it.
    pub fn take_cleared(&mut self) -> Vec<(String, Stop)> {
        std::mem::take(&mut self.cleared)
    }

    pub fn has_cleared(&self) -> bool {
        !self.cleared.is_empty()
    }

    /// Whether the page that came last is to be asked for once more.
    pub fn take_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    pub fn clear(&mut self, name: String, stop: Stop) {
        self.cleared.push((name, stop));
    }

    fn waited_for(&mut self, place: &TokenPlace, rest: u64) -> Option<Looks> {
        let is_it =
            |(other, number, _): &(TokenPlace, u64, Looks)| *number == rest && other == place;
        let at = self.alone.iter().position(is_it)?;
        Some(self.alone.swap_remove(at).2)
    }

    /// Whether the part is known to matter on pages of this kind.
    fn is_apart(&self, traps: &UrlTraps, place: &TokenPlace, url: &CrawlUrl) -> bool {
        let kind = kind(url, place);
        let token = traps.tokens.iter().find(|token| token.place == *place);
        let mut votes = token.into_iter().flat_map(|token| &token.kinds);
        votes.any(|votes| votes.kind == kind && matters(place, votes))
    }

    fn doubt(&mut self, traps: &mut UrlTraps, place: TokenPlace, url: &CrawlUrl, looks: &Looks) {
        let is_sure = matches!(place, TokenPlace::Pair(..)) || self.is_apart(traps, &place, url);
        if is_sure {
            self.vote(traps, &place, url, false);
        } else if self.asked.len() < WAITING_MAX && !self.again {
            self.asked.push((url.fingerprint(), *looks, place));
            self.again = true;
        }
    }

    /// When the part turns out to matter on pages of this kind, what was left out for it is to come.
    fn vote(&mut self, traps: &mut UrlTraps, place: &TokenPlace, url: &CrawlUrl, same: bool) {
        let Some(token) = traps.tokens.iter_mut().find(|token| token.place == *place) else {
            return;
        };
        let votes = votes_of(&mut token.kinds, kind(url, place));
        let before = matters(place, votes);
        match same {
            true => votes.same = votes.same.saturating_add(1),
            false => votes.other = votes.other.saturating_add(1),
        }
        if !before && matters(place, votes) {
            self.cleared.push((place.to_string(), token.to_stop()));
            token.referrers.clear();
        }
    }
}

fn compare(before: &Looks, after: &Looks) -> Verdict {
    let is_short = before.text_bytes.min(after.text_bytes) < TEXT_BYTES_MIN;
    match () {
        () if before.content == after.content => Verdict::Same,
        () if is_short => Verdict::Unclear,
        () if have_one_text(before, after) => Verdict::Same,
        () if before.skeleton == after.skeleton => Verdict::Unclear,
        () => Verdict::Other,
    }
}
