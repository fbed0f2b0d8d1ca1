//! The promises of the configuration: layers, origins, refusals, and documentation that is complete.

use std::path::Path;

use proptest::prelude::*;

use super::{keys::KEYS, *};
use crate::failure::Exit;

fn parsed(text: &str, path: &str) -> Result<file::Document, Failure> {
    let mut mistakes = Vec::new();
    let document = file::parse(text, Path::new(path), &mut mistakes);
    mistakes.into_iter().next().map_or(Ok(document), Err)
}

pub(super) fn read(text: &str) -> Result<Config, Failure> {
    Config::merge(parsed(text, "harvest/harvest.toml")?, [], Vec::new())
}

#[track_caller]
fn refused(text: &str, sentence: &str, what_to_do: &str) {
    let failure = read(text).expect_err(text);
    assert_eq!(failure.code, Exit::Usage);
    assert_eq!(failure.sentence, sentence);
    assert!(failure.what_to_do.contains(what_to_do), "{}", failure.what_to_do);
}

fn variable(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn every_default_and_every_example_is_a_valid_value_of_its_key() {
    for key in KEYS {
        for text in [key.default, key.example] {
            let raw = file::parse_value(text).unwrap_or_else(|e| panic!("{}: {e}", key.name));
            Value::read(key, &raw).unwrap_or_else(|e| panic!("{} = {text}: {e:?}", key.name));
        }
        assert_ne!(key.default, key.example, "{} needs an example that shows more", key.name);
        assert!(key.doc.ends_with('.'), "{} needs a sentence", key.name);
        assert!(key.doc.starts_with(char::is_uppercase), "{}", key.name);
    }
}

#[test]
fn what_counts_as_made_on_demand_by_default_is_what_the_model_knows() {
    let crawl = read("").expect("the defaults").crawl;
    let marking = seeder::Marking::new(&crawl.dynamic_extensions);
    let known = crawl.dynamic_extensions.iter().map(String::as_str);
    for extension in known.chain(["html", "htm", "pdf", "xml", "php6", "phps", "js", "py", "rb"]) {
        let url = model::CrawlUrl::parse(&format!("http://a.org/x.{extension}")).expect("a URL");
        assert_eq!(marking.is_dynamic(&url), url.is_dynamic(), "{extension}");
    }
    assert_eq!(crawl.dynamic_extensions.len(), 20);
}

#[test]
fn names_are_unique_sections_together_and_words_plain() {
    let mut names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KEYS.len());
    let mut sections = keys::sections();
    sections.sort_unstable();
    sections.dedup();
    assert_eq!(sections.len(), keys::sections().len(), "a section is split in the table");
    for name in names {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.".contains(&b);
        assert!(name.bytes().all(plain), "{name}");
    }
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = Config::defaults();
    assert_eq!(config.etiquette.delay.as_millis(), 2_000);
    assert_eq!(config.etiquette.address_share, 0.125);
    assert_eq!(config.etiquette.crawl_delay_max, model::limits::CRAWL_DELAY_MAX);
    assert_eq!(config.etiquette.backoff_max, model::limits::BACKOFF_MAX);
    assert_eq!(config.crawl.redirects, model::limits::REDIRECTS_MAX);
    assert_eq!(config.crawl.scope, Scope::Site);
    assert_eq!(config.crawl.pages, None);
    assert_eq!(config.fetch.timeout.as_secs(), 60);
    assert_eq!(config.fetch.body_bytes_max, 16_000_000);
    assert_eq!(config.url.bytes_max, model::limits::URL_BYTES_MAX);
    assert_eq!(config.store.volume_bytes_max, model::limits::VOLUME_BYTES_MAX);
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let text = "[etiquette]\ndelay = 3\nconnections = 2\n[crawl]\npages = 10\n";
    let written = parsed(text, "h.toml").unwrap();
    let variables = [
        variable("HARVESTMAN_ETIQUETTE_DELAY", "4s"),
        variable("HARVESTMAN_CRAWL_PAGES", "20"),
        variable("HARVESTMAN_LONG", "1"),
        variable("PATH", "/bin"),
    ];
    let flags = vec![("crawl.pages", vec!["30".to_owned()]), ("crawl.depth", vec![])];
    let config = Config::merge(written, variables, flags).unwrap();
    assert_eq!(config.etiquette.connections, 2);
    assert_eq!(config.etiquette.delay.as_secs(), 4);
    assert_eq!(config.crawl.pages, Some(30));
    assert_eq!(config.origin("etiquette.connections").to_string(), "h.toml line 3");
    assert_eq!(
        config.origin("etiquette.delay"),
        &Origin::Environment("HARVESTMAN_ETIQUETTE_DELAY".to_owned())
    );
    assert_eq!(config.origin("crawl.pages"), &Origin::Flag("--pages".to_owned()));
    assert_eq!(config.origin("crawl.depth"), &Origin::Default);
}

