//! Notices in all their dresses, whole and broken, and what follows from them.

use std::{fmt::Write as _, io::Write as _};

use model::{
    Candidate, CrawlUrl, Habit, LastVersion, Link, LinkKind, LinkRel, Page, PageState, PageTerms,
    RefusalReason, SignalSource, SpiderId, Timestamp, testing::url,
};
use proptest::prelude::*;

use super::*;
use crate::{SeedSet, SpiderRules};

/// 2026-11-16T03:04:05Z
const NOW: Timestamp = Timestamp(1_794_798_245_000);
const DAY: i64 = 86_400_000;

fn read_as(source: SignalSource, body: &[u8]) -> Announcements {
    let url = url("https://a.example/dir/notice.xml");
    read_notice(&NoticeText { source, url: &url, body, fetched: NOW, modified: None })
}

fn read(body: &str) -> Announcements {
    read_as(SignalSource::Sitemap, body.as_bytes())
}

/// Path (or URL of another site) and age in hours.
fn told(told: &Announcements) -> Vec<(String, Option<i64>)> {
    let name = |url: &CrawlUrl| match url.host() {
        "a.example" => url.path_and_query().to_owned(),
        _ => url.as_str().to_owned(),
    };
    let hours = |at: Option<Timestamp>| at.map(|at| (NOW.0 - at.0) / 3_600_000);
    told.pages.iter().map(|page| (name(&page.url), hours(page.at))).collect()
}

fn own(path: &str, hours: Option<i64>) -> (String, Option<i64>) {
    (path.to_owned(), hours)
}

#[test]
fn the_pages_and_dates_of_a_sitemap_are_read_and_its_images_are_not() {
    let read = read(
        "\u{feff}<?xml version='1.0'?><s:urlset xmlns:s='x' xmlns:image='y'>\
         <s:url><s:loc> https://a.example/1?x=1&amp;y=2 </s:loc><s:lastmod>2026-11-16T02:04:05Z</s:lastmod>\
         <image:image><image:loc>https://a.example/i.png</image:loc></image:image></s:url>\
         <s:url><s:lastmod>2026-11-14</s:lastmod><s:loc><![CDATA[https://a.example/2]]></s:loc></s:url>\
         <s:url><s:loc>/3</s:loc><s:lastmod>soon</s:lastmod></s:url>\
         <s:url><s:loc>https://a.example/4</s:loc><s:lastmod>2027-01-01</s:lastmod></s:url>\
         <s:url><s:loc>mailto:x@y.example</s:loc></s:url></s:urlset>",
    );
    let wanted =
        [own("/1?x=1&y=2", Some(1)), own("/2", Some(51)), own("/3", None), own("/4", None)];
    assert_eq!(told(&read), wanted);
    assert_eq!((read.bad, read.example.as_str()), (1, "mailto:x@y.example"));
    assert!(!read.cut && !read.stamped);
}

#[test]
fn of_two_dates_for_one_page_the_newest_that_has_come_counts() {
    let entry = |date| format!("<url><loc>/p</loc><lastmod>{date}</lastmod></url>");
    let dates = ["2026-11-10", "2026-11-15T03:04:05Z", "2031-01-01", "2026-11-12"];
    let body: String = dates.into_iter().map(entry).collect();
    assert_eq!(told(&read(&format!("<urlset>{body}</urlset>"))), [own("/p", Some(24))]);
}

#[test]
fn the_files_of_an_index_are_told_apart_from_pages() {
    let read = read(
        "<sitemapindex><sitemap><loc>https://a.example/s1.xml.gz</loc><lastmod>2026-11-14</lastmod></sitemap>\
         <sitemap><loc>s2.xml</loc></sitemap><sitemap><loc>s2.xml</loc></sitemap></sitemapindex>",
    );
    assert!(read.pages.is_empty());
    let paths: Vec<&str> = read.sitemaps.iter().map(CrawlUrl::path).collect();
    assert_eq!(paths, ["/s1.xml.gz", "/dir/s2.xml"]);
}

