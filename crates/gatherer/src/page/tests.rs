//! What is taken from whole pages, through the one door.

use std::sync::Arc;

use model::{CrawlUrl, Link, LinkKind, LinkRel, limits, testing::exchange};
use proptest::prelude::*;

use crate::{GatherOptions, GatherProblem, Gathered, LinkTags, Selection, gather};

fn html(body: &str) -> Gathered {
    html_with(body, &GatherOptions::default())
}

fn html_with(body: &str, options: &GatherOptions) -> Gathered {
    gather(
        &exchange(200, &[("Content-Type", "text/html; charset=utf-8")], body.as_bytes()),
        options,
    )
}

fn urls(links: &[Link]) -> Vec<&str> {
    links.iter().map(|link| link.url.as_str()).collect()
}

#[test]
fn without_the_text_links_titles_and_headings_are_the_same() {
    let page = "<title>T</title><p>lost <a href=/a>an <b>anchor</b></a> lost <h1>head <a href=/b>b</a> ing</h1>\
                lost <a href=/c><img alt=pic></a><xmp>lost</xmp><a href=/d>open";
    let whole = html(page);
    let map = html_with(page, &GatherOptions { text: false, ..GatherOptions::default() });
    assert!(whole.text.contains("lost") && whole.simhash != 0);
    assert_eq!((map.text.as_str(), map.simhash, map.skeleton), ("", 0, 0));
    assert_eq!(map.text_hash, map.content_hash, "changes are told by bytes");
    assert_eq!((&map.word_bits, &map.language), (&None, &None));
    assert_eq!(map.links, whole.links);
    assert_eq!((map.title, map.headings), (whole.title, whole.headings));
    let anchors: Vec<&str> = map.links.iter().map(|link| link.anchor.as_str()).collect();
    assert_eq!(anchors, ["an anchor", "b", "pic", "open"]);
}

#[test]
fn what_is_watched_for_changes_is_read_though_no_text_is_wanted() {
    let watched = vec!["#price".to_owned()];
    let selection = Selection::new(&watched, &[]).ok().map(Arc::new);
    let options = GatherOptions { text: false, selection, ..GatherOptions::default() };
    let told = |price: &str| html_with(&format!("<p id=price>{price}</p><p>x"), &options).text_hash;
    assert_ne!(told("1"), told("2"));
}

#[test]
fn text_is_what_a_reader_sees() {
    for (page, expected) in [
        ("<title> A &amp; B </title><body>x", "A & B\nx"),
        ("<p>one<p>two <b>bo</b>ld<br>three", "one\ntwo bold\nthree"),
        ("<table><tr><td>a<td>b</tr><tr><td>c</table>", "a b\nc"),
        ("a<script>x('<p>')</script>b<style>p{}</style>c<!-- d -->e", "abce"),
        ("a<noscript>b</noscript>c", "abc"),
        ("<template>x<p>y</template>z", "z"),
        ("<template shadowrootmode=open>x</template>z", "xz"),
        ("<template><template shadowrootmode=open>x</template>y</template>z", "z"),
        ("a<textarea>b</textarea>c<iframe>d</iframe>e", "a c e"),
        ("a&nbsp;&nbsp;b&eacute;&#x20;c", "a bé c"),
        ("<xmp><b>&amp;</xmp>", "<b>&amp;"),
        ("<svg><title>t</title><style>u</style><text>v<![CDATA[<w>]]></text></svg>x", "t\nuv<w>x"),
        ("<div hidden>h</div><p style='display:none'>i", "h\ni"),
        ("<title>a</title><title>b</title>c", "a\nc"),
        ("<title></title><title>b</title>c", "c"),
        ("1 < 2 <3 a<b", "1 < 2 <3 a"),
        ("", ""),
    ] {
        assert_eq!(html(page).text, expected, "{page}");
    }
}

