//! References as a page gives them, not yet resolved: `<base>` may come later.

use std::borrow::Cow;

use model::{LinkKind, LinkRel};

#[derive(Debug)]
pub(crate) struct RawLink<'a> {
    pub(crate) reference: Cow<'a, str>,
    pub(crate) kind: LinkKind,
    pub(crate) rel: LinkRel,
    pub(crate) anchor: String,
}

/// Takes links up to a bound and counts the rest.
#[derive(Debug)]
pub(crate) struct LinkSink<'a> {
    pub(crate) taken: Vec<RawLink<'a>>,
    pub(crate) over: u64,
    max: usize,
}

impl<'a> LinkSink<'a> {
    pub(crate) fn new(max: usize) -> LinkSink<'a> {
        LinkSink { taken: Vec::new(), over: 0, max }
    }

    /// The place of the link, unless there are too many.
    pub(crate) fn push(&mut self, link: RawLink<'a>) -> Option<usize> {
        if self.taken.len() >= self.max {
            self.over += 1;
            return None;
        }
        self.taken.push(link);
        Some(self.taken.len() - 1)
    }
}

pub(crate) fn rel_bits(rel: &str) -> LinkRel {
    rel.split_ascii_whitespace().fold(LinkRel::default(), |bits, word| {
        let bit = [
            ("nofollow", LinkRel::NOFOLLOW),
            ("ugc", LinkRel::UGC),
            ("sponsored", LinkRel::SPONSORED),
        ];
        bit.iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name))
            .map_or(bits, |b| bits.with(b.1))
    })
}

/// What a `<link>` (or `Link` field) of this `rel` leads to, when that is a page. Style sheets,
/// icons, hints and the like are no links of a page.
pub(crate) fn link_kind(rel: &str, media_type: &str) -> Option<LinkKind> {
    let has = |name: &str| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    if has("stylesheet") {
        return None;
    }
    if has("canonical") {
        return Some(LinkKind::Canonical);
    }
    if has("alternate") || has("feed") {
        return Some(if has("feed") || is_feed(media_type) {
            LinkKind::Feed
        } else {
            LinkKind::Alternate
        });
    }
    if has("next") {
        return Some(LinkKind::Next);
    }
    if has("prev") || has("previous") {
        return Some(LinkKind::Prev);
    }
    const PAGES: [&str; 16] = [
        "amphtml", "appendix", "archives", "author", "bookmark", "chapter", "contents", "first",
        "glossary", "help", "home", "index", "last", "license", "section", "up",
    ];
    PAGES.into_iter().any(has).then_some(LinkKind::Other)
}

fn is_feed(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"]
        .iter()
        .any(|feed| essence.eq_ignore_ascii_case(feed))
}

#[cfg(test)]
mod tests {
    use model::{LinkKind, LinkRel};

    use super::{link_kind, rel_bits};

    #[test]
    fn rel_words_become_bits_in_any_case() {
        assert_eq!(rel_bits("noopener NoFollow\tugc"), LinkRel::NOFOLLOW.with(LinkRel::UGC));
        assert_eq!(rel_bits("sponsored"), LinkRel::SPONSORED);
        assert_eq!(rel_bits("nofollowx follow"), LinkRel::default());
    }

    #[test]
    fn only_links_that_name_pages_are_links() {
        for (rel, media_type, kind) in [
            ("canonical", "", Some(LinkKind::Canonical)),
            ("alternate", "application/RSS+xml; charset=utf-8", Some(LinkKind::Feed)),
            ("alternate", "text/html", Some(LinkKind::Alternate)),
            ("alternate stylesheet", "", None),
            ("NEXT", "", Some(LinkKind::Next)),
            ("previous", "", Some(LinkKind::Prev)),
            ("license", "", Some(LinkKind::Other)),
            ("stylesheet", "text/css", None),
            ("icon", "", None),
            ("preload", "", None),
            ("", "", None),
        ] {
            assert_eq!(link_kind(rel, media_type), kind, "{rel} {media_type}");
        }
    }
}
