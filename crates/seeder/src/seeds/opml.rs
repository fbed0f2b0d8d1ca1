//! OPML 2.0, the lists of feeds that readers export: the sites behind the feeds (`htmlUrl`) are seeds.
//!
//! Feeds themselves are no pages. An outline that names a feed and no site is told, so that nobody misses it.

use std::io::BufRead;

use model::CrawlUrl;

use super::{
    SeedError, parse_seed,
    xml::{Piece, Xml},
};

pub(super) struct Opml<R> {
    xml: Xml<R>,
    failed: bool,
}

impl<R: BufRead> Opml<R> {
    pub(super) fn new(reader: R) -> Opml<R> {
        Opml { xml: Xml::new(reader), failed: false }
    }
}

impl<R: BufRead> Iterator for Opml<R> {
    type Item = Result<CrawlUrl, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let piece = self.xml.next_piece();
            let line = self.xml.line();
            let tag = match piece {
                Ok(None) => return None,
                Ok(Some(Piece::Open(tag))) if tag.name.eq_ignore_ascii_case("outline") => tag,
                Ok(Some(_)) => continue,
                Err(source) => {
                    self.failed = true;
                    return Some(Err(SeedError::Io { line, source }));
                }
            };
            let filled = |name| tag.attribute(name).filter(|value| !value.trim().is_empty());
            if let Some(site) = filled("htmlUrl") {
                let seed = parse_seed(&site).map_err(|what| SeedError::bad(line, &site, what));
                return Some(seed);
            }
            if let Some(feed) = filled("xmlUrl") {
                let what = "a feed without its site (htmlUrl), and feeds are no pages";
                return Some(Err(SeedError::bad(line, &feed, what)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        Opml::new(text)
            .map(|seed| seed.map_or_else(|e| format!("! {e}"), |url| url.to_string()))
            .collect()
    }

    #[test]
    fn the_sites_behind_feeds_are_seeds_and_feeds_without_site_are_told() {
        let text = b"<?xml version='1.0' encoding='UTF-8'?><opml version='2.0'><body><outline text='News'>\n\
            <outline type='rss' text='A > B' xmlUrl='https://a.example/feed' htmlUrl='https://a.example/?a=1&amp;b=2'/>\n\
            <outline type='rss' text='B' xmlurl='https://b.example/feed' htmlurl=''/>\n\
            <outline htmlUrl='mailto:x@y.example'/></outline></body></opml>";
        let read = read(text);
        assert_eq!(read[0], "https://a.example/?a=1&b=2");
        assert!(read[1].starts_with("! line 3: a feed without its site"), "{read:?}");
        assert!(read[2].starts_with("! line 4: only http and https"), "{read:?}");
        assert_eq!(read.len(), 3);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).len() <= bytes.len());
        }

        #[test]
        fn any_outlines_are_read_to_their_end(text in "(<outline|xmlUrl|htmlUrl|[='\"/> a&;]){0,40}") {
            prop_assert!(read(text.as_bytes()).len() <= text.len());
        }
    }
}