#[test]
fn title_description_and_headings_are_folded_and_bounded() {
    let long = "w ".repeat(2_000);
    let found = html(&format!(
        "<title>\n The&nbsp;title {long}</title><meta name=Description content=' a\n b '>\
         <h1>One <i>two</i></h1><p>x<H3>three<h2></h2><h6>s<br>ix</h6>"
    ));
    assert!(found.title.starts_with("The title w w"));
    assert_eq!(found.title.chars().count(), limits::TITLE_CHARS_MAX);
    assert_eq!(found.description, "a b");
    let headings: Vec<_> = found.headings.iter().map(|(l, t)| (*l, t.as_str())).collect();
    assert_eq!(headings, [(1, "One two"), (3, "three"), (6, "s ix")]);
    let many = html(&"<h1>x</h1>".repeat(5_000));
    assert_eq!(many.headings.len(), GatherOptions::default().headings_max);
}

#[test]
fn every_kind_of_link_is_taken_with_anchor_rel_and_position() {
    let found = html(
        "<link rel=canonical href=/c><link rel=stylesheet href=s.css><link rel=alternate type=application/atom+xml \
         href=feed title='News'><link rel=next href=?p=2>\
         <a href=x rel='NoFollow ugc'> One <b>two</b></a><a href=y><img alt='  pic '></a><area href=z alt=Map>\
         <iframe src=//b.test/f title=I></iframe><a name=here>no link</a><a href=q>open<a href=r>next</a>\
         <svg><a xlink:href=svg>s</a></svg><frame src=fr>",
    );
    let links: Vec<_> =
        found.links.iter().map(|l| (l.url.as_str(), l.kind, l.anchor.as_str())).collect();
    assert_eq!(
        links,
        [
            ("http://a.test/c", LinkKind::Canonical, ""),
            ("http://a.test/dir/feed", LinkKind::Feed, "News"),
            ("http://a.test/dir/page?p=2", LinkKind::Next, ""),
            ("http://a.test/dir/x", LinkKind::A, "One two"),
            ("http://a.test/dir/y", LinkKind::A, "pic"),
            ("http://a.test/dir/z", LinkKind::Area, "Map"),
            ("http://b.test/f", LinkKind::Iframe, "I"),
            ("http://a.test/dir/q", LinkKind::A, "open"),
            ("http://a.test/dir/r", LinkKind::A, "next"),
            ("http://a.test/dir/svg", LinkKind::A, "s"),
            ("http://a.test/dir/fr", LinkKind::Frame, ""),
        ]
    );
    assert_eq!(found.links[3].rel, LinkRel::NOFOLLOW.with(LinkRel::UGC));
    assert!(found.links.iter().enumerate().all(|(i, link)| link.position as usize == i));
    assert_eq!(found.canonical.as_ref().map(CrawlUrl::as_str), Some("http://a.test/c"));
    assert_eq!(found.problems, []);
}

#[test]
fn only_a_canonical_link_in_the_head_counts() {
    let canonical = |page: &str| html(page).canonical.is_some();
    const LINK: &str = "<link rel=canonical href=/c>";
    for before in [
        "",
        "<!doctype html>\n<html><head>",
        "<title>a < b</title><meta charset=utf-8><base href=/><style>x</style><script>y</script>",
        "<head><noscript><link rel=stylesheet href=s></noscript>",
        "<head></head>\n",
        "<head></head><!-- x --><script>y</script>",
        "<template><p>x</p></template>",
        "</p></div>&#32;&#10;",
        "<basefont><bgsound><noframes>x</noframes>",
    ] {
        assert!(canonical(&format!("{before}{LINK}")), "{before}");
    }
    for before in [
        "<body>",
        "<head></head><body><p>x</p>",
        "x",
        "&nbsp;",
        "\0",
        "<p>",
        "<head><img src=x>",
        "<head><noscript><img src=x></noscript>",
        "<head></head><noscript></noscript>",
        "</body>",
        "</html>",
        "<svg>",
        "<frameset>",
        "<template>",
        "<head><custom-element>",
    ] {
        let found = html(&format!("{before}{LINK}<a href=/a>a</a>"));
        assert_eq!(found.canonical, None, "{before}");
        assert!(!found.links.iter().any(|link| link.url.path() == "/c"), "{before}");
    }
    let found = html(&format!("<head>{LINK}</head><body><link rel=canonical href=/forged>"));
    assert_eq!(found.canonical.as_ref().map(CrawlUrl::path), Some("/c"), "{found:?}");
    assert_eq!(found.problems, []);
    let found = html("<body><link rel=next href=/n>");
    assert_eq!(urls(&found.links), ["http://a.test/n"], "other links count anywhere");
}

