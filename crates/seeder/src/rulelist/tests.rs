//! The first rule that holds decides, however it is found.

use proptest::prelude::*;

use super::*;
use crate::condition::{
    Asked,
    tests::{any_condition, any_url},
};

fn list(texts: &[&str]) -> RuleList {
    RuleList::parse(texts).unwrap_or_else(|error| panic!("{texts:?}: {error}"))
}

#[test]
fn the_first_rule_that_holds_decides() {
    let rules = list(&[
        "reject extension jpg",
        "accept domain example.org and not path ~ '^/private/'",
        "reject domain example.org",
    ]);
    let decided = |text: &str| {
        let url = CrawlUrl::parse(text).expect("a URL");
        rules.decide(&url, 0).map(|ruling| (ruling.number, ruling.rule.accept))
    };
    assert_eq!(decided("http://www.example.org/x.JPG"), Some((1, false)));
    assert_eq!(decided("http://www.example.org/x"), Some((2, true)));
    assert_eq!(decided("http://www.example.org/private/x"), Some((3, false)));
    assert_eq!(decided("http://example.net/x"), None);
}

#[test]
fn a_bad_rule_is_named() {
    let error = RuleList::parse(&["accept any", "allow any"]).expect_err("no such word");
    let RuleListError::Rule { text, error } = error else { panic!("{error}") };
    assert_eq!(text, "allow any");
    assert_eq!(error.to_string(), "at character 1: expected accept or reject, found `allow`");
    assert_eq!(
        RuleList::parse(&vec!["accept any"; RULES_MAX + 1]).err(),
        Some(RuleListError::TooMany)
    );
}

#[test]
fn rules_that_never_decide_are_told() {
    for (earlier, later, told) in [
        ("reject extension jpg png", "reject extension png", "decides the same"),
        ("reject extension png", "accept extension PNG", "says the opposite"),
        ("accept any", "reject host a.org", "says the opposite"),
        ("reject suffix .org", "reject host a.org and level > 3", "decides the same"),
        ("reject domain a.org", "accept prefix http://www.a.org:81/x/", "says the opposite"),
        ("reject host a.org", "accept prefix http://www.a.org/", ""),
        ("reject suffix .a.org", "accept host www.a.org", "says the opposite"),
        ("reject level > 3", "accept level >= 4 and any", "says the opposite"),
        ("reject level > 3", "accept level >= 3", ""),
        ("reject type image/*", "accept type image/png", "says the opposite"),
        ("reject type image/png", "accept type image/*", ""),
        ("reject anchor ~ 'a'", "reject anchor ~ 'a'", "decides the same"),
        ("reject static or dynamic", "accept dynamic", "says the opposite"),
        ("reject host a.org", "accept domain a.org", ""),
        ("reject host a.org and static", "accept host a.org", ""),
        ("reject path ~ 'a'", "accept query ~ 'a'", ""),
    ] {
        let remarks = list(&[earlier, later]).remarks();
        match told {
            "" => assert_eq!(remarks, Vec::<String>::new(), "{earlier} / {later}"),
            _ => {
                let start = format!("crawl.rules 2 ({later}) is never reached: rule 1 ({earlier})");
                assert!(remarks[0].starts_with(&start) && remarks[0].contains(told), "{remarks:?}");
            }
        }
    }
}

#[test]
fn a_rule_that_cannot_be_told_yet_leaves_the_url_open() {
    let url = CrawlUrl::parse("http://example.org/x").expect("a URL");
    for (texts, rejected, may_accept) in [
        (&["reject type image/*"][..], false, false),
        (&["accept type text/html", "reject any"], false, true),
        (&["reject type image/*", "reject any"], true, false),
        (&["reject type image/*", "accept any"], false, true),
        (&["reject any", "accept type text/html"], true, false),
        (&["accept host b.org and type text/html", "reject any"], true, false),
    ] {
        let rules = list(texts);
        let opinion = rules.opinion(&Asked::new(&url, 0));
        assert_eq!(opinion.rejecting().is_some(), rejected, "{texts:?}");
        assert_eq!(opinion.may_accept, may_accept, "{texts:?}");
    }
    let rules = list(&["accept type text/html", "reject any"]);
    assert_eq!(rules.decide(&url, 0), None);
    let decided = |media_type| rules.decide_with_type(&url, 0, media_type).map(|r| r.number);
    assert_eq!((decided("text/html;x=y"), decided("image/png")), (Some(1), Some(2)));
}

#[test]
fn a_rule_asks_for_a_link_or_for_an_answer_but_not_for_both() {
    let error = "reject anchor ~ 'x' or type image/*".parse::<ListedRule>().expect_err("both");
    assert!(error.what.contains("write two rules"), "{error}");
}

#[test]
fn many_rules_are_read_and_compared_in_bounded_time() {
    let texts: Vec<String> =
        (0..RULES_MAX).map(|at| format!("reject host h{at}.org and path ~ '^/{at}/'")).collect();
    let rules = RuleList::parse(&texts[..RULES_MAX / 10]).expect("rules");
    assert_eq!(rules.remarks(), Vec::<String>::new());
    let one_more: Vec<&str> = vec!["accept any"; RULES_MAX + 1];
    assert_eq!(RuleList::parse(&one_more).err(), Some(RuleListError::TooMany));
}

proptest! {
    #[test]
    fn the_index_finds_what_asking_one_by_one_finds(
        conditions in prop::collection::vec(any_condition(), 1..8), url in any_url(), level in 0..4u16,
        media_type in prop::option::of(prop::sample::select(vec!["text/html", "image/png", ""])),
    ) {
        let texts: Vec<String> = conditions.iter().map(|text| format!("accept {text}")).collect();
        let rules = RuleList::parse(&texts).expect("rules");
        let asked = Asked::new(&url, level);
        let asked = media_type.map_or(asked, |media_type| asked.of_type(media_type));
        let first = |truth| rules.rules().iter().position(|rule| rule.condition.truth(&asked) == truth);
        let decided = first(Some(true));
        let waiting = first(None).filter(|at| decided.is_none_or(|decided| *at < decided));
        let opinion = rules.opinion(&asked);
        prop_assert_eq!(opinion.decided.map(|ruling| ruling.number - 1), decided);
        prop_assert_eq!(opinion.waiting.map(|ruling| ruling.number - 1), waiting);
    }

    #[test]
    fn a_rule_that_is_said_to_be_unreached_is(
        conditions in prop::collection::vec(any_condition(), 2..5), url in any_url(), level in 0..4u16,
    ) {
        let texts: Vec<String> = conditions.iter().map(|text| format!("reject {text}")).collect();
        let rules = RuleList::parse(&texts).expect("rules");
        if let Some(ruling) = rules.decide_with_type(&url, level, "image/png") {
            let start = format!("crawl.rules {} (", ruling.number);
            prop_assert!(!rules.remarks().iter().any(|remark| remark.starts_with(&start)));
        }
    }
}
