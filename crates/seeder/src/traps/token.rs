//! Parts of URLs that make no difference on one site, found by evidence: the same text under URLs that differ in
//! nothing else.
//!
//! - A parameter or a segment that holds identifiers (sessions of an unknown name) is idle when it made no
//!   difference on [`RESTS_SESSION`] pages that differ otherwise. A broken site that shows one error for every
//!   product teaches nothing: there it is always the same page.
//! - A parameter with one value (`print=1`, `page=1`) is idle when the page was the same without it on
//!   [`RESTS_PAIR`] pages; other values of it are not touched.
//! - What speaks against it is looked for among all pages remembered: a part that matters on many is not idle.
//! - Later on it is looked at again, by the kind of page ([`super::recheck`]): links are left as they are now and
//!   then ([`samples`]), and so is the first of each of the first [`TESTS_MAX`] kinds that nobody has compared.
//! - It is idle in the folders where it was seen to be. When those are [`FOLDERS_ALL`] and it mattered in none, it is
//!   so everywhere.

use model::{CrawlUrl, Fingerprint, IdleToken, KindVotes, Timestamp, TokenPlace};

use super::{
    looks::{TEXT_BYTES_MIN, have_one_text},
    place::{Values, difference, folder, kind, parameters, readings, rest_of, with_value},
    watch::Seen,
};

/// Different pages on which an identifier must have made no difference …
const RESTS_SESSION: usize = 3;
/// … and those where no more than two were met: they may be one thing under two names.
const RESTS_FEW: usize = 5;
/// Different pages that must have been the same without a parameter.
const RESTS_PAIR: usize = 5;
/// Folders in which a part is idle when it is idle everywhere, unless it matters in one.
const FOLDERS_ALL: usize = 3;
/// Pages of evidence that are remembered of a part: enough for the folders of a site.
const RESTS_MAX: usize = 64;
/// Parts under suspicion at a time; the one with the least evidence makes room.
const TRIALS_MAX: usize = 16;
/// Learned of one site: a site has one or two sessions and some print buttons.
const TOKENS_MAX: usize = 32;
/// Values remembered of a part: sessions change every few minutes, and their pages are looked up by each.
const VALUES_MAX: usize = 8;
/// Fewer identifiers in a part are few.
const VALUES_MIN: usize = 3;
/// Kinds of pages that are remembered of a part, as many as pages of evidence …
const KINDS_MAX: usize = RESTS_MAX;
/// … and those of them on which it is tried because nobody has: a site has more only under a session that is one.
pub const TESTS_MAX: usize = 8;
/// Pages with rewritten links that are remembered: samples come more often than that.
const REFERRERS_MAX: usize = 64;
/// Pages that were the same, for one that was not, by which an identifier is idle all the same. Servers err.
const SAME_PER_OTHER: u32 = 4;
/// The same of a parameter with one value, of which there is no end to be afraid of.
const SAME_PER_OTHER_PAIR: u32 = 16;

/// What is under suspicion; lives as long as the site is in hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials(Vec<Trial>);

#[derive(Clone, Debug)]
struct Trial {
    place: TokenPlace,
    /// Pages on which it made no difference.
    rests: Vec<Rest>,
    /// As they were met; `None`: the part was not there.
    values: Vec<Option<String>>,
    refuted: bool,
}

/// What a URL is without the part.
#[derive(Clone, Debug)]
struct Rest {
    number: u64,
    folder: String,
    kind: u32,
}

impl Trials {
    /// Two URLs brought the same text: the part in which they differ is under suspicion. When the evidence is
    /// enough it is learned.
    pub fn hear(
        &mut self,
        (before, after): (&CrawlUrl, &CrawlUrl),
        memory: &[Seen],
        now: Timestamp,
    ) -> Option<IdleToken> {
        readings(before, after).find_map(|(place, values)| {
            let rest = rest_of(after, &place)?.1;
            let (folder, kind) = (folder(after, &place), kind(after, &place));
            self.hear_of(place, values, Rest { number: rest, folder, kind }, memory, now)
        })
    }

    fn hear_of(
        &mut self,
        place: TokenPlace,
        values: Values,
        rest: Rest,
        memory: &[Seen],
        now: Timestamp,
    ) -> Option<IdleToken> {
        let at = self.find(&place);
        let trial = &mut self.0[at];
        let is_new = trial.rests.iter().all(|known| known.number != rest.number);
        if is_new && trial.rests.len() < RESTS_MAX {
            trial.rests.push(rest);
        }
        for value in values {
            if trial.values.len() < VALUES_MAX && !trial.values.contains(&value) {
                trial.values.push(value);
            }
        }
        let wanted = match place {
            TokenPlace::Pair(..) => RESTS_PAIR,
            _ if trial.values.len() < VALUES_MIN => RESTS_FEW,
            _ => RESTS_SESSION,
        };
        if trial.refuted || trial.rests.len() < wanted {
            return None;
        }
        let votes = votes(&place, memory);
        if matter_in_all(&votes) {
            trial.refuted = true;
            return None;
        }
        trial.learned(&votes, wanted, now)
    }

