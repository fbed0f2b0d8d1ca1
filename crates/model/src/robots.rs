//! What we hold of an origin's robots.txt, as the store keeps it. Parsing and verdicts are the harvester's.

use serde::{Deserialize, Serialize};

use crate::{Origin, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsCopy {
    pub origin: Origin,
    /// The last copy that could be read; kept in use while the server is unreachable.
    pub answer: RobotsAnswer,
    /// When `answer` was obtained (or confirmed by a 304).
    pub fetched: Timestamp,
    /// When it must be asked for again before the next page.
    pub expires: Timestamp,
    /// Since when the file has been unreachable without a break, if it is so now.
    pub unreachable_since: Option<Timestamp>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsAnswer {
    /// 2xx: the text (bounded, decoded, as UTF-8).
    Rules(String),
    /// 4xx and too many redirects: everything is allowed.
    Unavailable { status: u16 },
    /// 5xx, 429, network failure and nothing older at hand: nothing is allowed for now.
    Unreachable { why: String },
}
