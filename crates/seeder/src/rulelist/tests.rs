//! The first rule that holds decides, however it is found.

use proptest::prelude::*;

use super::*;
use crate::condition::tests::{any_condition, any_url};

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
        ("reject domain a.org", "accept prefix http://a.org/", ""),
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

proptest! {
    #[test]
    fn the_index_finds_what_asking_one_by_one_finds(
        conditions in prop::collection::vec(any_condition(), 1..8), url in any_url(), level in 0..4u16,
    ) {
        let texts: Vec<String> = conditions.iter().map(|text| format!("accept {text}")).collect();
        let rules = RuleList::parse(&texts).expect("rules");
        let naive = rules.rules().iter().position(|rule| rule.condition.holds(&url, level));
        prop_assert_eq!(rules.decide(&url, level).map(|ruling| ruling.number - 1), naive);
    }

    #[test]
    fn a_rule_that_is_said_to_be_unreached_is(
        conditions in prop::collection::vec(any_condition(), 2..5), url in any_url(), level in 0..4u16,
    ) {
        let texts: Vec<String> = conditions.iter().map(|text| format!("reject {text}")).collect();
        let rules = RuleList::parse(&texts).expect("rules");
        if let Some(ruling) = rules.decide(&url, level) {
            let start = format!("crawl.rules {} (", ruling.number);
            prop_assert!(!rules.remarks().iter().any(|remark| remark.starts_with(&start)));
        }
    }
}
