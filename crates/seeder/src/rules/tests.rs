//! Each rule by example, and the promise that both readers agree.

use model::{CrawlUrl, RefusalReason, SpiderId};
use proptest::prelude::*;

use super::*;

fn candidate(text: &str) -> Candidate {
    Candidate {
        url: CrawlUrl::parse(text).expect("a URL"),
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        referrer: None,
    }
}

fn seeds() -> SeedSet {
    let seeds = ["http://example.org/docs/a.html", "http://example.org:8080/"];
    let seeds: Vec<CrawlUrl> = seeds.iter().map(|seed| candidate(seed).url).collect();
    seeds.iter().collect()
}

fn check(rules: &SpiderRules, candidate: &Candidate, expected: Option<(RefusalReason, &str)>) {
    let expected = match expected {
        None => Verdict::Accept,
        Some((reason, rule)) => Verdict::Reject(model::Refusal { reason, rule: rule.to_owned() }),
    };
    assert_eq!(rules.judge(candidate, &seeds()), expected, "{}", candidate.url);
}

#[test]
fn every_refusal_names_its_reason_and_rule() {
    let rules = SpiderRules {
        depth_max: Some(3),
        reject: RejectList::default().with_patterns(&["/private/"]).expect("valid"),
        ..SpiderRules::default()
    };
    let scope = Some((RefusalReason::Scope, "crawl.scope = \"site\""));
    check(&rules, &candidate("https://example.org/x"), None);
    check(&rules, &candidate("http://example.org:8080/x"), None);
    check(&rules, &candidate("http://www.example.org/x"), scope);
    check(&rules, &candidate("http://example.org:8081/x"), scope);
    let long = format!("http://example.org/{}", "a".repeat(3000));
    let too_long = Some((RefusalReason::TooLong, "URLs of at most 2083 bytes"));
    check(&rules, &candidate(&long), too_long);
    let deep = Candidate { level: 4, ..candidate("http://example.org/x") };
    check(&rules, &deep, Some((RefusalReason::Depth, "crawl.depth = 3")));
    let sent_on = Candidate { hops: 11, ..candidate("http://example.org/x") };
    check(&rules, &sent_on, Some((RefusalReason::Redirects, "crawl.redirects = 10")));
    let private = Some((RefusalReason::RejectList, "reject.patterns: /private/"));
    check(&rules, &candidate("http://example.org/private/x"), private);
    let login = Some((RefusalReason::RejectList, "reject list: login"));
    check(&rules, &candidate("http://example.org/login"), login);
}

#[test]
fn a_seed_is_in_scope_and_passes_the_shipped_list_but_not_the_users() {
    let reject = RejectList::default().with_patterns(&["/private/"]).expect("valid");
    let rules = SpiderRules { reject, ..SpiderRules::default() };
    let seed = |text: &str| Candidate { seed: true, level: 0, ..candidate(text) };
    check(&rules, &seed("http://elsewhere.org:99/login"), None);
    let private = Some((RefusalReason::RejectList, "reject.patterns: /private/"));
    check(&rules, &seed("http://example.org/private/"), private);
}

#[test]
fn unusual_ports_need_a_seed_or_the_users_word() {
    let any = SpiderRules { scope: Scope::Any, ..SpiderRules::default() };
    check(&any, &candidate("http://other.org:8080/"), None);
    check(&any, &candidate("http://other.org:443/"), None);
    let refused = Some((RefusalReason::Port, "ports named by seeds, not 99"));
    check(&any, &candidate("http://other.org:99/"), refused);
    let allowed = SpiderRules { ports: vec![99], ..any };
    check(&allowed, &candidate("http://other.org:99/"), None);
}

#[test]
fn words_and_values_name_each_other() {
    for scope in Scope::ALL {
        assert_eq!(Scope::from_word(scope.word()), Some(scope));
    }
    for policy in ExternalPolicy::ALL {
        assert_eq!(ExternalPolicy::from_word(policy.word()), Some(policy));
    }
}

#[test]
fn an_explanation_tells_every_step_up_to_the_decision() {
    let steps = SpiderRules::default().explain(&candidate("http://example.org/x/login"), &seeds());
    assert_eq!(steps.len(), RULES.len());
    let (last, before) = steps.split_last().expect("there are steps");
    assert!(before.iter().all(|step| step.verdict == StepVerdict::Passed && !step.why.is_empty()));
    assert_eq!((last.rule.as_str(), last.verdict), ("reject list: login", StepVerdict::Decided));
    let outside = SpiderRules::default().explain(&candidate("http://o.org/"), &seeds());
    assert_eq!(outside.len(), 2);
    assert_eq!(outside[1].why, "no seed names its site");
}

fn any_rules() -> impl Strategy<Value = SpiderRules> {
    let scope = prop::sample::select(Scope::ALL.to_vec());
    (scope, prop::option::of(0..4u16), 10..100usize).prop_map(|(scope, depth_max, bytes)| {
        let reject = RejectList::default().with_patterns(&["[xy]z"]).expect("valid");
        SpiderRules { scope, depth_max, url_bytes_max: bytes, reject, ..SpiderRules::default() }
    })
}

proptest! {
    #[test]
    fn any_url_is_judged_and_explained_alike(
        rest in "(example.org|o.net|[a-z.]{1,9})(:[0-9]{1,4})?(/[ -~é]{0,9}){0,3}([?][ -~é&=]{0,9})?",
        rules in any_rules(), level in 0..6u16, hops in 0..20u8, seed: bool,
    ) {
        let Ok(url) = CrawlUrl::parse(&format!("http://{rest}")) else { return Ok(()) };
        let candidate = Candidate { url, spider: SpiderId(1), level, hops, seed, referrer: None };
        let verdict = rules.judge(&candidate, &seeds());
        let steps = rules.explain(&candidate, &seeds());
        let last = steps.last().expect("there are steps");
        match verdict {
            Verdict::Accept => prop_assert_eq!(last.verdict, StepVerdict::Passed),
            Verdict::Reject(refusal) => {
                prop_assert_eq!(last.verdict, StepVerdict::Decided);
                prop_assert_eq!(&refusal.rule, &last.rule);
            }
        }
    }
}
