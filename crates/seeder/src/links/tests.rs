//! What becomes of each kind of link.

use model::{
    NormalForm, RefusalReason, SpiderId, Verdict,
    testing::{self, url},
};
use proptest::prelude::*;

use super::*;
use crate::{Scope, UrlForm};

fn page(text: &str) -> Page {
    Page { spider: SpiderId(1), level: 2, hops: 1, ..testing::page(text) }
}

fn link(text: &str) -> Link {
    of_kind(text, LinkKind::A)
}

fn of_kind(text: &str, kind: LinkKind) -> Link {
    Link { url: url(text), kind, rel: LinkRel::default(), anchor: String::new(), position: 0 }
}

fn seeds(of: &[&str]) -> SeedSet {
    let seeds: Vec<CrawlUrl> = of.iter().map(|seed| url(seed)).collect();
    seeds.iter().collect()
}

fn sort(links: &[Link], rules: &SpiderRules) -> Sorted {
    let seeds = seeds(&["http://example.org/", "http://friend.org/"]);
    sort_links(&page("http://example.org/a"), links, false, rules, &seeds)
}

fn texts(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate.url.as_str()).collect()
}

#[test]
fn odd_ports_of_the_own_host_have_their_name_although_the_scope_refuses_them() {
    let links = [
        link("http://example.org:6379/"),
        link("http://example.org:25/x"),
        link("http://elsewhere.org:8080/"),
        link("https://example.org/b"),
    ];
    let sorted = sort(&links, &SpiderRules { scope: Scope::Site, ..SpiderRules::default() });
    let [met] = &sorted.mended[..] else { panic!("{:?}", sorted.mended) };
    assert_eq!((met.hazard, met.measure, met.count), (Hazard::UnusualPort, Measure::Refused, 2));
    assert_eq!((&*met.site, &*met.example), ("example.org", "http://example.org:6379/"));
    assert!(sorted.refused.iter().all(|refused| refused.reason == RefusalReason::Scope));
}

#[test]
fn links_go_one_level_deeper_and_other_sites_begin_at_zero() {
    let links = [link("https://example.org/b"), link("http://friend.org/x/y")];
    let sorted = sort(&links, &SpiderRules::default());
    assert_eq!(texts(&sorted.internal), ["https://example.org/b"]);
    let inner = &sorted.internal[0];
    assert_eq!((inner.level, inner.hops, inner.seed), (3, 0, false));
    assert_eq!(inner.referrer, Some(url("http://example.org/a").fingerprint()));
    assert_eq!(texts(&sorted.external), ["http://friend.org/x/y"]);
    assert_eq!(sorted.external[0].level, 0);
    assert!(sorted.refused.is_empty());
}

#[test]
fn a_url_comes_once_and_the_page_itself_never() {
    let links = ["http://example.org/b", "http://example.org/a#x", "http://example.org/b#y"];
    let sorted = sort(&links.map(link), &SpiderRules::default());
    assert_eq!(texts(&sorted.internal), ["http://example.org/b"]);
}

#[test]
fn a_redirect_keeps_the_level_and_counts_a_hop() {
    let target = of_kind("http://example.org/b", LinkKind::Redirect);
    let seeds = seeds(&["http://example.org/"]);
    let from = Page { seed: true, ..page("http://example.org/a") };
    let sorted = sort_links(&from, &[target], true, &SpiderRules::default(), &seeds);
    let to = &sorted.internal[0];
    assert_eq!((to.level, to.hops, to.seed), (2, 2, true));
    let away = of_kind("https://www.example.org/", LinkKind::Redirect);
    let sorted =
        sort_links(&from, std::slice::from_ref(&away), false, &SpiderRules::default(), &seeds);
    assert_eq!((sorted.external[0].level, sorted.external[0].seed), (2, true));
    let from = Page { seed: false, ..from };
    let sorted = sort_links(&from, &[away], false, &SpiderRules::default(), &seeds);
    assert_eq!(sorted.refused[0].reason, RefusalReason::Scope);
}

