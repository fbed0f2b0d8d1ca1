//! Checkers: pure functions from the servers' log to what was done wrong. An empty list is a pass.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    net::IpAddr,
    time::Duration,
};

use model::{Timestamp, limits::ROBOTS_LIFE};

use crate::{Entry, Rules, SimWeb};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// µs since the log began.
    pub at_us: u64,
    pub url: String,
    /// What was wrong, for people.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:.3} s, {}: {}", self.at_us as f64 / 1e6, self.url, self.what)
    }
}

/// Requests to one host start at least `pause` after the one before started, and not before it ended.
/// `slack` forgives what sockets and schedulers add or take.
pub fn pauses(log: &[Entry], pause: Duration, slack: Duration) -> Vec<Violation> {
    let (pause_us, slack_us) = (micros(pause), micros(slack));
    let mut found = Vec::new();
    for visits in by(log, |entry| entry.host.to_string()).values() {
        let mut ended = 0;
        for (k, entry) in visits.iter().enumerate() {
            if let Some(before) = k.checked_sub(1).map(|k| visits[k]) {
                let gap = entry.start_us - before.start_us;
                if gap + slack_us < pause_us {
                    let what = format!("{gap} µs after {}, pause is {pause_us} µs", before.target);
                    found.push(violation(entry, what));
                } else if entry.start_us + slack_us < ended {
                    let early = ended - entry.start_us;
                    found
                        .push(violation(entry, format!("{early} µs before the last answer ended")));
                }
            }
            ended = ended.max(entry.end_us);
        }
    }
    found
}

/// Requests of different hosts to one address start at least `pause` apart.
pub fn address_pauses(log: &[Entry], pause: Duration, slack: Duration) -> Vec<Violation> {
    let (pause_us, slack_us) = (micros(pause), micros(slack));
    let mut found = Vec::new();
    for visits in by(log, |entry| entry.address).values() {
        for (before, entry) in visits.iter().zip(visits.iter().skip(1)) {
            let gap = entry.start_us - before.start_us;
            if before.host != entry.host && gap + slack_us < pause_us {
                let (address, host) = (entry.address, &before.host);
                let what = format!("{gap} µs after {host} on {address}, pause is {pause_us} µs");
                found.push(violation(entry, what));
            }
        }
    }
    found
}

/// robots.txt is asked for once in its life by each origin (RFC 9309, 2.4), unless it could not be had.
pub fn robots_too_often(log: &[Entry]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut had: HashMap<(&str, bool, &str), Timestamp> = HashMap::new();
    for entry in sorted(log).into_iter().filter(|entry| entry.path() == "/robots.txt") {
        let key = (&*entry.host, entry.tls, &*entry.agent);
        if let Some(age) = had.get(&key).map(|last| entry.at.since(*last))
            && age < ROBOTS_LIFE
        {
            found.push(violation(entry, format!("again after {} s", age.as_secs())));
        }
        if matches!(entry.status, 200..=399 | 404 | 410) {
            had.insert(key, entry.at);
        }
    }
    found
}

/// Never more than `max` requests under way at one host.
pub fn connections_at_once(log: &[Entry], max: usize) -> Vec<Violation> {
    by(log, |entry| entry.host.to_string())
        .iter()
        .flat_map(|(host, visits)| crowded(visits, max, host))
        .collect()
}

/// Never more than `max` requests under way at one address.
pub fn connections_at_address(log: &[Entry], max: usize) -> Vec<Violation> {
    by(log, |entry| entry.address)
        .iter()
        .flat_map(|(address, visits): (&IpAddr, _)| crowded(visits, max, &address.to_string()))
        .collect()
}

/// Nothing that robots.txt forbids, by the copy the client was last given; and no page of an origin before
/// its robots.txt, nor with a copy older than RFC 9309 allows.
pub fn disallowed(log: &[Entry], web: &SimWeb) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut held: HashMap<(&str, bool, &str), Held> = HashMap::new();
    for entry in sorted(log) {
        let Some(site) = web.site_of(&entry.host) else { continue };
        let key = (&*entry.host, entry.tls, &*entry.agent);
        if entry.path() == "/robots.txt" {
            let copy = held.entry(key).or_default();
            match entry.status {
                200 | 304 | 300..=399 => copy.take(web.robots_rules(site, entry.at), entry),
                400..=499 if entry.status != 429 => copy.take(Err(entry.status), entry),
                status => copy.refused(status),
            }
            continue;
        }
        // Where redirects of robots.txt lead, and where http leads to https: not pages.
        if entry.path().starts_with("/robots-") || (web.is_https(site) && !entry.tls) {
            continue;
        }
        if let Some(what) = held.get(&key).unwrap_or(&Held::default()).objection(entry) {
            found.push(violation(entry, what));
        }
    }
    found
}

/// Pages that were given out whole more than once.
pub fn repeats(log: &[Entry]) -> Vec<Violation> {
    let whole = log.iter().filter(|entry| entry.status == 200 && !is_service(entry));
    let mut visits: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    whole.for_each(|entry| visits.entry(entry.url()).or_default().push(entry));
    let repeated = visits.values().filter(|visits| visits.len() > 1);
    repeated
        .map(|visits| {
            let times: Vec<String> =
                visits.iter().map(|v| format!("{:.3} s", v.start_us as f64 / 1e6)).collect();
            violation(visits[1], format!("fetched {} times: {}", visits.len(), times.join(", ")))
        })
        .collect()
}

