//! Sitemaps at hand as files (sitemaps.org protocol 0.9): `urlset`, `sitemapindex`, or a text of URLs.
//!
//! An index names other files; they are told and not fetched. The protocol's bounds hold: 50,000 URLs and
//! 50 MB (unpacked) a file; what is beyond is cut, and that is said.

use std::io::{self, BufRead};

use model::CrawlUrl;

use super::{
    SeedError, SeedReader, Urls, parse_seed, shown,
    xml::{Piece, Xml},
};

/// Of one sitemap, by the protocol.
const URLS_MAX: u64 = 50_000;
/// Of one sitemap, unpacked; the protocol says 52,428,800.
const BYTES_MAX: u64 = 50 << 20;

pub(super) fn read<'a>(mut reader: impl BufRead + 'a) -> Urls<'a> {
    let is_xml = match reader.fill_buf() {
        Ok(head) => {
            let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
            head.trim_ascii_start().starts_with(b"<")
        }
        Err(source) => return Box::new(std::iter::once(Err(SeedError::Io { line: 0, source }))),
    };
    if is_xml {
        return Box::new(Sitemap::new(reader));
    }
    let bounded = reader.take(BYTES_MAX);
    Box::new(Bounded { seeds: SeedReader::new(bounded), count: 0 })
}

struct Sitemap<R> {
    xml: Xml<io::Take<R>>,
    count: u64,
    over: bool,
    /// The element that holds a `loc`, with its prefix.
    holder: Option<Holder>,
}

struct Holder {
    prefix: String,
    is_sitemap: bool,
}

impl<R: BufRead> Sitemap<R> {
    fn new(reader: R) -> Sitemap<R> {
        let bytes = reader.take(BYTES_MAX + 1);
        Sitemap { xml: Xml::new(bytes), count: 0, over: false, holder: None }
    }

