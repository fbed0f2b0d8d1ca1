//! Traps that are in force, and such as are not any more: what was left for them is told all the same.

use model::{PatternNote, Stop, Timestamp, TokenPlace, testing::example as url};

use super::*;

const PATTERN: &str = "/picture?n=*";

fn refused(rule: &str, example: &str) -> DecisionEntry {
    DecisionEntry {
        site: "a.example".to_owned(),
        reason: "trap".to_owned(),
        rule: rule.to_owned(),
        count: 1,
        example: url(example).as_str().to_owned(),
        referrer: None,
        last: Timestamp(1),
    }
}

struct Scene {
    rules: SpiderRules,
    traps: UrlTraps,
    refused: Vec<DecisionEntry>,
}

impl Scene {
    fn new(traps: UrlTraps, refused: Vec<DecisionEntry>) -> Scene {
        Scene { rules: SpiderRules::default(), traps, refused }
    }

    /// What is said of a page now, and of what was before.
    fn ask(&self, path: &str, state: Option<PageState>) -> (Option<RuleStep>, Option<RuleStep>) {
        let (traps, refused) = (self.traps.clone(), self.refused.clone());
        let suspect =
            Suspect { url: &url(path), state, led_by: None, rules: &self.rules, traps, refused };
        (suspect.now(), suspect.before())
    }
}

fn stop(hazard: Hazard, examples: &[&str]) -> Stop {
    Stop {
        hazard,
        since: Timestamp(1),
        taken: 12,
        refused: 2,
        held_back: 0,
        examples: examples.iter().map(|path| url(path).as_str().to_owned()).collect(),
        referrers: Vec::new(),
        all: false,
    }
}

/// `?print=1` makes no difference.
fn print_button() -> IdleToken {
    IdleToken {
        place: TokenPlace::Pair("print".to_owned(), "1".to_owned()),
        value: None,
        others: Vec::new(),
        folders: Vec::new(),
        since: Timestamp(1),
        mended: 3,
        kinds: Vec::new(),
        referrers: Vec::new(),
    }
}

/// A pattern that gave near duplicates; a page of its own has come since and begun the row anew. More was refused for
/// something else.
fn no_longer_worn() -> Scene {
    let worn = Some(stop(Hazard::NearDuplicates, &["/picture?n=10"]));
    let text = PATTERN.to_owned();
    let note =
        PatternNote { text, near: 12, unlike: 1, worn: worn.map(Box::new), ..Default::default() };
    let (patterns, tokens) = (vec![note], vec![print_button()]);
    let refused = vec![
        refused("trap: variants at ?print=1", "/p/59?print=1"),
        refused("trap: near-duplicates at /picture?n=*", "/picture?n=13"),
    ];
    Scene::new(UrlTraps { patterns, tokens, ..UrlTraps::default() }, refused)
}

#[test]
fn what_was_left_as_a_near_duplicate_says_so_when_the_pattern_is_worn_no_more() {
    for path in ["/picture?n=13", "/picture?n=10"] {
        let (now, before) = no_longer_worn().ask(path, None);
        assert_eq!(now, None);
        let step = before.unwrap();
        assert_eq!(
            (step.rule.as_str(), step.verdict),
            ("trap: near-duplicates at /picture?n=*", StepVerdict::Decided)
        );
        assert!(step.why.contains("traps lift a.example '/picture?n=*'"), "{}", step.why);
        assert!(
            !step.why.contains(&format!("such as {};", url(path))),
            "itself is no example: {}",
            step.why
        );
    }
}

#[test]
fn of_another_of_its_kind_it_is_left_open_and_an_example_given() {
    let (_, before) = no_longer_worn().ask("/picture?n=77", None);
    let step = before.unwrap();
    assert_eq!(step.verdict, StepVerdict::Open, "nobody knows whether a link led to it");
    assert!(step.why.contains("such as http://a.example/picture?n=10;"), "{}", step.why);
}

#[test]
fn what_waits_or_is_of_another_kind_has_nothing_against_it() {
    let scene = no_longer_worn();
    assert_eq!(scene.ask("/picture?n=77", Some(PageState::Known)), (None, None));
    assert_eq!(scene.ask("/about", None), (None, None));
}

#[test]
fn a_page_under_another_spelling_is_told_by_the_part_that_makes_no_difference() {
    let scene =
        Scene::new(UrlTraps { tokens: vec![print_button()], ..UrlTraps::default() }, Vec::new());
    for state in [None, Some(PageState::Excluded)] {
        let step = scene.ask("/p/7?print=1", state).0.unwrap();
        assert_eq!(step.rule, "trap: variants at ?print=1");
        assert!(step.why.contains("it is taken as http://a.example/p/7;"), "{}", step.why);
        assert!(step.why.contains("traps lift a.example '?print=1'"), "{}", step.why);
    }
    assert_eq!(scene.ask("/p/7?print=1", Some(PageState::Known)).0, None, "its turn will tell");
    assert_eq!(scene.ask("/p/7", Some(PageState::Excluded)), (None, None));
}

#[test]
fn a_page_that_was_held_back_by_filters_is_told_so_when_its_own_have_borne_fruit_since() {
    let stop = stop(Hazard::Variants, &["/shop?b=1&c=2"]);
    let family = PatternNote {
        text: "/shop?*".to_owned(),
        stopped: Some(Box::new(stop)),
        ..Default::default()
    };
    let own = Pattern::of(&url("/shop?a=1&b=2")).text;
    let fruitful = PatternNote { text: own, fruit: 3, idle: 0, ..Default::default() };
    let traps = UrlTraps { patterns: vec![family, fruitful], ..UrlTraps::default() };
    let scene = Scene::new(traps, vec![refused("trap: variants at /shop?*", "/shop?b=1&c=2")]);
    let (now, before) = scene.ask("/shop?a=1&b=2", Some(PageState::Excluded));
    assert_eq!(now, None);
    let step = before.unwrap();
    assert_eq!(
        (step.rule.as_str(), step.verdict),
        ("trap: variants at /shop?*", StepVerdict::Decided)
    );
    assert!(step.why.contains("such as http://a.example/shop?b=1&c=2"), "{}", step.why);
}
