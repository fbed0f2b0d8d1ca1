//! Parts of URLs that make no difference on one site, found by evidence: the same text under URLs that differ in
//! nothing else.
//!
//! - A parameter or a segment that holds identifiers (sessions of an unknown name) is idle when it made no
//!   difference on [`RESTS_SESSION`] pages that differ otherwise. A broken site that shows one error for every
//!   product teaches nothing: there it is always the same page.
//! - A parameter with one value (`print=1`, `page=1`) is idle when the page was the same without it on
//!   [`RESTS_PAIR`] pages; other values of it are not touched.
//! - What speaks against it is looked for among all pages remembered: a part that matters on many is not idle.
//! - It is idle in the folders where it was seen to be. When those are [`FOLDERS_ALL`] and it mattered in none, it is
//!   so everywhere.

use model::{CrawlUrl, IdleToken, Timestamp, TokenPlace};

use super::{
    looks::{TEXT_BYTES_MIN, have_one_text},
    pattern::{folder_of, is_token},
    session::is_identifier,
    watch::Seen,
};

/// Different pages on which an identifier must have made no difference.
const RESTS_SESSION: usize = 3;
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

/// What is under suspicion; lives as long as the site is in hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials(Vec<Trial>);

#[derive(Clone, Debug)]
struct Trial {
    place: TokenPlace,
    /// Pages on which it made no difference, by what else is in their URLs, and their folders.
    rests: Vec<(u64, String)>,
    /// As they were met; `None`: the part was not there.
    values: Vec<Option<String>>,
    refuted: bool,
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
        let (place, values) = difference(before, after)?;
        let rest = rest_of(after, &place)?.1;
        let at = self.find(&place);
        let trial = &mut self.0[at];
        if trial.rests.iter().all(|(known, _)| *known != rest) && trial.rests.len() < RESTS_MAX {
            trial.rests.push((rest, folder(after, &place)));
        }
        for value in values {
            if trial.values.len() < VALUES_MAX && !trial.values.contains(&value) {
                trial.values.push(value);
            }
        }
        let wanted = match place {
            TokenPlace::Pair(..) => RESTS_PAIR,
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
        let mut folders: Vec<String> =
            self.rests.iter().map(|(_, folder)| folder.clone()).collect();
        folders.retain(|folder| !mattering(folder));
        if folders.len() < wanted {
            return None;
        }
        folders.sort_unstable();
        folders.dedup();
        if folders.len() >= FOLDERS_ALL && !votes.iter().any(Votes::matters) {
            folders.clear();
        }
        let optional = self.values.contains(&None);
        let mut others: Vec<String> = self.values.iter().flatten().cloned().collect();
        let value = (!optional && !others.is_empty()).then(|| others.remove(0));
        let place = self.place.clone();
        Some(IdleToken { place, value, others, folders, since: now, mended: 0 })
    }
}