    /// Reads on to the next `loc` of a `url` or `sitemap`: not that of an image or a video in it.
    fn next_loc(&mut self) -> io::Result<Option<String>> {
        while let Some(piece) = self.xml.next_piece()? {
            let Piece::Open(tag) = piece else { continue };
            let (prefix, name) = tag.name.rsplit_once(':').unwrap_or(("", &tag.name));
            match name {
                "url" | "sitemap" => {
                    let is_sitemap = name == "sitemap";
                    self.holder = Some(Holder { prefix: prefix.to_owned(), is_sitemap });
                }
                "loc" if self.holder.as_ref().is_some_and(|holder| holder.prefix == prefix) => {
                    return self.text_of_loc().map(Some);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn text_of_loc(&mut self) -> io::Result<String> {
        let mut text = String::new();
        while let Some(Piece::Text(part)) = self.xml.next_piece()? {
            if text.len() < super::LINE_BYTES_MAX {
                text.push_str(&part);
            }
        }
        Ok(text.trim().to_owned())
    }

    fn seed(&mut self, text: &str) -> Result<CrawlUrl, SeedError> {
        let line = self.xml.line();
        if self.count == URLS_MAX {
            self.over = true;
            return Err(cut(line, &format!("a sitemap has at most {URLS_MAX} URLs")));
        }
        self.count += 1;
        if self.holder.as_ref().is_some_and(|holder| holder.is_sitemap) {
            return Err(SeedError::Elsewhere { line, text: shown(text) });
        }
        parse_seed(text).map_err(|what| SeedError::bad(line, text, what))
    }
}

impl<R: BufRead> Iterator for Sitemap<R> {
    type Item = Result<CrawlUrl, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let loc = match self.next_loc() {
            Ok(loc) => loc,
            Err(source) => {
                self.over = true;
                return Some(Err(SeedError::Io { line: self.xml.line(), source }));
            }
        };
        if self.xml.is_used_up() {
            self.over = true;
            let what = format!("a sitemap has at most {BYTES_MAX} bytes");
            return Some(Err(cut(self.xml.line(), &what)));
        }
        loc.map(|text| self.seed(&text))
    }
}

impl<R: BufRead> Xml<io::Take<R>> {
    fn is_used_up(&self) -> bool {
        self.inner().limit() == 0
    }
}

/// A sitemap that is a text of URLs.
struct Bounded<R> {
    seeds: SeedReader<io::Take<R>>,
    count: u64,
}

impl<R: BufRead> Iterator for Bounded<R> {
    type Item = Result<CrawlUrl, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.count > URLS_MAX {
            return None;
        }
        let seed = self.seeds.next();
        self.count += u64::from(matches!(seed, Some(Ok(_))));
        let line = self.seeds.lines.number();
        if self.count > URLS_MAX {
            return Some(Err(cut(line, &format!("a sitemap has at most {URLS_MAX} URLs"))));
        }
        if seed.is_none() && self.seeds.lines.inner().limit() == 0 {
            self.count = URLS_MAX + 1;
            return Some(Err(cut(line, &format!("a sitemap has at most {BYTES_MAX} bytes"))));
        }
        seed
    }
}

fn cut(line: u64, what: &str) -> SeedError {
    let what = format!("{what}; split it, or read a longer list with --from urls");
    SeedError::Cut { line, what }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, io::Write as _};

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8]) -> Vec<String> {
        read(text)
            .map(|seed| seed.map_or_else(|e| format!("! {e}"), |url| url.to_string()))
            .collect()
    }

    #[test]
    fn the_urls_of_a_sitemap_are_seeds_and_its_images_are_not() {
        let text = "\u{feff}<?xml version='1.0'?>\n<urlset xmlns='x' xmlns:image='y'>\n<url><loc>\n https://a.example/?x=1&amp;y=2 \
                    </loc><image:image><image:loc>https://a.example/i.png</image:loc></image:image></url>\n\
                    <url><loc><![CDATA[https://a.example/b]]></loc></url><url><loc>nonsense</loc></url></urlset>";
        let read = lines(text.as_bytes());
        assert_eq!(read[..2], ["https://a.example/?x=1&y=2", "https://a.example/b"]);
        assert!(read[2].starts_with("! line 5: neither a URL nor a host"), "{read:?}");
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn the_files_of_an_index_are_named_and_not_taken() {
        let text = b"<s:sitemapindex><s:sitemap><s:loc>https://a.example/s1.xml.gz</s:loc></s:sitemap></s:sitemapindex>";
        let expected =
            "! line 1: names another sitemap, which is not fetched: https://a.example/s1.xml.gz";
        assert_eq!(lines(text), [expected]);
    }

    #[test]
    fn a_text_of_urls_is_a_sitemap_too() {
        assert_eq!(lines(b"https://a.example/1\nhttps://a.example/2\n").len(), 2);
    }

    #[test]
    fn more_than_the_protocol_allows_is_cut_and_said() {
        let mut xml = "<urlset>".to_owned();
        let mut text = String::new();
        for n in 0..URLS_MAX + 5 {
            let _ = write!(xml, "<url><loc>http://a.example/{n}</loc></url>");
            let _ = writeln!(text, "http://a.example/{n}");
        }
        for document in [xml, text] {
            let read = lines(document.as_bytes());
            assert_eq!(read.len() as u64, URLS_MAX + 1);
            assert!(read[read.len() - 1].contains("at most 50000 URLs"), "{:?}", read.last());
        }
    }

    #[test]
    fn a_packed_sitemap_that_unpacks_without_end_is_cut() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"<urlset><url><loc>http://a.example/</loc></url>").unwrap();
        let blanks = vec![b' '; 1 << 20];
        (0..51).for_each(|_| packer.write_all(&blanks).unwrap());
        let packed = packer.finish().unwrap();
        let read: Vec<_> = read(super::super::unpacked(&packed[..]).unwrap()).collect();
        assert_eq!(read.len(), 2);
        assert!(matches!(read[1], Err(SeedError::Cut { .. })), "{read:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(lines(&bytes).len() <= bytes.len() + 1);
            bytes.insert(0, b'<');
            prop_assert!(lines(&bytes).len() <= bytes.len());
        }

        #[test]
        fn any_order_of_tags_is_read_to_its_end(text in "<(</?(a:)?(url|loc|sitemap)>|http://a.example|[&<> ]){0,40}") {
            prop_assert!(lines(text.as_bytes()).len() <= text.len());
        }
    }
}
