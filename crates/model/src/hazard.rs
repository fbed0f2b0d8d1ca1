//! What the web does to a crawler, by name, and what was done about it.
//!
//! A hazard is noted where it is met and travels with the settlement of that visit, so that a report can name
//! it with an example. What a *rule* refused is a [`crate::Decision`]; a hazard may be both.

use serde::{Deserialize, Serialize};

/// The closed list. The word is what reports, `explain` and the documentation call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazard {
    // Traps: URLs without end.
    DnsWildcard,
    ManyDuplicates,
    NearDuplicates,
    Counter,
    GrowingUrl,
    RepeatedSegments,
    LongUrl,
    SessionIds,
    Variants,
    DirectoryOrder,
    #[serde(rename = "soft-404")]
    Soft404,
    SiteLimit,
    #[serde(alias = "deep-chain")]
    DepthLimit,
    ManyLinks,
    Tarpit,
    RedirectLoop,
    RedirectChain,
    RefreshLoop,
    #[serde(alias = "replica-site")]
    MirrorSite,
    SharedAddress,
    HostAlias,
    // Transport.
    #[serde(alias = "slow-answer")]
    SlowResponse,
    SlowBody,
    EndlessBody,
    LargeBody,
    #[serde(alias = "silent")]
    NoResponse,
    Disconnected,
    HeaderFlood,
    BadHttp,
    BadLength,
    #[serde(alias = "extra-answer")]
    UnexpectedResponse,
    InterimFlood,
    Http2Abuse,
    DecompressionBomb,
    #[serde(alias = "nested-coding")]
    NestedEncoding,
    LargeWindow,
    #[serde(alias = "broken-coding")]
    BrokenEncoding,
    #[serde(alias = "tls-trouble")]
    TlsError,
    #[serde(alias = "name-unknown")]
    UnknownHost,
    #[serde(alias = "name-trouble")]
    DnsError,
    Unreachable,
    Overloaded,
    #[serde(alias = "failing-server")]
    ServerError,
    #[serde(alias = "down-for-long")]
    SiteDown,
    // Contents.
    WrongType,
    MalformedText,
    WrongCharset,
    DeepNesting,
    LongValue,
    WordlessText,
    ScriptOnly,
    InvalidUrls,
    HostileXml,
    HostileSitemap,
    // What servers wish, and get wrong.
    RobotsErrors,
    RobotsUnreachable,
    CanonicalConflict,
    // Attacks on others, or on us.
    #[serde(alias = "internal-address")]
    PrivateAddress,
    #[serde(alias = "foreign-scheme")]
    UnsupportedScheme,
    UnusualPort,
    CookieRefused,
    ControlCharacters,
    // Our own trouble with a page.
    #[serde(alias = "poisonous-page")]
    ParserCrash,
    Quarantine,
    Stalled,
}

impl Hazard {
    pub const ALL: &[Hazard] = &[
        Hazard::DnsWildcard,
        Hazard::ManyDuplicates,
        Hazard::NearDuplicates,
        Hazard::Counter,
        Hazard::GrowingUrl,
        Hazard::RepeatedSegments,
        Hazard::LongUrl,
        Hazard::SessionIds,
        Hazard::Variants,
        Hazard::DirectoryOrder,
        Hazard::Soft404,
        Hazard::SiteLimit,
        Hazard::DepthLimit,
        Hazard::ManyLinks,
        Hazard::Tarpit,
        Hazard::RedirectLoop,
        Hazard::RedirectChain,
        Hazard::RefreshLoop,
        Hazard::MirrorSite,
        Hazard::SharedAddress,
        Hazard::HostAlias,
        Hazard::SlowResponse,
        Hazard::SlowBody,
        Hazard::EndlessBody,
        Hazard::LargeBody,
        Hazard::NoResponse,
        Hazard::Disconnected,
        Hazard::HeaderFlood,
        Hazard::BadHttp,
        Hazard::BadLength,
        Hazard::UnexpectedResponse,
        Hazard::InterimFlood,
        Hazard::Http2Abuse,
        Hazard::DecompressionBomb,
        Hazard::NestedEncoding,
        Hazard::LargeWindow,
        Hazard::BrokenEncoding,
        Hazard::TlsError,
        Hazard::UnknownHost,
        Hazard::DnsError,
        Hazard::Unreachable,
        Hazard::Overloaded,
        Hazard::ServerError,
        Hazard::SiteDown,
        Hazard::WrongType,
        Hazard::MalformedText,
        Hazard::WrongCharset,
        Hazard::DeepNesting,
        Hazard::LongValue,
        Hazard::WordlessText,
        Hazard::ScriptOnly,
        Hazard::InvalidUrls,
        Hazard::HostileXml,
        Hazard::HostileSitemap,
        Hazard::RobotsErrors,
        Hazard::RobotsUnreachable,
        Hazard::CanonicalConflict,
        Hazard::PrivateAddress,
        Hazard::UnsupportedScheme,
        Hazard::UnusualPort,
        Hazard::CookieRefused,
        Hazard::ControlCharacters,
        Hazard::ParserCrash,
        Hazard::Quarantine,
        Hazard::Stalled,
    ];

