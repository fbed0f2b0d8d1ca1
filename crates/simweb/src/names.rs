//! What each hazard is to be called by whoever meets it: the truth that reports are held against.

use model::Hazard as Name;

use crate::{Hazard, Odd, SitemapTrick};

impl Hazard {
    /// Any of these will do. None: nothing hurts whoever reads it right, so there is nothing to tell.
    pub fn names(&self) -> &'static [Name] {
        match self {
            // From the outside a late answer is silence until it comes, and nobody waits for ever.
            Hazard::Late { .. } => &[Name::SlowResponse, Name::NoResponse],
            Hazard::Slow { .. } => &[Name::SlowBody],
            Hazard::SlowHead { .. } => &[Name::SlowResponse],
            Hazard::NoResponse => &[Name::NoResponse],
            Hazard::Reset | Hazard::Away { .. } | Hazard::ResetInBody | Hazard::Truncated => {
                &[Name::Disconnected]
            }
            Hazard::WrongLength => &[Name::BadLength],
            Hazard::UnexpectedResponse => &[Name::UnexpectedResponse],
            Hazard::RedirectLoop => &[Name::RedirectLoop],
            Hazard::RedirectChain { .. } => &[Name::RedirectChain],
            Hazard::RedirectPrivate | Hazard::PrivateLinks => &[Name::PrivateAddress],
            Hazard::RedirectScheme => &[Name::UnsupportedScheme],
            Hazard::CookieFlood => &[Name::CookieRefused],
            Hazard::EscapeSequences => &[Name::ControlCharacters],
            Hazard::OddPorts => &[Name::UnusualPort],
            Hazard::TooManyRequests { .. } | Hazard::Unavailable { .. } => &[Name::Overloaded],
            Hazard::ServerError => &[Name::ServerError],
            Hazard::GzipBomb { .. } => &[Name::DecompressionBomb],
            Hazard::BrokenGzip => &[Name::BrokenEncoding],
            Hazard::NestedEncoding => &[Name::NestedEncoding],
            Hazard::Endless => &[Name::EndlessBody],
            Hazard::HeaderFlood => &[Name::HeaderFlood],
            Hazard::Garbage => &[Name::BadHttp],
            Hazard::CharsetLie => &[Name::WrongCharset],
            Hazard::BinaryAsHtml => &[Name::WrongType],
            Hazard::SelfSigned => &[Name::TlsError],
            Hazard::NoName => &[Name::UnknownHost],
            Hazard::Sitemap(trick) => trick.names(),
            Hazard::Odd(odd) => odd.names(),
            Hazard::Mirror { .. } => &[Name::MirrorSite],
            // One page for everything is also the one for what does not exist; whichever is seen first.
            Hazard::DefaultHost => &[Name::ManyDuplicates, Name::Soft404],
            Hazard::Wildcard => &[Name::DnsWildcard],
            Hazard::CookieRedirect
            | Hazard::Utf16
            | Hazard::Restless
            | Hazard::NeverModified
            | Hazard::Vanishing { .. }
            | Hazard::UnderConstruction { .. }
            | Hazard::WwwTwin
            | Hazard::NoWww => &[],
            _ => self.trap_names(),
        }
    }

    fn trap_names(&self) -> &'static [Name] {
        match self {
            Hazard::Calendar => &[Name::Counter],
            Hazard::SessionIds
            | Hazard::UnknownSession
            | Hazard::PathSession
            | Hazard::CookielessSession => &[Name::SessionIds],
            Hazard::NearDuplicates { .. } => &[Name::NearDuplicates],
            Hazard::GrowingPath => &[Name::RepeatedSegments],
            Hazard::Soft404 => &[Name::Soft404],
            Hazard::Facets { .. } => &[Name::Variants],
            Hazard::Listing => &[Name::DirectoryOrder],
            Hazard::Broken => &[Name::ManyDuplicates],
            Hazard::Reescape | Hazard::History => &[Name::GrowingUrl],
            Hazard::Tarpit { .. } => &[Name::Tarpit],
            Hazard::Chain { .. } => &[Name::DepthLimit],
            _ => &[],
        }
    }
}

impl SitemapTrick {
    fn names(self) -> &'static [Name] {
        match self {
            SitemapTrick::Entities
            | SitemapTrick::LateDoctype
            | SitemapTrick::External
            | SitemapTrick::Include => &[Name::HostileXml],
            SitemapTrick::Circle
            | SitemapTrick::Deep
            | SitemapTrick::ManyUrls
            | SitemapTrick::OtherHosts => &[Name::HostileSitemap],
            SitemapTrick::Bomb => &[Name::HostileSitemap, Name::DecompressionBomb],
        }
    }
}

impl Odd {
    fn names(self) -> &'static [Name] {
        match self {
            Odd::DeflateBomb | Odd::BrotliBomb | Odd::ZstdBomb => &[Name::DecompressionBomb],
            Odd::LargeWindow => &[Name::LargeWindow],
            Odd::JunkBehindGzip | Odd::PlainAsGzip | Odd::WrongChecksum => &[Name::BrokenEncoding],
            Odd::LongBody => &[Name::LargeBody],
            Odd::NonsenseLength | Odd::DifferingLengths | Odd::LengthAndChunks => {
                &[Name::BadLength]
            }
            Odd::InterimFlood => &[Name::InterimFlood],
            Odd::OldHttp | Odd::BadStatus => &[Name::BadHttp],
            Odd::PdfAsHtml | Odd::ZipAsHtml | Odd::Untyped => &[Name::WrongType],
            Odd::Utf7 => &[Name::WrongCharset],
            Odd::MixedText => &[Name::MalformedText],
            Odd::DeepNesting => &[Name::DeepNesting],
            Odd::LongAttribute | Odd::LongLine | Odd::OpenComment => &[Name::LongValue],
            Odd::Wordless => &[Name::WordlessText],
            Odd::ScriptOnly => &[Name::ScriptOnly],
            Odd::ManyLinks => &[Name::ManyLinks],
            Odd::BadUrls => &[Name::InvalidUrls],
            Odd::RefreshLoop => &[Name::RefreshLoop],
            Odd::RedirectPair => &[Name::RedirectLoop],
            // What calls itself a picture is not asked for by whoever wants pages.
            Odd::HtmlAsImage | Odd::BareUtf16 | Odd::Nuls => &[],
        }
    }
}
