//! Links and titles as a browser's tree has them: html5lib's tree-construction cases.
//!
//! We build no tree, so a tag that the tree builder throws away may still give a link. Such cases
//! are stated below with their reason; a link that the tree has and we have not is never excused.

use std::collections::BTreeSet;

use model::LinkKind;

use crate::support::{gather_html, resolved, tree_cases};

/// Cases in which we find links that the tree does not have: (file, part of the page, reason).
const MORE_THAN_THE_TREE: [(&str, &str, &str); 4] = [
    ("template.dat", "<frame>", OUTSIDE),
    ("tests19.dat", "<svg>a</svg><frameset><frame>", OUTSIDE),
    ("tests2.dat", "<frame>test", OUTSIDE),
    ("tests25.dat", "<body><frame>A", OUTSIDE),
];
const OUTSIDE: &str = "a frame outside a frameset is thrown away by the tree builder";

#[test]
fn links_are_those_of_the_expected_trees() {
    let Some(cases) = tree_cases() else { return };
    let (mut run, mut with_links, mut wrong) = (0, 0, Vec::new());
    for case in cases.iter().filter(|case| !case.fragment && !case.scripted) {
        run += 1;
        let found: BTreeSet<String> =
            gather_html(&case.data).links.iter().map(|link| link.url.to_string()).collect();
        let expected = links_in(&case.tree);
        with_links += usize::from(!expected.is_empty());
        let excused = MORE_THAN_THE_TREE
            .iter()
            .any(|(file, part, _)| *file == case.file && case.data.contains(part))
            && expected.is_subset(&found);
        if found != expected && !excused {
            wrong.push(format!(
                "{}: {:?}\n  found {found:?}\n  tree  {expected:?}",
                case.file, case.data
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {run} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(run > 1_400 && with_links >= 5, "{run} cases, {with_links} with links");
}

/// Few cases have references of their own, so every tag that may carry one is given one: it must
/// then be found exactly where the tree has such an element.
#[test]
fn tags_that_carry_links_are_those_of_the_expected_trees() {
    let Some(cases) = tree_cases() else { return };
    let (mut with_links, mut wrong) = (0, Vec::new());
    for case in cases.iter().filter(|case| !case.fragment && !case.scripted) {
        for (tag, attribute, kind) in [
            ("a", "href", LinkKind::A),
            ("area", "href", LinkKind::Area),
            ("iframe", "src", LinkKind::Iframe),
            ("frame", "src", LinkKind::Frame),
        ] {
            let page = inject(&case.data, tag, &format!(" {attribute}=/injected "));
            let found = gather_html(&page).links.iter().any(|link| link.kind == kind);
            let nodes = || case.tree.iter().map(|line| line.trim_start_matches(['|', ' ']));
            let in_html = format!("<{tag}>");
            let expected = nodes().any(|node| node == in_html || (tag == "a" && node == "<svg a>"));
            with_links += usize::from(expected);
            let excused = found
                && MORE_THAN_THE_TREE
                    .iter()
                    .any(|(file, part, _)| *file == case.file && case.data.contains(part));
            if found != expected && !excused {
                wrong.push(format!(
                    "{}: {page:?}: {tag} found {found}, expected {expected}",
                    case.file
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(with_links > 60, "{with_links} with links");
}

/// A link counts as canonical exactly where the tree has it in its head. Few cases have links: where a `meta` or one of
/// two old tags stands, a link would stand in the same place.
#[test]
fn canonical_links_are_those_in_the_head_of_the_expected_trees() {
    let Some(cases) = tree_cases() else { return };
    let (mut inside, mut outside) = (0, 0);
    for case in cases.iter().filter(|case| !case.fragment && !case.scripted) {
        for tag in ["link", "meta", "basefont", "bgsound"] {
            let open = format!("<{tag}");
            let page = inject(&case.data, tag, " rel=canonical href=/injected ");
            let page = page
                .replace(&format!("{open} rel=can"), "<link rel=can")
                .replace(&format!("{} rel=can", open.to_uppercase()), "<link rel=can");
            let expected = in_head(&case.tree, tag);
            if page == case.data {
                assert!(!expected, "{}: {page:?}", case.file);
                continue;
            }
            (inside, outside) = (inside + usize::from(expected), outside + usize::from(!expected));
            let found = gather_html(&page).canonical.is_some();
            assert_eq!(found, expected, "{}: {page:?}", case.file);
        }
    }
    assert!(inside > 10 && outside > 10, "{inside} in the head, {outside} outside");
}

/// Whether an element is a child of the head, or of a `noscript` there.
fn in_head(tree: &[String], tag: &str) -> bool {
    let head = tree.iter().skip_while(|line| *line != "|   <head>").skip(1);
    let mut inside = head.take_while(|line| !line.starts_with("|   <"));
    inside.any(|line| *line == format!("|     <{tag}>") || *line == format!("|       <{tag}>"))
}

/// Puts `attribute` into every `tag`, as far as plain text search sees it.
fn inject(page: &str, tag: &str, attribute: &str) -> String {
    let open = format!("<{tag}");
    let lower = page.to_ascii_lowercase();
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in lower.match_indices(&open) {
        let end = at + open.len();
        if page[end..].starts_with([' ', '>', '/', '\n', '\t']) {
            out.push_str(&page[from..end]);
            out.push_str(attribute);
            from = end;
        }
    }
    out + &page[from..]
}

#[test]
fn titles_are_those_of_the_expected_trees() {
    let Some(cases) = tree_cases() else { return };
    let mut titles = 0;
    for case in cases.iter().filter(|case| !case.fragment && !case.scripted) {
        let Some(expected) = title_in(&case.tree) else { continue };
        titles += usize::from(!expected.is_empty());
        assert_eq!(gather_html(&case.data).title, expected, "{}: {:?}", case.file, case.data);
    }
    assert!(titles > 10, "only {titles} titles");
}

/// The attributes that carry links, by element.
fn links_in(tree: &[String]) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    let mut element = "";
    for line in tree {
        let node = line.strip_prefix('|').unwrap_or(line).trim_start();
        if let Some(name) = node.strip_prefix('<').and_then(|n| n.strip_suffix('>')) {
            element = name;
        } else if let Some((name, value)) = node.split_once("=\"") {
            let carries = matches!(
                (element, name),
                ("a" | "svg a" | "area", "href")
                    | ("svg a", "xlink href")
                    | ("frame" | "iframe", "src")
            );
            let reference = value.strip_suffix('"').unwrap_or(value);
            links.extend(carries.then(|| resolved(reference)).flatten());
        }
    }
    links
}

/// The text of the first `<title>` that is HTML's, white space folded.
fn title_in(tree: &[String]) -> Option<String> {
    let start = tree.iter().position(|line| line.trim_start_matches(['|', ' ']) == "<title>")?;
    let depth = |line: &str| line.len() - line.trim_start_matches(['|', ' ']).len();
    let inside = depth(&tree[start]) + 2;
    let mut text = String::new();
    for line in &tree[start + 1..] {
        if line.starts_with('|') && depth(line) < inside {
            break;
        }
        // Text may go on over lines that have no bar.
        text.push_str(line.trim_start_matches('|').trim());
        text.push('\n');
    }
    let text = text.trim().trim_matches('"');
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
