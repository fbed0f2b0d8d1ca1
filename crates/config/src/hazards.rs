//! The section `[hazards]` as typed values: what is done about what the web does to crawlers.

use std::time::Duration;

use super::sections::{Values, narrow};

/// When URLs are a trap, and what is done about other hazards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazards {
    pub traps: bool,
    pub duplicates: u32,
    pub near_duplicates: u32,
    pub site_duplicates: u32,
    pub repeated_segments: usize,
    pub counter_pages: u32,
    pub pattern_urls: u32,
    pub session_names: Vec<String>,
    pub soft_404: bool,
    pub slow_time: Duration,
    pub stalled_after: Duration,
    pub mirrors: Replicas,
    pub mirrors_recheck: Duration,
    pub domain_hosts: u64,
    pub wildcard_hosts: u64,
}

/// What is done about sites that serve what another serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    Off,
    Report,
    Fold,
}

impl Values {
    pub fn hazards(&mut self) -> Hazards {
        Hazards {
            traps: self.flag("hazards.traps"),
            duplicates: narrow(self.count("hazards.duplicates")),
            site_duplicates: narrow(self.count("hazards.site_duplicates")),
            repeated_segments: narrow(self.count("hazards.repeated_segments")),
            counter_pages: narrow(self.count("hazards.counter_pages")),
            pattern_urls: narrow(self.count("hazards.pattern_urls")),
            session_names: self.list("hazards.session_names"),
            near_duplicates: narrow(self.count("hazards.near_duplicates")),
            soft_404: self.flag("hazards.soft_404"),
            slow_time: self.time("hazards.slow_time"),
            stalled_after: self.time("hazards.stalled_after"),
            mirrors: match self.text("hazards.mirrors").as_str() {
                "off" => Replicas::Off,
                "fold" => Replicas::Fold,
                _ => Replicas::Report,
            },
            mirrors_recheck: self.time("hazards.mirrors_recheck"),
            domain_hosts: self.count("hazards.domain_hosts"),
            wildcard_hosts: self.count("hazards.wildcard_hosts"),
        }
    }
}
