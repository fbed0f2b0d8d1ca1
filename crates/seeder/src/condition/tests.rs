//! What conditions hold for, how they are refused, and that they are read back as they are written.

use proptest::prelude::*;

use super::*;

fn condition(text: &str) -> Result<Condition, RuleError> {
    Parser::new(text)?.condition()
}

/// Texts of conditions over a small web, so that many hold.
pub(crate) fn any_condition() -> impl Strategy<Value = String> {
    let test = prop::sample::select(vec![
        "any",
        "dynamic",
        "static",
        "suffix .pt .org",
        "suffix org",
        "domain example.org",
        "host www.example.org b.pt",
        "url http://example.org/docs/ http://b.pt/",
        "prefix http://example.org/docs/",
        "scheme https",
        "port 80 8080",
        "extension jpg .PNG",
        "extension html",
        "parameter sid",
        "parameter s*",
        "parameter 'and' \"it's\"",
        "path ~ '^/docs/'",
        "path ~ \"[a-c]{2}\"",
        "query ~ 'id=\\d'",
        "level <= 2",
        "level > 1",
        "level = 0",
        "type text/html",
        "type IMAGE/* 'application/pdf'",
    ]);
    test.prop_map(str::to_owned).prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| format!("not ({one})")),
            (inner.clone(), inner.clone())
                .prop_map(|(one, other)| format!("({one}) and ({other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one} or {other}")),
            (inner.clone(), inner).prop_map(|(one, other)| format!("{one} and not ({other})")),
        ]
    })
}

pub(crate) fn any_url() -> impl Strategy<Value = CrawlUrl> {
    let text = "https?://(www\\.example\\.org|example\\.org|b\\.pt|pt|127\\.0\\.0\\.1)(:8080)?\
                (/docs|/[a-c]{1,3}){0,2}/(x\\.html|y\\.JPG|z\\.png|q\\.php)?(\\?(sid|id|s)=[0-9])?";
    text.prop_map(|text| CrawlUrl::parse(&text).expect("the web of the tests has good URLs"))
}