#[test]
fn packed_sitemaps_and_texts_of_urls_are_read() {
    let text = "\u{feff}https://a.example/1\r\n# a comment\n\nhttps://a.example/2\nnonsense\n";
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    for body in [packer.finish().unwrap(), text.as_bytes().to_vec()] {
        let read = read_as(SignalSource::Sitemap, &body);
        assert_eq!(told(&read), [own("/1", None), own("/2", None)]);
        assert_eq!((read.bad, read.example.as_str()), (1, "nonsense"));
    }
    let cut = [&[0x1f, 0x8b][..], b"nothing that can be unpacked"].concat();
    let read = read_as(SignalSource::Sitemap, &cut);
    assert!(read.cut && read.is_nothing());
}

#[test]
fn rss_of_all_ages_is_read() {
    let rss2 = "<rss><channel><link>https://a.example/</link><lastBuildDate>Mon, 16 Nov 2026 03:00:00 GMT</lastBuildDate>\
        <image><url>https://a.example/i.png</url><link>https://a.example/</link></image>\
        <item><title>A</title><link>https://a.example/1</link><pubDate>Sun, 15 Nov 26 22:04:05 EST</pubDate>\
        <source url='https://b.example/feed'>B</source></item>\
        <item><guid>https://a.example/2</guid><description>&lt;a href='https://a.example/no'&gt;</description></item>\
        <item><guid isPermaLink='false'>https://a.example/no</guid><link>https://a.example/3</link></item></channel></rss>";
    let wanted = [own("/1", Some(0)), own("/2", None), own("/3", None)];
    assert_eq!(told(&read_as(SignalSource::Feed, rss2.as_bytes())), wanted);
    let rss1 = "<rdf:RDF><channel rdf:about='https://a.example/feed'><items><rdf:Seq>\
        <rdf:li rdf:resource='https://a.example/1'/></rdf:Seq></items></channel>\
        <item rdf:about='https://a.example/1'><link>https://a.example/1</link><dc:date>2026-11-15T03:04:05+00:00</dc:date></item>\
        <item rdf:about='https://a.example/2'><description>text</description></item></rdf:RDF>";
    let wanted = [own("/1", Some(24)), own("/2", None)];
    assert_eq!(told(&read_as(SignalSource::Feed, rss1.as_bytes())), wanted);
}

#[test]
fn atom_is_read_by_the_link_to_the_page_and_the_last_update() {
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='/feed'/><updated>2026-11-16T03:00:00Z</updated>\
        <entry><link rel='edit' href='/edit/1'/><link rel='alternate' href='/1'/><published>2026-11-01T00:00:00Z</published>\
        <updated>2026-11-16T02:04:05Z</updated><source><link href='https://b.example/'/><updated>2026-11-16T03:04:05Z</updated></source></entry>\
        <entry><link href='https://b.example/2'/><updated>never</updated></entry></feed>";
    let wanted = [own("/1", Some(1)), ("https://b.example/2".to_owned(), None)];
    assert_eq!(told(&read_as(SignalSource::Feed, atom.as_bytes())), wanted);
}

#[test]
fn robots_rdf_is_read_in_any_of_its_dresses() {
    let rdf = "<rdf:RDF xmlns:dc='x'><rdf:Description rdf:about='/a.html'><dc:date>2026-11-15T03:04:05Z</dc:date></rdf:Description>\
        <rdf:Description about='/b.html' dc:date='2026-11-14T03:04:05Z'/>\
        <Document rdf:about='https://a.example/c.html'><Last-Modified>Sat, 14 Nov 2026 03:04:05 GMT</Last-Modified></Document>\
        <page rdf:about='/d.html'><dcterms:modified>2026-11-14</dcterms:modified></page></rdf:RDF>";
    let wanted = [
        own("/a.html", Some(24)),
        own("/b.html", Some(48)),
        own("/c.html", Some(48)),
        own("/d.html", Some(51)),
    ];
    assert_eq!(told(&read_as(SignalSource::Rdf, rdf.as_bytes())), wanted);
}

