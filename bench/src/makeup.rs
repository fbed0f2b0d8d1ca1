//! What the pages of a web are made of, measured on the pages themselves: figures of speed mean nothing without it.

use libdeflater::{CompressionLvl, Compressor};
use simweb::{PageId, Request, SimWeb};

/// Pages that are looked at, evenly over all sites.
const SAMPLE: usize = 1_000;
/// The fastest of libdeflate that compresses at all.
const LEVEL: i32 = 1;

/// Means over a sample of the pages.
#[derive(Debug)]
pub struct Makeup {
    bytes: f64,
    median: usize,
    /// Visible, as a part of the bytes.
    text: f64,
    links: f64,
    /// Compressed with libdeflate at [`LEVEL`], as a part of the bytes.
    gzip: f64,
}

impl Makeup {
    pub fn of(web: &SimWeb) -> Makeup {
        let pages = (0..web.sites()).map(|site| web.pages(site)).sum::<usize>();
        let each = web.pages(0).max(1);
        let step = (pages / SAMPLE).max(1);
        let sample = (0..pages).step_by(step).map(|n| PageId { site: n / each, index: n % each });
        // One by one: the memory of this process shows in that of those it starts.
        let (mut sizes, mut text, mut links, mut gzip) = (Vec::new(), 0, 0, 0);
        for page in sample {
            let body = body(web, page);
            let (shown, leads) = shown(&body);
            sizes.push(body.len());
            (text, links, gzip) = (text + shown, links + leads, gzip + gzipped(&body));
        }
        sizes.sort_unstable();
        let (count, bytes) = (sizes.len() as f64, sizes.iter().sum::<usize>() as f64);
        Makeup {
            bytes: bytes / count,
            median: sizes[sizes.len() / 2],
            text: text as f64 / bytes,
            links: links as f64 / count,
            gzip: gzip as f64 / bytes,
        }
    }

    pub fn text(&self) -> String {
        format!(
            "Pages: mean {:.1} KB (median {:.1}), {:.0} % visible text, {:.1} links, gzip ratio {:.2}.",
            self.bytes / 1e3,
            self.median as f64 / 1e3,
            self.text * 100.0,
            self.links,
            self.gzip,
        )
    }
}

fn body(web: &SimWeb, page: PageId) -> Vec<u8> {
    let (host, path) = (web.host(page.site), web.path(page.site, page.index));
    let request = Request { tls: web.is_https(page.site), ..Request::get(&host, &path) };
    web.answer(&request, web.options().origin).body.to_vec()
}

/// Bytes between tags that are neither script nor style nor comment, and links there. The pages are well-formed.
fn shown(body: &[u8]) -> (usize, usize) {
    let (mut text, mut links, mut rest) = (0, 0, body);
    while let Some(start) = rest.iter().position(|byte| *byte == b'<') {
        text += rest[..start].iter().filter(|byte| **byte != b'\n').count();
        rest = &rest[start..];
        links += usize::from(rest.starts_with(b"<a href="));
        let hidden: [(&[u8], &[u8]); 3] =
            [(b"<script", b"</script>"), (b"<style", b"</style>"), (b"<!--", b"-->")];
        let close = hidden.iter().find(|(open, _)| rest.starts_with(open));
        let close = close.map_or(&b">"[..], |(_, close)| close);
        let end = rest.windows(close.len()).position(|window| window == close);
        rest = end.map_or(&[], |at| &rest[at + close.len()..]);
    }
    (text, links)
}

fn gzipped(body: &[u8]) -> usize {
    let level = CompressionLvl::new(LEVEL).unwrap_or_default();
    let mut compressor = Compressor::new(level);
    let mut out = vec![0; compressor.gzip_compress_bound(body.len())];
    compressor.gzip_compress(body, &mut out).unwrap_or(body.len())
}

#[cfg(test)]
mod tests {
    use simweb::{PageCount, WebOptions};

    use super::*;

    #[test]
    fn the_pages_of_the_measurements_are_those_they_are_said_to_be() {
        let options =
            WebOptions { sites: 25, pages: PageCount::Fixed(40), ..WebOptions::default() };
        let makeup = Makeup::of(&SimWeb::new(options));
        assert!((15_500.0..18_500.0).contains(&makeup.bytes), "{makeup:?}");
        assert!((0.58..0.66).contains(&makeup.text), "{makeup:?}");
        assert!((19.0..22.0).contains(&makeup.links), "{makeup:?}");
        assert!((0.33..0.43).contains(&makeup.gzip), "{makeup:?}");
    }

    #[test]
    fn script_style_comments_and_tags_are_not_shown() {
        let page = b"<p>four</p><script>var x = '<';</script><!-- <a href=x> --><a href=y>five</a>";
        assert_eq!(shown(page), (8, 1));
        assert_eq!(shown(b"<b>one</b>\n<i>two</i>"), (6, 0));
    }
}
