//! What is promised of cookies from a file: both forms are read alike, and none goes where it was not meant to.

use model::{CrawlUrl, Headers, Timestamp};
use proptest::prelude::*;

use super::{super::CookieJar, read};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

const NETSCAPE: &str = "# Netscape HTTP Cookie File\n\n\
.example.org\tTRUE\t/\tFALSE\t1800000000\twide\t1\n\
#HttpOnly_www.example.org\tFALSE\t/a\tTRUE\t0\tsafe\t2\r\n\
example.org\tFALSE\t/\tFALSE\t1600000000\told\t3\n\
other.test\tFALSE\t/\tFALSE\t0\tbare\n";

const JSON: &str = r#"[
 {"name":"wide","value":"1","domain":".example.org","path":"/","secure":false,"hostOnly":false,
  "expirationDate":1800000000.25,"httpOnly":false,"sameSite":"lax","session":false,"storeId":"0"},
 {"name":"safe","value":"2","domain":"www.example.org","path":"/a","secure":true,"httpOnly":true,
  "session":true,"sameSite":null},
 {"name":"old","value":"3","domain":"example.org","path":"/","expires":1600000000},
 {"name":"bare","value":"","domain":"other.test","expires":-1}
]"#;

fn jar(text: &str, site: &str) -> CookieJar {
    let site = CrawlUrl::parse(site).unwrap().site();
    CookieJar::with_preset(&read(text).unwrap(), &site, NOW)
}

fn sent(jar: &CookieJar, url: &str) -> Option<String> {
    jar.header_for(&CrawlUrl::parse(url).unwrap(), NOW)
}

#[test]
fn both_forms_are_read_alike_and_go_where_they_are_meant_to() {
    for text in [NETSCAPE.to_owned(), JSON.to_owned(), format!("{{\"cookies\":{JSON}}}")] {
        assert_eq!(read(&text).unwrap().len(), 4);
        let www = jar(&text, "https://www.example.org/");
        assert_eq!(sent(&www, "https://www.example.org/a/b").as_deref(), Some("safe=2; wide=1"));
        assert_eq!(sent(&www, "http://www.example.org/a").as_deref(), Some("wide=1"));
        assert_eq!(sent(&www, "https://www.example.org/ab").as_deref(), Some("wide=1"));
        let bare = jar(&text, "http://example.org/");
        assert_eq!(sent(&bare, "http://example.org/").as_deref(), Some("wide=1"), "old is over");
        let other = jar(&text, "http://other.test:8080/");
        assert_eq!(sent(&other, "http://other.test:8080/").as_deref(), Some("bare="));
        for stranger in ["http://www.other.test/", "http://badexample.org/", "http://org/"] {
            assert!(jar(&text, stranger).is_empty(), "{stranger}");
        }
    }
}

#[test]
fn a_domain_wider_than_a_registrable_one_reaches_nobody_below() {
    let text = ".co.uk\tTRUE\t/\tFALSE\t0\ta\t1\n.uk\tTRUE\t/\tFALSE\t0\tb\t1\n";
    assert!(jar(text, "http://shop.co.uk/").is_empty());
}

#[test]
fn what_came_from_the_user_is_withheld_also_after_the_server_renewed_it() {
    let url = CrawlUrl::parse("http://www.example.org/").unwrap();
    let mut jar = jar(NETSCAPE, url.as_str());
    assert!(jar.withholds(&url, NOW));
    let mut headers = Headers::new();
    headers.push("Set-Cookie", "wide=new; Domain=example.org");
    headers.push("Set-Cookie", "open=1; Path=/open");
    jar.store(&url, &headers, NOW);
    assert_eq!(sent(&jar, url.as_str()).as_deref(), Some("wide=new"));
    assert!(jar.withholds(&url, NOW));
    let kept = jar.private(NOW);
    assert_eq!(kept.len(), 2, "those of the user: {kept:?}");
    assert!(!format!("{kept:?}").contains("new"), "no value in logs");

    let mut plain = CookieJar::new();
    plain.store(&url, &headers, NOW);
    assert!(!plain.withholds(&url, NOW));
    let mut login = CookieJar::new();
    login.store_private(&url, &headers, NOW);
    assert!(login.withholds(&url, NOW));
}

