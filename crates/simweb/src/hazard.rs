//! What can be wrong with a page or a host. Each is switched on by name and place, never by surprise.
//!
//! Faults that depend on time (spells) are functions of `now`, so that a run can be repeated.

use std::time::Duration;

use crate::Odd;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hazard {
    /// Answers only after this long.
    Late { after: Duration },
    /// The body comes in small pieces with a wait before each.
    Slow { piece: usize, every: Duration },
    /// The head itself comes byte by byte (slow loris).
    SlowHead { every: Duration },
    /// Accepts the request and never answers.
    NoResponse,
    /// Resets the connection instead of answering.
    Reset,
    /// Is away (resets every connection) from `after` the web's beginning on, for `lasting`.
    Away { after: Duration, lasting: Duration },
    /// Resets it in the middle of the body.
    ResetInBody,
    /// `Content-Length` promises more than comes before the server hangs up.
    Truncated,
    /// `Content-Length` is shorter than what is sent.
    WrongLength,
    /// A second answer nobody asked for follows the first.
    UnexpectedResponse,
    /// A redirect to itself.
    RedirectLoop,
    /// Itself again, with a cookie; with the cookie the page comes.
    CookieRedirect,
    /// This many redirects, then a page.
    RedirectChain { hops: u32 },
    /// A redirect to an address inside somebody's network.
    RedirectPrivate,
    /// A redirect to a `file:` URL.
    RedirectScheme,
    /// Cookies for everybody, too long ones, and very many.
    CookieFlood,
    /// Escape sequences in title and text.
    EscapeSequences,
    /// Links into somebody's network.
    PrivateLinks,
    /// Links to ports that are no web servers'.
    OddPorts,
    /// 429 with `Retry-After` for `lasting` out of `every`.
    TooManyRequests { every: Duration, lasting: Duration },
    /// 503 with `Retry-After` for `lasting` out of `every`.
    Unavailable { every: Duration, lasting: Duration },
    /// Always 500.
    ServerError,
    /// A small gzip body that unpacks to this many megabytes.
    GzipBomb { megabytes: u32 },
    /// gzip that breaks off in the middle.
    BrokenGzip,
    /// Ten gzip codings around each other.
    NestedEncoding,
    /// A chunked body without end.
    Endless,
    /// Header lines without end.
    HeaderFlood,
    /// Not HTTP.
    Garbage,
    /// `?month=N` links to the next month, for ever.
    Calendar,
    /// Every link carries a session id that changes each minute.
    SessionIds,
    /// A list of this many pages that differ by a counter alone, each of which leads to the next, for ever.
    NearDuplicates { listed: u32 },
    /// Each page links one folder deeper, for ever.
    GrowingPath,
    /// Unknown paths answer 200 with one and the same page.
    Soft404,
    /// Every link carries an identifier under a name of its own, which changes all the time.
    UnknownSession,
    /// The same as a folder in front of every path.
    PathSession,
    /// Session ids in links, but only for those who send no cookie.
    CookielessSession,
    /// A shop: filters in all combinations, and so many products.
    Facets { products: u64 },
    /// Listings of folders in all their orders.
    Listing,
    /// Links without end to pages that all show one error.
    Broken,
    /// The link of each page is its own URL, escaped once more.
    Reescape,
    /// Each link has the URL it stands on in its query.
    History,
    /// New pages without end, each after this long.
    Tarpit { after: Duration },
    /// One page after the other, so many.
    Chain { length: u64 },
    /// A sitemap that plays tricks on whoever reads it; at `/sitemap*` of a host.
    Sitemap(SitemapTrick),
    /// UTF-8 in the header, Latin-1 in the body.
    CharsetLie,
    /// A picture that says it is HTML.
    BinaryAsHtml,
    /// UTF-16 with a byte order mark and no charset in the header.
    Utf16,
    /// A clock, a counter, a token and an advertisement in a text that stays.
    Restless,
    /// 304 to whoever asks conditionally, whatever has changed.
    NeverModified,
    /// 404 for `lasting` out of `every`.
    Vanishing { every: Duration, lasting: Duration },
    /// The TLS certificate is signed by nobody. Works on whole hosts only.
    SelfSigned,
    /// The name does not resolve (in process only). Works on whole hosts only.
    NoName,
    /// An answer or content that is odd in itself.
    Odd(Odd),
    /// The site serves what site `of` serves: its home page where `home` says so, and its other pages but for
    /// `own` per cent of them. Works on whole hosts only.
    Mirror { of: usize, home: bool, own: u8 },
    /// Until so long after the beginning of time there is nothing but one page that says that there will be more,
    /// the same on every such site. Works on whole hosts only.
    UnderConstruction { until: Duration },
    /// Whatever is asked for, the server's default page. Works on whole hosts only.
    DefaultHost,
    /// The name with `www.` in front serves the same, instead of leading to the one without. Works on whole hosts only.
    WwwTwin,
    /// There is no name with `www.` in front. Works on whole hosts only.
    NoWww,
    /// Every name under the host resolves; each page links ten new ones. Works on whole hosts only.
    Wildcard,
}

