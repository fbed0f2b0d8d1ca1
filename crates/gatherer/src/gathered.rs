//! What `gather` found.

use model::{CrawlUrl, Link, WordBits};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Language, LongPiece};

/// Bytes of an example shown in a problem: enough to recognise it.
const EXAMPLE_CHARS_MAX: usize = 200;
pub(crate) const EXAMPLES_MAX: usize = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// What the body is, by declaration and by its bytes; empty when there was neither.
    pub media_type: String,
    /// What the server called it; empty when it did not say.
    pub declared_type: String,
    /// Name of the encoding the text was decoded from; empty when nothing was decoded.
    pub charset: String,
    pub title: String,
    pub description: String,
    /// Level 1 to 6 and text.
    pub headings: Vec<(u8, String)>,
    /// Title and visible text: white space folded, blocks on lines of their own. Of a text/plain
    /// body the text as it is.
    pub text: String,
    /// Of an HTML page the text of what [`crate::GatherOptions::selection`] leaves, when there is one.
    pub selected: Option<String>,
    pub language: Option<Language>,
    /// In document order, those of header fields first; also those that must not be followed:
    /// whether by `nofollow` or by their own `rel` is the seeder's to judge.
    pub links: Vec<Link>,
    /// Parts of the page (images, styles, scripts, fonts), when asked for; each once.
    pub requisites: Vec<CrawlUrl>,
    pub canonical: Option<CrawlUrl>,
    /// What references were resolved against: the page itself, or its `<base href>`.
    pub base: Option<CrawlUrl>,
    /// Target of a redirect (`Location` of a 3xx answer); also among the links.
    pub redirect: Option<CrawlUrl>,
    pub refresh: Option<Refresh>,
    pub noindex: bool,
    pub nofollow: bool,
    pub noarchive: bool,
    /// When the page says that it ends, as it is written (`unavailable_after`).
    pub unavailable_after: Option<String>,
    /// xxh3 of the body.
    pub content_hash: u64,
    /// xxh3 of what tells of changes: `selected`, else `text`; of the body where there is no text.
    pub text_hash: u64,
    /// Near duplicates differ in few bits: see [`crate::simhash_distance`].
    pub simhash: u64,
    /// The same where all of the text is the same but for its digits; 0 without words.
    pub skeleton: u64,
    /// Which words the text has, those with digits left out; none of a long one.
    pub word_bits: Option<WordBits>,
    /// Which numbers it has.
    pub number_bits: Option<WordBits>,
    /// At most one of each kind.
    pub problems: Vec<GatherProblem>,
}

impl Gathered {
    /// Of all of the text, also where a selection of it tells of changes: many pages have none of what is selected.
    pub fn whole_text_hash(&self) -> u64 {
        match &self.selected {
            None => self.text_hash,
            Some(_) if self.text.is_empty() => self.content_hash,
            Some(_) => xxh3_64(self.text.as_bytes()),
        }
    }
}

/// From `<meta http-equiv=refresh>` or the `Refresh` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    pub seconds: u64,
    /// The page itself when it only asks to be loaded again.
    pub url: CrawlUrl,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatherProblem {
    /// The bytes are not text, whatever the server calls them: nothing was read.
    NotText {
        declared: String,
        found: String,
    },
    /// Text of a media type that is not wanted: nothing was read.
    NotWanted {
        media_type: String,
    },
    /// An encoding that must not be decoded (the standard's "replacement" labels).
    Undecodable,
    /// Some bytes are not valid in the page's encoding; they became U+FFFD.
    Malformed {
        charset: String,
    },
    InvalidUrls(Examples),
    LongUrls(Examples),
    /// Links whose host is written otherwise than its one form: put right.
    HostAliases(Examples),
    /// It names several as its canonical page: none of them is.
    Canonicals(Examples),
    LinksOverLimit {
        count: u64,
    },
    RequisitesOverLimit {
        count: u64,
    },
    /// The text is not in the encoding the server named: the one of its byte order mark is taken, what the
    /// name says where there is none (as browsers do), a guess where it names none.
    WrongCharset {
        declared: String,
        found: String,
    },
    /// Elements nested deeper than any browser goes. They are read all the same.
    DeepNesting {
        depth: u32,
    },
    /// A piece of more than a megabyte. It is read all the same.
    LongValue(LongPiece),
    /// Most of the text is strings of more than 30 characters.
    WordlessText,
    /// No link, but scripts.
    ScriptOnly,
    /// A redirect to what is never fetched.
    ForeignRedirect {
        scheme: String,
    },
}

impl GatherProblem {
    /// For counters and reports.
    pub fn word(&self) -> &'static str {
        match self {
            GatherProblem::NotText { .. } => "not-text",
            GatherProblem::NotWanted { .. } => "not-wanted",
            GatherProblem::Undecodable => "undecodable",
            GatherProblem::Malformed { .. } => "malformed-text",
            GatherProblem::InvalidUrls(_) => "invalid-urls",
            GatherProblem::LongUrls(_) => "long-urls",
            GatherProblem::HostAliases(_) => "host-aliases",
            GatherProblem::Canonicals(_) => "canonical-conflict",
            GatherProblem::LinksOverLimit { .. } => "links-over-limit",
            GatherProblem::RequisitesOverLimit { .. } => "requisites-over-limit",
            GatherProblem::WrongCharset { .. } => "wrong-charset",
            GatherProblem::DeepNesting { .. } => "deep-nesting",
            GatherProblem::LongValue(_) => "long-value",
            GatherProblem::WordlessText => "wordless-text",
            GatherProblem::ScriptOnly => "script-only",
            GatherProblem::ForeignRedirect { .. } => "foreign-redirect",
        }
    }
}

/// How many, and the first few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    pub count: u64,
    pub first: Vec<String>,
}

impl Examples {
    pub(crate) fn add(&mut self, example: &str) {
        self.count += 1;
        if self.first.len() < EXAMPLES_MAX {
            self.first.push(example.chars().take(EXAMPLE_CHARS_MAX).collect());
        }
    }
}
