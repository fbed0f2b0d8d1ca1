//! Every bound that is not the user's to set, with its reason, in one place.

use std::time::Duration;

/// Longest URL taken by default: what old browsers and servers can carry. VN used 200 and lost pages by it.
pub const URL_BYTES_MAX: usize = 2_083;
/// Anchor texts longer than this are cut: they serve ranking and reports, not reading.
pub const ANCHOR_CHARS_MAX: usize = 200;
/// Links taken from one page; Heritrix takes 6,000. The rest is counted as a gather problem.
pub const LINKS_PER_PAGE_MAX: usize = 10_000;
/// Parts taken from one page or style: galleries have hundreds of pictures, and each is a request to
/// somebody's server. The rest is counted as a gather problem.
pub const REQUISITES_PER_PAGE_MAX: usize = 2_000;
/// Styles that import styles are read this deep; real ones go two or three.
pub const REQUISITE_STYLES_DEEP: u8 = 5;
/// Of a sitemap, feed or robots.rdf so much is read: fifty thousand entries of 400 bytes.
pub const NOTICE_BYTES_MAX: u64 = 20_000_000;
/// Sitemaps, feeds and robots.rdf of one site. They stand outside all limits on pages, and an index names a
/// thousand more: a tree of them that somebody's script makes up would never end. By the protocol a thousand
/// tell of fifty million pages.
pub const NOTICES_PER_SITE_MAX: u64 = 1_000;
/// Title and description are cut here.
pub const TITLE_CHARS_MAX: usize = 500;
/// RFC 9309 asks for at least 500 KiB.
pub const ROBOTS_BYTES_MAX: u64 = 512_000;
/// RFC 9309 asks for at least five.
pub const ROBOTS_REDIRECTS_MAX: u8 = 5;
/// RFC 9309: not longer than 24 h.
pub const ROBOTS_LIFE: Duration = Duration::from_secs(24 * 3600);
/// Redirects in a row before a chain is given up; browsers take 20, CCBot 4.
pub const REDIRECTS_MAX: u8 = 10;
/// Response heads above this are hostile; browsers refuse at 256 KiB.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Crawl-delay above this is capped, and the cap is said (Heritrix's figure).
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(300);
/// Back-off after 429, 503, 5xx and timeouts never waits longer than this between tries.
pub const BACKOFF_MAX: Duration = Duration::from_secs(3600);
/// A stored clock may not keep a site away longer than this after a restart.
pub const CLOCK_LOAD_MAX: Duration = Duration::from_secs(24 * 3600);
/// Above this many URLs a site's fingerprints stay in the database (8 bytes each: 1.6 MB).
pub const KNOWN_IN_MEMORY_MAX: u64 = 200_000;
/// Pages waiting in memory over all sites in hand: at about 200 bytes each, 40 MB.
pub const PAGES_IN_HAND_MAX: usize = 200_000;
/// The writer commits at the latest after this long …
pub const SETTLE_EVERY: Duration = Duration::from_secs(1);
/// … or this long, where commits take much of its time: what others see in the database is no older.
pub const SETTLE_EVERY_MAX: Duration = Duration::from_secs(5);
/// … or after this many pages. Rows lie by site and fingerprint, so that a small commit writes a page of the database for
/// nearly each of them, and the row of a site for each page; a large one few for many. A crash costs no more for it,
/// as what was archived is adopted. At some 3 KB a page it is 6 MB of memory …
pub const SETTLE_PAGES: usize = 2_000;
/// … and 18 MB where they are of very many sites.
pub const SETTLE_PAGES_MAX: usize = 6_000;
/// Breakdowns after which a page is left alone, and such pages after which a site is (VN's operators took a site
/// that crashed its crawler three times out by hand).
pub const BREAKDOWNS_MAX: u32 = 3;
/// Exchanges that wait for a gatherer thread. With those under way (`etiquette.max_fetches`) it bounds how many bodies are
/// in memory at once; how much they take is bounded by the two that follow.
pub const GATHER_QUEUE: usize = 64;
/// What an answer may hold of its body without asking, once as it came and once decoded: nearly all pages are shorter.
pub const BODY_FREE_BYTES: usize = 1 << 20;

/// What all bodies may take beyond [`BODY_FREE_BYTES`], however long a single one may be: a megabyte for each fetch.
/// So bodies take at most (fetches + [`GATHER_QUEUE`]) × [`BODY_FREE_BYTES`], twice where they are coded, and this.
/// At least what one of 16 MB needs that came in chunks and compressed; and a crawl of many fetches has few long bodies.
pub fn long_bodies_bytes(fetches: usize) -> u64 {
    (fetches as u64).saturating_mul(1 << 20).clamp(64 << 20, 512 << 20)
}
/// How long a lease lasts without a check-in.
pub const LEASE: Duration = Duration::from_secs(600);
/// WARC volumes are sealed at this size (the standard's advice).
pub const VOLUME_BYTES_MAX: u64 = 1_000_000_000;
/// Sites lent out by one check-out: 15 to 30 ms, also out of a hundred million pages, so that the writer is free for
/// check-ins in between.
pub const CHECK_OUT_SITES: usize = 64;
/// Pages of a site lent out at once, at least: enough to stay busy until a refill comes.
pub const CHECK_OUT_PAGES_MIN: usize = 50;
/// Pages of a site lent out at once, at most.
pub const REFILL_PAGES: usize = 2_000;