#[test]
fn a_hundred_thousand_entries_are_cut_and_that_is_said() {
    let mut feed = "<rss><channel>".to_owned();
    let mut sitemap = "<urlset>".to_owned();
    for n in 0..100_000 {
        let _ = write!(feed, "<item><link>https://a.example/{n}</link></item>");
        let _ = write!(sitemap, "<url><loc>https://a.example/{n}</loc></url>");
    }
    let read = read_as(SignalSource::Feed, feed.as_bytes());
    assert_eq!((read.pages.len(), read.cut), (5_000, true));
    let read = read_as(SignalSource::Sitemap, sitemap.as_bytes());
    assert_eq!((read.pages.len(), read.cut), (50_000, true));
}

#[test]
fn what_is_no_notice_names_nothing() {
    let html = "<!doctype html><html><head><title>Not found</title></head><body><a href='/x'>x</a></body></html>";
    assert!(read(html).is_nothing());
    let text = "not found\n".repeat(1_000);
    let read = read(&text);
    assert!(read.is_nothing() && read.bad <= 50, "{}", read.bad);
}

#[test]
fn a_bomb_ends_at_what_the_protocol_allows() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"<urlset><url><loc>/1</loc></url>").unwrap();
    let blanks = vec![b' '; 1 << 20];
    (0..51).for_each(|_| packer.write_all(&blanks).unwrap());
    let read = read_as(SignalSource::Sitemap, &packer.finish().unwrap());
    assert_eq!((read.pages.len(), read.cut), (1, true));
    let laughs = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>/&b;</loc></url></urlset>";
    assert_eq!(read_as(SignalSource::Sitemap, laughs.as_bytes()).pages.len(), 1);
}

// What follows.

fn notice(last: Option<Timestamp>) -> Page {
    let Candidate { url, spider, level, hops, seed, terms, .. } = notice_candidate(
        url("https://a.example/sitemap.xml"),
        SignalSource::Sitemap,
        SpiderId(3),
        0,
    );
    let last = last.map(|visited| LastVersion { visited, ..LastVersion::default() });
    let (state, due, failures, habit) = (PageState::Known, NOW, 0, Habit::default());
    let children = None;
    Page { url, spider, state, level, hops, seed, due, failures, terms, habit, children, last }
}

fn sort(page: &Page, told: &Announcements, rules: &SpiderRules) -> SortedNotice {
    let seeds: SeedSet = [url("https://a.example/")].iter().collect();
    let vouched = ["c.example".to_owned()];
    sort_notice(page, SignalSource::Sitemap, told, &vouched, rules, &seeds)
}

fn page(text: &str, days: Option<i64>) -> Announced {
    Announced { url: url(text), at: days.map(|days| Timestamp(NOW.0 - days * DAY)) }
}

#[test]
fn pages_of_its_own_site_enter_by_the_rules_and_its_dates_are_signals() {
    let told = Announcements {
        pages: vec![
            page("http://a.example/", Some(1)),
            page("https://a.example/x/y.html", Some(2)),
            page("https://a.example/a/b/c/d", None),
            page("https://b.example/", Some(1)),
            page("https://b.example/2", Some(1)),
        ],
        ..Announcements::default()
    };
    let rules = SpiderRules { depth_max: Some(3), ..SpiderRules::default() };
    let sorted = sort(&notice(None), &told, &rules);
    let entered: Vec<_> = sorted.pages.iter().map(|page| (page.url.path(), page.level)).collect();
    assert_eq!(entered, [("/", 0), ("/x/y.html", 2)]);
    assert!(
        sorted.pages.iter().all(|page| page.terms == PageTerms::default() && page.spider.0 == 3)
    );
    assert_eq!(sorted.signals.len(), 2);
    assert!(sorted.signals.iter().all(|signal| !signal.believed));
    let refused: Vec<_> = sorted.refused.iter().map(|no| (no.reason, no.count)).collect();
    assert_eq!(refused, [(RefusalReason::Depth, 1), (RefusalReason::Scope, 2)]);
}

