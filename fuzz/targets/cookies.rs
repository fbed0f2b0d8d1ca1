//! Cookies: any lines are taken or left, what is sent is a clean header, and nothing reaches another site.
#![cfg_attr(fuzzing, no_main)]

use fuzz::timed;
use harvester::http::{CookieJar, cookies_file};
use model::{CrawlUrl, Headers, Timestamp};

const NOW: Timestamp = Timestamp(1_760_000_000_000);

fuzz::target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let url = |text: &str| CrawlUrl::parse(text).expect("a valid URL");
    timed(|| {
        let mut jar = CookieJar::new();
        let mut headers = Headers::new();
        for line in text.split('\n') {
            headers.push("Set-Cookie", line);
        }
        jar.store(&url("http://www.example.co.uk/a/b"), &headers, NOW);
        if text.len() % 2 == 0 {
            jar.store_private(&url("https://www.example.co.uk/a/"), &headers, NOW);
        }
        for place in
            ["http://www.example.co.uk/a/b", "https://example.co.uk/", "http://x.example.co.uk/"]
        {
            if let Some(sent) = jar.header_for(&url(place), NOW) {
                assert!(!sent.contains(['\r', '\n', '\0']), "{sent:?}");
            }
        }
        for place in ["http://other.co.uk/a/b", "http://co.uk/a/b", "http://aexample.co.uk/a/b"] {
            assert_eq!(jar.header_for(&url(place), NOW), None, "{place}");
        }
        if let Ok(preset) = cookies_file::read(&text) {
            let site = url("http://www.example.co.uk/").site();
            let jar = CookieJar::with_preset(&preset, &site, NOW);
            if let Some(sent) = jar.header_for(&url("http://www.example.co.uk/a"), NOW) {
                assert!(!sent.contains(['\r', '\n', '\0']), "{sent:?}");
            }
        }
    });
});
