//! Seeds as people have them: lists of URLs or hosts, zone files, sitemaps, OPML.
//!
//! [`SeedKind`] says how a text is to be read, or finds it out; [`read_seeds`] reads it. Every kind is read
//! as a stream: memory is bounded by the longest line or tag that is looked at. What is bad is an error with
//! its line and what to do about it; reading goes on behind it.
//!
//! In a list of URLs `#` begins a comment (at the start of a line or after white space), blank lines do not
//! count, and a bare host means its home page; behind a URL may stand what is wanted of it alone ([`Seed`]).

use std::io::{self, BufRead, BufReader};

use flate2::bufread::MultiGzDecoder;
use model::{CrawlUrl, UrlError};

mod hosts;
mod kind;
mod lines;
mod opml;
mod seed;
mod sitemap;
pub(crate) mod xml;
mod zone;

pub use kind::SeedKind;
pub use lines::LINE_BYTES_MAX;
use lines::Lines;
pub use seed::Seed;

/// As much of a bad line as a message shows.
const SHOWN_CHARS_MAX: usize = 80;

/// What a text of seeds yields, one after the other.
pub type Seeds<'a> = Box<dyn Iterator<Item = Result<Seed, SeedError>> + 'a>;

/// The same without terms.
type Urls<'a> = Box<dyn Iterator<Item = Result<CrawlUrl, SeedError>> + 'a>;

/// `name` is the file's: a zone file without `$ORIGIN` is named after its zone.
pub fn read_seeds<'a>(kind: SeedKind, name: &str, reader: impl BufRead + 'a) -> Seeds<'a> {
    let urls: Urls<'a> = match kind {
        SeedKind::Urls => return Box::new(LineReader::reading(reader, Seed::parse)),
        SeedKind::Hosts => Box::new(hosts::Hosts::new(reader)),
        SeedKind::Zone => Box::new(zone::Zone::new(reader, zone::origin_of(name))),
        SeedKind::Sitemap => sitemap::read(reader),
        SeedKind::Opml => Box::new(opml::Opml::new(reader)),
    };
    Box::new(urls.map(|url| url.map(Seed::from)))
}

/// The text inside when it is packed with gzip; as it is otherwise.
pub fn unpacked<'a>(mut reader: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))));
    }
    Ok(Box::new(reader))
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("line {line}: {what}: {text}")]
    Bad { line: u64, text: String, what: String },
    /// A sitemap index names another file.
    #[error("line {line}: names another sitemap, which is not fetched: {text}")]
    Elsewhere { line: u64, text: String },
    /// Nothing after it was looked at.
    #[error("cut after line {line}: {what}")]
    Cut { line: u64, what: String },
    /// Nothing comes after it.
    #[error("cannot read on after line {line}: {source}")]
    Io { line: u64, source: io::Error },
}

impl SeedError {
    fn bad(line: u64, text: &str, what: impl Into<String>) -> SeedError {
        SeedError::Bad { line, text: shown(text), what: what.into() }
    }
}

fn shown(text: &str) -> String {
    text.trim().chars().take(SHOWN_CHARS_MAX).collect()
}

/// A list of URLs, one a line.
pub type SeedReader<R> = LineReader<R, CrawlUrl>;

/// A list of anything, one a line.
pub struct LineReader<R, T> {
    lines: Lines<R>,
    parse: fn(&str) -> Result<T, String>,
}

impl<R: BufRead> LineReader<R, CrawlUrl> {
    pub fn new(reader: R) -> SeedReader<R> {
        LineReader::reading(reader, parse_seed)
    }
}

impl<R: BufRead, T> LineReader<R, T> {
    /// `parse` reads what is left of a line without white space and comment.
    pub fn reading(reader: R, parse: fn(&str) -> Result<T, String>) -> LineReader<R, T> {
        LineReader { lines: Lines::new(reader), parse }
    }
}

impl<R: BufRead, T> Iterator for LineReader<R, T> {
    type Item = Result<T, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (line, text) = match self.lines.next_line()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let item = without_comment(text);
            if !item.is_empty() {
                return Some((self.parse)(item).map_err(|what| SeedError::bad(line, text, what)));
            }
        }
    }
}