#[test]
fn a_site_that_names_the_notice_may_be_spoken_of_but_gives_no_signals_here() {
    let told = Announcements {
        pages: vec![page("https://c.example/1", Some(1))],
        ..Announcements::default()
    };
    let rules = SpiderRules { scope: crate::Scope::Any, ..SpiderRules::default() };
    let sorted = sort(&notice(None), &told, &rules);
    assert_eq!((sorted.pages.len(), sorted.signals.len()), (1, 0));
}

#[test]
fn stamped_dates_and_those_told_before_are_no_signals() {
    let pages = (0..20).map(|n| page(&format!("https://a.example/{n}"), Some(n)));
    let told = Announcements { pages: pages.collect(), ..Announcements::default() };
    let rules = SpiderRules::default();
    assert_eq!(sort(&notice(None), &told, &rules).signals.len(), 20);
    let visited = Timestamp(NOW.0 - DAY);
    assert_eq!(sort(&notice(Some(visited)), &told, &rules).signals.len(), 8);
    let stamped = Announcements { stamped: true, ..told };
    let sorted = sort(&notice(None), &stamped, &rules);
    assert_eq!((sorted.signals.len(), sorted.pages.len()), (0, 20));
}

#[test]
fn indexes_lead_only_so_deep_and_never_to_other_hosts() {
    let sitemaps = vec![url("https://a.example/s1.xml"), url("https://b.example/s2.xml")];
    let told = Announcements { sitemaps, ..Announcements::default() };
    let mut index = notice(None);
    let sorted = sort(&index, &told, &SpiderRules::default());
    let [next] = &sorted.notices[..] else { panic!("{sorted:?}") };
    assert_eq!((next.url.path(), next.terms.outside, next.terms.requisite), ("/s1.xml", 1, true));
    assert_eq!(next.terms.notice, Some(SignalSource::Sitemap));
    assert_eq!(sorted.refused.len(), 1);
    index.terms.outside = 3;
    assert!(sort(&index, &told, &SpiderRules::default()).notices.is_empty());
}

#[test]
fn a_broken_notice_is_told_with_one_example() {
    let told = Announcements {
        bad: 7,
        example: "nonsense".to_owned(),
        cut: true,
        ..Announcements::default()
    };
    let refused = sort(&notice(None), &told, &SpiderRules::default()).refused;
    assert_eq!(refused[0].rule, "sitemap: names no page");
    assert_eq!(refused[1].rule, "sitemap: longer than is read");
    let told = Announcements { pages: vec![page("https://a.example/", None)], cut: false, ..told };
    let refused = sort(&notice(None), &told, &SpiderRules::default()).refused;
    assert_eq!((refused[0].count, refused[0].example.as_str()), (7, "nonsense"));
}

#[test]
fn robots_txt_leads_to_the_notices_that_are_wanted() {
    let origin = url("https://a.example/").origin();
    let named = ["https://a.example/s.xml".to_owned(), "/t.xml".to_owned(), "::".to_owned()];
    let of = |named: &[String], rules: &NoticeRules| -> Vec<String> {
        let found = notices_of_robots(&origin, named, SpiderId(1), rules);
        found.iter().map(|candidate| candidate.url.path().to_owned()).collect()
    };
    let rules = NoticeRules::default();
    assert_eq!(of(&named[..2], &rules), ["/s.xml", "/t.xml"]);
    assert!(of(&[], &rules).is_empty());
    assert_eq!(of(&[], &NoticeRules { sitemaps: Sitemaps::Guess, ..rules }), ["/sitemap.xml"]);
    assert_eq!(of(&[], &NoticeRules { robots_rdf: true, ..rules }), ["/robots.rdf"]);
    assert!(of(&named, &NoticeRules { sitemaps: Sitemaps::Off, ..rules }).is_empty());
    let elsewhere: Vec<String> = (0..50).map(|n| format!("https://v{n}.example/s.xml")).collect();
    assert_eq!(of(&elsewhere, &rules).len(), 10);
}