#[test]
fn a_flood_of_cookies_does_not_push_out_those_of_the_user() {
    let url = CrawlUrl::parse("http://www.example.org/").unwrap();
    let mut jar = jar(NETSCAPE, url.as_str());
    for n in 0..1_000 {
        let mut headers = Headers::new();
        headers.push("Set-Cookie", &format!("c{n}=1"));
        jar.store(&url, &headers, NOW);
    }
    assert!(jar.len() <= 50);
    assert_eq!(jar.private(NOW).len(), 2);
}

#[test]
fn mistakes_are_told_with_their_place_and_without_a_value() {
    let good = "a.test\tFALSE\t/\tFALSE\t0\tn\tv\n";
    let long = format!("a.test\tFALSE\t/\tFALSE\t0\tn\t{}", "v".repeat(5_000));
    let cases: [(&str, &str); 11] = [
        ("a.test FALSE / FALSE 0 n hush", "line 2: a cookie has seven fields"),
        ("a.test\tmaybe\t/\tFALSE\t0\tn\thush", "line 2: the second and fourth"),
        ("a.test\tTRUE\t/\tFALSE\tsoon\tn\thush", "line 2: the fifth field"),
        ("a.test\tTRUE\t/\tFALSE\t0\t\thush", "line 2: a cookie's name"),
        ("a.test\tTRUE\t/\tFALSE\t0\tn\thush\u{1}", "line 2: a cookie's name"),
        ("a.test/x\tTRUE\t/\tFALSE\t0\tn\thush", "line 2: a domain has no path"),
        ("a.test:81\tTRUE\t/\tFALSE\t0\tn\thush", "line 2: a domain has no path"),
        ("\tTRUE\t/\tFALSE\t0\tn\thush", "line 2: that is no domain"),
        (&long, "line 2: name and value are over"),
        ("a b\tTRUE\t/\tFALSE\t0\tn\thush", "line 2: that is no domain"),
        ("x@a.test\tTRUE\t/\tFALSE\t0\tn\thush", "line 2: a domain has no path"),
    ];
    for (line, words) in cases {
        let error = read(&format!("{good}{line}\n")).unwrap_err().to_string();
        assert!(error.starts_with(words) && !error.contains("hush"), "{error}");
    }
    let cases = [
        ("[\n{\"name\":\n hush}]", "line 3: this is not JSON"),
        ("{}", "line 1: an array of cookies"),
        ("[{\"name\":\"a\",\"value\":\"hush\",\"domain\":\"a.test\"},7]", "cookie 2: this is not"),
        ("[{\"name\":\"a\",\"value\":\"hush\"}]", "cookie 1: the `domain`"),
        ("[{\"domain\":\"a.test\",\"value\":\"hush\"}]", "cookie 1: the `name`"),
        ("[{\"domain\":\"a.test\",\"name\":\"a\",\"value\":7}]", "cookie 1: the `value`"),
    ];
    for (text, words) in cases {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(words) && !error.contains("hush"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_cookies_or_a_mistake_and_what_is_sent_is_a_clean_header(
        text in "(([a-z.]{1,9}\t(TRUE|FALSE)\t/\tFALSE\t[0-9e]{1,9}\t\\PC{1,5}\t.{0,9}\n)|.{0,40}){0,4}"
    ) {
        if let Ok(cookies) = read(&text) {
            for cookie in &cookies {
                let url = CrawlUrl::parse(&format!("https://{}/", cookie.domain())).unwrap();
                let jar = CookieJar::with_preset(&cookies, &url.site(), NOW);
                if let Some(header) = jar.header_for(&url, NOW) {
                    prop_assert!(!header.contains(['\r', '\n', '\0']));
                }
            }
        }
    }
}