    fn find(&mut self, place: &TokenPlace) -> usize {
        if let Some(at) = self.0.iter().position(|trial| trial.place == *place) {
            return at;
        }
        if self.0.len() >= TRIALS_MAX {
            let weight = |trial: &Trial| (trial.refuted, trial.rests.len());
            let least = self.0.iter().enumerate().min_by_key(|(_, trial)| weight(trial));
            let at = least.map_or(0, |(at, _)| at);
            self.0.swap_remove(at);
        }
        let (place, rests, values) = (place.clone(), Vec::new(), Vec::new());
        self.0.push(Trial { place, rests, values, refuted: false });
        self.0.len() - 1
    }
}

impl Trial {
    /// Where pages come without the part, it is left out; else the first value that was met stands for all. What was
    /// seen in folders where it also matters is no evidence.
    fn learned(&self, votes: &[Votes], wanted: usize, now: Timestamp) -> Option<IdleToken> {
        let mattering = |folder: &String| votes.iter().any(|v| v.folder == *folder && v.matters());
        let idle = || self.rests.iter().filter(|rest| !mattering(&rest.folder));
        if idle().count() < wanted {
            return None;
        }
        let mut kinds = Vec::new();
        idle().for_each(|rest| votes_of(&mut kinds, rest.kind).same += 1);
        let mut folders: Vec<String> = idle().map(|rest| rest.folder.clone()).collect();
        folders.sort_unstable();
        folders.dedup();
        if folders.len() >= FOLDERS_ALL && !votes.iter().any(Votes::matters) {
            folders.clear();
        }
        let optional = self.values.contains(&None);
        let mut others: Vec<String> = self.values.iter().flatten().cloned().collect();
        let value = (!optional && !others.is_empty()).then(|| others.remove(0));
        let place = self.place.clone();
        let (since, mended, referrers) = (now, 0, Vec::new());
        Some(IdleToken { place, value, others, folders, since, mended, kinds, referrers })
    }
}

/// Keeps what was learned; says whether any of it is new.
pub(super) fn keep(tokens: &mut Vec<IdleToken>, token: IdleToken) -> bool {
    if let Some(known) = tokens.iter_mut().find(|known| known.place == token.place) {
        for votes in token.kinds {
            let known = votes_of(&mut known.kinds, votes.kind);
            known.same = known.same.max(votes.same);
        }
        return widen(&mut known.folders, token.folders);
    }
    if tokens.len() < TOKENS_MAX {
        tokens.push(token);
        return true;
    }
    false
}

/// More folders; none stands for all.
fn widen(known: &mut Vec<String>, mut more: Vec<String>) -> bool {
    if known.is_empty() || more.is_empty() {
        let is_wider = !known.is_empty();
        known.clear();
        return is_wider;
    }
    more.retain(|folder| !known.contains(folder));
    more.truncate(RESTS_MAX.saturating_sub(known.len()));
    let is_wider = !more.is_empty();
    known.append(&mut more);
    is_wider
}

/// The URL with all idle parts as they are written on this site, and the place of the last that was changed;
/// `None`: it is so already.
pub fn rewrite(url: &CrawlUrl, tokens: &[IdleToken]) -> Option<(CrawlUrl, usize)> {
    let mut result: Option<(CrawlUrl, usize)> = None;
    for (at, token) in tokens.iter().enumerate() {
        let current = result.as_ref().map_or(url, |(url, _)| url);
        let Some((value, _)) = rest_of(current, &token.place) else { continue };
        if value == token.value.as_deref() || value.is_none() || !is_idle_at(token, current) {
            continue;
        }
        if let Some(changed) = with_value(current, &token.place, token.value.as_deref()) {
            result = Some((changed, at));
        }
    }
    result
}

/// Whether a server that was asked for `asked` sends on to the same page with an identifier in it.
pub fn adds_identifier(asked: &CrawlUrl, target: &CrawlUrl) -> bool {
    let Some((TokenPlace::Query(name), _)) = difference(asked, target) else { return false };
    let parameters = parameters(target.query().unwrap_or_default());
    parameters.filter(|(other, _)| *other == name).count() == 1
}

/// The same page as it may be known: with the other values that were met of an idle part.
pub fn others<'a>(
    url: &'a CrawlUrl,
    tokens: &'a [IdleToken],
) -> impl Iterator<Item = CrawlUrl> + 'a {
    tokens.iter().filter(|token| is_idle_at(token, url)).flat_map(move |token| {
        let values = token.others.iter();
        values.filter_map(move |value| with_value(url, &token.place, Some(value)))
    })
}

fn is_idle_at(token: &IdleToken, url: &CrawlUrl) -> bool {
    is_learned_at(token, url) && {
        let matters = |votes: &KindVotes| matters(&token.place, votes);
        let mut found = token.kinds.iter().filter(|votes| matters(votes)).peekable();
        found.peek().is_none() || {
            let kind = kind(url, &token.place);
            found.all(|votes| votes.kind != kind)
        }
    }
}