#[test]
fn refusals_are_merged_with_a_count_and_an_example() {
    let links = ["http://o.org/1", "http://o.org/2", "http://o.org/1", "http://p.org/"].map(link);
    let sorted = sort(&links, &SpiderRules::default());
    let counted: Vec<_> =
        sorted.refused.iter().map(|decision| (decision.site.as_str(), decision.count)).collect();
    assert_eq!(
        counted,
        [("example.org", 3)],
        "foreign hosts have no end: one row for the site that links"
    );
    let first = &sorted.refused[0];
    assert_eq!(first.rule, "crawl.scope = \"site\"");
    assert_eq!(first.example, "http://o.org/1");
    assert_eq!(first.referrer.as_deref(), Some("http://example.org/a"));
}

#[test]
fn the_external_policy_says_how_other_sites_are_entered() {
    let links = ["http://friend.org/x", "http://friend.org/y", "http://example.org/b"].map(link);
    for (external, expected) in [
        (ExternalPolicy::Ignore, vec![]),
        (ExternalPolicy::Home, vec!["http://friend.org/"]),
        (ExternalPolicy::Deep, vec!["http://friend.org/x", "http://friend.org/y"]),
        (
            ExternalPolicy::Combined,
            vec!["http://friend.org/", "http://friend.org/x", "http://friend.org/y"],
        ),
    ] {
        let sorted = sort(&links, &SpiderRules { external, ..SpiderRules::default() });
        assert_eq!(texts(&sorted.external), expected, "{external:?}");
        assert_eq!(texts(&sorted.internal), ["http://example.org/b"], "{external:?}");
    }
}

#[test]
fn an_ignored_link_names_the_policy_only_inside_the_scope() {
    let rules = SpiderRules { external: ExternalPolicy::Ignore, ..SpiderRules::default() };
    let sorted = sort(&["http://friend.org/x", "http://o.org/"].map(link), &rules);
    let rules: Vec<_> = sorted.refused.iter().map(|decision| decision.rule.as_str()).collect();
    assert_eq!(rules, ["crawl.external = \"ignore\"", "crawl.scope = \"site\""]);
}

#[test]
fn no_policy_leads_out_of_the_scope() {
    for external in ExternalPolicy::ALL {
        let rules = SpiderRules { external, ..SpiderRules::default() };
        let sorted = sort(&[link("http://o.org/x")], &rules);
        assert!(sorted.external.is_empty(), "{external:?}");
        assert_eq!(sorted.refused[0].rule, "crawl.scope = \"site\"");
    }
}

#[test]
fn nofollow_is_obeyed_unless_told_otherwise() {
    let hidden = Link { rel: LinkRel::NOFOLLOW.with(LinkRel::UGC), ..link("http://example.org/n") };
    let both = Link { rel: LinkRel::NOFOLLOW, ..link("http://example.org/b") };
    let links = [both, hidden, link("http://example.org/b")];
    let sorted = sort(&links, &SpiderRules::default());
    assert_eq!(texts(&sorted.internal), ["http://example.org/b"]);
    assert_eq!((sorted.refused.len(), sorted.refused[0].rule.as_str()), (1, "rel=nofollow"));

    let told = SpiderRules { follow_nofollow: true, ..SpiderRules::default() };
    assert_eq!(sort(&links, &told).internal.len(), 2);

    let seeds = seeds(&["http://example.org/"]);
    let from = page("http://example.org/a");
    let sorted = sort_links(&from, &links, true, &SpiderRules::default(), &seeds);
    assert!(sorted.internal.is_empty());
    assert_eq!((sorted.refused.len(), sorted.refused[0].count), (1, 2));
    let sorted = sort_links(&from, &links, true, &told, &seeds);
    assert!(sorted.internal.is_empty(), "what a page says of all its links is obeyed in any case");
}

#[test]
fn feeds_are_no_pages_and_canonical_links_are() {
    let links = [
        of_kind("http://example.org/feed", LinkKind::Feed),
        of_kind("http://example.org/c", LinkKind::Canonical),
        of_kind("http://example.org/2", LinkKind::Next),
    ];
    let sorted = sort(&links, &SpiderRules::default());
    assert_eq!(texts(&sorted.internal), ["http://example.org/c", "http://example.org/2"]);
    assert!(sorted.refused.is_empty());
}

