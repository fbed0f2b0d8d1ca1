//! What a spider's own values promise: their place among the layers, own limits, and plain refusals.

use proptest::prelude::*;

use super::{
    super::{Scope, file, tests::read},
    *,
};

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn base(file: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Config {
    let mut mistakes = Vec::new();
    let document = file::parse(file, std::path::Path::new("h.toml"), &mut mistakes);
    assert_eq!(mistakes, []);
    let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    let flags = flags.iter().map(|(key, value)| (*key, vec![(*value).to_owned()])).collect();
    Config::merge(document, variables.collect::<Vec<_>>(), flags).unwrap()
}

#[test]
fn a_spiders_values_lie_over_the_file_and_under_environment_and_flags() {
    let base = base(
        "[crawl]\nscope = 'prefix'\nredirects = 3\nsite_pages = 1\n[etiquette]\ndelay = 3\n",
        &[("HARVESTMAN_ETIQUETTE_DELAY", "4s")],
        &[("crawl.site_pages", "30")],
    );
    let own = settings(&[
        ("crawl.scope", "\"domain\""),
        ("crawl.site_pages", "20"),
        ("etiquette.delay", "\"9s\""),
        ("crawl.rules", "['reject dynamic']"),
    ]);
    let SpiderConfig { config, own } = base.for_spider("news", &own).unwrap();
    assert_eq!(config.crawl.scope, Scope::Domain);
    assert_eq!(config.origin("crawl.scope"), &Origin::Spider("news".to_owned()));
    assert_eq!(config.origin("crawl.scope").to_string(), "spider news");
    assert_eq!(config.crawl.rules, ["reject dynamic"]);
    assert_eq!(config.crawl.redirects, 3, "what it does not say is as in the file");
    assert_eq!(config.etiquette.delay.as_secs(), 4, "the environment stands above");
    assert_eq!(config.crawl.site_pages, Some(30), "flags stand above");
    assert_eq!(own, OwnLimits::default());
    assert_eq!(base.crawl.scope, Scope::Prefix, "the base is as it was");
}

#[test]
fn bounds_of_the_whole_crawl_become_the_spiders_own_and_replace_nothing() {
    let base = base("[crawl]\npages = 100\n[etiquette]\nmax_fetches = 50\n", &[], &[]);
    let own = settings(&[
        ("crawl.pages", "10"),
        ("crawl.bytes", "\"2MB\""),
        ("crawl.for", "\"1h\""),
        ("etiquette.max_fetches", "4"),
    ]);
    let SpiderConfig { config, own } = base.for_spider("news", &own).unwrap();
    assert_eq!(own.pages, Some(10));
    assert_eq!(own.bytes, Some(2_000_000));
    assert_eq!(own.time, Some(Duration::from_secs(3_600)));
    assert_eq!(own.max_fetches, Some(4));
    assert_eq!(config.crawl.pages, Some(100));
    assert_eq!(config.crawl.bytes, None);
    assert_eq!(config.etiquette.max_fetches, 50);
    let lifted = base.for_spider("news", &settings(&[("crawl.pages", "\"none\"")])).unwrap();
    assert_eq!(lifted.own, OwnLimits::default());
}

#[test]
fn overrides_and_access_are_the_same_for_every_spider() {
    let text = "[[override]]\nwhen = 'any'\ncrawl.depth = 1\n\
                [[credential]]\norigin = 'http://a.org'\nbearer = 'x'\n";
    let spider = read(text).unwrap().for_spider("news", &BTreeMap::new()).unwrap();
    assert!(!spider.config.overrides.is_empty());
    assert_eq!(spider.config.credentials.len(), 1);
}

#[track_caller]
fn refused(key: &str, value: &str, sentence: &str, what_to_do: &str) {
    let failure = Config::defaults().for_spider("news", &settings(&[(key, value)])).unwrap_err();
    assert_eq!(failure.sentence, format!("spider news: {sentence}"));
    assert!(failure.what_to_do.contains(what_to_do), "{}", failure.what_to_do);
}

#[test]
fn mistakes_of_a_spider_are_told_with_its_name() {
    refused("crawl.scoep", "1", "unknown key \"crawl.scoep\"", "did you mean \"crawl.scope\"?");
    refused("crawl.delay", "1", "unknown key \"crawl.delay\"", "did you mean \"");
    refused("colour", "1", "unknown key \"colour\"", "lists every key");
    refused(
        "crawl.depth",
        "\"deep\"",
        "crawl.depth = \"deep\": it is no whole number",
        "from 0 to 65535",
    );
    refused("crawl.depth", "= [", "crawl.depth = \"= [\": it is no whole number", "from 0");
    refused(
        "store.volume_bytes_max",
        "\"1GB\"",
        "store.volume_bytes_max cannot be set for one spider",
        "in harvest.toml",
    );
    refused(
        "fetch.proxy",
        "\"ftp://me:hush@x:1\"",
        "fetch.proxy = \"ftp://***@x:1\": it is no proxy the crawler knows",
        "socks5://",
    );
}

#[test]
fn settings_are_taken_bare_or_as_toml_and_checked_at_once() {
    for (typed, key, value) in [
        ("crawl.scope=domain", "crawl.scope", "\"domain\""),
        ("crawl.scope=\"domain\"", "crawl.scope", "\"domain\""),
        (" crawl.depth = 3 ", "crawl.depth", "3"),
        ("crawl.pages=none", "crawl.pages", "\"none\""),
        ("etiquette.delay=5s", "etiquette.delay", "\"5s\""),
        ("etiquette.delay=0", "etiquette.delay", "\"0s\""),
        ("crawl.requisites=true", "crawl.requisites", "true"),
        ("fetch.cookies=off", "fetch.cookies", "\"off\""),
        ("crawl.bytes=2 GB", "crawl.bytes", "\"2GB\""),
        ("revisit.importance=0.5", "revisit.importance", "0.5"),
        (
            "fetch.media_types=text/html, text/css",
            "fetch.media_types",
            "[\"text/html\", \"text/css\"]",
        ),
        ("crawl.ports=['81','82']", "crawl.ports", "[\"81\", \"82\"]"),
        ("crawl.rules=reject path ~ '^/a{1,3}/'", "crawl.rules", "[\"reject path ~ '^/a{1,3}/'\"]"),
    ] {
        let read = parse_setting(typed).unwrap_or_else(|failure| panic!("{typed}: {failure}"));
        assert_eq!(read, (key.to_owned(), value.to_owned()), "{typed}");
        Config::defaults().for_spider("x", &[read].into()).unwrap();
    }
    for (typed, part) in [
        ("crawl.scope", "has no ="),
        ("crawl.scope=sites", "crawl.scope = \"sites\": it is not one of the words"),
        ("crawl.scop=site", "unknown key \"crawl.scop\""),
        ("parse.threads=2", "parse.threads cannot be set for one spider"),
        ("crawl.rules=[1", "crawl.rules holds a broken list"),
        ("fetch.proxy=x://a:hush@b", "fetch.proxy = \"x://***@b\""),
    ] {
        let failure = parse_setting(typed).unwrap_err();
        assert!(failure.sentence.contains(part), "{typed}: {}", failure.sentence);
        assert!(!failure.to_string().contains("hush"), "{failure}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_setting_panic(
        text in "\\PC{0,30}|(crawl.rules|crawl.for|fetch.proxy|crawl.pages)=\\PC{0,20}",
    ) {
        if let Ok(read) = parse_setting(&text) {
            prop_assert!(Config::defaults().for_spider("x", &[read].into()).is_ok());
        }
    }
}