/// A seed as somebody types it: a URL, or a host with or without port and path. The error says what is
/// wrong with it and what would be right.
pub fn parse_seed(text: &str) -> Result<CrawlUrl, String> {
    let text = text.trim();
    if text.contains(char::is_whitespace) {
        return Err("white space inside: write one URL a line, spaces as %20".to_owned());
    }
    if let Some(scheme) = scheme(text) {
        return parse_with_scheme(text, scheme);
    }
    let is_absolute = text.starts_with("//");
    if !is_absolute && text.starts_with(['/', '?', '.']) {
        return Err("a path alone says no host: write the whole URL".to_owned());
    }
    let bare = text.trim_start_matches('/');
    let host = bare.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err("looks like a mail address: write a URL or a host".to_owned());
    }
    if matches!(host, "http" | "https") {
        return Err(format!("the colon after {host} is missing"));
    }
    let is_host = is_absolute || host.contains(['.', ':', '。']) || host == "localhost";
    if !is_host {
        return Err("neither a URL nor a host: write it as http://HOST/".to_owned());
    }
    CrawlUrl::parse(&format!("http://{bare}")).map_err(|e| e.to_string())
}

fn parse_with_scheme(text: &str, scheme: &str) -> Result<CrawlUrl, String> {
    CrawlUrl::parse(text).map_err(|error| match error {
        UrlError::Scheme(_) if is_misspelt_http(scheme) => {
            format!("unknown scheme {scheme}: did you mean http or https?")
        }
        error => error.to_string(),
    })
}

/// What stands before the colon, unless that is a host before its port.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (is_scheme && !is_port).then_some(scheme)
}

/// Made of the letters of http, nearly in number: htp, htttp, hhtps, ttp, hptt.
fn is_misspelt_http(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    (3..=7).contains(&scheme.len()) && scheme.contains('t') && {
        scheme.contains('p') && scheme.bytes().all(|b| b"htps".contains(&b))
    }
}

fn without_comment(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('#') {
        return "";
    }
    let comment =
        text.match_indices('#').find(|&(at, _)| text[..at].ends_with(char::is_whitespace));
    comment.map_or(text, |(at, _)| text[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        SeedReader::new(text)
            .map(|seed| seed.map_or_else(|e| format!("! {e}"), |url| url.to_string()))
            .collect()
    }

    #[test]
    fn seeds_are_read_as_people_write_them() {
        let text = "\u{feff}# my seeds\r\n\r\nhttps://example.org/a # the first\n  example.net\t\n\
                    example.net:8080/x#frag\n//example.com\nlocalhost:3000\nbücher.de/ü\n[::1]:80\nhttp:/e.org";
        let expected = [
            "https://example.org/a",
            "http://example.net/",
            "http://example.net:8080/x",
            "http://example.com/",
            "http://localhost:3000/",
            "http://xn--bcher-kva.de/%C3%BC",
            "http://[::1]/",
            "http://e.org/",
        ];
        assert_eq!(read(text.as_bytes()), expected);
    }

    #[test]
    fn a_bad_line_is_named_and_the_next_one_read() {
        for (line, what) in [
            ("htp://example.org/", "did you mean http"),
            ("HTTTPS://example.org/", "did you mean http"),
            ("ftp://example.org/", "only http and https can be crawled, not ftp"),
            ("mailto:a@b.org", "only http and https can be crawled, not mailto"),
            ("someone@example.org", "mail address"),
            ("http//example.org", "the colon after http is missing"),
            ("example", "neither a URL nor a host"),
            ("/a/b", "a path alone"),
            ("a.org b.org", "white space"),
            ("http://", "not a valid URL"),
            ("http://exa mple.org", "white space"),
            ("1.2.3.400", "not a valid URL"),
        ] {
            let read = read(format!("\n{line}\nexample.org").as_bytes());
            assert!(
                read[0].starts_with("! line 2: ") && read[0].contains(what),
                "{line}: {read:?}"
            );
            assert_eq!(read[1..], ["http://example.org/"], "{line}");
        }
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_hides_nothing() {
        let mut text = vec![b'a'; 10 * LINE_BYTES_MAX];
        text.extend_from_slice(b"\nexample.org\n\xff\xfe.org\n");
        let read = read(&text);
        assert!(read[0].starts_with("! line 1: longer than"), "{read:?}");
        assert_eq!(read[1], "http://example.org/");
        assert!(read[2].starts_with("! line 3: not UTF-8"), "{read:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let lines = bytes.split(|&b| b == b'\n').count();
            prop_assert!(SeedReader::new(&bytes[..]).count() <= lines);
        }

        #[test]
        fn no_seed_text_panics(text in ".{0,40}") {
            let _ = parse_seed(&text);
        }
    }
}