#[test]
fn unknown_keys_and_sections_are_refused_with_their_line_and_the_nearest_known_one() {
    let at = "harvest/harvest.toml line";
    refused(
        "[etiquette]\n\ndealy = 2\n",
        &format!("{at} 3: unknown key \"dealy\" in [etiquette]"),
        "did you mean \"delay\"?",
    );
    refused(
        "[crawl]\ndelay = 2\n",
        &format!("{at} 2: unknown key \"delay\" in [crawl]"),
        "did you mean \"delay\" in [etiquette]?",
    );
    refused("# a\n[etiquete]\n", &format!("{at} 2: unknown section [etiquete]"), "[etiquette]?");
    refused(
        "[zebra]\nx = 1\n",
        &format!("{at} 1: unknown section [zebra]"),
        "[crawl], [etiquette]",
    );
    refused("pages = 5\n", &format!("{at} 1: \"pages\" is in no section"), "under [crawl]");
    refused(
        "[crawl]\ncolour = 'red'\n",
        &format!("{at} 2: unknown key \"colour\" in [crawl]"),
        "site_pages",
    );
}

#[test]
fn wrong_values_are_told_with_file_line_key_value_and_what_to_write() {
    let at = "harvest/harvest.toml line";
    refused(
        "[etiquette]\ndelay = \"2 minuts\"\n",
        &format!("{at} 2: etiquette.delay = \"2 minuts\": \"minuts\" is no unit of time"),
        "such as 30s",
    );
    refused(
        "[fetch]\nbody_bytes_max = \"2M\"\n",
        &format!("{at} 2: fetch.body_bytes_max = \"2M\": \"M\" is no unit of size"),
        "such as 2MB",
    );
    refused(
        "[reject]\npatterns = [\n  'fine',\n  'a(b',\n]\n",
        &format!(
            "{at} 4: reject.patterns = \"a(b\": it is no valid regular expression (unclosed group)"
        ),
        "single quotes",
    );
    refused(
        "[fetch]\nallow_address = ['10.0.0.0/40']\n",
        &format!(
            "{at} 2: fetch.allow_address = \"10.0.0.0/40\": `40` is not a prefix length; write a number from 0 to 32 after the slash"
        ),
        "10.0.0.0/8",
    );
    refused(
        "[crawl]\nscope = 'sites'\n",
        &format!("{at} 2: crawl.scope = \"sites\": it is not one of the words known here"),
        "did you mean \"site\"?",
    );
    refused(
        "[crawl]\npages = -1\n",
        &format!("{at} 2: crawl.pages = -1: it is no whole number"),
        "1 or more, or \"none\" to be without",
    );
    refused(
        "[crawl]\nfor = '0s'\n",
        &format!("{at} 2: crawl.for = \"0s\": it is zero, and nothing would be done"),
        "above zero",
    );
    refused(
        "[etiquette]\nconnections = 0\n",
        &format!("{at} 2: etiquette.connections = 0: it is out of range"),
        "from 1 to 64",
    );
    refused(
        "[fetch]\ncookies = 'yes'\n",
        &format!("{at} 2: fetch.cookies = \"yes\": it is neither on nor off"),
        "or a file",
    );
    refused(
        "[fetch]\nhttp2 = 'yes'\n",
        &format!("{at} 2: fetch.http2 = \"yes\": it is neither true nor false"),
        "without quotes",
    );
    refused(
        "[etiquette]\ncontact = 5\n",
        &format!("{at} 2: etiquette.contact = 5: it is a whole number, not text"),
        "in quotes",
    );
    refused(
        "[fetch]\nmedia_types = [1]\n",
        &format!(
            "{at} 2: fetch.media_types = a list of other things than texts: \
             it is a list of other things than texts, not a list of texts"
        ),
        "write a list",
    );
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let failure = read("[crawl]\npages = 5\ndepth = = 3\n").unwrap_err();
    assert!(failure.sentence.starts_with("harvest/harvest.toml line 3: "), "{}", failure.sentence);
    let twice = read("[crawl]\npages = 5\npages = 6\n").unwrap_err();
    assert!(twice.sentence.contains("line 3: "), "{}", twice.sentence);
}

