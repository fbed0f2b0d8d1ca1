//! The simulated web: sites, pages and answers as functions of (seed, URL, time). Nothing is stored.
//!
//! - Every page of a site is reachable from its home page, and its level is known without a search
//!   (`shape`): random links never lead deeper than one level below the page they are on.
//! - The same request at the same moment always gets the same bytes.

mod alias;
mod answer;
mod attacks;
mod bombs;
mod hazards;
mod made;
mod near;
mod notices;
mod odd;
mod page;
mod parts;
mod replicas;
mod reply;
mod restless;
mod robots;
mod shape;
mod sitemap;
#[cfg(test)]
mod tests;
mod traps;
mod tricks;
mod wildcard;

pub(crate) use answer::bare_host;
pub use answer::{Answer, Manner, Request};
pub use shape::LinkTo;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
};

use model::{CrawlUrl, Timestamp};

use crate::{
    Hazard, Language, Placed, RobotsPlan, WebOptions,
    change::Changes,
    dice::{Dice, mix, unit},
    options::PageCount,
    prose::Prose,
};

pub struct SimWeb {
    options: WebOptions,
    prose: Prose,
    /// By host: most requests meet none, and must not pay for the others.
    hazards: HashMap<String, Vec<Placed>>,
}

/// A page by its site's number and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId {
    pub site: usize,
    pub index: usize,
}

impl SimWeb {
    pub fn new(options: WebOptions) -> SimWeb {
        let mut hazards: HashMap<String, Vec<Placed>> = HashMap::new();
        for placed in &options.hazards {
            hazards.entry(placed.host().to_owned()).or_default().push(placed.clone());
        }
        SimWeb { prose: Prose::new(options.seed), options, hazards }
    }

    pub fn options(&self) -> &WebOptions {
        &self.options
    }

    pub fn sites(&self) -> usize {
        self.options.sites
    }

    pub fn host(&self, site: usize) -> String {
        self.options.host(site)
    }

    /// The site with this host name (lower case, no port), if there is one.
    pub fn site_of(&self, host: &str) -> Option<usize> {
        let number = host.strip_prefix(self.options.host_prefix.as_str())?;
        let number = number.strip_suffix(self.options.host_suffix.as_str())?;
        let plain = number == "0" || !number.starts_with('0');
        let site: usize = number.parse().ok()?;
        (plain && site < self.options.sites).then_some(site)
    }

    /// The page behind a URL of this web.
    pub fn page_of(&self, url: &CrawlUrl) -> Option<PageId> {
        let site = self.site_of(url.host())?;
        Some(PageId { site, index: self.index_of(site, url.path_and_query())? })
    }

    pub fn home(&self, site: usize) -> String {
        format!("{}://{}/", self.scheme(site), self.host(site))
    }

    /// The home pages of all sites.
    pub fn seeds(&self) -> Vec<String> {
        (0..self.sites()).map(|site| self.home(site)).collect()
    }

    pub fn url(&self, page: PageId) -> String {
        let path = self.path(page.site, page.index);
        format!("{}://{}{path}", self.scheme(page.site), self.host(page.site))
    }

    pub fn is_https(&self, site: usize) -> bool {
        unit(mix(self.site_hash(site), 0x715)) < self.options.https_share
    }

    pub fn pages(&self, site: usize) -> usize {
        match self.options.pages {
            PageCount::Fixed(count) => count.max(1),
            PageCount::Varied { median, sigma, max } => {
                let z = Dice::new(mix(self.site_hash(site), 0x9A6E)).normal();
                ((median as f64 * (sigma * z).exp()) as usize).clamp(1, max.max(1))
            }
        }
    }

    pub fn language(&self, site: usize) -> Language {
        let languages = &self.options.languages;
        let pick = mix(self.site_hash(site), 0x1A96) as usize % languages.len().max(1);
        languages.get(pick).copied().unwrap_or(Language::English)
    }

    /// How often the page has changed by `now`; twins have the versions of their original.
    pub fn version(&self, page: PageId, now: Timestamp) -> u64 {
        self.changes(self.source(page)).count(now.0 - self.options.origin.0)
    }

    /// When the version at hand came into being.
    pub fn modified(&self, page: PageId, now: Timestamp) -> Timestamp {
        let changes = self.changes(self.source(page));
        let version = changes.count(now.0 - self.options.origin.0);
        Timestamp(self.options.origin.0 + changes.moment(version))
    }

    /// When the page will differ from what it is at `now`, if ever.
    pub fn next_change(&self, page: PageId, now: Timestamp) -> Option<Timestamp> {
        let changes = self.changes(self.source(page));
        let version = changes.count(now.0 - self.options.origin.0);
        let at = changes.moment(version + 1);
        (at > 0).then_some(Timestamp(self.options.origin.0 + at))
    }

    /// The mean time between the page's changes; `None`: it never changes.
    pub fn change_period(&self, page: PageId) -> Option<std::time::Duration> {
        self.options.change.period(self.page_hash(self.source(page)))
    }

    /// The loopback address of a host; `None` when the name does not exist.
    pub fn address(&self, host: &str) -> Option<IpAddr> {
        if self.is_below_wildcard(host) {
            return Some(self.address_number(0));
        }
        let site = self.site_of(host).or_else(|| self.site_of(host.strip_prefix("www.")?))?;
        let no_www = || self.host_hazard(&self.host(site)) == Some(Hazard::NoWww);
        if host.starts_with("www.") && no_www() {
            return None;
        }
        if self.host_hazard(host) == Some(Hazard::NoName) {
            return None;
        }
        Some(self.address_number(site % self.options.addresses.max(1)))
    }

    /// All addresses the web lives on.
    pub fn addresses(&self) -> Vec<IpAddr> {
        (0..self.options.addresses.max(1)).map(|k| self.address_number(k)).collect()
    }

    /// The plan in force for a site's robots.txt.
    pub fn robots_plan(&self, site: usize, now: Timestamp) -> &RobotsPlan {
        let mut plan = self.options.robots_of.get(&self.host(site)).unwrap_or(&self.options.robots);
        while let RobotsPlan::Changing { every, plans } = plan {
            let turn = now.since(self.options.origin).as_millis() / every.as_millis().max(1);
            match plans.get(turn as usize % plans.len().max(1)) {
                Some(next) => plan = next,
                None => return &RobotsPlan::AllowAll,
            }
        }
        plan
    }

    /// A hazard of the host as a whole.
    pub(crate) fn host_hazard(&self, host: &str) -> Option<Hazard> {
        let placed = self.hazards.get(host)?;
        placed.iter().map(|placed| placed.hazard).find(Hazard::is_of_host)
    }

    fn address_number(&self, k: usize) -> IpAddr {
        let k = k + 1;
        IpAddr::V4(Ipv4Addr::new(127, (k >> 16) as u8, (k >> 8) as u8, k as u8))
    }

    fn scheme(&self, site: usize) -> &'static str {
        if self.is_https(site) { "https" } else { "http" }
    }

    fn changes(&self, page: PageId) -> Changes {
        let hash = self.page_hash(page);
        Changes::new(hash, self.options.change.period(hash))
    }

    fn site_hash(&self, site: usize) -> u64 {
        mix(self.options.seed, site as u64)
    }

    fn page_hash(&self, page: PageId) -> u64 {
        mix(self.site_hash(page.site), page.index as u64 + 1)
    }
}