    pub fn word(self) -> &'static str {
        self.entry().0
    }

    /// In half a sentence, for people.
    pub fn meaning(self) -> &'static str {
        self.entry().1
    }

    pub fn from_word(word: &str) -> Option<Hazard> {
        let former = || FORMER.iter().find(|(old, _)| *old == word).map(|(_, hazard)| *hazard);
        Hazard::ALL.iter().copied().find(|hazard| hazard.word() == word).or_else(former)
    }

    #[rustfmt::skip]
    fn entry(self) -> (&'static str, &'static str) {
        match self {
            Hazard::DnsWildcard => ("dns-wildcard", "every name under the domain resolves (DNS wildcard)"),
            Hazard::ManyDuplicates => ("many-duplicates", "many URLs with the same content"),
            Hazard::NearDuplicates => ("near-duplicates", "pages that differ in little more than a counter"),
            Hazard::Counter => ("counter", "URLs whose number only grows, with nothing new behind them"),
            Hazard::GrowingUrl => ("growing-url", "URLs that contain themselves and grow with every link"),
            Hazard::RepeatedSegments => ("repeated-segments", "the same folders repeated in one path"),
            Hazard::LongUrl => ("long-url", "URLs longer than the limit"),
            Hazard::SessionIds => ("session-ids", "the same pages under new session identifiers"),
            Hazard::Variants => ("variants", "the same page sorted, filtered or printed in other ways"),
            Hazard::DirectoryOrder => ("directory-order", "a directory listing in all its sort orders"),
            Hazard::Soft404 => ("soft-404", "pages that do not exist but answer 200"),
            Hazard::SiteLimit => ("site-limit", "the site has more URLs than the limit"),
            Hazard::DepthLimit => ("depth-limit", "links lead deeper than the limit"),
            Hazard::ManyLinks => ("many-links", "more links in one page than the limit"),
            Hazard::Tarpit => ("tarpit", "a slow and endless site"),
            Hazard::RedirectLoop => ("redirect-loop", "redirects that return to where they began"),
            Hazard::RedirectChain => ("redirect-chain", "more redirects in a row than the limit"),
            Hazard::RefreshLoop => ("refresh-loop", "a page that refreshes to itself"),
            Hazard::MirrorSite => ("mirror-site", "the same site under another name"),
            Hazard::SharedAddress => ("shared-address", "many sites on one IP address"),
            Hazard::HostAlias => ("host-alias", "other spellings of a host name"),
            Hazard::SlowResponse => ("slow-response", "no response, or no complete headers, in time"),
            Hazard::SlowBody => ("slow-body", "a body that did not end in time"),
            Hazard::EndlessBody => ("endless-body", "a body of unknown length that exceeded the limit"),
            Hazard::LargeBody => ("large-body", "a body longer than the limit"),
            Hazard::NoResponse => ("no-response", "a connection without a response"),
            Hazard::Disconnected => ("disconnected", "connections that broke before the response ended"),
            Hazard::HeaderFlood => ("header-flood", "response headers over the limit"),
            Hazard::BadHttp => ("bad-http", "responses that are not HTTP"),
            Hazard::BadLength => ("bad-length", "a Content-Length that is wrong or contradictory"),
            Hazard::UnexpectedResponse => ("unexpected-response", "a response to no request"),
            Hazard::InterimFlood => ("interim-flood", "endless interim (1xx) responses"),
            Hazard::Http2Abuse => ("http2-abuse", "floods of HTTP/2 frames"),
            Hazard::DecompressionBomb => ("decompression-bomb", "few bytes that decompress to very many"),
            Hazard::NestedEncoding => ("nested-encoding", "more than two content encodings around each other"),
            Hazard::LargeWindow => ("large-window", "a compression that needs more memory than the limit"),
            Hazard::BrokenEncoding => ("broken-encoding", "a damaged or misnamed content encoding"),
            Hazard::TlsError => ("tls-error", "TLS certificates or handshakes that failed"),
            Hazard::UnknownHost => ("unknown-host", "host names that do not exist"),
            Hazard::DnsError => ("dns-error", "DNS servers that fail or do not answer"),
            Hazard::Unreachable => ("unreachable", "servers that do not accept connections"),
            Hazard::Overloaded => ("overloaded", "servers that ask for fewer requests (429, 503)"),
            Hazard::ServerError => ("server-error", "servers that answer with errors (5xx)"),
            Hazard::SiteDown => ("site-down", "sites that have not answered for days"),
            Hazard::WrongType => ("wrong-type", "content that is not of its media type"),
            Hazard::MalformedText => ("malformed-text", "bytes that are invalid in their charset"),
            Hazard::WrongCharset => ("wrong-charset", "a charset other than the declared one"),
            Hazard::DeepNesting => ("deep-nesting", "elements nested more than 512 deep"),
            Hazard::LongValue => ("long-value", "attributes, comments or lines of over a megabyte"),
            Hazard::WordlessText => ("wordless-text", "text that consists of very long strings"),
            Hazard::ScriptOnly => ("script-only", "pages with scripts and without links"),
            Hazard::InvalidUrls => ("invalid-urls", "links that are not valid URLs"),
            Hazard::HostileXml => ("hostile-xml", "XML with entities or document types"),
            Hazard::HostileSitemap => ("hostile-sitemap", "sitemaps over their limits, in loops, or of other hosts"),
            Hazard::RobotsErrors => ("robots-errors", "a robots.txt with invalid or misspelled lines"),
            Hazard::RobotsUnreachable => ("robots-unreachable", "a robots.txt that cannot be fetched: the site is not visited"),
            Hazard::CanonicalConflict => ("canonical-conflict", "canonical links that contradict each other"),
            Hazard::PrivateAddress => ("private-address", "names and links that lead into private networks"),
            Hazard::UnsupportedScheme => ("unsupported-scheme", "redirects to other schemes than http and https"),
            Hazard::UnusualPort => ("unusual-port", "links to unusual ports"),
            Hazard::CookieRefused => ("cookie-refused", "cookies for other domains, or too many"),
            Hazard::ControlCharacters => ("control-characters", "control characters in text shown to people"),
            Hazard::ParserCrash => ("parser-crash", "pages that crashed the parser"),
            Hazard::Quarantine => ("quarantine", "pages and sites not visited after three parser crashes"),
            Hazard::Stalled => ("stalled", "parts of the crawl without progress that were restarted"),
        }
    }
}

