//! Listings of folders that Apache offers in all orders: `?C=N;O=D`, and of old `?N=D`. They are one page: the
//! query is cut off (VN 4.5; 0.5 % of its URLs were such).

use model::CrawlUrl;

/// The folder itself; `None` where the query is anything else.
pub fn without_order(url: &CrawlUrl) -> Option<CrawlUrl> {
    let query = url.query()?;
    if !url.path().ends_with('/') || !is_order(query) {
        return None;
    }
    CrawlUrl::parse(&url.as_str()[..url.as_str().len() - query.len() - 1]).ok()
}

/// By name, time, size or description, up or down.
fn is_order(query: &str) -> bool {
    match query.as_bytes() {
        [b'N' | b'M' | b'S' | b'D', b'=', b'A' | b'D'] => true,
        [b'C', b'=', column, b';' | b'&', b'O', b'=', b'A' | b'D'] => {
            matches!(column, b'N' | b'M' | b'S' | b'D')
        }
        _ => false,
    }
}