#[test]
fn a_nul_is_no_text_in_html_and_a_sign_that_cannot_be_read_elsewhere() {
    for (page, expected) in [
        ("<p>a\0b", "ab"),
        ("<title>a\0b</title>", "a\u{fffd}b"),
        ("<xmp>a\0b</xmp>", "a\u{fffd}b"),
        ("<plaintext>a\0b", "a\u{fffd}b"),
        ("<svg><text>a\0b<![CDATA[\0]]></text></svg>", "a\u{fffd}b\u{fffd}"),
        ("<svg><foreignObject>a\0b</foreignObject></svg>", "ab"),
    ] {
        assert_eq!(html(page).text, expected, "{page:?}");
    }
    let found = html("<meta name=description content='a\0b'><a href='/x\0y'><img alt='p\0q'></a>");
    assert_eq!(found.description, "a\u{fffd}b");
    assert_eq!(urls(&found.links), ["http://a.test/x%EF%BF%BDy"]);
    assert_eq!(found.links[0].anchor, "p\u{fffd}q");
    let fields = [("Content-Type", "text/plain")];
    let plain = gather(&exchange(200, &fields, b"a\0b"), &GatherOptions::default());
    assert!(!plain.text.contains('\0'), "{:?}", plain.text);
}

#[test]
fn the_first_base_counts_for_links_before_and_after_it() {
    let found = html(
        "<a href=1></a><base target=x><base href=/b/><base href=/c/><a href=2></a><a href='#x'></a>",
    );
    let expected = ["http://a.test/b/1", "http://a.test/dir/page", "http://a.test/b/2"];
    assert_eq!(urls(&found.links), [expected[0], expected[2], "http://a.test/b/"]);
    assert_eq!(found.base.as_ref().map(CrawlUrl::as_str), Some("http://a.test/b/"));
    let without = html("<a href='#x'></a><a href=' #y'></a><a href=''></a>");
    assert_eq!(urls(&without.links), [expected[1]]);
}

#[test]
fn links_over_the_limit_and_bad_urls_are_problems_with_counts() {
    let options = GatherOptions { links_max: 3, ..GatherOptions::default() };
    let found = html_with(&"<a href=x>".repeat(10), &options);
    assert_eq!(found.links.len(), 3);
    assert_eq!(found.problems, [GatherProblem::LinksOverLimit { count: 7 }]);
    let found = html("<a href='http://[x'><a href='javascript:x'><a href=mailto:x@y><a href=ok>");
    assert_eq!(urls(&found.links), ["http://a.test/dir/ok"]);
    assert!(matches!(&found.problems[..], [GatherProblem::InvalidUrls(e)] if e.count == 1));
    let long = html(&format!("<a href='{}'>", "x".repeat(3_000)));
    assert!(matches!(&long.problems[..], [GatherProblem::LongUrls(e)] if e.count == 1));
}

#[test]
fn which_tags_carry_links_can_be_set() {
    let link_tags = LinkTags::parse(&["iframe/src", "img/data-src"]).expect("well formed");
    let options = GatherOptions { link_tags, ..GatherOptions::default() };
    let found = html_with(
        "<meta http-equiv=refresh content='1;url=/r'><link rel=next href=n><a href=a></a><iframe src=i></iframe>\
         <IMG DATA-SRC=p src=q>",
        &options,
    );
    assert_eq!(urls(&found.links), ["http://a.test/dir/i", "http://a.test/dir/p"]);
    assert_eq!(found.links[1].kind, LinkKind::Other);
}

#[test]
fn links_of_logged_tags_are_marked() {
    let log_tags = LinkTags::names(&["IMG/src", "video/poster"]).expect("well formed");
    let options = GatherOptions { log_tags, ..GatherOptions::default() };
    let body = "<a href=/1><img src=/2 title=t></a><video poster=/3 src=/4></video><img>";
    let exchange = exchange(200, &[("Content-Type", "text/html")], body.as_bytes());
    let found = gather(&exchange, &options);
    let links: Vec<_> = found.links.iter().map(|l| (l.url.path(), l.rel, &*l.anchor)).collect();
    let (plain, logged) = (LinkRel::default(), LinkRel::LOGGED);
    assert_eq!(links, [("/1", plain, ""), ("/2", logged, "t"), ("/3", logged, "")]);
}

