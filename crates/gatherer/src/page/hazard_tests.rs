//! Contents that are not what they should be: read as far as they can be, and told by name.

use model::testing::exchange;

use crate::{GatherOptions, GatherProblem, Gathered, LongPiece, gather};

fn typed(media_type: &str, body: &[u8]) -> Gathered {
    let fields = [("Content-Type", media_type)];
    let fields = if media_type.is_empty() { &[][..] } else { &fields[..] };
    let wanted = GatherOptions { media_types: vec!["*/*".to_owned()], ..GatherOptions::default() };
    gather(&exchange(200, fields, body), &wanted)
}

fn html(body: &str) -> Gathered {
    typed("text/html; charset=utf-8", body.as_bytes())
}

fn utf16(text: &str, little: bool) -> Vec<u8> {
    text.encode_utf16()
        .flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() })
        .collect()
}

const PAGE: &str = "<title>T</title><p>some text <a href=/next>next</a> and more of it";

#[test]
fn a_lying_media_type_is_found_out_in_both_directions_and_both_are_kept() {
    for declared in
        ["image/png", "application/octet-stream", "", "video/mp4", "text/plain", "text/css"]
    {
        let found = typed(declared, format!("<!doctype html>{PAGE}").as_bytes());
        assert_eq!(found.media_type, "text/html", "{declared}");
        assert_eq!((found.declared_type.as_str(), found.links.len()), (declared, 1));
    }
    for (body, kind) in [
        (&b"%PDF-1.7 <a href=x>"[..], "application/pdf"),
        (b"PK\x03\x04<a href=x>", "application/zip"),
        (b"\x89PNG\r\n\x1a\n<a href=x>", "image/png"),
        (b"\xff\xd8\xff<a href=x>", "image/jpeg"),
    ] {
        let found = typed("text/html", body);
        assert_eq!((found.media_type.as_str(), found.links.len()), (kind, 0));
        assert_eq!(found.declared_type, "text/html");
    }
}

#[test]
fn encodings_are_found_without_and_against_the_word_of_the_server() {
    let lie = |declared: &str, found: &str| {
        let (declared, found) = (declared.to_owned(), found.to_owned());
        vec![GatherProblem::WrongCharset { declared, found }]
    };
    let bom = |little| [utf16("\u{feff}", little), utf16(PAGE, little)].concat();
    let latin = b"<p>caf\xe9 na\xefve d\xe9j\xe0 vu <a href=/next>suivant</a> \xe9t\xe9".to_vec();
    for (name, media_type, body, charset, problems) in [
        ("bom le", "text/html", bom(true), "UTF-16LE", vec![]),
        ("bom be", "text/html", bom(false), "UTF-16BE", vec![]),
        ("no bom le", "text/html", utf16(PAGE, true), "UTF-16LE", vec![]),
        ("no bom be", "text/html", utf16(PAGE, false), "UTF-16BE", vec![]),
        (
            "bom against label",
            "text/html; charset=utf-8",
            bom(true),
            "UTF-16LE",
            lie("UTF-8", "UTF-16LE"),
        ),
        (
            "latin as utf-8",
            "text/html; charset=utf-8",
            latin.clone(),
            "UTF-8",
            lie("UTF-8", "windows-1252"),
        ),
        ("latin unsaid", "text/html", latin.clone(), "windows-1252", vec![]),
        (
            "no such name",
            "text/html; charset=klingon",
            latin,
            "windows-1252",
            lie("no encoding", "windows-1252"),
        ),
        // UTF-7 is no encoding of the web: the page is read as what it also is.
        ("utf-7", "text/html; charset=utf-7", PAGE.into(), "UTF-8", lie("no encoding", "UTF-8")),
        (
            "nuls",
            "text/html; charset=utf-8",
            PAGE.replace("text", "te\0xt").into(),
            "UTF-8",
            vec![],
        ),
    ] {
        let found = typed(media_type, &body);
        assert_eq!((found.charset.as_str(), found.problems), (charset, problems), "{name}");
        assert_eq!(found.links.len(), 1, "{name}");
    }
    let mixed = [PAGE.as_bytes(), "é à ü".as_bytes(), b"\xe9"].concat();
    let found = typed("text/html; charset=utf-8", &mixed);
    assert_eq!(found.problems, [GatherProblem::Malformed { charset: "UTF-8".to_owned() }]);
}

