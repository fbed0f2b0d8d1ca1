//! What a body is: the server's word, checked against the bytes.
//!
//! The WHATWG MIME Sniffing standard, reduced to what a crawler of text needs: a declared text type
//! is believed unless the bytes are plainly something else, a missing (or meaningless) one is
//! guessed. Beyond the standard `application/octet-stream`, which servers send for want of a better word,
//! becomes HTML when it begins like it, and so does what is called a picture, sound or film: none of them can
//! begin so. Browsers never take text/plain for HTML, lest an upload run a script; nothing runs here, and what
//! begins as a whole page has links that somebody meant. A server that says `nosniff` shows source on purpose.

use model::Headers;

/// Bytes that sniffing looks at (the standard's "resource header").
const HEADER_BYTES: usize = 1445;

/// The server's word: essence and charset, lower case; empty when missing or not well formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) essence: String,
    pub(crate) charset: Option<String>,
    /// `X-Content-Type-Options: nosniff`: it means what it says.
    pub(crate) nosniff: bool,
}

impl Declared {
    /// Of several `Content-Type` values the last well-formed one counts (Fetch standard), and keeps
    /// the charset of an earlier one with the same essence.
    pub(crate) fn of(headers: &Headers) -> Declared {
        let nosniff = headers.all("x-content-type-options").any(|value| {
            value.split(',').next().is_some_and(|word| word.trim().eq_ignore_ascii_case("nosniff"))
        });
        let mut declared = Declared { nosniff, ..Declared::default() };
        for value in headers.all("content-type").flat_map(|field| field.split(',')) {
            let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
            let essence = essence.trim().to_ascii_lowercase();
            if !is_essence(&essence) || essence == "*/*" {
                continue;
            }
            let charset = charset_parameter(parameters);
            if essence != declared.essence {
                declared = Declared { essence, charset, nosniff };
            } else if charset.is_some() {
                declared.charset = charset;
            }
        }
        declared
    }
}

fn is_essence(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

fn charset_parameter(parameters: &str) -> Option<String> {
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (!value.is_empty()).then(|| value.to_ascii_lowercase())
    })
}

/// The media type to treat the body as.
pub(crate) fn sniff(declared: &Declared, body: &[u8]) -> String {
    let header = &body[..body.len().min(HEADER_BYTES)];
    let essence = declared.essence.as_str();
    if header.is_empty() {
        return essence.to_owned();
    }
    let found = match essence {
        "" | "unknown/unknown" | "application/unknown" => Some(unknown(header)),
        "application/octet-stream" => {
            (looks_like_html(header) || begins_a_page(header)).then_some("text/html")
        }
        "text/html" | "application/xhtml+xml" => {
            binary_kind(header).or_else(|| no_markup_but_binary(header))
        }
        _ if is_plain(essence) && !declared.nosniff && begins_a_page(header) => Some("text/html"),
        _ if is_text(essence) => binary_kind(header).or_else(|| {
            let wide = declared.charset.as_deref().is_some_and(|c| c.starts_with("utf-16"));
            (has_binary_bytes(header) && !wide).then_some("application/octet-stream")
        }),
        _ if is_picture_or_sound(essence) => looks_like_html(header).then_some("text/html"),
        _ => None,
    };
    found.unwrap_or(essence).to_owned()
}

/// Whether a media type can be read as text at all.
pub(crate) fn is_text(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+xml")
        || essence.ends_with("+json")
        || matches!(essence, "application/xml" | "application/json" | "application/javascript")
}

/// Text that no page begins like: XML of its own kind may.
fn is_plain(essence: &str) -> bool {
    is_text(essence) && !essence.ends_with("+xml")
}

fn is_picture_or_sound(essence: &str) -> bool {
    ["image/", "audio/", "video/", "font/"].iter().any(|kind| essence.starts_with(kind))
        && !essence.ends_with("+xml")
}

pub(crate) fn is_html(essence: &str) -> bool {
    matches!(essence, "text/html" | "application/xhtml+xml")
}

fn unknown(header: &[u8]) -> &'static str {
    if looks_like_html(header) || begins_a_page(header) {
        "text/html"
    } else if skip_space(header).starts_with(b"<?xml") {
        "text/xml"
    } else if let Some(kind) = binary_kind(header) {
        kind
    } else if has_binary_bytes(header) {
        "application/octet-stream"
    } else {
        "text/plain"
    }
}