#[test]
fn anchors_are_cut_at_their_limit() {
    let found = html(&format!("<a href=x>{}</a>", "é".repeat(1_000)));
    assert_eq!(found.links[0].anchor.chars().count(), limits::ANCHOR_CHARS_MAX);
}

#[test]
fn wishes_of_robots_add_up_over_tags_and_fields() {
    let flags = |found: &Gathered| (found.noindex, found.nofollow, found.noarchive);
    assert_eq!(flags(&html("<meta name=robots content=noindex>")), (true, false, false));
    assert_eq!(flags(&html("<meta name=ROBOTS content='None'>")), (true, true, false));
    assert_eq!(flags(&html("<meta name=harvestman content=noarchive>")), (false, false, true));
    assert_eq!(flags(&html("<meta name=googlebot content=noindex>")), (false, false, false));
    let fields = [
        ("Content-Type", "text/html"),
        ("X-Robots-Tag", "otherbot: noindex, harvestman: nofollow"),
    ];
    let found = gather(
        &exchange(200, &fields, b"<meta name=robots content=noarchive>"),
        &GatherOptions::default(),
    );
    assert_eq!(flags(&found), (false, true, true));
}

#[test]
fn header_fields_give_links_first() {
    let fields = [
        ("Content-Type", "text/html"),
        ("Link", "<c>; rel=canonical, <s>; rel=preload, <n>; rel=\"next\""),
        ("Refresh", "5; url=later"),
    ];
    let found = gather(&exchange(200, &fields, b"<a href=x>"), &GatherOptions::default());
    let links: Vec<_> = found.links.iter().map(|l| (l.url.path(), l.kind)).collect();
    assert_eq!(
        links,
        [
            ("/dir/c", LinkKind::Header),
            ("/dir/n", LinkKind::Header),
            ("/dir/x", LinkKind::A),
            ("/dir/later", LinkKind::Refresh)
        ]
    );
    assert_eq!(found.canonical.as_ref().map(CrawlUrl::path), Some("/dir/c"));
    assert_eq!(found.refresh.as_ref().map(|r| (r.seconds, r.url.path())), Some((5, "/dir/later")));
}

#[test]
fn a_refresh_at_once_on_a_page_of_a_few_words_is_marked_and_a_slide_is_not() {
    let marked = |seconds: u32, text: &str| {
        let body = format!("<meta http-equiv=refresh content='{seconds};url=/r'><p>{text}");
        let exchange = exchange(200, &[("Content-Type", "text/html")], body.as_bytes());
        gather(&exchange, &GatherOptions::default()).links[0].rel.contains(LinkRel::FORWARD)
    };
    assert!(marked(0, "Please wait") && marked(2, ""));
    assert!(!marked(5, "Slide 7") && !marked(0, &"a word ".repeat(20)));
}

#[test]
fn a_redirect_is_its_target_and_nothing_else() {
    let fields = [("Location", "/new"), ("Content-Type", "text/html")];
    let found = gather(&exchange(301, &fields, b"<a href=/other>moved"), &GatherOptions::default());
    assert_eq!(found.redirect.as_ref().map(CrawlUrl::as_str), Some("http://a.test/new"));
    assert_eq!(
        (urls(&found.links), found.links[0].kind),
        (vec!["http://a.test/new"], LinkKind::Redirect)
    );
    assert_eq!(found.text, "");
    let found = gather(&exchange(200, &fields, b"<a href=/other>here"), &GatherOptions::default());
    assert_eq!(found.redirect, None);
    assert_eq!(urls(&found.links), ["http://a.test/other"]);
    let bad = gather(&exchange(302, &[("Location", "http://[")], b""), &GatherOptions::default());
    assert_eq!((bad.redirect, bad.problems.len()), (None, 1));
}

