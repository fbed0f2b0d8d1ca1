//! Sitemaps: `/sitemap.xml` with all pages, or an index of `/sitemap-K.xml` where there are too many.

use std::fmt::Write;

use model::Timestamp;

use super::{Answer, PageId, Request, SimWeb, answer::not_found, reply::Reply};

/// What sitemaps.org allows in one file.
const URLS_MAX: usize = 50_000;
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

impl SimWeb {
    pub(super) fn sitemap_answer(
        &self,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Answer {
        let count = self.pages(site);
        let part = request.path().strip_prefix("/sitemap-").and_then(|p| p.strip_suffix(".xml"));
        let xml = match (request.path(), part.and_then(|part| part.parse::<usize>().ok())) {
            ("/sitemap.xml", _) if count <= URLS_MAX => self.url_set(site, 0, now),
            ("/sitemap.xml", _) => self.sitemap_index(site, count),
            (_, Some(part)) if part * URLS_MAX < count => self.url_set(site, part, now),
            _ => return not_found(now),
        };
        Reply::new(200, now).field("Content-Type", "application/xml").whole(xml)
    }

    fn url_set(&self, site: usize, part: usize, now: Timestamp) -> String {
        let mut xml = format!("<?xml version=\"1.0\"?>\n<urlset xmlns=\"{NAMESPACE}\">\n");
        let start = part * URLS_MAX;
        for index in start..self.pages(site).min(start + URLS_MAX) {
            let page = PageId { site, index };
            let url = self.url(page).replace('&', "&amp;");
            let date = self.lastmod(page, now);
            let date = date.map(|date| format!("<lastmod>{date}</lastmod>")).unwrap_or_default();
            writeln!(xml, "<url><loc>{url}</loc>{date}</url>")
                .expect("writing to memory cannot fail");
        }
        xml + &self.unlinked(site) + "</urlset>\n"
    }

    fn sitemap_index(&self, site: usize, count: usize) -> String {
        let mut xml = format!("<?xml version=\"1.0\"?>\n<sitemapindex xmlns=\"{NAMESPACE}\">\n");
        for part in 0..count.div_ceil(URLS_MAX) {
            let home = self.home(site);
            writeln!(xml, "<sitemap><loc>{home}sitemap-{part}.xml</loc></sitemap>")
                .expect("writing to memory cannot fail");
        }
        xml + "</sitemapindex>\n"
    }
}
