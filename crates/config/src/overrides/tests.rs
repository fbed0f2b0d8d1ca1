//! What overrides promise: the first match gives the value key by key, mistakes have their line, and ten
//! thousand tables cost a page next to nothing.

use std::fmt::Write;

use model::testing::url;

use super::{
    super::{
        keys::{KEYS, Reach},
        tests::read,
    },
    *,
};

fn overrides(text: &str) -> Overrides {
    read(text).unwrap_or_else(|failure| panic!("{failure}")).overrides
}

#[track_caller]
fn refused(text: &str, sentence: &str, what_to_do: &str) {
    let failure = read(text).expect_err(text);
    assert_eq!(failure.sentence, format!("harvest/harvest.toml line {sentence}"));
    assert!(failure.what_to_do.contains(what_to_do), "{}", failure.what_to_do);
}

#[test]
fn the_first_override_that_holds_gives_the_value_key_by_key() {
    let overrides = overrides(
        "[[override]]\nwhen = 'host slow.example.org'\netiquette.delay = '30s'\n\
         [[override]]\nwhen = 'domain example.org'\netiquette.delay = '10s'\n\
         etiquette.connections = 2\ncrawl.site_pages = 'none'\nrevisit.period = '1d'\n\
         [[override]]\nwhen = \"path ~ '^/news/'\"\nrevisit.period = '1h'\nrevisit.importance = 5\n",
    );
    let site = overrides.site("default", &url("https://slow.example.org/x").site());
    assert_eq!(site.delay, Some(Duration::from_secs(30)));
    assert_eq!(site.connections, Some(2));
    assert_eq!(site.site_pages, Some(None), "a limit is lifted");
    assert_eq!(site.site_bytes, None, "nothing is said");
    assert_eq!(overrides.site("default", &url("http://b.net/").site()), SiteOverride::default());
    let page = overrides.page("default", &url("http://example.org/news/1"), 3);
    assert_eq!(page.period, Some(Duration::from_secs(86_400)), "the first match");
    assert_eq!(page.importance, Some(5.0));
    let page = overrides.page("default", &url("http://b.net/news/1"), 3);
    assert_eq!(page.period, Some(Duration::from_secs(3_600)));
    assert_eq!(overrides.lines("x", &url("http://example.org/news/1"), 0), [4, 10]);
}

#[test]
fn a_site_on_another_port_is_found_by_its_host() {
    let overrides = overrides("[[override]]\nwhen = 'host a.org'\netiquette.delay = 0\n");
    let site = url("http://a.org:8080/").site();
    assert_eq!(overrides.site("default", &site).delay, Some(Duration::ZERO));
}

#[test]
fn an_override_of_one_spider_is_none_of_the_others() {
    let overrides =
        overrides("[[override]]\nwhen = 'any'\nspider = 'news'\nfetch.timeout = '5s'\n");
    let page = url("http://a.org/");
    assert_eq!(overrides.page("news", &page, 0).timeout, Some(Duration::from_secs(5)));
    assert_eq!(overrides.page("default", &page, 0), PageOverride::default());
    assert_eq!(overrides.spiders().collect::<Vec<_>>(), [("news", 1)]);
}

#[test]
fn pages_can_be_listed_in_conditions_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let list = "# hourly\n\nhttp://a.org/1\nHTTP://A.org:80/2\n";
    std::fs::write(folder.path().join("hourly.txt"), list).unwrap();
    let text = "[[override]]\nfile = 'hourly.txt'\nrevisit.period = '1h'\n\
                [[override]]\nwhen = ['url http://b.org/1', 'url http://b.org/2 http://a.org/1']\n\
                revisit.period = '2h'\nrevisit.policy = 'once'\n";
    std::fs::write(folder.path().join("harvest.toml"), text).unwrap();
    let overrides = super::super::Config::load(folder.path(), Vec::new()).unwrap().overrides;
    let hours = |page: &str| {
        overrides.page("default", &url(page), 9).period.map(|period| period.as_secs() / 3_600)
    };
    assert_eq!(hours("http://a.org/1"), Some(1));
    assert_eq!(hours("http://a.org/2"), Some(1));
    assert_eq!(hours("http://b.org/2"), Some(2));
    assert_eq!(hours("http://b.org/3"), None);
    assert_eq!(overrides.page("x", &url("http://a.org/1"), 0).policy, Some(Policy::Once));

    std::fs::write(folder.path().join("hourly.txt"), "http://a.org/1\nnews\n").unwrap();
    let failure = super::super::Config::load(folder.path(), Vec::new()).unwrap_err();
    assert!(failure.sentence.contains("hourly.txt line 2: \"news\": "), "{failure}");
    std::fs::remove_file(folder.path().join("hourly.txt")).unwrap();
    let failure = super::super::Config::load(folder.path(), Vec::new()).unwrap_err();
    assert!(failure.sentence.contains("line 2: file = \"hourly.txt\": it cannot"), "{failure}");
}