#[test]
fn binaries_and_unwanted_types_are_told_and_not_read() {
    let with_type = |media_type: &str, body: &[u8]| {
        gather(&exchange(200, &[("Content-Type", media_type)], body), &GatherOptions::default())
    };
    let pdf = with_type("text/html", b"%PDF-1.4 <a href=x>");
    assert_eq!(
        (pdf.media_type.as_str(), pdf.declared_type.as_str()),
        ("application/pdf", "text/html")
    );
    assert!(matches!(&pdf.problems[..], [GatherProblem::NotText { .. }]));
    assert!(pdf.links.is_empty() && pdf.text.is_empty() && pdf.content_hash != 0);
    let css = with_type("text/css", b"a{}");
    assert!(matches!(&css.problems[..], [GatherProblem::NotWanted { .. }]));
    let text = with_type("text/plain", b"see http://b.test/x.\n<a href=y>");
    assert_eq!(
        (text.text.as_str(), text.links[0].kind),
        ("see http://b.test/x.\n<a href=y>", LinkKind::Text)
    );
    assert_eq!(urls(&text.links), ["http://b.test/x"]);
    assert_eq!(with_type("", b"<html><a href=x>").links.len(), 1);
}

#[test]
fn fingerprints_follow_what_they_are_of() {
    let one = html("<p>some words that stay the same</p><!-- 1 -->");
    let two = html("<p>some words  that stay the same</p><!-- 2 -->");
    assert_ne!(one.content_hash, two.content_hash);
    assert_eq!((one.text_hash, one.simhash), (two.text_hash, two.simhash));
    assert_ne!(one.text_hash, html("<p>other words</p>").text_hash);
}

#[test]
fn charset_and_language_are_said() {
    let body = b"<html lang=pt-PT><meta charset=iso-8859-1><p>A cria\xe7\xe3o das p\xe1ginas desta cole\xe7\xe3o";
    let found =
        gather(&exchange(200, &[("Content-Type", "text/html")], body), &GatherOptions::default());
    assert_eq!(found.charset, "windows-1252");
    assert!(found.text.contains("criação"));
    assert_eq!(found.language.map(|l| l.code).as_deref(), Some("pt"));
    let options = GatherOptions { language: false, ..GatherOptions::default() };
    assert_eq!(html_with("<html lang=pt>", &options).language, None);
}

#[test]
fn deep_nesting_costs_no_stack_and_no_links() {
    let found = html(&format!("{}<a href=deep>x", "<ul><li>".repeat(250_000)));
    assert_eq!(urls(&found.links), ["http://a.test/dir/deep"]);
    let options = Arc::new(GatherOptions::default());
    let found = html_with(&"<template><svg><a><h1>".repeat(50_000), &options);
    assert_eq!(found.text, "");
}

proptest! {
    #[test]
    fn any_bytes_under_any_label_are_gathered(
        body in prop::collection::vec(any::<u8>(), 0..400),
        label in prop::sample::select(vec![
            "", "text/html", "text/plain", "text/html; charset=utf-16le", "text/html;charset=shift_jis",
            "text/html; charset=replacement", "application/xhtml+xml", "x", "application/octet-stream",
        ]),
        status in prop::sample::select(vec![200u16, 204, 301, 304, 404, 500]),
        location in prop::option::of(".{0,20}"),
    ) {
        let mut fields = vec![("Content-Type", label)];
        if let Some(location) = &location {
            fields.extend([("Location", location.as_str()), ("Link", location), ("Refresh", location)]);
        }
        let options = GatherOptions { media_types: vec!["*/*".to_owned()], ..GatherOptions::default() };
        gather(&exchange(status, &fields, &body), &options);
    }

    #[test]
    fn any_markup_is_gathered(parts in prop::collection::vec(prop::sample::select(vec![
        "<a href=", "<a href='", "x>", "'>", "</a>", "<img alt=y>", "<h1>", "</h2>", "<title>", "</title>", "<base href=",
        "<meta name=robots content=", "<meta http-equiv=refresh content='0;url=", "<template>", "</template>", "<svg>",
        "</svg>", "<script>", "</script>", "<!--", "-->", "&eacute;", "&", "text ", "é", "\u{0}", "<link rel=next href=",
        "<html lang=", "http://[", "\u{fffd}", "<plaintext>", "<table><td>", "<p>", "\n",
    ]), 0..60)) {
        let found = html(&parts.concat());
        let folded = found.text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(found.text.replace('\n', " "), folded);
    }
}