#[track_caller]
fn check(text: &str, holds_for: &[&str], not_for: &[&str]) {
    let condition = condition(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let holds = |url: &&str| condition.holds(&CrawlUrl::parse(url).expect("a URL"), 2);
    for url in holds_for {
        assert!(holds(url), "{text} holds for {url}");
    }
    for url in not_for {
        assert!(!holds(url), "{text} does not hold for {url}");
    }
}

#[test]
fn each_test_holds_for_what_it_names() {
    check("suffix .pt", &["http://a.pt/", "http://a.b.pt/"], &["http://pt/", "http://apt/"]);
    check("suffix .gov.pt", &["http://a.gov.pt/"], &["http://a.xgov.pt/", "http://gov.pt/"]);
    check(
        "domain Example.org",
        &["http://example.org/", "https://a.example.org/"],
        &["http://myexample.org/", "http://example.org.net/"],
    );
    check("host bücher.de", &["http://bücher.de/"], &["http://www.bücher.de/"]);
    check(
        "prefix https://example.org/docs/",
        &["https://example.org/docs/x"],
        &["http://example.org/docs/x", "https://example.org/docs"],
    );
    check(
        "url https://Example.org/a http://b.org",
        &["https://example.org/a", "http://b.org/"],
        &["http://example.org/a", "https://example.org/a?b", "http://b.org/c"],
    );
    check("scheme HTTP", &["http://a.org/"], &["https://a.org/"]);
    check("port 80 8080", &["http://a.org/", "http://a.org:8080/"], &["https://a.org/"]);
    check(
        "extension jpg .PNG",
        &["http://a.org/x.JPG", "http://a.org/x.png?y"],
        &["http://a.org/jpg"],
    );
    check(r"path ~ '^/\d+$'", &["http://a.org/12?x"], &["http://a.org/12/", "http://a.org/?12"]);
    check("query ~ ''", &["http://a.org/?x"], &["http://a.org/x"]);
    check(
        "parameter sid",
        &["http://a.org/?a=1&sid=2", "http://a.org/?sid"],
        &["http://a.org/?sid2=1"],
    );
    check("parameter utm_*", &["http://a.org/?utm_x=1"], &["http://a.org/?u=utm_x"]);
    check("level <= 2 and level >= 2 and level = 2", &["http://a.org/"], &[]);
    check("level < 2 or level > 2", &[], &["http://a.org/"]);
    check("dynamic", &["http://a.org/?x", "http://a.org/x.php"], &["http://a.org/x.html"]);
    check("static", &["http://a.org/x.html"], &["http://a.org/?x"]);
}

#[test]
fn the_type_of_an_answer_is_asked_by_name_group_or_all() {
    let url = CrawlUrl::parse("http://a.org/x").expect("a URL");
    for (text, media_type, holds) in [
        ("type text/html", Some("Text/HTML; charset=utf-8"), Some(true)),
        ("type text/html application/pdf", Some("application/pdf"), Some(true)),
        ("type text/html", Some("text/htm"), Some(false)),
        ("type image/*", Some("image/png"), Some(true)),
        ("type image/*", Some("imagery/png"), Some(false)),
        ("type image/*", Some(""), Some(false)),
        ("type */*", Some(""), Some(true)),
        ("type text/html", None, None),
    ] {
        let condition = condition(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let asked = Asked::new(&url, 0);
        let asked = media_type.map_or(asked, |media_type| asked.of_type(media_type));
        assert_eq!(condition.truth(&asked), holds, "{text} of {media_type:?}");
    }
}

#[test]
fn one_link_of_several_with_the_text_is_enough() {
    let url = CrawlUrl::parse("http://a.org/x").expect("a URL");
    let read = condition(r"anchor ~ '(?i)notícias|^news$'").expect("a condition");
    let truth = |anchors| read.truth(&Asked { anchors, ..Asked::new(&url, 0) });
    assert_eq!(truth(Some(&["older", "NOTÍCIAS de hoje"][..])), Some(true));
    assert_eq!(truth(Some(&["old news", ""][..])), Some(false));
    assert_eq!(truth(Some(&[])), Some(false));
    assert_eq!(truth(None), None);
    assert_eq!(condition("anchor ~ ''").expect("a condition").to_string(), "anchor ~ ''");
}

#[test]
fn what_is_not_known_leaves_open_only_what_depends_on_it() {
    let url = CrawlUrl::parse("http://a.org/x").expect("a URL");
    for (text, truth) in [
        ("not type image/*", None),
        ("host a.org and type image/*", None),
        ("host b.org and type image/*", Some(false)),
        ("type image/* and host b.org", Some(false)),
        ("host a.org or type image/*", Some(true)),
        ("type image/* or host a.org", Some(true)),
        ("host b.org or type image/*", None),
        ("not (host b.org and anchor ~ 'x')", Some(true)),
    ] {
        let read = condition(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.truth(&Asked::new(&url, 0)), truth, "{text}");
        assert_eq!(read.holds(&url, 0), truth == Some(true), "{text}");
    }
}

#[test]
fn not_binds_closer_than_and_and_and_closer_than_or() {
    let (a, b, c) = ("http://a.org/", "http://b.org/", "http://c.org/");
    check("host a.org or host b.org and host c.org", &[a], &[b, c]);
    check("(host a.org or host b.org) and not host a.org", &[b], &[a, c]);
    check("not host a.org and not host b.org", &[c], &[a, b]);
    check("not (host a.org or host b.org)", &[c], &[a, b]);
}

#[test]
fn a_refusal_says_where_and_what_was_expected() {
    for (text, position, what) in [
        ("", 1, "expected not, ( or a condition (suffix,"),
        ("extention jpg", 1, "found `extention`"),
        ("extension", 10, "expected an extension, such as jpg, found the end of the rule"),
        ("extension jpg dynamic", 15, "expected and, or, or the end of the rule, found `dynamic`"),
        ("extension and", 11, "found `and`"),
        ("path '^/a'", 6, "expected ~ between spaces"),
        ("path ~ ^/a", 8, "expected a regular expression in quotes"),
        ("path ~ '(a'", 8, "it is no valid regular expression (unclosed group)"),
        ("path ~ '((a{99}){99}){99}'", 8, "it is no valid regular expression"),
        ("path ~ 'a", 8, "the closing ' is missing"),
        ("(any", 5, "expected and, or, or ), found the end"),
        ("any)", 4, "found )"),
        ("ü any", 1, "found `ü`"),
        ("level 3", 7, "expected <=, <, >=, > or = between spaces"),
        ("level <= deep", 10, "expected a level from 0 to 65535, found `deep`"),
        ("port 0", 6, "expected a port from 1 to 65535"),
        ("host a.org:80", 6, "is not a host without port"),
        ("host http://a.org/", 6, "is not a host"),
        ("suffix .1", 8, "is not the end of a host name"),
        ("url /docs/", 5, "is not a whole URL"),
        ("prefix /docs/", 8, "is not the beginning of a URL"),
        ("scheme ftp", 8, "is not http or https"),
        ("type html", 6, "expected a media type, such as text/html or image/*, found `html`"),
        ("type */html", 6, "expected a media type"),
        ("type", 5, "expected a media type"),
        ("anchor news", 8, "expected ~ between spaces"),
        ("path ~ '(a{1000}){1000}'", 8, "it repeats too much"),
    ] {
        let error = condition(text).expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
        assert!(error.what.contains(what), "{text}: {error}");
    }
}

#[test]
fn a_rule_is_bounded_in_length_and_depth() {
    assert!(condition(&"(".repeat(4_000)).expect_err("deep").what.contains("inside each other"));
    let nots = format!("{}any", "not ".repeat(100));
    assert!(condition(&nots).expect_err("deep").what.contains("inside each other"));
    let long = format!("extension{}", " jpg".repeat(2_000));
    assert!(condition(&long).expect_err("long").what.contains("longer than"));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        text in "\\PC{0,60}|((not|and|or|any|path|type|anchor|a/b|\\*/\\*|~|level|<=|host|[()]|'[a-z]*'|\"|é|[0-9]) ?){0,12}",
    ) {
        if let Ok(read) = condition(&text) {
            prop_assert_eq!(condition(&read.to_string()), Ok(read));
        }
    }

    #[test]
    fn what_is_written_is_read_back_as_the_same(text in any_condition()) {
        let read = condition(&text).expect("a condition");
        let written = read.to_string();
        prop_assert_eq!(condition(&written), Ok(read), "{} as {}", text, written);
    }
}
