//! robots.txt: any bytes are read; asked about any path; the same text gives the same verdict.
#![cfg_attr(fuzzing, no_main)]

use fuzz::{lengthened, timed};
use harvester::robots::{Robots, TOKEN, decode};

fuzz::target!(|data: &[u8]| {
    let data = lengthened(data);
    timed(|| {
        let robots = Robots::parse(&data);
        let again = Robots::read(&decode(&data));
        let rules = robots.rules(TOKEN);
        let _ = (rules.crawl_delay(), robots.sitemaps(), robots.names(TOKEN));
        let text = String::from_utf8_lossy(&data[..data.len().min(2_083)]);
        let long = format!("/{}", "a".repeat(2_000));
        for path in ["/", "/robots.txt", "/a/b.html?c=%64", &long, &text] {
            let verdict = rules.verdict(path);
            assert_eq!(verdict, again.verdict(TOKEN, path));
            assert!(path != "/robots.txt" || verdict.allowed);
        }
    });
});