/// Words that volumes of earlier versions have for some of them.
const FORMER: &[(&str, Hazard)] = &[
    ("broken-coding", Hazard::BrokenEncoding),
    ("deep-chain", Hazard::DepthLimit),
    ("down-for-long", Hazard::SiteDown),
    ("extra-answer", Hazard::UnexpectedResponse),
    ("failing-server", Hazard::ServerError),
    ("foreign-scheme", Hazard::UnsupportedScheme),
    ("internal-address", Hazard::PrivateAddress),
    ("name-trouble", Hazard::DnsError),
    ("name-unknown", Hazard::UnknownHost),
    ("nested-coding", Hazard::NestedEncoding),
    ("poisonous-page", Hazard::ParserCrash),
    ("replica-site", Hazard::MirrorSite),
    ("silent", Hazard::NoResponse),
    ("slow-answer", Hazard::SlowResponse),
    ("tls-trouble", Hazard::TlsError),
];

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Nothing: it is only reported.
    Noted,
    /// Rewritten, decoded, or read by its real type.
    #[serde(alias = "mended")]
    Corrected,
    /// The rest of it was dropped.
    #[serde(alias = "cut")]
    Truncated,
    /// Not taken, not fetched, not obeyed.
    Refused,
    /// Its pattern of URLs grows no more.
    PatternStopped,
    /// The site grows no more.
    SiteStopped,
}