/// Every page of the host that robots.txt allows was given out (or confirmed) at least once.
pub fn completeness(log: &[Entry], web: &SimWeb, host: &str) -> Vec<Violation> {
    let Some(site) = web.site_of(host) else {
        let what = "is not a host of this web".to_owned();
        return vec![Violation { at_us: 0, url: host.to_owned(), what }];
    };
    let of_host = log.iter().filter(|entry| &*entry.host == host);
    let got: HashSet<usize> = of_host
        .filter(|entry| matches!(entry.status, 200 | 304))
        .filter_map(|entry| web.index_of(site, &entry.target))
        .collect();
    let agent = log.first().map_or("*", |entry| &entry.agent);
    let at = log.last().map_or(Timestamp::ZERO, |entry| entry.at);
    let rules = web.robots_rules(site, at).unwrap_or_default();
    let rules = Rules::parse(&rules, agent);
    (0..web.pages(site))
        .filter(|index| !got.contains(index))
        .map(|index| (index, web.path(site, index)))
        .filter(|(_, path)| rules.allows(path))
        .map(|(index, path)| Violation {
            at_us: log.last().map_or(0, |entry| entry.end_us),
            url: format!("http://{host}{path}"),
            what: format!("page {index} on level {} was never fetched", web.level(index)),
        })
        .collect()
}

/// After an answer with `Retry-After` nothing is asked of the host before that time (RFC 9110, 10.2.3).
pub fn retry_after(log: &[Entry], slack: Duration) -> Vec<Violation> {
    let mut found = Vec::new();
    for visits in by(log, |entry| entry.host.to_string()).values() {
        let mut until = 0;
        for entry in visits {
            if entry.start_us + micros(slack) < until {
                let early = (until - entry.start_us) as f64 / 1e6;
                found.push(violation(entry, format!("{early:.3} s before Retry-After allows")));
            }
            let wait = entry.retry_after.map(|seconds| u64::from(seconds) * 1_000_000);
            until = until.max(wait.map_or(0, |wait| entry.start_us + wait));
        }
    }
    found
}

/// Every request names its sender with a way to reach somebody (hazard V13: no cloaking).
pub fn nameless(log: &[Entry]) -> Vec<Violation> {
    let nameless = log.iter().filter(|entry| {
        let agent = entry.agent.trim();
        agent.is_empty() || !agent.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    nameless.map(|entry| violation(entry, "carries no user agent".to_owned())).collect()
}

/// The copy of robots.txt a client holds.
#[derive(Default)]
struct Held {
    asked: bool,
    /// Rules and when they came; `None` with a 4xx: all is allowed.
    copy: Option<(Option<Rules>, Timestamp)>,
    /// The status of the last failed try.
    refusal: Option<u16>,
}

impl Held {
    fn take(&mut self, rules: Result<String, u16>, entry: &Entry) {
        let rules = rules.ok().map(|text| Rules::parse(&text, &entry.agent));
        *self = Held { asked: true, copy: Some((rules, entry.at)), refusal: None };
    }

    fn refused(&mut self, status: u16) {
        self.asked = true;
        self.refusal = Some(status);
    }

    fn objection(&self, entry: &Entry) -> Option<String> {
        if !self.asked {
            return Some("robots.txt of this origin was not asked before".to_owned());
        }
        let Some((rules, taken)) = &self.copy else {
            let status = self.refusal.unwrap_or_default();
            return Some(format!("robots.txt could not be had (status {status})"));
        };
        let age = entry.at.since(*taken);
        if age > ROBOTS_LIFE && self.refusal.is_none() {
            return Some(format!("the copy of robots.txt is {} h old", age.as_secs() / 3600));
        }
        match rules {
            Some(rules) if !rules.allows(&entry.target) => Some("robots.txt forbids it".to_owned()),
            _ => None,
        }
    }
}

fn crowded(visits: &[&Entry], max: usize, place: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut open: Vec<u64> = Vec::new();
    for entry in visits {
        open.retain(|end| *end > entry.start_us);
        open.push(entry.end_us);
        if open.len() > max {
            let what = format!("{} requests at once at {place}, {max} allowed", open.len());
            found.push(violation(entry, what));
        }
    }
    found
}

/// robots.txt, sitemaps and what serves only tests.
fn is_service(entry: &Entry) -> bool {
    let path = entry.path();
    path.starts_with("/robots") || path.starts_with("/sitemap")
}

/// The log by some place, each part by start.
fn by<K: Ord>(log: &[Entry], key: impl Fn(&Entry) -> K) -> BTreeMap<K, Vec<&Entry>> {
    let mut parts: BTreeMap<K, Vec<&Entry>> = BTreeMap::new();
    for entry in sorted(log) {
        parts.entry(key(entry)).or_default().push(entry);
    }
    parts
}

fn sorted(log: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = log.iter().collect();
    entries.sort_by_key(|entry| entry.start_us);
    entries
}

fn violation(entry: &Entry, what: String) -> Violation {
    Violation { at_us: entry.start_us, url: entry.url(), what }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