impl Hazard {
    /// One of each, with figures that show the hazard without making a test long.
    pub const ALL: &[Hazard] = &[
        Hazard::Late { after: Duration::from_secs(30) },
        Hazard::Slow { piece: 16, every: Duration::from_secs(1) },
        Hazard::SlowHead { every: Duration::from_secs(1) },
        Hazard::NoResponse,
        Hazard::Reset,
        Hazard::Away { after: Duration::ZERO, lasting: Duration::from_secs(1 << 40) },
        Hazard::ResetInBody,
        Hazard::Truncated,
        Hazard::WrongLength,
        Hazard::UnexpectedResponse,
        Hazard::RedirectLoop,
        Hazard::CookieRedirect,
        Hazard::RedirectChain { hops: 30 },
        Hazard::RedirectPrivate,
        Hazard::RedirectScheme,
        Hazard::CookieFlood,
        Hazard::EscapeSequences,
        Hazard::PrivateLinks,
        Hazard::OddPorts,
        Hazard::TooManyRequests {
            every: Duration::from_secs(60),
            lasting: Duration::from_secs(20),
        },
        Hazard::Unavailable { every: Duration::from_secs(60), lasting: Duration::from_secs(20) },
        Hazard::ServerError,
        Hazard::GzipBomb { megabytes: 1024 },
        Hazard::BrokenGzip,
        Hazard::NestedEncoding,
        Hazard::Endless,
        Hazard::HeaderFlood,
        Hazard::Garbage,
        Hazard::Calendar,
        Hazard::SessionIds,
        Hazard::NearDuplicates { listed: 200 },
        Hazard::GrowingPath,
        Hazard::Soft404,
        Hazard::UnknownSession,
        Hazard::PathSession,
        Hazard::CookielessSession,
        Hazard::Facets { products: 1_000 },
        Hazard::Listing,
        Hazard::Broken,
        Hazard::Reescape,
        Hazard::History,
        Hazard::Tarpit { after: Duration::from_millis(50) },
        Hazard::Chain { length: 100 },
        Hazard::Sitemap(SitemapTrick::Entities),
        Hazard::Sitemap(SitemapTrick::LateDoctype),
        Hazard::Sitemap(SitemapTrick::External),
        Hazard::Sitemap(SitemapTrick::Include),
        Hazard::Sitemap(SitemapTrick::Circle),
        Hazard::Sitemap(SitemapTrick::Deep),
        Hazard::Sitemap(SitemapTrick::ManyUrls),
        Hazard::Sitemap(SitemapTrick::OtherHosts),
        Hazard::Sitemap(SitemapTrick::Bomb),
        Hazard::CharsetLie,
        Hazard::BinaryAsHtml,
        Hazard::Utf16,
        Hazard::Restless,
        Hazard::NeverModified,
        Hazard::Vanishing { every: Duration::from_secs(60), lasting: Duration::from_secs(20) },
        Hazard::SelfSigned,
        Hazard::NoName,
        Hazard::Odd(Odd::DeflateBomb),
        Hazard::Odd(Odd::BrotliBomb),
        Hazard::Odd(Odd::ZstdBomb),
        Hazard::Odd(Odd::LargeWindow),
        Hazard::Odd(Odd::JunkBehindGzip),
        Hazard::Odd(Odd::PlainAsGzip),
        Hazard::Odd(Odd::WrongChecksum),
        Hazard::Odd(Odd::LongBody),
        Hazard::Odd(Odd::NonsenseLength),
        Hazard::Odd(Odd::DifferingLengths),
        Hazard::Odd(Odd::LengthAndChunks),
        Hazard::Odd(Odd::InterimFlood),
        Hazard::Odd(Odd::OldHttp),
        Hazard::Odd(Odd::BadStatus),
        Hazard::Odd(Odd::PdfAsHtml),
        Hazard::Odd(Odd::ZipAsHtml),
        Hazard::Odd(Odd::Untyped),
        Hazard::Odd(Odd::HtmlAsImage),
        Hazard::Odd(Odd::BareUtf16),
        Hazard::Odd(Odd::Utf7),
        Hazard::Odd(Odd::MixedText),
        Hazard::Odd(Odd::Nuls),
        Hazard::Odd(Odd::DeepNesting),
        Hazard::Odd(Odd::LongAttribute),
        Hazard::Odd(Odd::LongLine),
        Hazard::Odd(Odd::OpenComment),
        Hazard::Odd(Odd::Wordless),
        Hazard::Odd(Odd::ScriptOnly),
        Hazard::Odd(Odd::ManyLinks),
        Hazard::Odd(Odd::BadUrls),
        Hazard::Odd(Odd::RefreshLoop),
        Hazard::Odd(Odd::RedirectPair),
        Hazard::Mirror { of: 0, home: true, own: 0 },
        Hazard::UnderConstruction { until: Duration::from_secs(60 * 86_400) },
        Hazard::DefaultHost,
        Hazard::WwwTwin,
        Hazard::NoWww,
        Hazard::Wildcard,
    ];

