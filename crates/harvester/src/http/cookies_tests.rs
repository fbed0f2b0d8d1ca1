//! What the cookie jar promises: the public parser and date cases, and the borders between sites.

use model::{
    CrawlUrl, Headers, Timestamp,
    testing::{conformance, url},
};
use proptest::prelude::*;
use serde_json::Value;

use super::{
    super::cookie_date::parse_cookie_date, COOKIES_MAX, CookieJar, HEADER_BYTES_MAX,
    refused_cookies,
};

/// 2012-01-01: some cases expire in 2007, others last to 2019.
const NOW: Timestamp = Timestamp(1_325_376_000_000);

fn data(name: &str) -> Option<Value> {
    let path = conformance(&format!("cookies/{name}"))?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

fn set(jar: &mut CookieJar, from: &str, line: &str) {
    let mut headers = Headers::new();
    headers.push("Set-Cookie", line);
    jar.store(&url(from), &headers, NOW);
}

fn ask(jar: &CookieJar, to: &str) -> Option<String> {
    jar.header_for(&url(to), NOW)
}

/// What a client that follows the case's `Location` would send next.
fn answer_to(case: &Value) -> Vec<u8> {
    let id = case["id"].as_str().unwrap();
    let from = url(&format!("http://home.example.org:8888/cookie-parser?{id}"));
    let mut to = from.join(&format!("/cookie-parser-result?{id}")).unwrap();
    let mut headers = Headers::new();
    for line in case["response_headers"].as_array().unwrap() {
        let (name, value) = line.as_str().unwrap().split_once(':').unwrap();
        let value = latin1(value);
        let value = String::from_utf8(value)
            .unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect());
        if name.eq_ignore_ascii_case("location") {
            to = from.join(value.trim()).unwrap();
        } else {
            headers.push(name, value.trim());
        }
    }
    let mut jar = CookieJar::new();
    jar.store(&from, &headers, NOW);
    jar.header_for(&to, NOW).map_or_else(Vec::new, |h| format!("Cookie: {h}").into_bytes())
}

#[test]
fn every_public_parser_case_is_answered_as_its_authors_say() {
    let Some(data) = data("parser_cases.json") else { return };
    let cases = data["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let got = answer_to(case);
        // Case 0028 expects a copy of its own answer's lines: no `Cookie` header, so none.
        let want = case["cookie_header"].as_str().unwrap();
        let want = if want.starts_with("Cookie:") { want } else { "" };
        if got != latin1(want) {
            wrong.push(format!("{}: {}", case, String::from_utf8_lossy(&got)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_public_date_is_read_as_its_authors_say() {
    for file in ["dates-examples.json", "dates-bsd-examples.json"] {
        let Some(data) = data(file) else { return };
        let mut wrong = Vec::new();
        for case in data.as_array().unwrap() {
            let got = parse_cookie_date(case["test"].as_str().unwrap());
            let want = case["expected"].as_str().map(|text| {
                let time = httpdate::parse_http_date(text).unwrap();
                let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
                Timestamp(i64::try_from(since.as_millis()).unwrap())
            });
            if got != want {
                wrong.push(format!("{case}: {got:?} not {want:?}"));
            }
        }
        assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn no_cookie_crosses_a_registrable_domain() {
    let reject = [
        ("http://a.co.uk/", "k=v; domain=co.uk"),
        ("http://a.example.com/", "k=v; domain=com"),
        ("http://badexample.com/", "k=v; domain=example.com"),
        ("http://example.com/", "k=v; domain=other.com"),
        ("http://example.com/", "k=v; domain=www.example.com"),
        ("http://1.2.3.4/", "k=v; domain=2.3.4"),
        ("http://a.github.io/", "k=v; domain=github.io"),
    ];
    for (from, line) in reject {
        let mut jar = CookieJar::new();
        set(&mut jar, from, line);
        assert!(jar.is_empty(), "{line} from {from}");
    }
    let mut jar = CookieJar::new();
    set(&mut jar, "http://www.example.co.uk/", "k=v; domain=example.co.uk");
    assert_eq!(ask(&jar, "http://shop.example.co.uk/").as_deref(), Some("k=v"));
    for to in ["http://other.co.uk/", "http://badexample.co.uk/", "http://co.uk/"] {
        assert_eq!(ask(&jar, to), None, "{to}");
    }
}

#[test]
fn host_only_and_secure_cookies_stay_where_they_belong() {
    let mut jar = CookieJar::new();
    set(&mut jar, "https://example.com/", "host=1");
    set(&mut jar, "https://example.com/", "safe=1; Secure; domain=example.com");
    assert_eq!(ask(&jar, "https://example.com/").as_deref(), Some("host=1; safe=1"));
    assert_eq!(ask(&jar, "https://www.example.com/").as_deref(), Some("safe=1"));
    assert_eq!(ask(&jar, "http://www.example.com/"), None);
    set(&mut jar, "http://example.org/", "__Secure-a=1");
    set(&mut jar, "https://example.org/", "__Host-b=1; Secure; Path=/; Domain=example.org");
    assert_eq!(ask(&jar, "https://example.org/"), None);
}

#[test]
fn a_flood_of_cookies_costs_only_itself() {
    let mut jar = CookieJar::new();
    for n in 0..10_000 {
        set(&mut jar, "http://example.com/", &format!("c{n}={}", "x".repeat(200)));
    }
    set(&mut jar, "http://example.com/", &format!("big={}", "x".repeat(1_000_000)));
    assert_eq!(jar.len(), COOKIES_MAX);
    assert!(ask(&jar, "http://example.com/").unwrap().len() <= HEADER_BYTES_MAX);
}

proptest! {
    #[test]
    fn any_line_is_taken_or_left_and_what_is_sent_is_a_clean_header(line in "\\PC{0,200}|.{0,200}") {
        let mut jar = CookieJar::new();
        set(&mut jar, "http://www.example.com/a/b", &line);
        if let Some(header) = ask(&jar, "http://www.example.com/a/b") {
            prop_assert!(!header.contains(['\r', '\n', '\0']));
        }
        prop_assert_eq!(ask(&jar, "http://example.net/a/b"), None);
    }

    #[test]
    fn any_text_is_a_date_or_none(text in ".{0,60}") {
        let _ = parse_cookie_date(&text);
    }
}

#[test]
fn what_was_set_over_https_is_not_sent_over_http() {
    let mut jar = CookieJar::new();
    set(&mut jar, "https://example.com/", "own=1");
    set(&mut jar, "http://example.com/", "open=1");
    assert_eq!(ask(&jar, "http://example.com/").as_deref(), Some("open=1"));
    assert_eq!(ask(&jar, "https://example.com/").as_deref(), Some("own=1; open=1"));
}

#[test]
fn what_is_refused_is_told_by_kind() {
    let mut headers = Headers::new();
    (0..60).for_each(|n| headers.push("Set-Cookie", &format!("c{n}=1")));
    headers.push("Set-Cookie", "a=1; Domain=com");
    headers.push("Set-Cookie", "a=1; Domain=other.example");
    headers.push("Set-Cookie", &format!("a={}", "x".repeat(5_000)));
    let url = CrawlUrl::parse("http://www.example.com/").unwrap();
    let refused = refused_cookies(&url, &headers);
    assert_eq!(refused, [("too long", 1), ("for another domain", 2), ("too many", 10)]);
}
