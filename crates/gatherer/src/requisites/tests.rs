//! What counts as a part of a page, and that nothing the web sends can harm who looks for it.

use std::borrow::Cow;

use model::{CrawlUrl, testing::exchange};
use proptest::prelude::*;

use super::{css, srcset};
use crate::{GatherOptions, GatherProblem, Gathered, gather, gather_part};

fn asked() -> GatherOptions {
    GatherOptions { requisites: true, ..GatherOptions::default() }
}

fn page(body: &str) -> Gathered {
    gather(&exchange(200, &[("Content-Type", "text/html")], body.as_bytes()), &asked())
}

fn style(body: &str) -> Gathered {
    gather_part(&exchange(200, &[("Content-Type", "text/css")], body.as_bytes()), &asked())
}

/// Without the host, as far as it is the page's own.
fn parts(found: &Gathered) -> Vec<&str> {
    let own = |url: &CrawlUrl| url.as_str().strip_prefix("http://a.test").is_some();
    found
        .requisites
        .iter()
        .map(|url| if own(url) { url.path_and_query() } else { url.as_str() })
        .collect()
}

fn references(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    css::references(text, &mut |reference: Cow<'_, str>| found.push(reference.into_owned()));
    found
}

#[test]
fn every_tag_that_loads_something_is_known() {
    for (markup, expected) in [
        ("<img src=a.png>", vec!["/dir/a.png"]),
        ("<IMG SRC='/a.png?x=1&amp;y=2#f'>", vec!["/a.png?x=1&y=2"]),
        ("<img src=a srcset='b 1x, c 2x'>", vec!["/dir/a", "/dir/b", "/dir/c"]),
        (
            "<picture><source srcset='w.webp, v.avif 2x'></picture>",
            vec!["/dir/w.webp", "/dir/v.avif"],
        ),
        (
            "<video src=v poster=p><source src=s><track src=t></video>",
            vec!["/dir/v", "/dir/p", "/dir/s", "/dir/t"],
        ),
        (
            "<audio src=a></audio><embed src=e><object data=o></object>",
            vec!["/dir/a", "/dir/e", "/dir/o"],
        ),
        ("<script src=//b.test/s.js></script>", vec!["http://b.test/s.js"]),
        ("<link rel='alternate STYLESHEET' href=s.css>", vec!["/dir/s.css"]),
        (
            "<link rel='shortcut icon' href=/favicon.ico><link rel=manifest href=m>",
            vec!["/favicon.ico", "/dir/m"],
        ),
        (
            "<link rel=preload as=font href=f.woff2><link rel=modulepreload href=m.mjs>",
            vec!["/dir/f.woff2", "/dir/m.mjs"],
        ),
        ("<link rel=preload as=image imagesrcset='a 1x, b 2x'>", vec!["/dir/a", "/dir/b"]),
        ("<body background=b.gif><td background=c.gif>", vec!["/dir/b.gif", "/dir/c.gif"]),
        ("<p style=\"background: url(&quot;d.png&quot;)\">", vec!["/dir/d.png"]),
        (
            "<style>@import 'i.css'; p{background:url(e.png)}</style>",
            vec!["/dir/i.css", "/dir/e.png"],
        ),
        ("<input type=IMAGE src=i><input type=text src=no>", vec!["/dir/i"]),
        (
            "<svg><image href=i.png /><use xlink:href='s.svg#x'/><use href='#y'/></svg>",
            vec!["/dir/i.png", "/dir/s.svg"],
        ),
        (
            "<noscript><img src=n></noscript><template><img src=t></template>",
            vec!["/dir/n", "/dir/t"],
        ),
        ("<a href=x>y</a><iframe src=f></iframe><link rel=next href=n>", vec![]),
        (
            "<img src=''><img src='#x'><img src='data:image/png,x'><img src=blob:x><img src=page>",
            vec![],
        ),
        (
            "<!-- <img src=no> --><script>'<img src=no>'</script><textarea><img src=no></textarea>",
            vec![],
        ),
    ] {
        assert_eq!(parts(&page(markup)), expected, "{markup}");
    }
}

#[test]
fn the_base_of_the_page_counts_and_each_part_comes_once() {
    let found =
        page("<img src=x><base href=/other/><img src=x><img src='x#y'><p style='a:url(x)'>");
    assert_eq!(parts(&found), ["/other/x"]);
}

#[test]
fn link_fields_name_parts_too() {
    let fields =
        [("Content-Type", "text/html"), ("Link", "<s.css>; rel=preload; as=style, <n>; rel=next")];
    let found = gather(&exchange(200, &fields, b"x"), &asked());
    assert_eq!(parts(&found), ["/dir/s.css"]);
    assert_eq!(found.links.len(), 1);
}

#[test]
fn parts_are_collected_only_when_asked_for_and_only_of_what_can_be_shown() {
    let html = [("Content-Type", "text/html")];
    let body = b"<img src=a>";
    assert!(gather(&exchange(200, &html, body), &GatherOptions::default()).requisites.is_empty());
    assert!(gather(&exchange(404, &html, body), &asked()).requisites.is_empty());
    assert_eq!(gather(&exchange(200, &html, body), &asked()).requisites.len(), 1);
}

#[test]
fn parts_over_the_limit_are_counted() {
    let body: String = (0..10).map(|n| format!("<img src={n}><img src={n}>")).collect();
    let options = GatherOptions { requisites_max: 4, ..asked() };
    let found = gather(&exchange(200, &[("Content-Type", "text/html")], body.as_bytes()), &options);
    assert_eq!(found.requisites.len(), 4);
    assert!(matches!(&found.problems[..], [GatherProblem::RequisitesOverLimit { count: 12 }]));
}

#[test]
fn a_style_is_read_as_browsers_read_it() {
    for (text, expected) in [
        ("a{background:url(b.png)}", vec!["b.png"]),
        ("a{background: URL( \"b c.png\" )}", vec!["b c.png"]),
        (
            "@import 'a.css' screen; @import url(b.css);@IMPORT \"c.css\"",
            vec!["a.css", "b.css", "c.css"],
        ),
        ("@import/**/'a.css'", vec!["a.css"]),
        ("@charset 'utf-8'; a::before{content:'no.png'}", vec![]),
        ("/* url(no) */ a{b:url(yes)} /* url(no)", vec!["yes"]),
        ("a{b:'url(no)';c:\"\\\"url(no)\"}", vec![]),
        ("@font-face{src:url(a.woff2)format('woff2'),url('b.woff')}", vec!["a.woff2", "b.woff"]),
        (
            "a{b:image-set('a.png' 1x, url(b.png) 2x, 'c.png' type('image/png'))} d{e:'no'}",
            vec!["a.png", "b.png", "c.png"],
        ),
        ("@namespace svg url(http://www.w3.org/2000/svg); a{b:url(c)}", vec!["c"]),
        ("a{b:url(a\\ b\\)\\28 c)}", vec!["a b)(c"]),
        ("a{b:\\75\\72 l(x)}", vec!["x"]),
        ("a{b:url(\"a\\\nb\")}", vec!["ab"]),
        ("a{b:url(bad\"quote) } c{d:url(e)}", vec!["e"]),
        ("a{b:url(a b)} c{d:url(e)}", vec!["e"]),
        ("a{b:'broken\n} c{d:url(e)}", vec!["e"]),
        ("a{b:my-url(no) url-prefix(no)}", vec![]),
        ("a{b:url(\\0\\110000\\d800 )}", vec!["\u{fffd}\u{fffd}\u{fffd}"]),
        ("a{b:url(unclosed", vec!["unclosed"]),
        ("a{b:url(é.png)}\\", vec!["é.png"]),
        ("url()", vec![""]),
    ] {
        assert_eq!(references(text), expected, "{text}");
    }
}

#[test]
fn a_style_sheet_is_read_for_its_parts_and_a_page_that_is_a_part_for_nothing() {
    let found = style("@import '../b.css'; a{b:url(/c.png) url(#d) url(data:,x) url(page)}");
    assert_eq!(parts(&found), ["/b.css", "/c.png"]);
    let html = [("Content-Type", "text/html")];
    let found = gather_part(&exchange(200, &html, b"<a href=x>y</a><img src=z>"), &asked());
    assert!(found.links.is_empty() && found.requisites.is_empty() && found.text.is_empty());
    assert_ne!((found.content_hash, found.text_hash), (0, 0));
    let moved = gather_part(&exchange(302, &[("Location", "/new.png")], b""), &asked());
    assert_eq!(moved.redirect.as_ref().map(CrawlUrl::path), Some("/new.png"));
}

#[test]
fn a_source_set_is_cut_at_the_right_commas() {
    for (set, expected) in [
        ("a", vec!["a"]),
        (" a 1x , b 2x ", vec!["a", "b"]),
        ("a,b 2x", vec!["a,b"]),
        ("a, b", vec!["a", "b"]),
        ("a,,, b 100w, c (x,y) 2x, d", vec!["a", "b", "c", "d"]),
        (",,,", vec![]),
        ("", vec![]),
        ("data:image/png;base64,AA== 1x, b 2x", vec!["data:image/png;base64,AA==", "b"]),
    ] {
        assert_eq!(srcset::urls(set).collect::<Vec<_>>(), expected, "{set}");
    }
}

/// Every candidate is taken, so at least the one a browser would choose.
#[test]
fn the_public_cases_of_srcset_are_found() {
    let Some(path) = model::testing::conformance("html/srcset.json") else { return };
    let data = std::fs::read(path).unwrap();
    let data: serde_json::Value = serde_json::from_slice(&data).unwrap();
    let cases = data["cases"].as_array().unwrap();
    for case in cases {
        let (set, chosen) = (case["srcset"].as_str().unwrap(), case["chosen"].as_str().unwrap());
        let found = srcset::urls(set).any(|url| url == chosen);
        assert!(found || chosen.is_empty(), "{set:?}: no {chosen:?}");
    }
    assert!(cases.len() >= 73);
}

#[test]
fn hostile_styles_cost_no_more_than_their_length() {
    let begun = std::time::Instant::now();
    for piece in
        ["url(", "url('", "\\", "/*", "@import", "((", "'\\\n", "url(\\", "image-set(", "\\0"]
    {
        references(&piece.repeat(300_000));
        srcset::urls(&piece.repeat(300_000)).count();
    }
    assert!(begun.elapsed().as_secs() < 20, "quadratic time takes minutes here");
}

proptest! {
    #[test]
    fn any_style_is_read(parts in prop::collection::vec(prop::sample::select(vec![
        "url(", "URL(", ")", "'", "\"", "\\", "\\a", "\\\n", "@import", "@namespace", " ", "\n", "\r\n", "/*", "*/",
        "image-set(", "(", "{", "}", ";", "é", "\u{0}", "x", "-", "\u{fffd}", "\\é", "\\00e9 ", "1",
    ]), 0..80)) {
        let text = parts.concat();
        for reference in references(&text) {
            // Nothing comes out longer than it went in, but for U+FFFD in the place of an escape.
            prop_assert!(reference.len() <= 2 * text.len());
        }
        srcset::urls(&text).for_each(|url| assert!(text.contains(url)));
        style(&text);
        page(&format!("<p style='{text}' background='{text}'><img srcset=\"{text}\"><style>{text}"));
    }
}