/// The folder is one where it was found idle, whatever was seen since.
pub(super) fn is_learned_at(token: &IdleToken, url: &CrawlUrl) -> bool {
    token.folders.is_empty() || token.folders.contains(&folder(url, &token.place))
}

/// Whether the part makes a difference on pages of this kind after all.
pub(super) fn matters(place: &TokenPlace, votes: &KindVotes) -> bool {
    let per_other = match place {
        TokenPlace::Pair(..) => SAME_PER_OTHER_PAIR,
        _ => SAME_PER_OTHER,
    };
    votes.other.saturating_mul(per_other) > votes.same
}

/// What was seen on pages of this kind. Where there is no more room, the kind with the least evidence makes it.
pub(super) fn votes_of(kinds: &mut Vec<KindVotes>, kind: u32) -> &mut KindVotes {
    let at = kinds.iter().position(|votes| votes.kind == kind).unwrap_or_else(|| {
        if kinds.len() >= KINDS_MAX {
            let least = kinds.iter().enumerate().min_by_key(|(_, votes)| votes.same + votes.other);
            let at = least.map_or(0, |(at, _)| at);
            kinds.swap_remove(at);
        }
        kinds.push(KindVotes { kind, ..KindVotes::default() });
        kinds.len() - 1
    });
    &mut kinds[at]
}

/// A link was rewritten, by this part, to a page that is known or not. Says whether it is to be left as it is, to
/// see what comes.
pub fn note_mended(
    token: &mut IdleToken,
    url: &CrawlUrl,
    referrer: Option<Fingerprint>,
    known: bool,
) -> bool {
    token.mended += 1;
    if let Some(page) = referrer.filter(|page| !token.referrers.contains(page))
        && token.referrers.len() < REFERRERS_MAX
    {
        token.referrers.push(page);
    }
    if !known || matches!(token.place, TokenPlace::Pair(..)) {
        return known && samples(token, token.mended);
    }
    if let Some(kind) = untested(token, url) {
        votes_of(&mut token.kinds, kind);
        return true;
    }
    samples(token, token.mended)
}

/// The kind of page, if nobody has compared any of it and the part is to be tried on it. As an identifier may be a
/// session here and the name of a thing there.
pub fn untested(token: &IdleToken, url: &CrawlUrl) -> Option<u32> {
    let tests = token.kinds.iter().filter(|votes| votes.same == 0).count();
    if tests >= TESTS_MAX || matches!(token.place, TokenPlace::Pair(..)) {
        return None;
    }
    let kind = kind(url, &token.place);
    token.kinds.iter().all(|votes| votes.kind != kind).then_some(kind)
}

/// Whether the so many-th page under another spelling is taken all the same. Of identifiers there is no end: ever
/// fewer; of one value there are no more than pages.
pub fn samples(token: &IdleToken, count: u64) -> bool {
    match token.place {
        TokenPlace::Pair(..) if count >= 512 => count.is_multiple_of(64),
        TokenPlace::Pair(..) if count >= 8 => count.is_multiple_of(8),
        TokenPlace::Pair(..) => count.is_power_of_two(),
        _ => count >= 4 && count.is_power_of_two(),
    }
}

/// What the pages of a folder say that differ by a part alone.
struct Votes {
    folder: String,
    /// Pages that are the same whatever stands in the part.
    same: usize,
    /// Pages that are not …
    other: usize,
    /// … and not for a clock or a counter on them.
    alien: usize,
}

impl Votes {
    fn matters(&self) -> bool {
        self.alien * 4 > self.same
    }
}

/// What the pages remembered say, by folder.
fn votes(place: &TokenPlace, memory: &[Seen]) -> Vec<Votes> {
    let mut rests: Vec<(u64, &Seen)> = Vec::with_capacity(memory.len());
    for seen in memory.iter().filter(|seen| seen.looks.text_bytes >= TEXT_BYTES_MIN) {
        rests.extend(rest_of(&seen.url, place).map(|(_, rest)| (rest, seen)));
    }
    rests.sort_unstable_by_key(|(rest, _)| *rest);
    let mut votes: Vec<Votes> = Vec::new();
    for group in rests.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
        let first = group[0].1;
        let folder = folder(&first.url, place);
        let at = votes.iter().position(|votes| votes.folder == folder).unwrap_or_else(|| {
            votes.push(Votes { folder, same: 0, other: 0, alien: 0 });
            votes.len() - 1
        });
        let is_same = group.iter().all(|(_, seen)| have_one_text(&seen.looks, &first.looks));
        let is_kin = group.iter().all(|(_, seen)| seen.looks.skeleton == first.looks.skeleton);
        let votes = &mut votes[at];
        votes.same += usize::from(is_same);
        votes.other += usize::from(!is_same);
        votes.alien += usize::from(!is_same && !is_kin);
    }
    votes
}

/// Whether the part makes a difference on the site as a whole. A page with a clock on it differs by itself.
fn matter_in_all(votes: &[Votes]) -> bool {
    let sum = |count: fn(&Votes) -> usize| votes.iter().map(count).sum::<usize>();
    sum(|votes| votes.other) * 4 > sum(|votes| votes.same)
}
