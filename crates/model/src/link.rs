//! A link as a page gives it, resolved to a canonical URL.

use serde::{Deserialize, Serialize};

use crate::CrawlUrl;

#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub url: CrawlUrl,
    pub kind: LinkKind,
    pub rel: LinkRel,
    /// Visible text of the link, white space folded, bounded by `limits::ANCHOR_CHARS_MAX`.
    pub anchor: String,
    /// Its place among the page's links, from 0.
    pub position: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum LinkKind {
    A = 0,
    Area = 1,
    Frame = 2,
    Iframe = 3,
    Canonical = 4,
    Alternate = 5,
    Next = 6,
    Prev = 7,
    Feed = 8,
    Refresh = 9,
    /// `Link` response header.
    Header = 10,
    /// `Location` response header.
    Redirect = 11,
    /// Any other `<link>` that names a page.
    Other = 12,
    /// Found in a text/plain body.
    Text = 13,
}

impl LinkKind {
    pub fn from_stored(number: u8) -> Option<LinkKind> {
        use LinkKind::*;
        [
            A, Area, Frame, Iframe, Canonical, Alternate, Next, Prev, Feed, Refresh, Header,
            Redirect, Other, Text,
        ]
        .get(usize::from(number))
        .copied()
    }
}

/// The `rel` values that matter to a crawler, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkRel(pub u8);

impl LinkRel {
    pub const NOFOLLOW: LinkRel = LinkRel(1);
    pub const UGC: LinkRel = LinkRel(2);
    pub const SPONSORED: LinkRel = LinkRel(4);
    /// No `rel` of the page's: the tag is one whose links are only logged, not followed.
    pub const LOGGED: LinkRel = LinkRel(8);
    /// No `rel` of the page's: a refresh that is all its page is there for.
    pub const FORWARD: LinkRel = LinkRel(16);

    pub fn contains(self, other: LinkRel) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: LinkRel) -> LinkRel {
        LinkRel(self.0 | other.0)
    }
}
