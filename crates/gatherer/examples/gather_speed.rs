//! What gathering a page costs: `cargo run --release -p gatherer --example gather_speed`.
//!
//! Pages are like those of a measured web: log-normal in size (mean 17 KB, sigma 0.8), about 62 %
//! text, 20 links, with scripts, styles, comments and character references. Beside it the same
//! links and text by lol_html, and the parts that can be measured alone.

use std::{
    cell::RefCell,
    fmt::Write as _,
    hint::black_box,
    rc::Rc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use gatherer::{GatherOptions, Heard, WordPrints, each_number, gather, simhash};
use lol_html::{RewriteStrSettings, element, rewrite_str, text};
use model::{CrawlUrl, Exchange, Headers, Purpose, Timestamp, Timing, WordBits};

const PAGES: usize = 400;
const ROUNDS: usize = 25;

fn main() {
    let mut random = Random(20);
    let exchanges: Vec<Exchange> = (0..PAGES).map(|i| exchange(&page(&mut random, i))).collect();
    let options = GatherOptions::default();
    let found: Vec<_> = exchanges.iter().map(|e| gather(e, &options)).collect();
    let mean = |total: usize| total / PAGES;
    println!(
        "{PAGES} pages, mean {} bytes, {} of text, {} links, language {:?}",
        mean(exchanges.iter().map(|e| e.body.len()).sum()),
        mean(found.iter().map(|g| g.text.len()).sum()),
        mean(found.iter().map(|g| g.links.len()).sum()),
        found[0].language,
    );

    report("gather, all of it", |i| drop(black_box(gather(&exchanges[i], &options))));
    let plain = GatherOptions { language: false, ..GatherOptions::default() };
    report("gather without language", |i| drop(black_box(gather(&exchanges[i], &plain))));
    let undeclared: Vec<Exchange> = exchanges.iter().map(without_lang).collect();
    report("gather, language not declared", |i| drop(black_box(gather(&undeclared[i], &options))));
    report("  of it simhash", |i| {
        black_box(simhash(&found[i].text));
    });
    report("  of it simhash, words and numbers", |i| {
        let (mut words, mut numbers) = (WordBits::for_numbers(), WordBits::for_numbers());
        black_box(WordPrints::telling(&found[i].text, |heard| match heard {
            Heard::Word(word) => words.add(word),
            Heard::Digits(word) => each_number(word, |number| numbers.add_number(number)),
            Heard::Rest(_) => {}
        }));
        black_box((words, numbers));
    });
    report("  of it joining links", |i| {
        let base = exchanges[i].url.base();
        for link in &found[i].links {
            drop(black_box(base.join(link.url.path_and_query())));
        }
    });
    report("lol_html, links and text only", |i| drop(black_box(with_lol_html(&exchanges[i]))));
}

/// Each page's best of all rounds: what is asked is the cost of the code, not of its neighbours.
fn report(name: &str, mut run: impl FnMut(usize)) {
    let mut best = [Duration::MAX; PAGES];
    for _ in 0..ROUNDS {
        for (page, best) in best.iter_mut().enumerate() {
            let start = Instant::now();
            run(page);
            *best = start.elapsed().min(*best);
        }
    }
    let total: Duration = best.iter().sum();
    println!("{name:32} {:7.1} µs a page", total.as_secs_f64() * 1e6 / PAGES as f64);
}

fn with_lol_html(exchange: &Exchange) -> (Vec<String>, String) {
    let links = Rc::new(RefCell::new(Vec::new()));
    let out = Rc::new(RefCell::new(String::new()));
    let (links_in, out_in) = (links.clone(), out.clone());
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(element!("a[href]", move |element| {
            links_in.borrow_mut().extend(element.get_attribute("href"));
            Ok(())
        }))
        .append_element_content_handler(text!("title, body", move |chunk| {
            out_in.borrow_mut().push_str(chunk.as_str());
            Ok(())
        }));
    let page = std::str::from_utf8(&exchange.body).unwrap_or_default();
    drop(rewrite_str(page, settings));
    (links.take(), out.take())
}

fn exchange(page: &str) -> Exchange {
    let mut headers = Headers::new();
    headers.push("Content-Type", "text/html; charset=utf-8");
    let body = Bytes::copy_from_slice(page.as_bytes());
    Exchange {
        url: CrawlUrl::parse("http://site-1.test/section/page").expect("a valid URL"),
        purpose: Purpose::Page,
        started: Timestamp::default(),
        address: None,
        request_head: Bytes::new(),
        response_head: Bytes::new(),
        status: 200,
        headers,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None,
        met: Vec::new(),
        timing: Timing::default(),
        protocol: Default::default(),
    }
}

fn without_lang(exchange: &Exchange) -> Exchange {
    let page = String::from_utf8_lossy(&exchange.body).replace(" lang=\"en\"", "");
    Exchange { body: Bytes::from(page.into_bytes()), ..exchange.clone() }
}

fn page(random: &mut Random, number: usize) -> String {
    let size = (17_000.0 * (0.8 * random.normal() - 0.32).exp()).clamp(1_500.0, 200_000.0) as usize;
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Page {number} &mdash; {}</title>\n\
         <meta name=\"description\" content=\"{}\">\n<link rel=\"canonical\" href=\"/section/page\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n<style>\n",
        random.words(4),
        random.words(12)
    );
    filler(&mut page, size / 12, |i| format!(".c{i} > p {{ margin: 0 {i}px; color: #333 }}\n"));
    page.push_str(
        "</style>\n</head>\n<body class=\"page\">\n<!-- navigation begins here -->\n<nav><ul>\n",
    );
    for i in 0..20 {
        let link = match i % 5 {
            0 => format!("http://site-{}.test/p/{}", random.below(500), random.below(9_000)),
            1 => format!("../other/page-{}.html?x=1&amp;y={i}", random.below(9_000)),
            _ => format!("/section/page-{}", random.below(20_000)),
        };
        let words = random.words(3);
        let _ = writeln!(
            page,
            "<li class=\"item item-{i}\"><a class=\"link\" href=\"{link}\">{words}</a></li>"
        );
    }
    page.push_str("</ul></nav>\n<div id=\"content\">\n");
    let body_end = size * 9 / 10;
    while page.len() < body_end {
        let _ = writeln!(page, "<h2 id=\"s{}\">{}</h2>", page.len(), random.words(5));
        let (one, two, three) = (random.words(30), random.words(4), random.words(35));
        let _ = writeln!(
            page,
            "<p class=\"text\">{one} <em>{two}</em> {three} &amp; more&nbsp;&copy;.</p>"
        );
        let _ = writeln!(
            page,
            "<!-- block {} -->\n<div class=\"box\"><span>{}</span></div>",
            page.len(),
            random.words(6)
        );
    }
    page.push_str("</div>\n<script>\n");
    filler(&mut page, size / 12, |i| {
        format!("function f{i}(a, b) {{ return a < b ? a : '<b>' + b; }}\n")
    });
    page.push_str("</script>\n</body>\n</html>\n");
    page
}

fn filler(page: &mut String, bytes: usize, line: impl Fn(usize) -> String) {
    let end = page.len() + bytes;
    let mut i = 0;
    while page.len() < end {
        page.push_str(&line(i));
        i += 1;
    }
}

/// A small generator of its own (xorshift), so that the pages are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Sum of twelve, less six: near enough.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.below(1_000_000) as f64 / 1e6).sum::<f64>() - 6.0
    }

    fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 40] = [
            "the",
            "of",
            "and",
            "to",
            "in",
            "harvest",
            "crawler",
            "page",
            "is",
            "visible",
            "archive",
            "that",
            "history",
            "for",
            "politeness",
            "frontier",
            "with",
            "change",
            "freshness",
            "a",
            "network",
            "by",
            "server",
            "document",
            "link",
            "it",
            "field",
            "collection",
            "long",
            "spider",
            "version",
            "are",
            "robots",
            "this",
            "measure",
            "language",
            "from",
            "research",
            "country",
            "people",
        ];
        let mut text = String::new();
        for i in 0..count {
            if i > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[self.below(WORDS.len() as u64) as usize]);
        }
        text
    }
}