#[test]
fn the_configured_form_decides_what_is_the_same_page() {
    let form = NormalForm { strip_query: vec!["sid".into()], ..NormalForm::default() };
    let form = UrlForm::new(form, Vec::new(), Vec::new());
    let rules = SpiderRules { form, ..SpiderRules::default() };
    let links = ["http://example.org/b?sid=1", "http://example.org/b?sid=2"].map(link);
    assert_eq!(texts(&sort(&links, &rules).internal), ["http://example.org/b"]);
}

#[test]
fn links_outside_are_counted_from_the_scope_on() {
    let rules = SpiderRules { outside_max: 2, ..SpiderRules::default() };
    let seeds = seeds(&["http://example.org/"]);
    let outside = |from: &Page, kind: LinkKind, to: &str| {
        let sorted = sort_links(from, &[of_kind(to, kind)], false, &rules, &seeds);
        sorted.internal.iter().chain(&sorted.external).map(|c| c.terms.outside).next()
    };
    let at = |text: &str, outside| Page {
        terms: PageTerms { outside, ..PageTerms::default() },
        ..page(text)
    };
    let (inside, first, second) =
        (at("http://example.org/a", 0), at("http://o.org/", 1), at("http://o.org/2", 2));
    assert_eq!(outside(&inside, LinkKind::A, "http://example.org/b"), Some(0));
    assert_eq!(outside(&inside, LinkKind::A, "http://o.org/"), Some(1));
    assert_eq!(outside(&inside, LinkKind::Redirect, "http://o.org/"), Some(1));
    assert_eq!(outside(&first, LinkKind::A, "http://o.org/2"), Some(2));
    assert_eq!(outside(&first, LinkKind::Redirect, "http://p.org/"), Some(1));
    assert_eq!(outside(&second, LinkKind::A, "http://p.org/"), None);
    assert_eq!(outside(&second, LinkKind::Redirect, "http://p.org/"), Some(2));
    assert_eq!(outside(&second, LinkKind::A, "http://example.org/c"), Some(0));
}

#[test]
fn a_seeds_own_depth_goes_along_and_its_rest_to_other_sites() {
    let depths = |level, to: &[&str]| {
        let terms = PageTerms { depth: Some(3), ..PageTerms::default() };
        let from = Page { level, terms, ..page("http://example.org/a") };
        let seeds = seeds(&["http://example.org/", "http://friend.org/"]);
        let links: Vec<Link> = to.iter().map(|to| link(to)).collect();
        let sorted = sort_links(&from, &links, false, &SpiderRules::default(), &seeds);
        let taken = sorted.internal.iter().chain(&sorted.external);
        let taken: Vec<_> = taken.map(|c| (c.level, c.terms.depth)).collect();
        (taken, sorted.refused.iter().map(|decision| decision.rule.clone()).collect::<Vec<_>>())
    };
    let both = ["http://example.org/b", "http://friend.org/"];
    assert_eq!(depths(1, &both), (vec![(2, Some(3)), (0, Some(1))], vec![]));
    assert_eq!(depths(2, &both), (vec![(3, Some(3)), (0, Some(0))], vec![]));
    assert_eq!(depths(3, &both), (vec![], vec!["depth of its seed = 3".to_owned()]));
}

#[test]
fn a_redirect_keeps_the_terms_of_its_page() {
    let terms = PageTerms {
        requisite: true,
        depth: Some(2),
        period: Some(std::time::Duration::from_secs(60)),
        ..PageTerms::default()
    };
    let from = Page { terms, ..page("http://example.org/a") };
    let target = of_kind("http://example.org/b", LinkKind::Redirect);
    let seeds = seeds(&["http://example.org/"]);
    let sorted = sort_links(&from, &[target], false, &SpiderRules::default(), &seeds);
    assert_eq!(sorted.internal[0].terms, terms);
}

#[test]
fn the_text_of_any_link_to_a_url_counts() {
    let list = crate::RuleList::parse(&["reject anchor ~ '(?i)log ?in'"]).expect("rules");
    let rules = SpiderRules { list, ..SpiderRules::default() };
    let named = |text: &str, anchor: &str| Link { anchor: anchor.to_owned(), ..link(text) };
    let links = [
        named("http://example.org/b", "picture"),
        named("http://example.org/c", "Log in"),
        named("http://example.org/b", "LOGIN"),
        named("http://example.org/d", ""),
    ];
    let sorted = sort(&links, &rules);
    assert_eq!(texts(&sorted.internal), ["http://example.org/d"]);
    assert_eq!((sorted.refused[0].reason, sorted.refused[0].count), (RefusalReason::Rule, 2));
}

