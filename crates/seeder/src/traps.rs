//! Traps made of URLs: sites that have more of them than pages (seed 003, sections 2.1 and 4.5).
//!
//! - [`pattern`]: what URLs of one making have in common, as people read it.
//! - [`growth`]: URLs that tell by themselves: folders repeated, addresses in addresses, escapes of escapes.
//! - [`session`] and [`order`]: parts that never matter, taken out by the normal form.
//! - [`token`] and `place`: parts that were seen not to matter on one site, and where in a URL they stand.
//! - [`copies`]: patterns whose pages are copies of each other, as narrow as they are.
//! - [`looks`]: what a page looks like, and the page for what does not exist.
//! - [`near`]: patterns that give near duplicates, and a site that gives nothing else.
//! - [`unwanted`]: patterns that give nothing but a media type that is refused.
//! - [`watch`]: what the visits to one site in hand have shown, and what follows from it.
//! - `weigh`: what one page says for or against its pattern.
//! - `recheck`: what followed is looked at again, and taken back where it was wrong.
//!
//! Pure: no clock, no I/O. Everything is bounded. What a site has taught is [`model::UrlTraps`]; only the holder
//! of its lease changes it.

pub mod copies;
pub mod growth;
pub mod looks;
pub mod near;
mod notes;
pub mod order;
pub mod pattern;
mod place;
mod recheck;
pub mod session;
#[cfg(test)]
mod tests;
pub mod token;
pub mod unwanted;
mod watch;
mod weigh;

pub use looks::{is_probe, probe, words};
pub use near::{Bearing, Worn};
pub use notes::{TrapObjection, note_held_back, note_refusal, objection, objection_to, trim};
pub use session::SessionNames;
pub use watch::{Found, Observation, Tripped, Watch};
pub use weigh::note_taken;

use std::time::Duration;

/// When something is a trap. Of each spider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrapRules {
    /// Off: nothing is stopped, nothing is learned; known session names are still taken out.
    pub on: bool,
    /// Pages with the content of others that stop a pattern (VN: 10, and the site at once).
    pub duplicates: u32,
    /// Copies, more than other pages, after which links on copies are left.
    pub site_duplicates: u32,
    /// How often folders may stand in a row in a path; 0: as often as they like.
    pub repeated_segments: usize,
    /// Pages in a row that bring nothing but more of their pattern.
    pub counter: u32,
    /// URLs of one path in all combinations of its parameters.
    pub pattern_urls: u32,
    /// Ask once for a page that cannot exist.
    pub soft_404: bool,
    /// What the visits to a site that no seed names may take together, when its pages are slow.
    pub slow_time: Duration,
}

impl Default for TrapRules {
    fn default() -> TrapRules {
        TrapRules {
            on: true,
            duplicates: 10,
            site_duplicates: 20,
            repeated_segments: 3,
            counter: 50,
            pattern_urls: 5_000,
            soft_404: true,
            slow_time: Duration::from_secs(600),
        }
    }
}