#[test]
fn many_sitemaps_in_robots_txt_share_what_one_alone_would_count() {
    let origin = url("https://a.example/").origin();
    let indexes = |count: usize| {
        let named: Vec<String> = (0..count).map(|n| format!("/s{n}.xml")).collect();
        let found = notices_of_robots(&origin, &named, SpiderId(1), &NoticeRules::default());
        assert_eq!(found.len(), count);
        let mut indexes: Vec<u8> = found.iter().map(|found| found.terms.outside).collect();
        indexes.dedup();
        indexes
    };
    assert_eq!([1, 3, 4, 31, 32, 900].map(indexes), [[0], [0], [1], [1], [2], [2]]);
}

#[test]
fn feeds_are_taken_from_entry_pages_of_the_same_site() {
    let link = |text: &str, kind| Link {
        url: url(text),
        kind,
        rel: LinkRel::default(),
        anchor: String::new(),
        position: 0,
    };
    let links = [
        link("https://a.example/feed", LinkKind::Feed),
        link("https://b.example/feed", LinkKind::Feed),
        link("https://a.example/a", LinkKind::A),
    ];
    let entry = Page { terms: PageTerms::default(), ..notice(None) };
    let rules = NoticeRules::default();
    let found = feeds_of(&entry, &links, &rules);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].terms.notice, Some(SignalSource::Feed));
    assert!(feeds_of(&Page { level: 1, ..entry.clone() }, &links, &rules).is_empty());
    assert!(feeds_of(&entry, &links, &NoticeRules { feeds: false, ..rules }).is_empty());
}

/// Each name against all that were named before would be hundreds of millions of comparisons.
#[test]
fn an_index_that_names_its_files_again_and_again_is_read_at_once() {
    let mut text = String::from("<sitemapindex>");
    for number in 0..999 {
        let _ = write!(text, "<sitemap><loc>/maps/of/this/site/{number:04}.xml</loc></sitemap>");
    }
    text += &"<sitemap><loc>/maps/of/this/site/0998.xml</loc></sitemap>".repeat(20_000);
    let told = read(&text);
    assert_eq!((told.sitemaps.len(), told.cut), (999, false));
}

/// What each of the public examples says: pages, further sitemaps, and the first of either.
const PUBLIC: [(&str, usize, usize, &str); 20] = [
    ("atom.xml", 1, 0, "http://example.org/2003/12/13/atom03"),
    ("do-not-visit.txt", 1, 0, "http://www.example.com/do-not-visit-here"),
    ("feed.rss", 4, 0, "https://www.example.com/blog/post/1"),
    (
        "hebdenbridgetimes-articles-sitemap.xml",
        74,
        0,
        "http://www.hebdenbridgetimes.co.uk/news/local/video-tour-de-yorkshire-in-calderdale-1-7242580",
    ),
    ("pagemaps-sitemap.xml", 2, 0, "http://www.example.com/foo"),
    (
        "shinpaideshou-news-sitemap.xml",
        3,
        0,
        "https://shinpaideshou.wordpress.com/2017/04/25/job-opening-reischauer-policy-research-fellow/",
    ),
    ("sitemap-images.xml", 1, 0, "http://www.example.com/images/some_image_landing_page.html"),
    ("sitemap-links.xml", 3, 0, "http://www.example.com/english/"),
    ("sitemap-mobile.xml", 3, 0, "http://www.example.com/mobile-friendly-1/"),
    ("sitemap-news.xml", 2, 0, "http://www.example.org/business/article55.html"),
    ("sitemap-videos-tvshow.xml", 1, 0, "https://example.org/my-tv-show/23/13/"),
    ("sitemap-videos.xml", 3, 0, "http://www.example.com/videos/some_video_landing_page.html"),
    ("sitemap-with-bom.txt", 2, 0, "http://www.domain.com/page1.html"),
    ("sitemap.badns.xml", 2, 0, "http://www.example.com/1"),
    ("sitemap.index.xml", 0, 15, "https://example.com/sitemap.jss?portalCode=10260&lang=en"),
    ("sitemap.ns.xml", 2, 0, "http://www.example.com/1"),
    ("sitemap.txt", 2, 0, "http://www.domain.com/page1.html"),
    ("sitemap.txt.gz", 5, 0, "http://www.example.com/"),
    ("xmlRss_pubDate.xml", 7, 0, "http://www.example.com/article_1"),
    ("xmlSitemap.gz", 5, 0, "http://www.example.com/"),
];