#[test]
fn wrong_flags_and_variables_are_told_by_their_own_names() {
    let flags = vec![("etiquette.delay", vec!["soon".to_owned()])];
    let failure = Config::merge(vec![], [], flags).unwrap_err();
    assert_eq!(failure.sentence, "--delay \"soon\": \"soon\" does not begin with a number");
    let variables = [variable("HARVESTMAN_CRAWL_PAGES", "many")];
    let failure = Config::merge(vec![], variables, vec![]).unwrap_err();
    assert_eq!(failure.sentence, "HARVESTMAN_CRAWL_PAGES=\"many\": it is no whole number");
    let variables = [variable("HARVESTMAN_CRAWL_PAGESS", "5")];
    let failure = Config::merge(vec![], variables, vec![]).unwrap_err();
    assert_eq!(failure.what_to_do, "did you mean \"pages\"?");
}

#[test]
fn lists_in_variables_take_commas_but_regular_expressions_keep_theirs() {
    let variables = [
        variable("HARVESTMAN_FETCH_MEDIA_TYPES", "text/html, text/css"),
        variable("HARVESTMAN_REJECT_PATTERNS", "/a{1,3}/"),
        variable("HARVESTMAN_URL_STRIP_QUERY", "['sid', 'utm_*']"),
    ];
    let config = Config::merge(vec![], variables, vec![]).unwrap();
    assert_eq!(config.fetch.media_types, ["text/html", "text/css"]);
    assert_eq!(config.reject.patterns, ["/a{1,3}/"]);
    assert_eq!(config.url.form.strip_query, ["sid", "utm_*"]);
}

#[test]
fn the_user_agent_names_the_crawler_and_its_operator() {
    let mut etiquette = Config::defaults().etiquette;
    let plain = concat!("harvestman/", env!("CARGO_PKG_VERSION"));
    assert_eq!(etiquette.user_agent_line(), plain);
    assert_eq!(etiquette.robots_token(), "harvestman");
    etiquette.contact = Some("a@b.org".to_owned());
    assert_eq!(etiquette.user_agent_line(), format!("{plain} (+a@b.org)"));
    etiquette.user_agent = Some("my-Bot/2.0 (x)".to_owned());
    assert_eq!(etiquette.user_agent_line(), "my-Bot/2.0 (x)");
    assert_eq!(etiquette.robots_token(), "my-Bot");
}

#[test]
fn none_lifts_a_limit_of_a_lower_layer() {
    let written = parsed("[crawl]\npages = 10\n", "h.toml").unwrap();
    let flags = vec![("crawl.pages", vec!["none".to_owned()])];
    assert_eq!(Config::merge(written, [], flags).unwrap().crawl.pages, None);
}