#[test]
fn every_key_that_reaches_sites_or_pages_has_room_and_no_other() {
    for key in KEYS {
        let raw = super::super::file::parse_value(key.example).unwrap();
        let value = Value::read(key, &raw).unwrap();
        assert_eq!(Table::default().set_site(key.name, &value), key.reach == Reach::Site);
        assert_eq!(Table::default().set_page(key.name, &value), key.reach == Reach::Page);
    }
}

#[test]
fn what_an_override_says_of_a_fetch_goes_into_its_limits() {
    let overrides = overrides(
        "[[override]]\nwhen = 'extension pdf'\nfetch.timeout = '5m'\nfetch.body_bytes_max = '50MB'\n\
         fetch.media_types = ['application/pdf']\n",
    );
    let mut limits = FetchLimits {
        body_bytes_max: 1,
        head_bytes_max: 2,
        connect: Duration::from_secs(3),
        tls: Duration::from_secs(4),
        first_byte: Duration::from_secs(5),
        idle: Duration::from_secs(6),
        total: Duration::from_secs(7),
        media_types: Vec::new(),
        ratio_max: 8,
        wire_bytes_max: None,
    };
    let before = limits.clone();
    overrides.page("x", &url("http://a.org/x.html"), 0).limit(&mut limits);
    assert_eq!(format!("{limits:?}"), format!("{before:?}"));
    overrides.page("x", &url("http://a.org/x.pdf"), 0).limit(&mut limits);
    assert_eq!(limits.total, Duration::from_secs(300));
    assert_eq!(limits.body_bytes_max, 50_000_000);
    assert_eq!(limits.media_types, ["application/pdf"]);
    assert_eq!(limits.connect, before.connect);
}

#[test]
fn mistakes_are_told_with_their_line_and_what_to_write() {
    let begin = "[[override]]\nwhen = 'host a.org'\n";
    refused(
        &format!("{begin}etiquette.dealy = 1\n"),
        "3: unknown key \"etiquette.dealy\" in [[override]]",
        "did you mean \"delay\"?",
    );
    refused(&format!("{begin}delay = 1\n"), "3: unknown key \"delay\" in [[override]]", "whole");
    refused(
        &format!("{begin}etiquette.delay = 'soon'\n"),
        "3: etiquette.delay = \"soon\": \"soon\" does not begin with a number",
        "such as 30s",
    );
    refused(
        &format!("{begin}store.volume_bytes_max = '1GB'\n"),
        "3: store.volume_bytes_max cannot be set for single sites or pages",
        "whole collection",
    );
    refused(
        &format!("{begin}crawl.scope = 'any'\n"),
        "3: crawl.scope cannot be set for single sites or pages",
        "for a spider",
    );
    refused(
        "[[override]]\nwhen = \"path ~ '^/a'\"\netiquette.delay = 1\n",
        "3: etiquette.delay is about whole sites, and the condition about pages",
        "host, domain or suffix",
    );
    refused(
        "[[override]]\nwhen = 'hots a.org'\netiquette.delay = 1\n",
        "2: when = \"hots a.org\": at character 1: expected not, ( or a condition (suffix, domain, \
         host, url, prefix, scheme, port, extension, path, query, parameter, level, type, \
         anchor, dynamic, static \
         or any), found `hots`",
        "as in crawl.rules",
    );
    refused(
        "[[override]]\nwhen = []\ncrawl.depth = 1\n",
        "2: when is no condition",
        "such as host",
    );
    refused(begin, "1: an [[override]] changes nothing", "etiquette.delay");
    refused(
        "[[override]]\ncrawl.depth = 1\n",
        "1: an [[override]] has neither `when` nor `file`",
        "one of them",
    );
    refused(
        "[[override]]\nwhen = 'type text/html'\ncrawl.depth = 1\n",
        "2: when asks for the type of an answer or the text of a link",
        "write it without",
    );
    refused("[override]\nx = 1\n", "1: [override] is one of a list of tables", "[[override]]");
    refused(
        "[[overide]]\nx = 1\n",
        "1: \"overide\" is in no section",
        "did you mean [[override]]?",
    );
}

#[test]
fn the_last_of_ten_thousand_overrides_is_found_and_one_more_is_refused() {
    let mut text = String::new();
    for n in 0..OVERRIDES_MAX {
        write!(text, "[[override]]\nwhen = 'host h{n}.org'\nrevisit.period = '{}s'\n", n + 1)
            .unwrap();
    }
    let overrides = overrides(&text);
    let page = url("http://h9999.org/a/b/c.html");
    let found = overrides.page("default", &page, 1);
    assert_eq!(found.period, Some(Duration::from_secs(10_000)));
    write!(text, "[[override]]\nwhen = 'any'\nrevisit.period = '1s'\n").unwrap();
    refused(&text, "30001: more than 10000 tables [[override]]", "fewer");
}
