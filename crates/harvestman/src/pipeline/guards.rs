//! What answers try against others, or against us: links into private networks, redirects out of the web or in
//! circles, cookies for others, bytes that drive a terminal. Each was refused where it was met; here it is
//! only seen, so that it can be told.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use gatherer::Gathered;
use harvester::http::{Guard, refused_cookies};
use model::{
    CrawlUrl, Decision, Exchange, Fingerprint, Hazard, Measure, RefusalReason, Sighting, limits,
};

use crate::terminal::is_unsafe;

/// Redirects and refreshes remembered: of more, circles are ended all the same, but not told of.
const LEADS_MAX: usize = 10_000;

/// What is needed to see it.
#[derive(Default)]
pub struct Guards {
    /// Which addresses may be visited.
    pub addresses: Guard,
    leads: Mutex<HashMap<Fingerprint, Fingerprint>>,
}

impl Guards {
    pub fn new(addresses: Guard) -> Guards {
        Guards { addresses, ..Guards::default() }
    }

    /// `refused`: what was decided about the page's links.
    pub fn of_page(
        &self,
        exchange: &Exchange,
        gathered: &Gathered,
        refused: &[Decision],
    ) -> Vec<Sighting> {
        let url = &exchange.url;
        let mut met = Vec::new();
        met.extend(self.internal(url, gathered));
        met.extend(foreign_scheme(exchange));
        met.extend(self.circle(url, gathered));
        met.extend(refused.iter().filter_map(|decision| by_rule(url, decision)));
        met.extend(cookies(exchange));
        met.extend(control_characters(exchange, gathered));
        met
    }

    /// Names are looked at when they are resolved; a link can name an address outright.
    fn internal(&self, url: &CrawlUrl, gathered: &Gathered) -> Option<Sighting> {
        let refused = |link: &CrawlUrl| {
            let host = link.host();
            let is_name = host.starts_with(|c: char| c.is_ascii_alphabetic());
            let address = match host {
                _ if host == "localhost" || host.ends_with(".localhost") => {
                    Some(IpAddr::from([127, 0, 0, 1]))
                }
                _ if is_name => None,
                _ => host.trim_matches(['[', ']']).parse().ok(),
            };
            address.is_some_and(|address| self.addresses.check(address).is_err())
        };
        let mut named = gathered.links.iter().map(|link| &link.url).filter(|link| refused(link));
        let first = named.next()?;
        let count = 1 + named.count() as u64;
        let met = Sighting::at(url, Hazard::InternalAddress, Measure::Refused);
        Some(Sighting { count, example: first.as_str().to_owned(), ..met.of("link") })
    }

    /// A redirect or refresh that leads back to where it began, at once or over others.
    fn circle(&self, url: &CrawlUrl, gathered: &Gathered) -> Option<Sighting> {
        let (target, hazard) = match (&gathered.redirect, &gathered.refresh) {
            (Some(target), _) => (target, Hazard::RedirectLoop),
            (None, Some(refresh)) => (&refresh.url, Hazard::RefreshLoop),
            (None, None) => return None,
        };
        let (from, mut to) = (url.fingerprint(), target.fingerprint());
        let mut leads = self.leads.lock().unwrap_or_else(PoisonError::into_inner);
        if leads.len() >= LEADS_MAX {
            leads.clear();
        }
        leads.insert(from, to);
        for _ in 0..=limits::REDIRECTS_MAX {
            if to == from {
                return Some(Sighting::at(url, hazard, Measure::Refused));
            }
            to = *leads.get(&to)?;
        }
        None
    }
}

/// What the rules refused is a hazard too where a server led us to it.
fn by_rule(url: &CrawlUrl, decision: &Decision) -> Option<Sighting> {
    let hazard = match decision.reason {
        RefusalReason::Redirects => Hazard::RedirectChain,
        RefusalReason::Port => Hazard::UnusualPort,
        _ => return None,
    };
    let met = Sighting::at(url, hazard, Measure::Refused);
    Some(Sighting { count: decision.count, example: decision.example.clone(), ..met })
}

fn foreign_scheme(exchange: &Exchange) -> Option<Sighting> {
    let location =
        exchange.headers.get("location").filter(|_| (300..400).contains(&exchange.status))?;
    // As the URL standard reads a scheme: without blanks before it and without breaks in it.
    let plain: String =
        location.trim().chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let (scheme, _) = plain.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let scheme = scheme.to_ascii_lowercase();
    if !is_scheme || matches!(scheme.as_str(), "http" | "https") {
        return None;
    }
    Some(Sighting::at(&exchange.url, Hazard::ForeignScheme, Measure::Refused).of(scheme))
}

fn cookies(exchange: &Exchange) -> impl Iterator<Item = Sighting> {
    let refused = refused_cookies(&exchange.url, &exchange.headers);
    refused.into_iter().map(|(why, count)| {
        let met = Sighting::at(&exchange.url, Hazard::CookieRefused, Measure::Refused).of(why);
        Sighting { count, ..met }
    })
}

fn control_characters(exchange: &Exchange, gathered: &Gathered) -> Option<Sighting> {
    let in_head = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n' | b'\t');
    let what = if exchange.response_head.iter().any(in_head) {
        "head"
    } else if gathered.title.contains(is_unsafe) || gathered.description.contains(is_unsafe) {
        "title"
    } else {
        return None;
    };
    Some(Sighting::at(&exchange.url, Hazard::ControlCharacters, Measure::Mended).of(what))
}

#[cfg(test)]
mod tests {
    use gatherer::Refresh;
    use model::{Link, LinkKind, LinkRel};

    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn leading_to(target: &str) -> Gathered {
        Gathered { redirect: Some(url(target)), ..Gathered::default() }
    }

    #[test]
    fn circles_of_redirects_are_seen_where_they_close() {
        let guards = Guards::default();
        let hazard = |from: &str, gathered: &Gathered| {
            guards.circle(&url(from), gathered).map(|sighting| sighting.hazard)
        };
        let (a, b, c) = ("http://a.example/", "http://b.example/", "http://c.example/");
        assert_eq!(hazard(a, &leading_to(b)), None);
        assert_eq!(hazard(b, &leading_to(c)), None);
        assert_eq!(hazard(c, &leading_to(a)), Some(Hazard::RedirectLoop));
        let itself =
            Gathered { refresh: Some(Refresh { seconds: 0, url: url(c) }), ..Gathered::default() };
        assert_eq!(hazard(c, &itself), Some(Hazard::RefreshLoop));
    }

    #[test]
    fn links_that_name_private_addresses_are_counted_in_every_spelling() {
        let link = |text: &str| Link {
            url: url(text),
            kind: LinkKind::A,
            rel: LinkRel::default(),
            anchor: String::new(),
            position: 0,
        };
        let bad = [
            "http://0x7f.1/",
            "http://[::ffff:10.0.0.1]/",
            "http://localhost/",
            "http://2130706433/",
        ];
        let good = ["http://8.8.8.8/", "http://a.example/", "http://[2606:4700::1]/"];
        let links = bad.iter().chain(&good).map(|text| link(text)).collect();
        let gathered = Gathered { links, ..Gathered::default() };
        let met = Guards::default().internal(&url("http://a.example/"), &gathered).unwrap();
        assert_eq!((met.count, met.example.as_str()), (4, "http://127.0.0.1/"));
    }
}