#[test]
fn links_from_logged_tags_are_counted_unless_another_link_leads_there() {
    let logged = |text: &str| Link { rel: LinkRel::LOGGED, ..of_kind(text, LinkKind::Other) };
    let links = [
        logged("http://example.org/x.jpg"),
        logged("http://cdn.org/y.jpg"),
        logged("http://example.org/b"),
        link("http://example.org/b"),
    ];
    let sorted = sort(&links, &SpiderRules::default());
    assert_eq!(texts(&sorted.internal), ["http://example.org/b"]);
    let told = &sorted.refused[0];
    assert_eq!(
        (told.reason, told.rule.as_str(), told.count),
        (RefusalReason::Logged, "parse.log_tags", 2)
    );
}

#[test]
fn a_refresh_that_is_all_its_page_is_there_for_counts_as_a_hop_and_is_held_by_the_limit() {
    let forward = |to: &str| Link { rel: LinkRel::FORWARD, ..of_kind(to, LinkKind::Refresh) };
    let links = [
        link("http://example.org/b"),
        link("http://example.org/c"),
        forward("http://example.org/b"),
    ];
    let sorted = sort(&links, &SpiderRules::default());
    let hops: Vec<_> =
        sorted.internal.iter().map(|to| (to.url.path(), to.level, to.hops)).collect();
    assert_eq!(hops, [("/b", 3, 2), ("/c", 3, 0)]);
    let rules = SpiderRules { redirects_max: 1, ..SpiderRules::default() };
    let sorted = sort(&links, &rules);
    assert_eq!(texts(&sorted.internal), ["http://example.org/c"]);
    assert_eq!(sorted.refused[0].reason, RefusalReason::Redirects);
    let slide = [of_kind("http://example.org/b", LinkKind::Refresh)];
    assert_eq!(
        sort(&slide, &rules).internal[0].hops,
        0,
        "a refresh with something to read is a link"
    );
}

fn any_link() -> impl Strategy<Value = Link> {
    let host = prop::sample::select(vec!["example.org", "www.example.org", "o.net:8080", "o.net"]);
    let path = "(/(a|b|login|cart|x.php)){0,3}(/|[?](a|print)=1)?";
    (host, path, 0..14u8, 0..2u8).prop_map(|(host, path, kind, rel)| Link {
        rel: LinkRel(rel),
        ..of_kind(
            &format!("http://{host}{path}"),
            LinkKind::from_stored(kind).expect("there are fourteen"),
        )
    })
}

proptest! {
    #[test]
    fn what_comes_out_is_judged_and_comes_once(
        links in prop::collection::vec(any_link(), 0..30),
        scope in prop::sample::select(Scope::ALL.to_vec()),
        external in prop::sample::select(ExternalPolicy::ALL.to_vec()),
        depth_max in prop::option::of(0..4u16), depth in prop::option::of(0..4u16),
        outside_max in 0..3u8, outside in 0..3u8,
        nofollow_page: bool, seed: bool,
    ) {
        let rules = SpiderRules { scope, external, depth_max, outside_max, ..SpiderRules::default() };
        let seeds = seeds(&["http://example.org/a/"]);
        let terms = PageTerms { depth, outside, ..PageTerms::default() };
        let from = Page { seed, terms, ..page("http://example.org/a/a") };
        let sorted = sort_links(&from, &links, nofollow_page, &rules, &seeds);
        let mut seen = HashSet::new();
        for candidate in sorted.internal.iter().chain(&sorted.external) {
            prop_assert_eq!(rules.judge(candidate, &seeds), Verdict::Accept);
            prop_assert!(seen.insert(candidate.url.fingerprint()));
        }
        prop_assert!(sorted.internal.iter().all(|c| c.url.site() == from.url.site()));
        prop_assert!(sorted.external.iter().all(|c| c.url.site() != from.url.site()));
        let mut keys = HashSet::new();
        for decision in &sorted.refused {
            let key = (decision.site.clone(), decision.reason, decision.rule.clone());
            prop_assert!(keys.insert(key) && decision.count > 0);
        }
    }
}

