//! What answers try against others, or against us: links into private networks, cookies for others, bytes that
//! drive a terminal. Each was refused where it was met; here it is only seen, so that it can be told.

use std::net::IpAddr;

use gatherer::Gathered;
use harvester::http::{Guard, refused_cookies};
use model::{CrawlUrl, Exchange, Hazard, Measure, Sighting};

use model::is_unsafe;

/// What is needed to see it.
#[derive(Default)]
pub struct Guards {
    /// Which addresses may be visited.
    pub addresses: Guard,
}

impl Guards {
    pub fn new(addresses: Guard) -> Guards {
        Guards { addresses }
    }

    pub fn of_page(&self, exchange: &Exchange, gathered: &Gathered) -> Vec<Sighting> {
        let mut met = Vec::new();
        met.extend(self.internal(&exchange.url, gathered));
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
        let met = Sighting::at(url, Hazard::PrivateAddress, Measure::Refused);
        Some(Sighting { count, example: first.as_str().to_owned(), ..met.of("link") })
    }
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
    Some(Sighting::at(&exchange.url, Hazard::ControlCharacters, Measure::Corrected).of(what))
}

#[cfg(test)]
mod tests {
    use model::{Link, LinkKind, LinkRel, testing::url};

    use super::*;

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
