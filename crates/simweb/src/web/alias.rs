//! Other spellings of one address: upper case, a dot behind the name, the port that goes without saying, escapes of
//! plain letters in name and path. They all mean the same page of the same host (RFC 3986, section 6.2), and a
//! client that takes two of them for two hosts is twice as often at the door.

use std::io::Write;

use crate::dice::{mix, unit};

use super::{LinkTo, PageId, SimWeb};

impl SimWeb {
    /// Writes the target in another spelling, where the options and the dice want one.
    pub(super) fn write_alias(&self, page: PageId, link: &LinkTo, out: &mut Vec<u8>) -> bool {
        let share = self.options.page.alias_share;
        let LinkTo::Page(to) = *link else { return false };
        let hash = mix(mix(self.page_hash(page), self.page_hash(to)), 0xA11A5);
        if share <= 0.0 || unit(hash) >= share {
            return false;
        }
        let host = self.host(to.site);
        let (scheme, port) = match self.is_https(to.site) {
            true => ("https", 443),
            false => ("http", 80),
        };
        let written = match hash % 6 {
            0 => write!(out, "{}://{}", scheme.to_uppercase(), host.to_uppercase()),
            1 => write!(out, "{scheme}://{host}."),
            2 => write!(out, "{scheme}://{host}:{port}"),
            3 => write!(out, "{scheme}://{}", escaped_first(&host)),
            4 if self.is_https(page.site) == self.is_https(to.site) => {
                write!(out, "//{}.:{port}", host.to_uppercase())
            }
            _ => write!(out, "{scheme}://nobody@{host}"),
        };
        written.expect("writing to memory cannot fail");
        let path = out.len();
        self.write_path(to, out);
        if hash >> 32 & 1 == 1 {
            escape_letter(out, path);
        }
        true
    }
}

/// The first letter as an escape: `%73imple`.
pub(super) fn escaped_first(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    escape_letter(&mut bytes, 0);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes the first letter from `from` on as an escape.
fn escape_letter(out: &mut Vec<u8>, from: usize) {
    if let Some(at) = out[from..].iter().position(u8::is_ascii_alphabetic) {
        let escape = format!("%{:02x}", out[from + at]);
        out.splice(from + at..=from + at, escape.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use model::CrawlUrl;

    use super::*;
    use crate::{PageOptions, WebOptions};

    #[test]
    fn every_spelling_is_one_of_a_page_that_is_linked() {
        let page = PageOptions { alias_share: 1.0, ..PageOptions::default() };
        let web =
            SimWeb::new(WebOptions { sites: 40, https_share: 0.3, page, ..WebOptions::default() });
        let mut spellings = HashSet::new();
        for site in 0..40 {
            let from = PageId { site, index: 0 };
            let base = CrawlUrl::parse(&web.url(from)).unwrap();
            for link in web.links(from) {
                let LinkTo::Page(to) = link else { continue };
                let mut out = Vec::new();
                assert!(web.write_alias(from, &link, &mut out));
                let text = String::from_utf8(out).unwrap();
                assert_eq!(base.join(&text).unwrap().as_str(), web.url(to), "{text}");
                assert_ne!(text, web.url(to));
                spellings
                    .insert(text.chars().take_while(|c| !c.is_ascii_digit()).collect::<String>());
            }
        }
        assert!(spellings.len() >= 8, "{spellings:?}");
    }
}