#[test]
fn names_under_a_wildcard_are_taken_from_other_domains_and_held_back_from_its_own() {
    let rules = SpiderRules { scope: crate::Scope::Any, ..SpiderRules::default() };
    rules.wildcards.add("w.test", ["known.w.test".to_owned()]);
    let seeds = seeds(&["http://seed.w.test/"]);
    let to = |host: &str| of_kind(&format!("http://{host}/"), LinkKind::A);
    let links = [to("known.w.test"), to("seed.w.test"), to("new.w.test"), to("else.test")];
    let taken = |from: &str, links: &[Link]| {
        let sorted = sort_links(&page(from), links, false, &rules, &seeds);
        let hosts: Vec<String> =
            sorted.external.iter().map(|one| one.url.host().to_owned()).collect();
        let kinship: Vec<Kinship> = sorted.external.iter().map(|one| one.terms.kinship).collect();
        (hosts, kinship, sorted.refused)
    };
    let (hosts, kinship, refused) = taken("http://a.w.test/", &links);
    assert_eq!(hosts, ["known.w.test", "seed.w.test", "else.test"]);
    assert_eq!(kinship, [Kinship::Kin, Kinship::Kin, Kinship::Unsaid]);
    assert_eq!(refused[0].rule, "trap: dns wildcard under w.test");
    assert_eq!(refused[0].reason, model::RefusalReason::Trap);
    let (hosts, kinship, _) = taken("http://elsewhere.test/", &links[2..3]);
    assert_eq!((hosts, kinship), (vec!["new.w.test".to_owned()], vec![Kinship::Stranger]));
    let (hosts, ..) = taken("http://a.w.test/", &links[2..3]);
    assert_eq!(hosts, ["new.w.test"], "from then on its kin may lead to it too");
}

#[test]
fn links_to_a_folded_site_are_links_to_its_original_but_not_what_a_seed_redirects_to() {
    let rules = SpiderRules { scope: crate::Scope::Any, ..SpiderRules::default() };
    rules.folds.add("r.test", "https://o.test");
    let seeds = seeds(&["http://seed.test/"]);
    let one = |from: Page, link: Link| {
        let sorted = sort_links(&from, &[link], false, &rules, &seeds);
        let taken = sorted.internal.iter().chain(&sorted.external);
        taken.map(|one| one.url.as_str().to_owned()).collect::<Vec<_>>()
    };
    let link = |kind| of_kind("http://r.test/a?b", kind);
    assert_eq!(one(page("http://x.test/"), link(LinkKind::A)), ["https://o.test/a?b"]);
    assert_eq!(one(page("http://r.test/"), link(LinkKind::A)), ["https://o.test/a?b"]);
    let seed = Page { seed: true, ..page("http://seed.test/") };
    assert_eq!(one(seed, link(LinkKind::Redirect)), ["http://r.test/a?b"]);
    rules.blocks.add(crate::Block::parse("o.test"));
    assert_eq!(
        one(page("http://x.test/"), link(LinkKind::A)),
        [""; 0],
        "blocks hold for the target"
    );
}

#[test]
fn a_redirect_is_not_folded_back_onto_the_site_it_comes_from() {
    let rules = SpiderRules { scope: crate::Scope::Any, ..SpiderRules::default() };
    rules.folds.add("r.test", "https://o.test");
    let seeds = seeds(&["http://seed.test/"]);
    let target = |from: &str| {
        let redirect = of_kind("http://r.test/a", LinkKind::Redirect);
        let sorted = sort_links(&page(from), &[redirect], false, &rules, &seeds);
        let taken = sorted.internal.iter().chain(&sorted.external);
        taken.map(|one| one.url.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(target("https://o.test/a"), ["http://r.test/a"], "not the page itself");
    assert_eq!(target("https://o.test/b"), ["http://r.test/a"]);
    assert_eq!(target("http://r.test/b"), ["https://o.test/a"], "from elsewhere it is");
    assert_eq!(target("http://x.test/"), ["https://o.test/a"]);
}