/// Keeps what was learned; says whether any of it is new.
pub(super) fn keep(tokens: &mut Vec<IdleToken>, token: IdleToken) -> bool {
    if let Some(known) = tokens.iter_mut().find(|known| known.place == token.place) {
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
    token.folders.is_empty() || token.folders.contains(&folder(url, &token.place))
}

/// The folder of a page, whatever stands in the part.
fn folder(url: &CrawlUrl, place: &TokenPlace) -> String {
    let TokenPlace::Segment(at, _) = place else { return folder_of(url.path()) };
    let mut segments: Vec<&str> = url.path().split('/').collect();
    if let Some(slot) = segments.get_mut(usize::from(*at) + 1) {
        *slot = "*";
    }
    folder_of(&segments.join("/"))
}

type Values = [Option<String>; 2];

/// The one part in which two URLs differ, and what stands there.
fn difference(a: &CrawlUrl, b: &CrawlUrl) -> Option<(TokenPlace, Values)> {
    if a.authority() != b.authority() || a == b {
        return None;
    }
    if a.path() == b.path() {
        return query_difference(a.query().unwrap_or_default(), b.query().unwrap_or_default());
    }
    (a.query() == b.query()).then(|| path_difference(a.path(), b.path())).flatten()
}

fn query_difference(a: &str, b: &str) -> Option<(TokenPlace, Values)> {
    let only = |these: &str, those: &str| -> Option<Option<(String, String)>> {
        let mut only = parameters(these).filter(|one| parameters(those).all(|other| other != *one));
        let first = only.next();
        only.next()
            .is_none()
            .then(|| first.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    match (only(a, b)?, only(b, a)?) {
        (Some((name, one)), Some((other, two))) => {
            let is_session = name == other && is_identifier(&one) && is_identifier(&two);
            is_session.then_some((TokenPlace::Query(name), [Some(one), Some(two)]))
        }
        (Some((name, value)), None) | (None, Some((name, value))) => {
            let place = match is_identifier(&value) {
                true => TokenPlace::Query(name),
                false => TokenPlace::Pair(name, value.clone()),
            };
            Some((place, [Some(value), None]))
        }
        (None, None) => None,
    }
}

fn path_difference(a: &str, b: &str) -> Option<(TokenPlace, Values)> {
    if a.matches('/').count() != b.matches('/').count() {
        return None;
    }
    let mut differing = a.split('/').skip(1).zip(b.split('/').skip(1)).enumerate();
    let mut differing = differing.by_ref().filter(|(_, (one, two))| one != two);
    let (at, (one, two)) = differing.next()?;
    if differing.next().is_some() {
        return None;
    }
    let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    let start = one[..same].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let (head, tails) = (&one[..start], [&one[start..], &two[start..]]);
    let is_session = tails.iter().all(|tail| is_session_word(tail));
    let place = TokenPlace::Segment(u8::try_from(at).ok()?, head.to_owned());
    is_session.then(|| (place, [Some(one.to_owned()), Some(two.to_owned())]))
}

/// In a path many words are long and have digits: only what nobody would write is taken for an identifier.
fn is_session_word(word: &str) -> bool {
    let word = word.trim_end_matches([')', ';']);
    is_identifier(word) && is_token(word) && !word.contains('-')
}

/// What stands in the part, and a number for all the rest; `None`: the URL has no such part.
fn rest_of<'a>(url: &'a CrawlUrl, place: &TokenPlace) -> Option<(Option<&'a str>, u64)> {
    let path = url.path();
    match place {
        TokenPlace::Query(name) => {
            let found = parameters(url.query().unwrap_or_default()).find(|(n, _)| n == name);
            let value = found.map(|(_, value)| value).filter(|value| is_identifier(value));
            Some((value, rest_hash(path, url, |(n, v)| n != name || !is_identifier(v))))
        }
        TokenPlace::Pair(name, value) => {
            let is_it = |(n, v): (&str, &str)| n == name && v == value;
            let found = parameters(url.query().unwrap_or_default()).find(|pair| is_it(*pair));
            Some((found.map(|(_, value)| value), rest_hash(path, url, |pair| !is_it(pair))))
        }
        TokenPlace::Segment(at, start) => {
            let segment = path.split('/').nth(usize::from(*at) + 1)?;
            let tail = segment.strip_prefix(start.as_str())?;
            if !is_session_word(tail) {
                return None;
            }
            let from = segment.as_ptr() as usize - path.as_ptr() as usize;
            let rest = [&path[..from], &path[from + segment.len()..]].concat();
            Some((Some(segment), rest_hash(&rest, url, |_| true)))
        }
    }
}

fn rest_hash(path: &str, url: &CrawlUrl, keep: impl Fn((&str, &str)) -> bool) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write(path.as_bytes());
    let query = url.query().unwrap_or_default();
    for (name, value) in parameters(query).filter(|(name, value)| keep((name, value))) {
        for piece in ["&", name, "=", value] {
            hasher.write(piece.as_bytes());
        }
    }
    hasher.finish()
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

/// The URL with another value in the part.
fn with_value(url: &CrawlUrl, place: &TokenPlace, value: Option<&str>) -> Option<CrawlUrl> {
    let rest = url.path_and_query();
    let start = &url.as_str()[..url.as_str().len() - rest.len()];
    let text = match place {
        TokenPlace::Segment(at, _) => {
            let mut segments: Vec<&str> = url.path().split('/').collect();
            let slot = segments.get_mut(usize::from(*at) + 1)?;
            *slot = value?;
            let query = url.query().map_or(String::new(), |query| format!("?{query}"));
            [start, &segments.join("/"), &query].concat()
        }
        TokenPlace::Query(name) | TokenPlace::Pair(name, _) => {
            let old = url.query().unwrap_or_default();
            let mut query: Vec<String> = Vec::new();
            let mut put = value;
            for parameter in old.split('&').filter(|parameter| !parameter.is_empty()) {
                let (other, held) = parameter.split_once('=').unwrap_or((parameter, ""));
                let is_part = match place {
                    TokenPlace::Pair(_, value) => held == value,
                    _ => is_identifier(held),
                };
                if other != name || !is_part {
                    query.push(parameter.to_owned());
                } else {
                    query.extend(put.take().map(|value| format!("{name}={value}")));
                }
            }
            query.extend(put.map(|value| format!("{name}={value}")));
            let mark = if query.is_empty() { "" } else { "?" };
            [start, url.path(), mark, &query.join("&")].concat()
        }
    };
    CrawlUrl::parse(&text).ok()
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
    let all = query.split('&').filter(|parameter| !parameter.is_empty());
    all.map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}