#[test]
fn deep_nesting_is_told_and_long_lists_are_not_deep() {
    for unit in ["<ul><li>", "<div>", "<b>", "<table><tr><td>"] {
        let deep = html(&format!("{}<a href=x>", unit.repeat(512_000 / unit.len())));
        assert!(matches!(deep.problems[..], [GatherProblem::DeepNesting { .. }]), "{unit}");
        assert_eq!(deep.links.len(), 1, "{unit}");
    }
    for unit in ["<li>x", "<p>x", "<tr><td>x", "<div>x</div>", "<br>", "<option>x"] {
        assert_eq!(html(&unit.repeat(2_000)).problems, [], "{unit}");
    }
}

#[test]
fn long_pieces_are_told_and_what_is_beside_them_is_read() {
    let long = "x".repeat(1_100_000);
    for (page, piece) in [
        (format!("<a href=a>A</a><p title='{long}'>"), LongPiece::Attribute),
        (format!("<a href=a>A</a><p title='{long}"), LongPiece::Attribute),
        (format!("<a href=a>A</a><!-- {long}"), LongPiece::Comment),
        (format!("<a href=a>A</a><p>{}", "word ".repeat(220_000)), LongPiece::Line),
        (format!("<a href=a>A</a><script>{long}</script>"), LongPiece::Line),
    ] {
        let found = html(&page);
        assert_eq!(found.problems, [GatherProblem::LongValue(piece)]);
        assert_eq!(found.links.len(), 1);
    }
    let lines = "a line of some words\n".repeat(60_000);
    assert_eq!(html(&format!("<a href=a><pre>{lines}")).problems, []);
}

#[test]
fn text_without_spaces_is_told_and_counts_for_nothing() {
    let noise: String = (0..400).map(|n| format!("{:x}", n * 7919)).collect();
    let found = html(&format!("<p>{noise}<a href=x>"));
    assert_eq!((found.problems, found.simhash), (vec![GatherProblem::WordlessText], 0));
    let letter = |n: u32| char::from_u32(0x0e01 + n).unwrap();
    let thai: String =
        (0..40).map(|n| format!("ภาษาไทยเขียนติดกันโดยไม่เว้นวรรค{}", letter(n))).collect();
    let found = html(&format!("<p>{thai}<a href=x>"));
    assert_eq!(found.problems, []);
    assert_ne!(found.simhash, 0);
}

#[test]
fn pages_that_only_scripts_link_are_told() {
    let scripted = "<div id=app></div><script src=app.js></script>";
    assert_eq!(html(scripted).problems, [GatherProblem::ScriptOnly]);
    assert_eq!(html(&format!("{scripted}<a href=x>")).problems, []);
    assert_eq!(html("<p>no links, no scripts").problems, []);
}

#[test]
fn a_redirect_to_another_scheme_leads_nowhere_and_is_told() {
    for (target, scheme) in [("file:///etc/passwd", "file"), (" JavaScript:x()", "javascript")] {
        let moved = gather(&exchange(302, &[("Location", target)], b""), &GatherOptions::default());
        assert_eq!((moved.redirect, moved.links.len()), (None, 0));
        let scheme = scheme.to_owned();
        assert_eq!(moved.problems, [GatherProblem::ForeignRedirect { scheme }]);
    }
}

#[test]
fn links_over_the_limit_are_cut_and_counted() {
    let page: String = (0..100_000).map(|n| format!("<a href={n}>")).collect();
    let found = html(&page);
    assert_eq!(found.links.len(), model::limits::LINKS_PER_PAGE_MAX);
    let count = 100_000 - found.links.len() as u64;
    assert_eq!(found.problems, [GatherProblem::LinksOverLimit { count }]);
}
