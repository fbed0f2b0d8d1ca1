//! A second opinion: the same links and titles as lol_html, on conformance pages and generated
//! ones.

use std::{cell::RefCell, rc::Rc};

use crate::support::{gather_html, resolved, tree_cases};
use lol_html::{RewriteStrSettings, element, rewrite_str, text};
use proptest::prelude::*;

/// Pages that are not compared: (part of the page, reason).
const DIFFERENT: [(&str, &str); 1] =
    [("<noscript", "lol_html reads noscript as browsers with scripts do, we as those without")];

struct Opinion {
    links: Vec<String>,
    title: String,
}

fn lol_html(page: &str) -> Option<Opinion> {
    let links = Rc::new(RefCell::new(Vec::new()));
    let title = Rc::new(RefCell::new(None::<String>));
    let reading = Rc::new(RefCell::new(false));
    let (links_in, title_in, reading_in) = (links.clone(), title.clone(), reading.clone());
    let (title_text, reading_text) = (title.clone(), reading.clone());
    let foreign = Rc::new(RefCell::new(false));
    let foreign_in = foreign.clone();
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(element!("a, area, frame, iframe", move |element| {
            let name = if element.tag_name().ends_with("frame") { "src" } else { "href" };
            if let Some(reference) = element.get_attribute(name) {
                links_in.borrow_mut().extend(resolved(&htmlize::unescape_attribute(&reference)));
            }
            Ok(())
        }))
        .append_element_content_handler(element!("svg title, math title", move |_| {
            *foreign_in.borrow_mut() = true;
            Ok(())
        }))
        .append_element_content_handler(element!("title", move |_| {
            let is_foreign = foreign.replace(false);
            let is_first = title_in.borrow().is_none() && !is_foreign;
            *reading_in.borrow_mut() = is_first;
            if is_first {
                *title_in.borrow_mut() = Some(String::new());
            }
            Ok(())
        }))
        .append_element_content_handler(text!("title", move |chunk| {
            if *reading_text.borrow() {
                title_text.borrow_mut().get_or_insert_default().push_str(chunk.as_str());
            }
            Ok(())
        }));
    rewrite_str(page, settings).ok()?;
    let title = title.take().unwrap_or_default().replace('\0', "\u{fffd}");
    let title = htmlize::unescape(title.as_str()).replace('\u{a0}', " ");
    Some(Opinion {
        links: links.take(),
        title: title.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
    })
}

fn ours(page: &str) -> Opinion {
    let found = gather_html(page);
    Opinion { links: found.links.iter().map(|l| l.url.to_string()).collect(), title: found.title }
}

#[test]
fn conformance_pages_have_the_same_links_and_titles() {
    let Some(cases) = tree_cases() else { return };
    let mut compared = 0;
    for case in cases.iter().filter(|case| !case.fragment) {
        // In strict mode it gives up on a few pages that would need a tree.
        let Some(theirs) = lol_html(&case.data) else { continue };
        if DIFFERENT.iter().any(|(part, _)| case.data.contains(part)) {
            continue;
        }
        compared += 1;
        let ours = ours(&case.data);
        assert_eq!(ours.links, theirs.links, "{}: {:?}", case.file, case.data);
        assert_eq!(ours.title, theirs.title, "{}: {:?}", case.file, case.data);
    }
    assert!(compared > 1_400, "only {compared} compared");
}

/// Markup as pages have it, not always well formed.
fn piece() -> impl Strategy<Value = String> {
    let word = "[a-z]{1,6}";
    prop_oneof![
        (word, word).prop_map(|(url, text)| format!("<a href=\"/{url}?a=1&amp;b=2\">{text}</a>")),
        (word, word).prop_map(|(url, text)| format!("<A class='x>' HREF={url}/{text}>")),
        word.prop_map(|url| format!("<iframe src='{url}'><a href=no></iframe>")),
        word.prop_map(|url| format!("<area shape=rect href = \"{url}\" />")),
        word.prop_map(|text| format!("<title>{text} &lt;<a href=no></title>")),
        word.prop_map(|text| format!("<script>var {text} = '<a href=no>';</script>")),
        word.prop_map(|text| format!(
            "<script><!-- <script>{text}</script> <a href=no> --></script>"
        )),
        word.prop_map(|text| format!("<style>{text}{{}}<a href=no></style>")),
        word.prop_map(|text| format!("<!-- {text} <a href=no> -- > -->")),
        word.prop_map(|text| format!(
            "<svg><title>{text}</title><style><a href={text}></style></svg>"
        )),
        word.prop_map(|text| format!("<textarea><a href=no>{text}</textarea>")),
        word.prop_map(|text| format!("<p title=\"a>b\">{text} & 1 < 2 </p  >")),
        word.prop_map(|text| format!("<xmp><a href=no>{text}</xmp>")),
        Just("<![CDATA[<a href=in>]]>".to_owned()),
        Just("<?php <a href=no> ?>".to_owned()),
        Just("</p><//a></>".to_owned()),
        Just("<ul><li><div><table><tr><td>".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn generated_pages_have_the_same_links_and_titles(pieces in prop::collection::vec(piece(), 0..25)) {
        let page = pieces.concat();
        if let Some(theirs) = lol_html(&page) {
            let ours = ours(&page);
            prop_assert_eq!(ours.links, theirs.links, "{}", page);
            prop_assert_eq!(ours.title, theirs.title, "{}", page);
        }
    }
}
