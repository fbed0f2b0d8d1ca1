//! Each rule by example, and the promise that both readers agree.

use model::{CrawlUrl, PageTerms, RefusalReason, SpiderId};
use proptest::prelude::*;

use super::*;

fn candidate(text: &str) -> Candidate {
    Candidate {
        url: CrawlUrl::parse(text).expect("a URL"),
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
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
fn ports_that_browsers_refuse_are_refused_whoever_names_them_unless_they_are_allowed() {
    let (scope, ports) = (Scope::Any, vec![25]);
    let rules = SpiderRules { scope, ports, ..SpiderRules::default() };
    let seed = Candidate { seed: true, level: 0, ..candidate("http://elsewhere.org:25/") };
    let refused = Some((RefusalReason::Port, "port 25, which browsers refuse"));
    check(&rules, &seed, refused);
    check(&rules, &candidate("http://example.org:25/"), refused);
    let allowed = SpiderRules { allow_ports: vec![25], ..rules };
    check(&allowed, &seed, None);
    check(&allowed, &candidate("http://example.org:25/"), None);
}

#[test]
fn words_and_values_name_each_other() {
    for scope in Scope::ALL {
        assert_eq!(Scope::from_word(scope.word()), Some(scope));
    }
    for policy in ExternalPolicy::ALL {
        assert_eq!(ExternalPolicy::from_word(policy.word()), Some(policy));
    }
    for expansion in Expansion::ALL {
        assert_eq!(Expansion::from_word(expansion.word()), Some(expansion));
    }
}

#[test]
fn an_explanation_tells_every_step_up_to_the_decision() {
    let steps = SpiderRules::default().explain(&candidate("http://example.org/x/login"), &seeds());
    assert_eq!(steps.len(), 8, "there are no rules of the user's, and the filter is not asked");
    let (last, before) = steps.split_last().expect("there are steps");
    assert!(before.iter().all(|step| step.verdict == StepVerdict::Passed && !step.why.is_empty()));
    assert_eq!((last.rule.as_str(), last.verdict), ("reject list: login", StepVerdict::Decided));
    let outside = SpiderRules::default().explain(&candidate("http://o.org/"), &seeds());
    assert_eq!(outside.len(), 3);
    assert_eq!(outside[2].why, "no seed names its site");
}

#[test]
fn a_block_decides_first_for_seeds_too_and_only_while_it_stands() {
    let rules = SpiderRules::default();
    let block = crate::Block::parse(".example.org").unwrap();
    let seed = Candidate { seed: true, ..candidate("http://www.example.org/") };
    assert_eq!(rules.judge(&seed, &seeds()), Verdict::Accept);
    rules.blocks.add([block.clone()]);
    let refusal = model::Refusal::blocked(".example.org");
    assert_eq!(rules.judge(&seed, &seeds()), Verdict::Reject(refusal.clone()));
    let steps = rules.explain(&seed, &seeds());
    assert_eq!((steps.len(), &steps[0].rule), (1, &refusal.rule));
    rules.blocks.remove([block]);
    assert_eq!(rules.judge(&seed, &seeds()), Verdict::Accept);
}

fn any_rules() -> impl Strategy<Value = SpiderRules> {
    let scope = prop::sample::select(Scope::ALL.to_vec());
    let expansion = prop::sample::select(Expansion::ALL.to_vec());
    let list =
        prop::sample::select(vec!["accept host o.net", "reject type image/*", "accept type a/b"]);
    let more = (expansion, list, 0..3u8);
    (scope, prop::option::of(0..4u16), 10..100usize, more).prop_map(
        |(scope, depth_max, url_bytes_max, (expansion, list, outside_max))| {
            let reject = RejectList::default().with_patterns(&["[xy]z"]).expect("valid");
            let list = RuleList::parse(&[list]).expect("rules");
            let logged = LogList::parse(&["images", ".zip"]).expect("a list");
            SpiderRules {
                scope,
                depth_max,
                url_bytes_max,
                reject,
                expansion,
                list,
                logged,
                outside_max,
                ..SpiderRules::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn any_url_is_judged_and_explained_alike(
        rest in "(example.org|o.net|[a-z.]{1,9})(:[0-9]{1,4})?(/[ -~é]{0,9}){0,3}(/x.zip)?([?][ -~é&=]{0,9})?",
        rules in any_rules(), level in 0..6u16, hops in 0..20u8, seed: bool, outside in 0..4u8,
        depth in prop::option::of(0..4u16),
    ) {
        let Ok(url) = CrawlUrl::parse(&format!("http://{rest}")) else { return Ok(()) };
        let candidate = Candidate { url, spider: SpiderId(1), level, hops, seed, terms: PageTerms { outside, depth, ..PageTerms::default() }, referrer: None };
        let verdict = rules.judge(&candidate, &seeds());
        let steps = rules.explain(&candidate, &seeds());
        let last = steps.last().expect("there are steps");
        match verdict {
            Verdict::Accept => prop_assert_ne!(last.verdict, StepVerdict::Decided),
            Verdict::Reject(refusal) => {
                prop_assert_eq!(last.verdict, StepVerdict::Decided);
                prop_assert_eq!(&refusal.rule, &last.rule);
            }
        }
    }
}

#[test]
fn an_accept_rule_widens_the_scope_and_a_reject_rule_narrows_it() {
    let list = RuleList::parse(&["reject path ~ '^/old/'", "accept host friend.org"]);
    let list = list.expect("rules");
    let rules = SpiderRules { list, depth_max: Some(3), ..SpiderRules::default() };
    check(&rules, &candidate("http://friend.org/x"), None);
    check(&rules, &candidate("http://example.org/x"), None);
    let old = Some((RefusalReason::Rule, "crawl.rules 1: reject path ~ '^/old/'"));
    check(&rules, &candidate("http://friend.org/old/x"), old);
    check(&rules, &candidate("http://example.org/old/x"), old);
    check(&rules, &Candidate { seed: true, ..candidate("http://example.org/old/x") }, old);
    let scope = Some((RefusalReason::Scope, "crawl.scope = \"site\""));
    check(&rules, &candidate("http://other.org/x"), scope);
    let login = Some((RefusalReason::RejectList, "reject list: login"));
    check(&rules, &candidate("http://friend.org/login"), login);
    let port = Some((RefusalReason::Port, "ports named by seeds, not 99"));
    check(&rules, &candidate("http://friend.org:99/"), port);
    let deep = Candidate { level: 4, ..candidate("http://friend.org/x") };
    check(&rules, &deep, Some((RefusalReason::Depth, "crawl.depth = 3")));
}

#[test]
fn pages_made_on_demand_have_a_depth_of_their_own() {
    let rules =
        SpiderRules { depth_max: Some(3), depth_dynamic_max: Some(1), ..SpiderRules::default() };
    let at = |level, text| Candidate { level, ..candidate(text) };
    check(&rules, &at(3, "http://example.org/x"), None);
    check(&rules, &at(1, "http://example.org/x?a"), None);
    let dynamic = Some((RefusalReason::Depth, "crawl.depth_dynamic = 1"));
    check(&rules, &at(2, "http://example.org/x?a"), dynamic);
    check(&rules, &at(2, "http://example.org/x.php"), dynamic);
    let more = SpiderRules { depth_dynamic_max: Some(9), ..rules };
    check(&more, &at(5, "http://example.org/x?a"), None);
}

#[test]
fn a_script_is_asked_last_and_refuses_when_it_fails() {
    let source = "fn crawl(url) { if url.path == \"/loop\" { loop {} } url.path != \"/no\" }";
    let filter = Script::compile("f.rhai", source).expect("a script");
    let rules = SpiderRules { filter: Some(Arc::new(filter)), ..SpiderRules::default() };
    check(&rules, &candidate("http://example.org/yes"), None);
    let no = Some((RefusalReason::Filter, "crawl.filter = \"f.rhai\""));
    check(&rules, &candidate("http://example.org/no"), no);
    let endless = "crawl.filter = \"f.rhai\" stopped after 10000 steps";
    check(&rules, &candidate("http://example.org/loop"), Some((RefusalReason::Filter, endless)));
    let scope = Some((RefusalReason::Scope, "crawl.scope = \"site\""));
    check(&rules, &candidate("http://other.org/no"), scope);
}

#[test]
fn an_explanation_goes_through_the_users_rules_to_the_one_that_decides() {
    let texts = ["reject extension jpg", "accept host friend.org", "reject host friend.org"];
    let list = RuleList::parse(&texts).expect("rules");
    let rules = SpiderRules { list, ..SpiderRules::default() };
    let told = |text: &str| -> Vec<(String, StepVerdict)> {
        let steps = rules.explain(&candidate(text), &seeds());
        steps.into_iter().skip(2).map(|step| (step.rule, step.verdict)).collect()
    };
    let step =
        |number: usize, verdict| (format!("crawl.rules {number}: {}", texts[number - 1]), verdict);
    let scope = |verdict| ("crawl.scope = \"site\"".to_owned(), verdict);
    let (passed, decided) = (StepVerdict::Passed, StepVerdict::Decided);
    assert_eq!(told("http://friend.org/x.jpg"), [step(1, decided)]);
    let friend = told("http://friend.org/x");
    assert_eq!(friend[..3], [step(1, passed), step(2, StepVerdict::Admitted), scope(passed)]);
    assert_eq!(
        told("http://other.org/x"),
        [step(1, passed), step(2, passed), step(3, passed), scope(decided)]
    );
}

fn page(text: &str) -> Page {
    let Candidate { url, spider, level, hops, seed, terms, .. } = candidate(text);
    Page { url, spider, level, hops, seed, terms, ..model::testing::page(text) }
}

#[test]
fn links_beyond_the_scope_are_taken_as_far_as_asked() {
    let rules = SpiderRules { outside_max: 2, ..SpiderRules::default() };
    let far = |outside| Candidate {
        terms: PageTerms { outside, ..PageTerms::default() },
        ..candidate("http://other.org/x")
    };
    let refused = Some((RefusalReason::Scope, "crawl.scope = \"site\", crawl.outside = 2"));
    check(&rules, &far(0), refused);
    check(&rules, &far(1), None);
    check(&rules, &far(2), None);
    check(&rules, &far(3), refused);
    check(&rules, &Candidate { url: candidate("http://example.org/").url, ..far(9) }, None);
    let scope = Some((RefusalReason::Scope, "crawl.scope = \"site\""));
    check(&SpiderRules::default(), &far(1), scope);
}

#[test]
fn only_the_listed_pages_are_taken_where_only_they_are_wanted() {
    let rules = SpiderRules { scope: Scope::Listed, ..SpiderRules::default() };
    check(&rules, &candidate("http://example.org/docs/a.html"), None);
    check(&rules, &Candidate { seed: true, ..candidate("http://example.org/b") }, None);
    let listed = Some((RefusalReason::Scope, "crawl.scope = \"listed\""));
    check(&rules, &candidate("http://example.org/docs/b.html"), listed);
}

#[test]
fn without_expansion_no_site_is_taken_that_no_seed_names() {
    let list = RuleList::parse(&["accept host friend.org"]).expect("rules");
    let rules = SpiderRules {
        scope: Scope::Any,
        expansion: Expansion::Off,
        list,
        ..SpiderRules::default()
    };
    check(&rules, &candidate("http://example.org/x"), None);
    check(&rules, &Candidate { seed: true, ..candidate("http://new.org/") }, None);
    let off = Some((RefusalReason::Scope, "crawl.expansion = \"off\""));
    check(&rules, &candidate("http://other.org/x"), off);
    check(&rules, &candidate("http://friend.org/x"), off);
    check(&SpiderRules { expansion: Expansion::After, ..rules }, &candidate("http://o.org/"), None);
}

#[test]
fn links_of_a_logged_extension_are_refused_by_group_inside_the_scope() {
    let logged = LogList::parse(&["images", ".iso"]).expect("a list");
    let rules = SpiderRules { logged, ..SpiderRules::default() };
    let images = Some((RefusalReason::Logged, "crawl.log_extensions: images (jpg)"));
    check(&rules, &candidate("http://example.org/x.JPG"), images);
    let single = Some((RefusalReason::Logged, "crawl.log_extensions: .iso (iso)"));
    check(&rules, &candidate("http://example.org/x.iso"), single);
    check(&rules, &candidate("http://example.org/x.html"), None);
    check(&rules, &Candidate { seed: true, ..candidate("http://example.org/x.jpg") }, None);
    let scope = Some((RefusalReason::Scope, "crawl.scope = \"site\""));
    check(&rules, &candidate("http://other.org/x.jpg"), scope);
    let requisite = PageTerms { requisite: true, ..PageTerms::default() };
    let part = Candidate { terms: requisite, ..candidate("http://example.org/x.jpg") };
    check(&rules, &part, None);
}

#[test]
fn a_seeds_own_depth_holds_besides_that_of_the_crawl() {
    let rules = SpiderRules { depth_max: Some(3), ..SpiderRules::default() };
    let at = |level, depth| Candidate {
        level,
        terms: PageTerms { depth, ..PageTerms::default() },
        ..candidate("http://example.org/x")
    };
    check(&rules, &at(2, Some(2)), None);
    check(&rules, &at(3, Some(2)), Some((RefusalReason::Depth, "depth of its seed = 2")));
    check(&rules, &at(4, Some(5)), Some((RefusalReason::Depth, "crawl.depth = 3")));
}

#[test]
fn what_waits_for_its_type_is_decided_by_the_answer() {
    let list = RuleList::parse(&[
        "reject host example.org and type image/*",
        "accept type text/html and host other.org",
    ]);
    let rules = SpiderRules { list: list.expect("rules"), ..SpiderRules::default() };
    let answered = |text: &str, media_type: &str| {
        check(&rules, &candidate(text), None);
        let refusal = rules.judge_answer(&page(text), media_type, &seeds());
        refusal.map(|refusal| (refusal.reason, refusal.rule))
    };
    let told = |reason, rule: &str| Some((reason, rule.to_owned()));
    assert_eq!(answered("http://example.org/x", "text/html"), None);
    assert_eq!(
        answered("http://example.org/x", "image/png"),
        told(RefusalReason::Rule, "crawl.rules 1: reject host example.org and type image/*")
    );
    assert_eq!(answered("http://other.org/x", "text/html; charset=x"), None);
    assert_eq!(
        answered("http://other.org/x", "text/plain"),
        told(RefusalReason::Scope, "crawl.scope = \"site\"")
    );
    // No rule speaks of it: its answer is not judged, whatever became of the scope since.
    assert_eq!(rules.judge_answer(&page("http://third.org/"), "image/png", &seeds()), None);
}

#[test]
fn an_explanation_tells_what_the_answer_will_decide() {
    let list = RuleList::parse(&["reject type image/*", "accept any"]).expect("rules");
    let rules = SpiderRules { list, ..SpiderRules::default() };
    let told = |media_type| -> Vec<(StepVerdict, String)> {
        let asked = candidate("http://example.org/x");
        let steps = rules.explain_answer(&asked, media_type, &seeds());
        steps.into_iter().skip(2).take(2).map(|step| (step.verdict, step.why)).collect()
    };
    let open = told(None);
    assert_eq!(open[0].0, StepVerdict::Open);
    assert!(open[0].1.starts_with("decided when the answer comes"), "{open:?}");
    assert_eq!(open[1].0, StepVerdict::Open);
    assert_eq!(told(Some("image/png")).len(), 1);
    let page = told(Some("text/html"));
    assert_eq!((page[0].0, page[1].0), (StepVerdict::Passed, StepVerdict::Admitted));
}
