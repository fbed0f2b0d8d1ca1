//! What a page looks like, as far as traps are concerned, and the page a site shows for what it does not have.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use model::{CrawlUrl, Looks, UrlTraps};

/// Texts that are shorter are alike by chance: "next", "photo".
pub const TEXT_BYTES_MIN: u64 = 40;
/// A text of this length that is the same is the same page, whatever stands around it.
pub const TEXT_BYTES_SURE: u64 = 200;
/// So much of a text is looked at: pages of one making differ before.
const READ_MAX: usize = 64 << 10;

/// A number for the text without its digits: two months of a calendar have the same.
pub fn skeleton(text: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let mut run = [0u8; 256];
    let mut filled = 0;
    for b in text.bytes().take(READ_MAX).filter(|b| !b.is_ascii_digit()) {
        run[filled] = b;
        filled += 1;
        if filled == run.len() {
            hasher.write(&run);
            filled = 0;
        }
    }
    hasher.write(&run[..filled]);
    hasher.finish()
}

/// Where nothing can be: to be asked once, to learn what the site says then. The same for every crawl, so that
/// nobody's server is asked for ever new ones.
pub fn probe(home: &CrawlUrl) -> Option<CrawlUrl> {
    // FNV-1a: the same in every version of this program.
    let step = |hash: u64, b: u8| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    let number = home.site_text().bytes().fold(0xcbf2_9ce4_8422_2325, step);
    home.join(&format!("{}{number:016x}", UrlTraps::PROBE_PATH)).ok()
}

pub fn is_probe(url: &CrawlUrl) -> bool {
    let number = url.path_and_query().strip_prefix(UrlTraps::PROBE_PATH);
    number.is_some_and(|number| number.len() == 16 && probe(url).as_ref() == Some(url))
}

/// Whether two answers are one page: the same bytes, the same text, or the same but for its digits.
pub fn are_alike(a: &Looks, b: &Looks) -> bool {
    a.content == b.content
        || a.text_bytes >= TEXT_BYTES_MIN && (a.text == b.text || a.skeleton == b.skeleton)
}
