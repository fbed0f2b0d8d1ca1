//! What judging a URL costs, in nanoseconds: against 1,000 rules and 100,000 blocked hosts, and with a
//! user's script.
//! Where the system tells it, the time of the processor is counted, so that a busy machine tells the same.
//!
//! `cargo run --release -p seeder --example judge_speed`

use std::{fs, sync::Arc, time::Instant};

use model::{Candidate, CrawlUrl, PageTerms, SpiderId};
use seeder::{Block, Blocks, RuleList, Script, SeedSet, SpiderRules};

const ROUNDS: u32 = 200;

fn main() {
    let candidates = candidates();
    let seeds: SeedSet = [&candidates[0].url].into_iter().collect();
    let plain = SpiderRules { scope: seeder::Scope::Any, ..SpiderRules::default() };
    tell("no rules of the user's", &plain, &candidates, &seeds);

    let list = RuleList::parse(&rules(1_000)).expect("the rules of this example are good");
    let ruled = SpiderRules { list, ..plain.clone() };
    tell("1,000 rules", &ruled, &candidates, &seeds);

    let blocked = SpiderRules { blocks: blocks(100_000), ..ruled };
    tell("1,000 rules and 100,000 blocked hosts", &blocked, &candidates, &seeds);

    let mut texts = rules(990);
    texts.extend((0..10).map(|at| format!("reject type image/{at} and not host a{at}.org")));
    let list = RuleList::parse(&texts).expect("the rules of this example are good");
    let typed = SpiderRules { list, ..blocked };
    tell("the same, 10 of the rules waiting for the type", &typed, &candidates, &seeds);

    let source = r#"fn crawl(url) {
        url.host.ends_with(".org") && !url.path.contains("/private/") && url.extension != "pdf"
    }"#;
    let script =
        Script::compile("filter.rhai", source).expect("the script of this example is good");
    let filtered = SpiderRules { filter: Some(Arc::new(script)), ..plain };
    tell("a script", &filtered, &candidates, &seeds);
}

/// Hosts, domains, suffixes, prefixes, patterns, extensions, parameters and mixtures.
fn rules(count: usize) -> Vec<String> {
    let rule = |at: usize| match at % 10 {
        0 | 1 => format!("reject host h{at}.example.net"),
        2 | 3 => format!("reject domain d{at}.org and not path ~ '^/public/'"),
        4 => format!("accept suffix .s{at}.pt"),
        5 => format!("reject prefix https://p{at}.example.org/docs/"),
        6 => format!("reject path ~ '^/section{at}/'"),
        7 => format!("reject extension x{at} y{at}"),
        8 => format!("reject parameter p{at}"),
        _ => format!("reject host m{at}.org and (path ~ '/old/' or level > 5)"),
    };
    (0..count).map(rule).collect()
}

fn blocks(count: usize) -> Blocks {
    let blocks = Blocks::default();
    let parsed = |at: usize| Block::parse(&format!("blocked{at}.example.com")).ok();
    assert_eq!(blocks.add((0..count).filter_map(parsed)), count as u64);
    blocks
}

fn candidates() -> Vec<Candidate> {
    let candidate = |at: u32| {
        let text = match at % 4 {
            0 => format!("https://www.site{at}.org/articles/2024/05/some-title-{at}.html"),
            1 => format!("http://site{at}.org/index.php?page={at}&lang=pt"),
            2 => format!("https://a.b.site{at}.com.pt/images/picture{at}.jpg"),
            _ => format!("https://d{at}.org/public/section{at}/"),
        };
        let url = CrawlUrl::parse(&text).expect("the URLs of this example are good");
        Candidate {
            url,
            spider: SpiderId(1),
            level: 2,
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            referrer: None,
        }
    };
    (0..1_000).map(candidate).collect()
}

fn tell(what: &str, rules: &SpiderRules, candidates: &[Candidate], seeds: &SeedSet) {
    let round = || {
        let accepted = |c: &&Candidate| rules.judge(c, seeds) == model::Verdict::Accept;
        candidates.iter().filter(accepted).count()
    };
    let accepted = round();
    let (begun, worked) = (Instant::now(), processor());
    let total: usize = (0..ROUNDS).map(|_| round()).sum();
    let elapsed = begun.elapsed().as_nanos() as u64;
    let spent = worked.zip(processor()).map_or(elapsed, |(from, to)| to - from);
    let each = spent / (u64::from(ROUNDS) * candidates.len() as u64);
    assert_eq!(total, accepted * ROUNDS as usize);
    println!("{what}: {each} ns a URL ({accepted} of {} accepted)", candidates.len());
}

/// Nanoseconds that this thread had a processor.
fn processor() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
