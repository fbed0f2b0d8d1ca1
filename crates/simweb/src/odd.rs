//! Answers and contents that are odd in themselves, whoever asks and whenever. What each says is in
//! `web/odd.rs` and `web/bombs.rs`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// A small zlib body that unpacks to half a gigabyte.
    DeflateBomb,
    /// A kilobyte of brotli that unpacks to a gigabyte.
    BrotliBomb,
    /// Sixteen kilobytes of zstd that unpack to half a gigabyte.
    ZstdBomb,
    /// A zstd frame that asks for a window of 128 MB.
    LargeWindow,
    /// gzip with bytes behind its end.
    JunkBehindGzip,
    /// A plain page that is called gzip.
    PlainAsGzip,
    /// gzip whose checksum is wrong.
    WrongChecksum,
    /// A body of 50 MB, announced.
    LongBody,
    /// A `Content-Length` that is no number.
    NonsenseLength,
    /// Two lengths that differ.
    DifferingLengths,
    /// A length beside chunks.
    LengthAndChunks,
    /// A hundred thousand interim answers before the answer.
    InterimFlood,
    /// A page without a head, as HTTP/0.9 had it.
    OldHttp,
    /// A status that is no number.
    BadStatus,
    /// A PDF that is called HTML.
    PdfAsHtml,
    /// A zip that is called HTML.
    ZipAsHtml,
    /// A page without a media type.
    Untyped,
    /// A page that is called a picture.
    HtmlAsImage,
    /// UTF-16 without a byte order mark or a charset.
    BareUtf16,
    /// A charset that is no encoding of the web.
    Utf7,
    /// UTF-8 with a few bytes of something else.
    MixedText,
    /// NULs between the letters.
    Nuls,
    /// Half a megabyte of `<ul><li>`.
    DeepNesting,
    /// An attribute of 10 MB.
    LongAttribute,
    /// A line of 50 MB.
    LongLine,
    /// A comment of 10 MB that never ends.
    OpenComment,
    /// Text without spaces.
    Wordless,
    /// No link, but scripts.
    ScriptOnly,
    /// A hundred thousand links.
    ManyLinks,
    /// Links that are no URLs.
    BadUrls,
    /// Refreshes to itself.
    RefreshLoop,
    /// Two URLs that redirect to each other.
    RedirectPair,
}

impl Odd {
    pub const ALL: &[Odd] = &[
        Odd::DeflateBomb,
        Odd::BrotliBomb,
        Odd::ZstdBomb,
        Odd::LargeWindow,
        Odd::JunkBehindGzip,
        Odd::PlainAsGzip,
        Odd::WrongChecksum,
        Odd::LongBody,
        Odd::NonsenseLength,
        Odd::DifferingLengths,
        Odd::LengthAndChunks,
        Odd::InterimFlood,
        Odd::OldHttp,
        Odd::BadStatus,
        Odd::PdfAsHtml,
        Odd::ZipAsHtml,
        Odd::Untyped,
        Odd::HtmlAsImage,
        Odd::BareUtf16,
        Odd::Utf7,
        Odd::MixedText,
        Odd::Nuls,
        Odd::DeepNesting,
        Odd::LongAttribute,
        Odd::LongLine,
        Odd::OpenComment,
        Odd::Wordless,
        Odd::ScriptOnly,
        Odd::ManyLinks,
        Odd::BadUrls,
        Odd::RefreshLoop,
        Odd::RedirectPair,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Odd::DeflateBomb => "deflate-bomb",
            Odd::BrotliBomb => "brotli-bomb",
            Odd::ZstdBomb => "zstd-bomb",
            Odd::LargeWindow => "large-window",
            Odd::JunkBehindGzip => "junk-behind-gzip",
            Odd::PlainAsGzip => "plain-as-gzip",
            Odd::WrongChecksum => "wrong-checksum",
            Odd::LongBody => "long-body",
            Odd::NonsenseLength => "nonsense-length",
            Odd::DifferingLengths => "differing-lengths",
            Odd::LengthAndChunks => "length-and-chunks",
            Odd::InterimFlood => "interim-flood",
            Odd::OldHttp => "old-http",
            Odd::BadStatus => "bad-status",
            Odd::PdfAsHtml => "pdf-as-html",
            Odd::ZipAsHtml => "zip-as-html",
            Odd::Untyped => "untyped",
            Odd::HtmlAsImage => "html-as-image",
            Odd::BareUtf16 => "bare-utf-16",
            Odd::Utf7 => "utf-7",
            Odd::MixedText => "mixed-text",
            Odd::Nuls => "nuls",
            Odd::DeepNesting => "deep-nesting",
            Odd::LongAttribute => "long-attribute",
            Odd::LongLine => "long-line",
            Odd::OpenComment => "open-comment",
            Odd::Wordless => "wordless",
            Odd::ScriptOnly => "script-only",
            Odd::ManyLinks => "many-links",
            Odd::BadUrls => "bad-urls",
            Odd::RefreshLoop => "refresh-loop",
            Odd::RedirectPair => "redirect-pair",
        }
    }
}
