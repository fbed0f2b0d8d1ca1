//! Parts of URLs that were seen to make no difference on a site, and where they stand.

use serde::{Deserialize, Serialize};

use super::Stop;
use crate::{Fingerprint, Hazard, Timestamp};

/// A part of URLs that was seen to make no difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleToken {
    pub place: TokenPlace,
    /// What stands there from now on; nothing: the part is left out.
    pub value: Option<String>,
    /// Others that were met there: their pages are known.
    #[serde(default)]
    pub others: Vec<String>,
    /// Folders on whose pages it was seen to make none (`/shop/*`); nothing: it makes none anywhere.
    #[serde(default)]
    pub folders: Vec<String>,
    pub since: Timestamp,
    /// Links that were rewritten.
    #[serde(default)]
    pub mended: u64,
    /// What pages say of it by which it was looked at, by the kind of page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindVotes>,
    /// Pages on which links stand that were rewritten: read again when it was wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referrers: Vec<Fingerprint>,
}

impl IdleToken {
    pub fn hazard(&self) -> Hazard {
        match self.place {
            TokenPlace::Pair(..) => Hazard::Variants,
            TokenPlace::Query(_) | TokenPlace::Segment(..) | TokenPlace::Within(..) => {
                Hazard::SessionIds
            }
        }
    }

    /// As what was lifted is told.
    pub fn to_stop(&self) -> Stop {
        let referrers = self.referrers.clone();
        Stop { refused: self.mended, referrers, ..Stop::told(self.hazard(), self.since) }
    }
}

/// Pages of one kind (their paths but for numbers) that differ in an idle part alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindVotes {
    /// A number for the kind.
    pub kind: u32,
    /// Those that were the same …
    pub same: u32,
    /// … and those that were not.
    pub other: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenPlace {
    /// A parameter of the query, by name, where an identifier stands in it.
    Query(String),
    /// A parameter with this one value.
    Pair(String, String),
    /// A segment of the path, counted from 0, where it begins so.
    Segment(u8, String),
    /// An identifier anywhere in path or query, right behind the first of these and before the second:
    /// `;tok=`, `-` and `.html`.
    Within(String, String),
}

impl std::fmt::Display for TokenPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TokenPlace::Query(name) => write!(f, "?{name}=*"),
            TokenPlace::Pair(name, value) => write!(f, "?{name}={value}"),
            TokenPlace::Segment(at, start) => {
                write!(f, "{}/{start}*", "/…".repeat(usize::from(*at)))
            }
            TokenPlace::Within(mark, end) => write!(f, "…{mark}*{end}"),
        }
    }
}
