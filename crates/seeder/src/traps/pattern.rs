//! The pattern of a URL: what it has in common with others of the same making, written so that people can read
//! and type it: `/cal?m=*&y=*`, `/post/*`, `/2026/11/title` as `/*/*/*`.
//!
//! In the path, numbers and tokens (hex, UUIDs, long mixed words, letters that nobody can say) are `*`; where the last segment has none of
//! them, it is `*` as a whole, so that the pages of a folder have one pattern. Of the query the names of the
//! parameters are kept, sorted, each once. One pass over the URL; never longer than [`BYTES_MAX`].

use model::CrawlUrl;

/// A pattern is read by people; what differs behind this many bytes is one pattern.
pub const BYTES_MAX: usize = 200;
/// From here on a word with digits in it is a token.
const TOKEN_LEN: usize = 16;
/// From here on a word of letters alone may be drawn by lot, if so many consonants stand in a row.
const JUMBLE_LEN: usize = 12;
const JUMBLE_RUN: usize = 5;
/// Parameters that are told apart; who has more has them all.
const NAMES_MAX: usize = 24;

/// A pattern with what the watch asks of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    pub text: String,
    /// The path is the first so many bytes of the text.
    path_len: usize,
    /// So is the folder, when there is something in it that counts.
    folder_len: Option<usize>,
    /// Parameters of the query, repeated ones too.
    pub parameters: usize,
    /// Something of it counts: a number in the path, or a query.
    pub counts: bool,
}

impl Pattern {
    pub fn of(url: &CrawlUrl) -> Pattern {
        let mut pattern = Pattern { text: String::with_capacity(64), ..Pattern::default() };
        pattern.write_path(url.path(), url.query().is_none());
        pattern.path_len = pattern.text.len();
        if let Some(query) = url.query() {
            pattern.write_query(query);
        }
        pattern
    }

    /// The path's part: what differs only in the query is of one family.
    pub fn path(&self) -> &str {
        &self.text[..self.path_len]
    }

    /// All combinations of parameters on this path together; none where there are less than two.
    pub fn family(&self) -> Option<String> {
        (self.parameters > 1).then(|| [self.path(), "?*"].concat())
    }

    /// The pattern of those alone that end in the same name in another folder: `/f/*/license` of `/f/*/*`.
    pub fn narrow(&self, url: &CrawlUrl) -> Option<String> {
        self.name(url)?;
        Some([&self.text[..self.folder_len?], "/", split_last(url.path()).1].concat())
    }

    /// The last segment. None where nothing else varies, or where it is no name but a token.
    pub fn name<'a>(&self, url: &'a CrawlUrl) -> Option<&'a str> {
        let last = split_last(url.path()).1;
        let fits = self.folder_len? + 1 + last.len() <= BYTES_MAX;
        let name = last.trim_end_matches('/');
        let is_name = !name.is_empty() && !is_wild(stem_of(name));
        (fits && is_name && url.query().is_none()).then_some(name)
    }

    fn write_path(&mut self, path: &str, is_all: bool) {
        let (folder, last) = split_last(path);
        for (at, segment) in folder.split('/').enumerate() {
            if at > 0 {
                self.push("/");
            }
            self.counts |= self.write_segment(segment);
        }
        self.folder_len = self.counts.then_some(self.text.len());
        self.push("/");
        let (name, slash) = last.strip_suffix('/').map_or((last, ""), |name| (name, "/"));
        let before = self.text.len();
        let counts = self.write_segment(name);
        self.counts |= counts;
        if is_all && !counts && !name.is_empty() {
            self.text.truncate(before);
            self.push("*");
        }
        self.push(slash);
    }

    /// Says whether something in it became a star.
    fn write_segment(&mut self, segment: &str) -> bool {
        if !segment.bytes().any(|b| b.is_ascii_digit()) && !has_jumble(segment) {
            self.push(segment);
            return false;
        }
        let stem = stem_of(segment);
        if is_wild(stem) {
            self.push("*");
            self.push(&segment[stem.len()..]);
            return true;
        }
        let mut rest = segment;
        let (mut starred, mut begins) = (false, true);
        while let Some(b) = rest.bytes().next() {
            let (piece, is_number) = match begins.then(|| token_of(rest)).flatten() {
                Some(token) => (token, true),
                None => piece_of(rest, b),
            };
            starred |= is_number;
            self.push(if is_number { "*" } else { piece });
            begins = !piece.bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric());
            rest = &rest[piece.len()..];
        }
        starred
    }

    fn write_query(&mut self, query: &str) {
        self.counts = true;
        let mut names: Vec<&str> = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            self.parameters += 1;
            let name = parameter.split('=').next().unwrap_or_default();
            if names.len() < NAMES_MAX && !names.contains(&name) {
                names.push(name);
            }
        }
        names.sort_unstable();
        self.push("?");
        for (at, name) in names.into_iter().enumerate() {
            if at > 0 {
                self.push("&");
            }
            self.push(if is_token(name) { "*" } else { name });
            self.push("=*");
        }
    }

    fn push(&mut self, piece: &str) {
        let room = BYTES_MAX.saturating_sub(self.text.len());
        // URLs are ASCII: any byte is a boundary.
        self.text.push_str(piece.get(..room.min(piece.len())).unwrap_or_default());
    }
}

/// What kind of page led to another, kept with that one ([`model::PageTerms::via`]): a number for the path of its
/// pattern and one for the whole. Numbers of different patterns are the same once in thirty thousand times; then one
/// is taken for the other, and no more comes of it than that links are refused which would have been taken.
pub mod via {
    use super::number_of;

