//! Notices: what a site says of its own pages, in sitemaps, feeds and robots.rdf.
//!
//! A notice names pages, some with the moment of their last change: [`read_notice`] reads it, [`sort_notice`]
//! says what follows for the crawl. It speaks of its own site only (and of those whose robots.txt names it).
//! Whether its dates are to be believed is learned elsewhere, from what visits show; only dates that say nothing
//! (in the future, or the notice's own) are left out here.
//!
//! Reading cannot fail: what is broken is counted and told with one example. All forms are bounded.

mod dates;
mod read;
mod sort;
mod stamp;
#[cfg(test)]
mod tests;

pub use dates::read_date;
pub use read::{Announced, Announcements, NoticeText, read_notice};
pub use sort::{
    NoticeRules, Sitemaps, SortedNotice, feeds_of, notice_candidate, notices_of_robots, sort_notice,
};