impl Measure {
    pub const ALL: &[Measure] = &[
        Measure::Noted,
        Measure::Corrected,
        Measure::Truncated,
        Measure::Refused,
        Measure::PatternStopped,
        Measure::SiteStopped,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Measure::Noted => "noted",
            Measure::Corrected => "corrected",
            Measure::Truncated => "truncated",
            Measure::Refused => "refused",
            Measure::PatternStopped => "pattern-stopped",
            Measure::SiteStopped => "site-stopped",
        }
    }

    pub fn from_word(word: &str) -> Option<Measure> {
        let word = match word {
            "mended" => "corrected",
            "cut" => "truncated",
            word => word,
        };
        Measure::ALL.iter().copied().find(|measure| measure.word() == word)
    }
}

/// A hazard that one visit met, as whoever met it knows it: not yet where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    pub hazard: Hazard,
    pub measure: Measure,
    /// [`Sighting::what`]: from a short list, or empty.
    pub what: &'static str,
}

impl Met {
    pub const fn new(hazard: Hazard, measure: Measure) -> Met {
        Met { hazard, measure, what: "" }
    }

    pub const fn of(self, what: &'static str) -> Met {
        Met { what, ..self }
    }

    pub fn at(self, url: &crate::CrawlUrl) -> Sighting {
        Sighting::at(url, self.hazard, self.measure).of(self.what)
    }
}

/// A hazard that was met: counted by (site, hazard, what), with examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub site: String,
    pub hazard: Hazard,
    /// Which one, where a site can have several: a pattern of URLs, a parameter, a media type. May be empty; never
    /// a whole URL, of which there is no end.
    pub what: String,
    pub measure: Measure,
    pub count: u64,
    /// A URL that shows it.
    pub example: String,
}

impl Sighting {
    /// Examples kept of each.
    pub const EXAMPLES_MAX: usize = 3;
    /// Rows of one hazard on one site; what comes after is counted together under an empty `what`.
    pub const KINDS_MAX: usize = 100;

    /// One, of which nothing more is to be said than where it was.
    pub fn at(url: &crate::CrawlUrl, hazard: Hazard, measure: Measure) -> Sighting {
        Sighting {
            site: url.site().as_str().to_owned(),
            hazard,
            what: String::new(),
            measure,
            count: 1,
            example: url.as_str().to_owned(),
        }
    }

    pub fn of(self, what: impl Into<String>) -> Sighting {
        Sighting { what: what.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hazard_and_measure_is_found_again_by_its_own_word() {
        for hazard in Hazard::ALL {
            assert_eq!(Hazard::from_word(hazard.word()), Some(*hazard), "{hazard:?}");
            assert_eq!(serde_json::to_value(hazard).unwrap(), hazard.word());
        }
        for measure in Measure::ALL {
            assert_eq!(Measure::from_word(measure.word()), Some(*measure), "{measure:?}");
        }
    }

    #[test]
    fn no_hazard_is_left_out_of_the_list() {
        assert_eq!(Hazard::Stalled as usize + 1, Hazard::ALL.len());
        assert!(Hazard::ALL.iter().enumerate().all(|(at, hazard)| *hazard as usize == at));
    }
}