    /// Nobody of the site.
    pub const NOBODY: u32 = 0;
    /// The page had next to nothing of its own.
    pub const POOR: u32 = 1 << 31;
    const PATH: u32 = 0x7fff << 16;
    const WHOLE: u32 = 0xffff;

    /// Of a pattern, as text.
    pub fn of(text: &str) -> u32 {
        let folded = |text: &str| {
            let number = number_of(text);
            number ^ (number >> 16)
        };
        let path = text.split('?').next().unwrap_or_default();
        ((folded(path) << 16) & PATH | folded(text) & WHOLE).max(1)
    }

    /// Whether both are of one pattern.
    pub fn is_same(one: u32, other: u32) -> bool {
        one != NOBODY && (one ^ other) & (PATH | WHOLE) == 0
    }

    /// Whether both are of one path, whatever the query.
    pub fn is_same_path(one: u32, other: u32) -> bool {
        one != NOBODY && (one ^ other) & PATH == 0
    }

    pub fn is_poor(via: u32) -> bool {
        via & POOR != 0
    }
}

/// The folder in which a path's page lies, its numbers and tokens as stars: `/shop/*`.
pub(super) fn folder_of(path: &str) -> String {
    let mut pattern = Pattern::default();
    for (at, segment) in split_last(path).0.split('/').enumerate() {
        if at > 0 {
            pattern.push("/");
        }
        pattern.write_segment(segment);
    }
    pattern.push("/*");
    pattern.text
}

/// A number for what kind of page a path leads to: all its segments, their numbers and tokens as stars.
pub(super) fn kind_of(path: &str) -> u32 {
    let mut pattern = Pattern::default();
    for segment in path.split('/').skip(1) {
        pattern.push("/");
        pattern.write_segment(segment);
    }
    number_of(&pattern.text)
}

/// Of a name or a set of names. FNV-1a: what was noted is read by later versions.
pub(super) fn number_of(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

/// The folder, and the last segment that is not empty with what follows it.
fn split_last(path: &str) -> (&str, &str) {
    if path == "/" {
        return ("", "");
    }
    let bare = path.strip_suffix('/').unwrap_or(path);
    let at = bare.rfind('/').map_or(0, |slash| slash + 1);
    (path[..at].trim_end_matches('/'), &path[at..])
}

/// The next piece of a segment: an escape, a run of digits, or one byte of anything else.
fn piece_of(rest: &str, first: u8) -> (&str, bool) {
    match first {
        b'%' => (rest.get(..3).unwrap_or(rest), false),
        b'0'..=b'9' => {
            let len = rest.bytes().take_while(u8::is_ascii_digit).count();
            (&rest[..len], true)
        }
        _ => {
            let plain = |b: &u8| !b.is_ascii_digit() && *b != b'%';
            let len = rest.bytes().take_while(plain).count().max(1);
            // A token begins behind a mark; what comes before it is a piece of its own.
            let mark = rest.as_bytes()[..len].iter().position(|b| !b.is_ascii_alphanumeric());
            (&rest[..mark.map_or(len, |at| at + 1)], false)
        }
    }
}

/// A token at the beginning of a piece of a segment that is more than that: `tok=` is before, `.html` behind it.
fn token_of(rest: &str) -> Option<&str> {
    let len = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    (is_token(&rest[..len]) || is_jumble(&rest[..len])).then(|| &rest[..len])
}

fn stem_of(segment: &str) -> &str {
    segment.split('.').next().unwrap_or_default()
}

/// What stands for nothing that people would read.
fn is_wild(stem: &str) -> bool {
    is_hex(stem) || is_token(stem) || is_jumble(stem)
}

fn has_jumble(segment: &str) -> bool {
    segment.len() >= JUMBLE_LEN
        && segment.split(|c: char| !c.is_ascii_alphanumeric()).any(is_jumble)
}

/// Letters drawn by lot: long, and nobody could say them, for they have next to no vowels or a run of consonants as no
/// word has but some compounds. Where one of these is taken for it, patterns are the wider by it and nothing else.
fn is_jumble(word: &str) -> bool {
    if word.len() < JUMBLE_LEN || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    let (mut vowels, mut run, mut longest) = (0, 0, 0);
    for b in word.bytes() {
        match b.to_ascii_lowercase() {
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y' => (vowels, run) = (vowels + 1, 0),
            _ => run += 1,
        }
        longest = longest.max(run);
    }
    longest >= JUMBLE_RUN || vowels * 5 < word.len()
}

/// A number in hex, of any length: it has letters and digits, and only those of hex.
fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A word that no person wrote: long, with digits, and either hex or without any shape.
pub(super) fn is_token(word: &str) -> bool {
    if word.len() < 8 {
        return false;
    }
    let (mut digits, mut hex, mut words, mut switches) = (0, 0, 0, 0);
    let mut before = None;
    for b in word.bytes() {
        digits += usize::from(b.is_ascii_digit());
        hex += usize::from(b.is_ascii_hexdigit() || b == b'-');
        words += usize::from(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        let kind = b.is_ascii_digit();
        switches += usize::from(before.is_some_and(|before| before != kind));
        before = Some(kind);
    }
    let is_hex = hex == word.len() && digits >= 2 && digits < word.len();
    is_hex && (switches >= 2 || word.len() >= TOKEN_LEN) && !word.starts_with('-')
        || words == word.len()
            && word.len() >= TOKEN_LEN
            && switches >= 4
            && !word.contains('-')
            && digits >= 3
}