#[test]
fn the_public_examples_of_sitemaps_say_what_they_say() {
    let Some(folder) = model::testing::conformance("sitemaps") else { return };
    for (name, pages, sitemaps, first) in PUBLIC {
        let body = std::fs::read(folder.join(name)).unwrap();
        let read = read_as(SignalSource::Sitemap, &body);
        assert_eq!(
            (read.pages.len(), read.sitemaps.len(), read.bad),
            (pages, sitemaps, 0),
            "{name}"
        );
        let named = read.pages.first().map(|page| &page.url).or(read.sitemaps.first());
        assert_eq!(named.map(CrawlUrl::as_str), Some(first), "{name}");
        assert!(!read.cut && read.hostile.is_none(), "{name}");
    }
}

#[test]
fn xml_that_reaches_for_other_files_is_told_and_never_obeyed() {
    let entry = "<url><loc>https://a.example/1</loc></url>";
    let padding = format!("<!-- {} -->", "x".repeat(8 << 10));
    for (document, what) in [
        (
            format!(
                "<!DOCTYPE u [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset>{entry}</urlset>"
            ),
            "declarations in its document type",
        ),
        (
            format!("{padding}<!DOCTYPE u [<!ENTITY a 'b'>]><urlset>{entry}</urlset>"),
            "declarations in its document type",
        ),
        (
            format!("<!DOCTYPE u SYSTEM 'http://b.example/x.dtd'><urlset>{entry}</urlset>"),
            "document type of another file",
        ),
        (
            format!("<urlset>{entry}<xi:include href='file:///etc/passwd'/></urlset>"),
            "include of another file",
        ),
    ] {
        let told = read(&document);
        assert_eq!((told.hostile, told.pages.len()), (Some(what), 1), "{what}");
    }
    let quadratic = format!(
        "<!DOCTYPE u [<!ENTITY a '{}'>]><urlset><url><loc>https://a.example/{}</loc></url></urlset>",
        "x".repeat(50_000),
        "&a;".repeat(2_000)
    );
    let told = read(&quadratic);
    assert!(told.pages.iter().all(|page| page.url.as_str().len() < 10_000));
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_their_end(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0usize..3,
    ) {
        let source = SignalSource::ALL[which];
        prop_assert!(read_as(source, &bytes).pages.len() <= bytes.len());
        bytes.insert(0, b'<');
        prop_assert!(read_as(source, &bytes).pages.len() <= bytes.len());
        bytes.splice(0..0, [0x1f, 0x8b, 8, 0]);
        read_as(source, &bytes);
    }

    #[test]
    fn any_order_of_tags_is_read_to_its_end(
        text in "<(</?(a:)?(url|loc|sitemap|item|link|guid|entry|updated|source|rdf:Description|lastmod)( rdf:about='/x'| href=/y)?/?>|/p|2026-11-1[0-9]|[&<> ]){0,60}",
    ) {
        let read = read(&text);
        prop_assert!(read.pages.len() + read.sitemaps.len() <= text.len());
        for page in &read.pages {
            prop_assert!(page.at.is_none_or(|at| at <= NOW));
        }
    }
}
