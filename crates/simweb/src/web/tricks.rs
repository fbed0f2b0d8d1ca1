//! Sitemaps that are meant to hurt. What they reach for in vain is `/canary` of their own host, and files of the
//! machine; each also names the honest page `/sitemap-page`, unless it says otherwise.

use std::fmt::Write;

use model::Timestamp;

use super::{
    Answer, Request,
    answer::gzipped,
    made::made,
    reply::{Reply, small_page},
};
use crate::SitemapTrick;

/// Indexes of [`SitemapTrick::Deep`].
const DEEP: u32 = 1_000;
/// What sitemaps.org allows in one file.
const URLS_MAX: usize = 50_000;

pub(super) fn answer(trick: SitemapTrick, request: &Request<'_>, now: Timestamp) -> Answer {
    if request.path().starts_with("/sitemap-page") {
        return Reply::new(200, now).html().whole(small_page("Honest", "<p>A page.</p>"));
    }
    if trick == SitemapTrick::Bomb {
        let body = made(&format!("sitemap of {}", origin(request)), || gzipped(&long(request)));
        return Reply::new(200, now).field("Content-Type", "application/gzip").whole(body);
    }
    Reply::new(200, now).field("Content-Type", "application/xml").whole(text(trick, request))
}

fn text(trick: SitemapTrick, request: &Request<'_>) -> String {
    let host = origin(request);
    match trick {
        SitemapTrick::Entities => entities(&host),
        SitemapTrick::LateDoctype => {
            format!("<!--{}-->\n{}", " padding ".repeat(1_000), entities(&host))
        }
        SitemapTrick::External => {
            format!("<!DOCTYPE urlset SYSTEM \"{host}/canary\">\n{}", set(&honest(&host)))
        }
        SitemapTrick::Include => {
            let include = format!(
                "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"{host}/canary\" \
                 parse=\"text\"/>"
            );
            set(&format!("{}{include}", honest(&host)))
        }
        SitemapTrick::Circle if request.path() == "/sitemap.xml" => {
            index(&[format!("{host}/sitemap.xml"), format!("{host}/sitemap-b.xml")])
        }
        SitemapTrick::Circle => index(&[format!("{host}/sitemap.xml")]),
        SitemapTrick::Deep => {
            let digits = request.path().strip_prefix("/sitemap-").unwrap_or_default();
            let at: u32 = digits.trim_end_matches(".xml").parse().unwrap_or(0);
            match at {
                DEEP.. => set(&honest(&host)),
                at => index(&[format!("{host}/sitemap-{}.xml", at + 1)]),
            }
        }
        SitemapTrick::ManyUrls => {
            let mut urls = String::new();
            for n in 0..=URLS_MAX {
                let _ = write!(urls, "<url><loc>{host}/sitemap-page?n={n}</loc></url>");
            }
            set(&urls)
        }
        SitemapTrick::OtherHosts => {
            let others = (0..20).map(|n| format!("<url><loc>http://other.test/{n}</loc></url>"));
            set(&format!("{}{}", honest(&host), others.collect::<String>()))
        }
        SitemapTrick::Bomb => String::new(),
    }
}

fn origin(request: &Request<'_>) -> String {
    format!("{}://{}", if request.tls { "https" } else { "http" }, request.host)
}

fn honest(host: &str) -> String {
    format!("<url><loc>{host}/sitemap-page</loc></url>")
}

fn set(urls: &str) -> String {
    format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>")
}

fn index(files: &[String]) -> String {
    let file = |url: &String| format!("<sitemap><loc>{url}</loc></sitemap>");
    format!("<sitemapindex>{}</sitemapindex>", files.iter().map(file).collect::<String>())
}

/// Nine entities of ten of the one before, one of a file and one of a server.
fn entities(host: &str) -> String {
    let mut text = "<!DOCTYPE urlset [\n<!ENTITY e0 \"lol\">\n".to_owned();
    for n in 1..10 {
        let inner = format!("&e{};", n - 1).repeat(10);
        let _ = writeln!(text, "<!ENTITY e{n} \"{inner}\">");
    }
    let _ = writeln!(text, "<!ENTITY file SYSTEM \"file:///etc/passwd\">");
    let _ = writeln!(text, "<!ENTITY net SYSTEM \"{host}/canary\">\n]>");
    let grown = format!("<url><loc>{host}/sitemap-page?&e9;&file;&net;</loc></url>");
    text + &set(&format!("{}{grown}", honest(host)))
}

/// An honest URL, and then 60 MB of nothing.
fn long(request: &Request<'_>) -> Vec<u8> {
    let mut text = format!("<urlset>{}", honest(&origin(request))).into_bytes();
    text.resize(60 << 20, b' ');
    text
}