/// A whole page and no piece of one, of which texts are full: what only a page begins with, also behind comments and
/// behind the declaration with which XHTML begins.
fn begins_a_page(header: &[u8]) -> bool {
    const STARTS: [&[u8]; 6] =
        [b"<!DOCTYPE HTML", b"<HTML", b"<HEAD", b"<TITLE", b"<META", b"<BODY"];
    let mut text = skip_space(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header));
    loop {
        let end: &[u8] = match text {
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'?', b'x' | b'X', b'm' | b'M', b'l' | b'L', ..] => b"?>",
            _ => return begins_with(text, &STARTS),
        };
        // Behind its beginning, of which the end may be a part: `<!-->`.
        let Some(at) = memchr::memmem::find(&text[4..], end) else { return false };
        text = skip_space(&text[4 + at + end.len()..]);
    }
}

/// MIME Sniffing 7.1, the patterns that mean HTML: a known tag that ends behind its name.
fn looks_like_html(header: &[u8]) -> bool {
    const STARTS: [&[u8]; 17] = [
        b"<!DOCTYPE HTML",
        b"<HTML",
        b"<HEAD",
        b"<SCRIPT",
        b"<IFRAME",
        b"<H1",
        b"<DIV",
        b"<FONT",
        b"<TABLE",
        b"<A",
        b"<STYLE",
        b"<TITLE",
        b"<B",
        b"<BODY",
        b"<BR",
        b"<P",
        b"<META",
    ];
    let text = skip_space(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header));
    text.starts_with(b"<!--") || begins_with(text, &STARTS)
}

fn begins_with(text: &[u8], starts: &[&[u8]]) -> bool {
    starts.iter().any(|start| {
        text.get(..start.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(start))
            && text
                .get(start.len())
                .is_some_and(|&b| matches!(b, b' ' | b'>' | b'\n' | b'\r' | b'\t'))
    })
}