    pub fn word(&self) -> &'static str {
        match self {
            Hazard::Late { .. } => "late",
            Hazard::Slow { .. } => "slow",
            Hazard::SlowHead { .. } => "slow-head",
            Hazard::NoResponse => "no-response",
            Hazard::Reset => "reset",
            Hazard::Away { .. } => "away",
            Hazard::ResetInBody => "reset-in-body",
            Hazard::Truncated => "truncated",
            Hazard::WrongLength => "wrong-length",
            Hazard::UnexpectedResponse => "unexpected-response",
            Hazard::RedirectLoop => "redirect-loop",
            Hazard::CookieRedirect => "cookie-redirect",
            Hazard::RedirectChain { .. } => "redirect-chain",
            Hazard::RedirectPrivate => "redirect-private",
            Hazard::RedirectScheme => "redirect-scheme",
            Hazard::CookieFlood => "cookie-flood",
            Hazard::EscapeSequences => "escape-sequences",
            Hazard::PrivateLinks => "private-links",
            Hazard::OddPorts => "odd-ports",
            Hazard::TooManyRequests { .. } => "too-many-requests",
            Hazard::Unavailable { .. } => "unavailable",
            Hazard::ServerError => "server-error",
            Hazard::GzipBomb { .. } => "gzip-bomb",
            Hazard::BrokenGzip => "broken-gzip",
            Hazard::NestedEncoding => "nested-encoding",
            Hazard::Endless => "endless",
            Hazard::HeaderFlood => "header-flood",
            Hazard::Garbage => "garbage",
            Hazard::Calendar => "calendar",
            Hazard::SessionIds => "session-ids",
            Hazard::NearDuplicates { .. } => "near-duplicates",
            Hazard::GrowingPath => "growing-path",
            Hazard::Soft404 => "soft-404",
            Hazard::UnknownSession => "unknown-session",
            Hazard::PathSession => "path-session",
            Hazard::CookielessSession => "cookieless-session",
            Hazard::Facets { .. } => "facets",
            Hazard::Listing => "listing",
            Hazard::Broken => "broken",
            Hazard::Reescape => "reescape",
            Hazard::History => "history",
            Hazard::Tarpit { .. } => "tarpit",
            Hazard::Chain { .. } => "chain",
            Hazard::Sitemap(trick) => trick.word(),
            Hazard::CharsetLie => "charset-lie",
            Hazard::BinaryAsHtml => "binary-as-html",
            Hazard::Utf16 => "utf-16",
            Hazard::Restless => "restless",
            Hazard::NeverModified => "never-modified",
            Hazard::Vanishing { .. } => "vanishing",
            Hazard::SelfSigned => "self-signed",
            Hazard::NoName => "no-name",
            Hazard::Odd(odd) => odd.word(),
            Hazard::Mirror { .. } => "mirror",
            Hazard::UnderConstruction { .. } => "under-construction",
            Hazard::DefaultHost => "default-host",
            Hazard::WwwTwin => "www-twin",
            Hazard::NoWww => "no-www",
            Hazard::Wildcard => "wildcard",
        }
    }

    pub fn from_word(word: &str) -> Option<Hazard> {
        Hazard::ALL.iter().copied().find(|hazard| hazard.word() == word)
    }

    /// Is about many URLs, not about one page that misbehaves.
    pub fn is_trap(&self) -> bool {
        matches!(
            self,
            Hazard::Calendar
                | Hazard::SessionIds
                | Hazard::GrowingPath
                | Hazard::Soft404
                | Hazard::UnknownSession
                | Hazard::PathSession
                | Hazard::CookielessSession
                | Hazard::Facets { .. }
                | Hazard::Listing
                | Hazard::Broken
                | Hazard::Reescape
                | Hazard::History
                | Hazard::Tarpit { .. }
                | Hazard::Chain { .. }
        )
    }

    /// Is about the paths below its own.
    pub fn is_of_folder(&self) -> bool {
        matches!(
            self,
            Hazard::GrowingPath
                | Hazard::Soft404
                | Hazard::Facets { .. }
                | Hazard::Listing
                | Hazard::Broken
                | Hazard::Tarpit { .. }
                | Hazard::Chain { .. }
        )
    }

    /// Is about the links between a site's own pages.
    pub fn is_of_links(&self) -> bool {
        matches!(self, Hazard::UnknownSession | Hazard::PathSession | Hazard::CookielessSession)
    }

    /// Has a meaning only for a host as a whole.
    pub fn is_of_host(&self) -> bool {
        matches!(
            self,
            Hazard::SelfSigned
                | Hazard::NoName
                | Hazard::Mirror { .. }
                | Hazard::UnderConstruction { .. }
                | Hazard::DefaultHost
                | Hazard::WwwTwin
                | Hazard::NoWww
                | Hazard::Wildcard
        )
    }
}