#[test]
fn a_refusal_by_another_crate_names_the_line_of_the_item() {
    let config = read("[fetch]\nresolve = [\n 'a=1.2.3.4',\n 'b=1.2.3.4',\n]\n").unwrap();
    let failure = config.refuse("fetch.resolve", "b=1.2.3.4", "no such host", "leave it out");
    assert_eq!(
        failure.sentence,
        "harvest/harvest.toml line 4: fetch.resolve = \"b=1.2.3.4\": no such host"
    );
}

#[test]
fn what_config_prints_reads_back_as_the_same_configuration() {
    let config = read("[reject]\npatterns = ['\\d', \"it's\"]\n[crawl]\nfor = '90s'\n").unwrap();
    let text: String = keys::sections()
        .iter()
        .map(|section| {
            let of_section = |setting: &&Setting| setting.key.section() == *section;
            let lines: Vec<String> = config
                .settings()
                .iter()
                .filter(of_section)
                .map(|setting| format!("{} = {}\n", setting.key.short(), setting.value))
                .collect();
            format!("[{section}]\n{}", lines.concat())
        })
        .collect();
    let again = read(&text).unwrap();
    for (one, other) in config.settings().iter().zip(again.settings()) {
        assert_eq!(one.value, other.value, "{}", one.key.name);
    }
}

#[test]
fn the_file_that_init_writes_changes_nothing_and_shows_valid_lines() {
    let text = template();
    let config = read(&text).unwrap();
    assert!(config.settings().iter().all(|setting| setting.origin == Origin::Default));
    let appended = format!("{text}\n[crawl]\npages = 5\n");
    assert_eq!(read(&appended).unwrap().crawl.pages, Some(5), "a section may be appended");
    let bare: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") || rest.starts_with('[') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(read(&bare).unwrap().settings().iter().any(|s| s.origin != Origin::Default), "{bare}");
}

#[test]
fn docs_configuration_has_every_key_with_its_default_and_example_and_no_other() {
    let docs = include_str!("../../../docs/configuration.md");
    let mut documented = Vec::new();
    for line in docs.lines() {
        let Some(rest) = line.strip_prefix("### `") else { continue };
        documented.push(rest.trim_end_matches('`'));
    }
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(documented, known, "the headings ### `section.key` and the table of keys differ");
    for key in KEYS {
        let heading = format!("### `{}`\n", key.name);
        let (_, after) = docs.split_once(&heading).unwrap();
        let entry = after.split("\n##").next().unwrap();
        let told = |text: &str| assert!(entry.contains(text), "{}: {text} is missing", key.name);
        told(key.doc);
        told(&format!("Default `{}`", key.default));
        told(&format!("`{} = {}`", key.short(), key.example));
        if let Some(flag) = key.flag {
            told(&format!("`--{flag}`"));
        }
        let reach = match key.reach {
            Reach::Collection => "collection",
            Reach::Spider => "collection, spider",
            Reach::Site => "collection, spider, site",
            Reach::Page => "collection, spider, site, page",
        };
        told(&format!("Set for: {reach}{}.", if key.live { " (live)" } else { "" }));
    }
}

#[test]
fn every_example_in_docs_configuration_can_be_read() {
    let docs = include_str!("../../../docs/configuration.md");
    let mut tables = [0; 4];
    let mut examples = 0;
    for block in docs.split("```toml\n").skip(1) {
        let text = block.split("\n```").next().unwrap();
        let config = read(text).unwrap_or_else(|failure| panic!("{text}\n{failure}"));
        let set = config.settings().iter().filter(|s| s.origin != Origin::Default).count();
        let here = [
            config.overrides.listing().count(),
            config.credentials.len(),
            config.logins.len(),
            config.webhooks.len(),
        ];
        assert!(set + here.iter().sum::<usize>() > 0, "{text} says nothing");
        examples += 1;
        (0..4).for_each(|kind| tables[kind] += here[kind]);
    }
    assert!(examples >= 4, "the chapters show examples");
    assert!(tables.iter().all(|shown| *shown > 1), "each kind of table is shown: {tables:?}");
}