fn skip_space(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Signatures of what lying servers send most.
fn binary_kind(header: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 25] = [
        (b"%PDF-", "application/pdf"),
        (b"%!PS-Adobe-", "application/postscript"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"\0\0\x01\0", "image/x-icon"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"BZh", "application/x-bzip2"),
        (b"\xfd7zXZ\0", "application/x-xz"),
        (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
        (b"Rar!\x1a\x07", "application/x-rar-compressed"),
        (b"\x28\xb5\x2f\xfd", "application/zstd"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
        (b"OggS\0", "application/ogg"),
        (b"fLaC", "audio/flac"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"wOFF", "font/woff"),
        (b"wOF2", "font/woff2"),
        (b"\x7fELF", "application/x-executable"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    ];
    let by_start = KINDS.iter().find(|(start, _)| header.starts_with(start)).map(|&(_, kind)| kind);
    by_start.or_else(|| match (header.get(..4), header.get(4..8), header.get(8..12)) {
        (_, Some(b"ftyp"), Some(_)) => Some("video/mp4"),
        (Some(b"RIFF"), Some(_), Some(b"WEBP")) => Some("image/webp"),
        (Some(b"RIFF"), Some(_), Some(b"WAVE")) => Some("audio/wave"),
        (Some(b"RIFF"), Some(_), Some(b"AVI ")) => Some("video/avi"),
        _ => None,
    })
}

/// Called HTML, but binary bytes and not one `<`, not even a wide one.
fn no_markup_but_binary(header: &[u8]) -> Option<&'static str> {
    (has_binary_bytes(header) && !header.contains(&b'<')).then_some("application/octet-stream")
}

/// MIME Sniffing's "binary data bytes", which text in any encoding but UTF-16 and -32 does not
/// hold.
fn has_binary_bytes(header: &[u8]) -> bool {
    let has_bom = [b"\xfe\xff".as_slice(), b"\xff\xfe", b"\xef\xbb\xbf"]
        .iter()
        .any(|bom| header.starts_with(bom));
    let is_binary = |b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    // Block by block, all bytes of one at once.
    let has_binary = |block: &[u8]| block.iter().fold(false, |has, b| has | is_binary(b));
    !has_bom && header.chunks(64).any(has_binary)
}

#[cfg(test)]
mod tests {
    use model::Headers;

    use super::{Declared, sniff};

    fn declared(fields: &[&str]) -> Declared {
        let mut headers = Headers::new();
        for field in fields {
            headers.push("Content-Type", field);
        }
        Declared::of(&headers)
    }

    #[test]
    fn content_types_are_read_as_browsers_read_them() {
        let parts = |fields| {
            let d = declared(fields);
            (d.essence, d.charset.unwrap_or_default())
        };
        let pair = |essence: &str, charset: &str| (essence.to_owned(), charset.to_owned());
        assert_eq!(parts(&["Text/HTML; Charset=\"UTF-8\""]), pair("text/html", "utf-8"));
        assert_eq!(parts(&["text/html;x=y;charset=a;charset=b"]), pair("text/html", "a"));
        assert_eq!(parts(&["text/html;charset=a", "text/html"]), pair("text/html", "a"));
        assert_eq!(parts(&["text/html;charset=a, text/plain"]), pair("text/plain", ""));
        assert_eq!(parts(&["text/html", "rubbish", "*/*"]), pair("text/html", ""));
        assert_eq!(parts(&["html", "text/", "te xt/html"]), pair("", ""));
    }

    #[test]
    fn the_bytes_decide_where_the_server_lies() {
        for (field, body, expected) in [
            ("text/html", b"%PDF-1.4 ...".as_slice(), "application/pdf"),
            ("text/html", b"\x89PNG\r\n\x1a\n....", "image/png"),
            ("text/html; charset=utf-8", b"PK\x03\x04", "application/zip"),
            ("text/html", b"\x1f\x8b\x08\0", "application/gzip"),
            ("text/html", b"\x01\x02\x03 no markup", "application/octet-stream"),
            ("text/html", b"<\0h\0t\0m\0l\0>\0", "text/html"),
            ("text/html", b"plain words", "text/html"),
            ("text/plain", b"<!DOCTYPE html><title>x", "text/html"),
            ("text/plain; charset=utf-8", b"\n<HTML lang=pt>", "text/html"),
            ("text/plain", b"<!-- a --> <!-- b -->\n<html>", "text/html"),
            ("text/plain", b"<!-- a comment, and words", "text/plain"),
            (
                "text/plain",
                b"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"x\"><html>",
                "text/html",
            ),
            (
                "text/plain",
                b"\xef\xbb\xbf<?xml version='1.0'?><!-- a --><html xmlns='x'>",
                "text/html",
            ),
            ("text/xml", b"<?xml version='1.0'?><?xml-stylesheet href='a'?><html>", "text/html"),
            ("text/plain", b"<?xml version='1.0'?><!DOCTYPE svg><svg>", "text/plain"),
            ("text/plain", b"<?xml version='1.0'", "text/plain"),
            ("text/plain", b"<?php echo '<html>' ?><html>", "text/plain"),
            ("", b"<?xml version='1.0'?><!DOCTYPE html><p>", "text/html"),
            ("application/octet-stream", b"<?xml version='1.0'?><html lang='en'>", "text/html"),
            ("text/plain", b"<p>a piece of a page</p>", "text/plain"),
            ("text/plain", b"how to write <html>", "text/plain"),
            ("text/plain", b"<htmlish>", "text/plain"),
            ("application/json", b"<!doctype html><p>Error", "text/html"),
            ("text/xml", b"<html xmlns='http://www.w3.org/1999/xhtml'>", "text/html"),
            ("text/xml", b"<?xml version='1.0'?><urlset>", "text/xml"),
            ("text/plain", b"a\0b", "application/octet-stream"),
            ("text/plain", b"\xff\xfea\0", "text/plain"),
            ("text/plain; charset=UTF-16LE", b"a\0b\0", "text/plain"),
            ("text/plain", b"caf\xe9", "text/plain"),
            ("", b"  <!doctype HTML>", "text/html"),
            ("", b"<p>x", "text/html"),
            ("", b"<pre>x", "text/plain"),
            ("", b"<?xml version='1.0'?>", "text/xml"),
            ("", b"hello", "text/plain"),
            ("", b"\0\x01", "application/octet-stream"),
            ("", b"", ""),
            ("application/octet-stream", b"<html>", "text/html"),
            ("application/octet-stream", b"words", "application/octet-stream"),
            ("image/png", b"<html>", "text/html"),
            ("image/png", b"<hello>", "image/png"),
            ("image/svg+xml", b"<html>", "image/svg+xml"),
            ("video/mp4", b"....", "video/mp4"),
        ] {
            assert_eq!(sniff(&declared(&[field]), body), expected, "{field}: {body:?}");
        }
    }

    #[test]
    fn a_server_that_shows_the_source_of_pages_on_purpose_is_believed() {
        let shown = Declared { nosniff: true, ..declared(&["text/plain"]) };
        assert_eq!(sniff(&shown, b"<!DOCTYPE html><title>x"), "text/plain");
        let mut headers = Headers::new();
        headers.push("Content-Type", "text/plain");
        headers.push("X-Content-Type-Options", "NoSniff");
        assert!(Declared::of(&headers).nosniff);
    }
}