/// How a sitemap can be meant to hurt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SitemapTrick {
    /// Entities that grow a thousandfold nine times, and entities that are files.
    Entities,
    /// The same behind eight kilobytes of comments.
    LateDoctype,
    /// A document type that is another file.
    External,
    /// XInclude of another file.
    Include,
    /// An index that names itself, and another that names it.
    Circle,
    /// A thousand indexes, each naming the next.
    Deep,
    /// One URL more than the protocol allows.
    ManyUrls,
    /// URLs of somebody else.
    OtherHosts,
    /// A small gzip file that unpacks to 60 MB.
    Bomb,
}

impl SitemapTrick {
    pub fn word(self) -> &'static str {
        match self {
            SitemapTrick::Entities => "sitemap-entities",
            SitemapTrick::LateDoctype => "sitemap-late-doctype",
            SitemapTrick::External => "sitemap-external",
            SitemapTrick::Include => "sitemap-include",
            SitemapTrick::Circle => "sitemap-circle",
            SitemapTrick::Deep => "sitemap-deep",
            SitemapTrick::ManyUrls => "sitemap-many-urls",
            SitemapTrick::OtherHosts => "sitemap-other-hosts",
            SitemapTrick::Bomb => "sitemap-bomb",
        }
    }
}

/// Where a hazard waits.
///
/// - `s3.sim.test`: every page of the host, but not its robots.txt;
/// - `s3.sim.test/*`: everything, robots.txt too;
/// - `s3.sim.test/a/b`: this path (with any query), linked from the home page;
/// - `s3.sim.test/a/*`: all that begins with `/a/`.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub place: String,
    pub hazard: Hazard,
}

impl Placed {
    pub fn host(&self) -> &str {
        self.place.split('/').next().unwrap_or_default()
    }

    /// The path a page can link to, when there is one.
    pub(crate) fn path(&self) -> Option<&str> {
        let path = self.place.find('/').map(|slash| &self.place[slash..])?;
        let path = path.strip_suffix('*').unwrap_or(path);
        (path != "/").then_some(path)
    }

    /// Whether a request for `path` (no query) on the right host meets this hazard.
    pub(crate) fn covers(&self, path: &str) -> bool {
        match self.place.find('/').map(|slash| &self.place[slash..]) {
            None => path != "/robots.txt" && !path.starts_with("/sitemap"),
            Some(pattern) => match pattern.strip_suffix('*') {
                Some(start) => path.starts_with(start),
                None => path == pattern,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hazard_has_a_word_of_its_own() {
        for hazard in Hazard::ALL {
            assert_eq!(Hazard::from_word(hazard.word()), Some(*hazard));
        }
    }

    #[test]
    fn every_odd_answer_is_among_them() {
        assert!(Odd::ALL.iter().all(|odd| Hazard::ALL.contains(&Hazard::Odd(*odd))));
    }

    #[test]
    fn places_cover_what_they_say() {
        let covers = |place: &str, path: &str| {
            Placed { place: place.to_owned(), hazard: Hazard::NoResponse }.covers(path)
        };
        assert!(covers("h.test", "/a"));
        assert!(!covers("h.test", "/robots.txt"));
        assert!(covers("h.test/*", "/robots.txt"));
        assert!(covers("h.test/a", "/a"));
        assert!(!covers("h.test/a", "/a/b"));
        assert!(covers("h.test/a/*", "/a/b"));
    }
}
