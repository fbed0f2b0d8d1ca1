//! What finding a page's family costs: pages that are like no other, pages of few families, and both after a
//! site has been in hand for long. `cargo run --release -p seeder --example family_speed`

use std::{hint::black_box, time::Instant};

use model::CrawlUrl;
use seeder::{Likeness, Loners};

const PAGES: u64 = 200_000;

fn main() {
    let urls: Vec<CrawlUrl> = (0..1_000)
        .filter_map(|n| CrawlUrl::parse(&format!("http://a.example/shop/things/{n}?page={n}")).ok())
        .collect();
    report("each page like no other", &urls, |n| n);
    report("every second page of one of 100 families", &urls, |n| match n % 2 {
        0 => n % 200,
        _ => n,
    });
    report("all of one family", &urls, |_| 1);
}

fn report(what: &str, urls: &[CrawlUrl], text_of: impl Fn(u64) -> u64) {
    let (mut loners, mut families) = (Loners::default(), Vec::new());
    let begun = Instant::now();
    for n in 0..PAGES {
        let like = Likeness::new(scattered(text_of(n)), "A thing of the shop, number 17");
        black_box(loners.join(&mut families, like, &urls[n as usize % urls.len()]));
    }
    let each = begun.elapsed().as_nanos() / u128::from(PAGES);
    println!("{what}: {each} ns a page; {} families", families.len());
}

/// Far from each other: about half of the bits differ.
fn scattered(n: u64) -> u64 {
    let mut bits = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
