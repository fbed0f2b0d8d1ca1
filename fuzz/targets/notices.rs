//! Sitemaps, feeds and robots.rdf, packed or not: read to their end, within their limits.
#![cfg_attr(fuzzing, no_main)]

use fuzz::{choice, here, lengthened, timed};
use model::{SignalSource, Timestamp};
use seeder::{NoticeText, SeedKind, read_notice, read_seeds};

fuzz::target!(|data: &[u8]| {
    let (which, data) = choice(data, SignalSource::ALL.len() as u8);
    let body = lengthened(data);
    let fetched = Timestamp(1_760_000_000_000);
    let url = here();
    timed(|| {
        let source = SignalSource::ALL[usize::from(which)];
        let text = NoticeText { source, url: &url, body: &body, fetched, modified: None };
        let told = read_notice(&text);
        assert!(told.pages.len() <= 50_000 && told.sitemaps.len() <= 1_000);
        assert!(told.pages.iter().all(|page| page.at.is_none_or(|at| at <= fetched)));
        assert!(told.example.chars().count() <= 80);
        for kind in
            [SeedKind::Urls, SeedKind::Hosts, SeedKind::Zone, SeedKind::Sitemap, SeedKind::Opml]
        {
            let _ = read_seeds(kind, "a.zone", &body[..]).count();
        }
    });
});
