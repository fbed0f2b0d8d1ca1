//! robots.txt: reading one of middling length, and asking it about a page. `robotstxt`, a translation of Google's own,
//! keeps nothing and reads the file at every question.

use std::sync::OnceLock;

use divan::{
    Bencher, black_box,
    counter::{BytesCount, ItemsCount},
};
use harvester::robots::{Robots, TOKEN};
use robotstxt::DefaultMatcher;
use texting_robots::Robot;

use crate::pages::pages;

/// Three groups, one of them for everybody with forty rules, a quarter with wildcards.
fn file() -> &'static str {
    static FILE: OnceLock<String> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut text =
            "User-agent: otherbot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n".to_owned();
        for n in 0..40 {
            text += &match n % 4 {
                0 => format!("Disallow: /*?sort{n}=\n"),
                1 => format!("Allow: /public/{n}/\n"),
                _ => format!("Disallow: /private/section-{n}/\n"),
            };
        }
        text + "\nUser-agent: third\nDisallow: /search\n\nSitemap: http://s1.sim.test/sitemap.xml\n"
    })
}

#[divan::bench_group(name = "robots.txt read (file)")]
mod read {
    use super::*;

    #[divan::bench(name = "harvestman")]
    fn ours(bencher: Bencher) {
        bencher
            .counter(BytesCount::of_str(file()))
            .counter(ItemsCount::new(1_usize))
            .bench(|| Robots::parse(file().as_bytes()).rules(TOKEN));
    }

    #[divan::bench(name = "texting_robots")]
    fn texting(bencher: Bencher) {
        bencher
            .counter(BytesCount::of_str(file()))
            .counter(ItemsCount::new(1_usize))
            .bench(|| Robot::new(TOKEN, file().as_bytes()).is_ok());
    }
}

#[divan::bench_group(name = "robots.txt verdict (URL)")]
mod verdict {
    use super::*;

    fn questions() -> ItemsCount {
        ItemsCount::new(pages().len())
    }

    #[divan::bench(name = "harvestman")]
    fn ours(bencher: Bencher) {
        let rules = Robots::parse(file().as_bytes()).rules(TOKEN);
        bencher.counter(questions()).bench(|| {
            for page in pages() {
                black_box(rules.verdict(page.exchange.url.path_and_query()));
            }
        });
    }

    #[divan::bench(name = "texting_robots")]
    fn texting(bencher: Bencher) {
        let robot = Robot::new(TOKEN, file().as_bytes()).expect("a good robots.txt");
        bencher.counter(questions()).bench_local(|| {
            for page in pages() {
                black_box(robot.allowed(page.exchange.url.as_str()));
            }
        });
    }

    #[divan::bench(name = "robotstxt, reading the file each time")]
    fn google(bencher: Bencher) {
        bencher.counter(questions()).bench(|| {
            for page in pages() {
                let mut matcher = DefaultMatcher::default();
                let url = page.exchange.url.as_str();
                black_box(matcher.one_agent_allowed_by_robots(file(), TOKEN, url));
            }
        });
    }
}
