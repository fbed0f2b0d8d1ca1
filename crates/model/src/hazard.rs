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
    DeepChain,
    ManyLinks,
    Tarpit,
    RedirectLoop,
    RedirectChain,
    RefreshLoop,
    ReplicaSite,
    SharedAddress,
    HostAlias,
    // Transport.
    SlowAnswer,
    SlowBody,
    EndlessBody,
    LargeBody,
    Silent,
    Disconnected,
    HeaderFlood,
    BadHttp,
    BadLength,
    ExtraAnswer,
    InterimFlood,
    Http2Abuse,
    DecompressionBomb,
    NestedCoding,
    LargeWindow,
    BrokenCoding,
    TlsTrouble,
    NameUnknown,
    NameTrouble,
    Unreachable,
    Overloaded,
    FailingServer,
    DownForLong,
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
    InternalAddress,
    ForeignScheme,
    UnusualPort,
    CookieRefused,
    ControlCharacters,
    // Our own trouble with a page.
    PoisonousPage,
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
        Hazard::DeepChain,
        Hazard::ManyLinks,
        Hazard::Tarpit,
        Hazard::RedirectLoop,
        Hazard::RedirectChain,
        Hazard::RefreshLoop,
        Hazard::ReplicaSite,
        Hazard::SharedAddress,
        Hazard::HostAlias,
        Hazard::SlowAnswer,
        Hazard::SlowBody,
        Hazard::EndlessBody,
        Hazard::LargeBody,
        Hazard::Silent,
        Hazard::Disconnected,
        Hazard::HeaderFlood,
        Hazard::BadHttp,
        Hazard::BadLength,
        Hazard::ExtraAnswer,
        Hazard::InterimFlood,
        Hazard::Http2Abuse,
        Hazard::DecompressionBomb,
        Hazard::NestedCoding,
        Hazard::LargeWindow,
        Hazard::BrokenCoding,
        Hazard::TlsTrouble,
        Hazard::NameUnknown,
        Hazard::NameTrouble,
        Hazard::Unreachable,
        Hazard::Overloaded,
        Hazard::FailingServer,
        Hazard::DownForLong,
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
        Hazard::InternalAddress,
        Hazard::ForeignScheme,
        Hazard::UnusualPort,
        Hazard::CookieRefused,
        Hazard::ControlCharacters,
        Hazard::PoisonousPage,
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
        Hazard::ALL.iter().copied().find(|hazard| hazard.word() == word)
    }

    #[rustfmt::skip]
    fn entry(self) -> (&'static str, &'static str) {
        match self {
            Hazard::DnsWildcard => ("dns-wildcard", "every name under the domain resolves, even random ones"),
            Hazard::ManyDuplicates => ("many-duplicates", "many URLs with the same content"),
            Hazard::NearDuplicates => ("near-duplicates", "pages that differ by little more than a counter"),
            Hazard::Counter => ("counter", "URLs with a number that only grows, and nothing new behind them"),
            Hazard::GrowingUrl => ("growing-url", "each link is the URL of its page with something added"),
            Hazard::RepeatedSegments => ("repeated-segments", "the same folders repeated in one path"),
            Hazard::LongUrl => ("long-url", "URLs longer than the limit"),
            Hazard::SessionIds => ("session-ids", "the same pages under new session identifiers"),
            Hazard::Variants => ("variants", "the same page sorted, filtered or printed in other ways"),
            Hazard::DirectoryOrder => ("directory-order", "a directory listing in all its sort orders"),
            Hazard::Soft404 => ("soft-404", "missing pages answered with status 200"),
            Hazard::SiteLimit => ("site-limit", "the site has more URLs than the limit"),
            Hazard::DeepChain => ("deep-chain", "links lead deeper than the limit of levels"),
            Hazard::ManyLinks => ("many-links", "more links in one page than the limit"),
            Hazard::Tarpit => ("tarpit", "an endless slow site"),
            Hazard::RedirectLoop => ("redirect-loop", "redirects that lead back to where they began"),
            Hazard::RedirectChain => ("redirect-chain", "more redirects in a row than the limit"),
            Hazard::RefreshLoop => ("refresh-loop", "a page that refreshes to itself"),
            Hazard::ReplicaSite => ("replica-site", "the same site under another name"),
            Hazard::SharedAddress => ("shared-address", "many sites on one address"),
            Hazard::HostAlias => ("host-alias", "other spellings of a host name"),
            Hazard::SlowAnswer => ("slow-answer", "no answer, or not all of its headers, in time"),
            Hazard::SlowBody => ("slow-body", "a body that did not end in time"),
            Hazard::EndlessBody => ("endless-body", "a body without a length that went over the limit"),
            Hazard::LargeBody => ("large-body", "a body longer than the limit"),
            Hazard::Silent => ("silent", "a connection on which the server sent nothing"),
            Hazard::Disconnected => ("disconnected", "connections that broke before the answer ended"),
            Hazard::HeaderFlood => ("header-flood", "response headers over the limit"),
            Hazard::BadHttp => ("bad-http", "answers that are not HTTP"),
            Hazard::BadLength => ("bad-length", "a Content-Length that is wrong or contradicts itself"),
            Hazard::ExtraAnswer => ("extra-answer", "more data on a connection than was asked for"),
            Hazard::InterimFlood => ("interim-flood", "endless interim (1xx) answers"),
            Hazard::Http2Abuse => ("http2-abuse", "abusive HTTP/2 frames"),
            Hazard::DecompressionBomb => ("decompression-bomb", "a small body that decompresses to a very large one"),
            Hazard::NestedCoding => ("nested-coding", "nested content codings"),
            Hazard::LargeWindow => ("large-window", "compression that needs more memory than the limit"),
            Hazard::BrokenCoding => ("broken-coding", "compression that is broken or mislabelled"),
            Hazard::TlsTrouble => ("tls-trouble", "TLS handshakes that fail, or certificates that are not trusted"),
            Hazard::NameUnknown => ("name-unknown", "host names that do not exist"),
            Hazard::NameTrouble => ("name-trouble", "name servers that fail, lie or do not answer"),
            Hazard::Unreachable => ("unreachable", "servers that cannot be connected to"),
            Hazard::Overloaded => ("overloaded", "servers that ask for a pause (429, 503)"),
            Hazard::FailingServer => ("failing-server", "servers that answer with errors (5xx)"),
            Hazard::DownForLong => ("down-for-long", "sites that have not answered for days"),
            Hazard::WrongType => ("wrong-type", "content that is not of its declared type"),
            Hazard::MalformedText => ("malformed-text", "text that is not in its declared encoding"),
            Hazard::WrongCharset => ("wrong-charset", "an encoding that is not the one declared"),
            Hazard::DeepNesting => ("deep-nesting", "elements nested deeper than any browser goes"),
            Hazard::LongValue => ("long-value", "attributes, comments or lines of millions of characters"),
            Hazard::WordlessText => ("wordless-text", "text without spaces"),
            Hazard::ScriptOnly => ("script-only", "pages without a link, but with scripts"),
            Hazard::InvalidUrls => ("invalid-urls", "links that are not URLs"),
            Hazard::HostileXml => ("hostile-xml", "XML with entities or document types"),
            Hazard::HostileSitemap => ("hostile-sitemap", "sitemaps over their limits, in loops, or of other hosts"),
            Hazard::RobotsErrors => ("robots-errors", "a robots.txt with unknown or misspelled lines"),
            Hazard::RobotsUnreachable => ("robots-unreachable", "robots.txt cannot be fetched, so nothing is visited"),
            Hazard::CanonicalConflict => ("canonical-conflict", "canonical links that contradict each other"),
            Hazard::InternalAddress => ("internal-address", "names and links that lead to private addresses"),
            Hazard::ForeignScheme => ("foreign-scheme", "redirects to other schemes than http and https"),
            Hazard::UnusualPort => ("unusual-port", "links to unusual ports"),
            Hazard::CookieRefused => ("cookie-refused", "cookies for other sites, or too many"),
            Hazard::ControlCharacters => ("control-characters", "control characters in text"),
            Hazard::PoisonousPage => ("poisonous-page", "pages that crashed the parser"),
            Hazard::Quarantine => ("quarantine", "pages and sites that crashed the parser three times"),
            Hazard::Stalled => ("stalled", "work that made no progress and was restarted"),
        }
    }
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Nothing: it is only told.
    Noted,
    /// Put right: rewritten, decoded, read by its real type.
    Mended,
    /// The rest of it was left.
    Cut,
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
        Measure::Mended,
        Measure::Cut,
        Measure::Refused,
        Measure::PatternStopped,
        Measure::SiteStopped,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Measure::Noted => "noted",
            Measure::Mended => "mended",
            Measure::Cut => "cut",
            Measure::Refused => "refused",
            Measure::PatternStopped => "pattern-stopped",
            Measure::SiteStopped => "site-stopped",
        }
    }

    pub fn from_word(word: &str) -> Option<Measure> {
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