#[test]
fn docs_configuration_maps_every_variable_of_wire_to_a_key_or_says_later() {
    let docs = include_str!("../../../docs/configuration.md");
    let (_, map) = docs.split_once("## WIRE's variables").unwrap();
    let rows: Vec<Vec<&str>> = map
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 26, "table 7.1 has 26 variables");
    for row in rows {
        let ours = row[3];
        let named = ours.split('`').skip(1).step_by(2).filter(|word| word.contains('.'));
        let mut found = 0;
        for word in named {
            assert!(Key::named(word).is_some(), "{}: {word} is no key", row[1]);
            found += 1;
        }
        assert!(found > 0 || ours.contains("later") || ours.contains("-C"), "{}: {ours}", row[1]);
    }
}

#[test]
fn every_mistake_of_a_file_is_found_not_only_the_first() {
    let mut mistakes = Vec::new();
    let text = "[crawl]\npgaes = 1\npages = 'x'\n[zebra]\n[[login]]\n";
    let document = file::parse(text, Path::new("h.toml"), &mut mistakes);
    Config::build(document, [variable("HARVESTMAN_CRAWL_X", "1")], vec![], &mut mistakes);
    let lines: Vec<&str> = mistakes.iter().map(|mistake| mistake.sentence.as_str()).collect();
    assert!(lines.len() >= 6, "{lines:#?}");
    for part in ["\"pgaes\"", "[zebra]", "CRAWL_X", "crawl.pages", "no success", "no page"] {
        assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:#?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_tables_panic(
        kind in "override|credential|login|webhook",
        lines in prop::collection::vec(
            "(when|file|spider|origin|url|secret|kinds|tries|give_up|name|site|basic|bearer|page|success|action|fields.a|crawl.depth|etiquette.delay) \
             = ('\\PC{0,20}'|[0-9]{1,3}|\\['any', 'host a.org'\\]|'(text|cookie|redirect|status) [a-z0-9/]{0,5}')",
            0..6,
        ),
    ) {
        let _ = read(&format!("[[{kind}]]\n{}\n", lines.join("\n")));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,80}|(\\[[a-z]{1,9}\\]\n)?([a-z_.]{1,12} = [-0-9a-z'\"\\[\\], .]{0,12}\n){0,4}") {
        let _ = read(&text);
    }
}

#[test]
fn a_key_that_was_renamed_answers_with_its_new_name() {
    for (old, now) in table::RENAMED {
        assert!(Key::named(old).is_none() && Key::named(now).is_some(), "{old}");
        let (section, short) = old.split_once('.').unwrap();
        let failure = read(&format!("[{section}]\n{short} = 1\n")).expect_err(old);
        let called = format!("line 2: {old} is now called {now}");
        assert!(failure.sentence.ends_with(&called), "{}", failure.sentence);
        let variable = keys::variable_of(old);
        let set = [(variable.clone(), "1".to_owned())];
        let failure = Config::merge(file::Document::default(), set, Vec::new()).expect_err(old);
        let new = keys::variable_of(now);
        assert_eq!(failure.sentence, format!("the variable {variable} is now called {new}"));
        let failure = spider::parse_setting(&format!("{old}=1")).expect_err(old);
        assert_eq!(failure.sentence, format!("{old} is now called {now}"));
    }
    let text = "[[override]]\nwhen = 'any'\nfetch.ratio_max = 9\n";
    let failure = read(text).expect_err("an override");
    assert!(failure.sentence.contains("is now called fetch.compression_ratio_max"), "{failure}");
}

#[test]
fn settings_that_a_spider_has_under_an_older_name_still_hold() {
    let settings = [("gather.text".to_owned(), "false".to_owned())].into();
    let spider = Config::defaults().for_spider("news", &settings).unwrap();
    assert!(!spider.config.parse.text);
}
