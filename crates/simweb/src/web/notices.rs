//! What a simulated site says of its own pages: dates in its sitemap, `/feed.atom`, `/robots.rdf`, and pages that
//! only its sitemap names.

use std::fmt::Write;

use model::Timestamp;

use crate::{
    Dates,
    dice::{mix, unit},
};

use super::{
    Answer, PageId, SimWeb,
    reply::{Reply, http_date, small_page},
};

/// Entries of the feed, the latest first, as real ones have.
const FEED_ENTRIES: usize = 20;
const DAY: i64 = 86_400_000;

impl SimWeb {
    pub(super) fn notice_answer(&self, site: usize, path: &str, now: Timestamp) -> Option<Answer> {
        let plan = &self.options.notices;
        let (media_type, text) = match path {
            "/feed.atom" if plan.feed => ("application/atom+xml", self.feed(site, now)),
            "/robots.rdf" if plan.rdf => ("application/rdf+xml", self.rdf(site, now)),
            _ => {
                let number: usize = path.strip_prefix("/unlinked/")?.parse().ok()?;
                if number >= plan.unlinked {
                    return None;
                }
                let body = format!("<p>Nobody links here: number {number}.</p>");
                ("text/html", small_page("Alone", &body))
            }
        };
        Some(Reply::new(200, now).field("Content-Type", media_type).whole(text))
    }

    /// What the sitemap says of when the page changed.
    pub(super) fn lastmod(&self, page: PageId, now: Timestamp) -> Option<String> {
        let plan = &self.options.notices;
        let own = plan.dates_of.get(&self.host(page.site)).unwrap_or(&plan.dates);
        match own {
            Dates::Days => Some(day(self.modified(page, now))),
            Dates::True => Some(moment(self.modified(page, now))),
            Dates::Partial(share) => {
                let told = unit(mix(self.page_hash(page), 0x5174)) < *share;
                told.then(|| moment(self.modified(page, now)))
            }
            Dates::Lying => {
                let today = now.0.div_euclid(DAY) * DAY;
                let at = today + (mix(self.page_hash(page), 0x11E) % 86_400) as i64 * 1_000;
                let at = if at > now.0 { at - DAY } else { at };
                Some(moment(Timestamp(at)))
            }
        }
    }

    /// Pages that only the sitemap names, as elements of it.
    pub(super) fn unlinked(&self, site: usize) -> String {
        let mut xml = String::new();
        for number in 0..self.options.notices.unlinked {
            let home = self.home(site);
            writeln!(xml, "<url><loc>{home}unlinked/{number}</loc></url>")
                .expect("writing to memory cannot fail");
        }
        xml
    }

    fn feed(&self, site: usize, now: Timestamp) -> String {
        let mut latest: Vec<(Timestamp, usize)> = (0..self.pages(site))
            .map(|index| (self.modified(PageId { site, index }, now), index))
            .collect();
        latest.sort_unstable_by(|a, b| b.cmp(a));
        let mut xml =
            "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n".to_owned();
        for (at, index) in latest.into_iter().take(FEED_ENTRIES) {
            let url = self.url(PageId { site, index }).replace('&', "&amp;");
            writeln!(xml, "<entry><link href=\"{url}\"/><updated>{}</updated></entry>", moment(at))
                .expect("writing to memory cannot fail");
        }
        xml + "</feed>\n"
    }

    fn rdf(&self, site: usize, now: Timestamp) -> String {
        let mut xml =
            "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n"
                .to_owned();
        for index in 0..self.pages(site) {
            let page = PageId { site, index };
            let path = self.path(site, index).replace('&', "&amp;");
            let at = moment(self.modified(page, now));
            writeln!(
                xml,
                "<rdf:Description rdf:about=\"{path}\"><dc:date>{at}</dc:date></rdf:Description>"
            )
            .expect("writing to memory cannot fail");
        }
        xml + "</rdf:RDF>\n"
    }
}

/// `2026-11-15`, by way of the HTTP date: `Sun, 15 Nov 2026 20:59:44 GMT`.
fn day(at: Timestamp) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let text = http_date(at).to_string();
    let month = MONTHS.find(&text[8..11]).map_or(1, |at| at / 3 + 1);
    format!("{}-{month:02}-{}", &text[12..16], &text[5..7])
}

/// `2026-11-15T20:59:44Z`.
fn moment(at: Timestamp) -> String {
    format!("{}T{}Z", day(at), &http_date(at).to_string()[17..25])
}
