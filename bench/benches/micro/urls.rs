//! URLs: from text to the one spelling that counts, alone and against the address of a page. Ours also take the
//! fingerprint and refuse what cannot be crawled, on top of what the `url` crate says.

use divan::{Bencher, black_box, counter::ItemsCount};
use model::CrawlUrl;
use url::Url;

use crate::pages::pages;

fn absolute() -> Vec<String> {
    let joined = pages().iter().flat_map(|page| {
        let base = page.exchange.url.base();
        page.references.iter().filter_map(move |reference| base.join(reference).ok())
    });
    joined.map(|url| url.as_str().to_owned()).collect()
}

fn references() -> ItemsCount {
    ItemsCount::new(pages().iter().map(|page| page.references.len()).sum::<usize>())
}

#[divan::bench_group(name = "URL parse (URL)")]
mod parse {
    use super::*;

    #[divan::bench(name = "harvestman, with fingerprint")]
    fn ours(bencher: Bencher) {
        let all = absolute();
        bencher.counter(ItemsCount::new(all.len())).bench(|| {
            for text in &all {
                black_box(CrawlUrl::parse(text).map(|url| url.fingerprint())).ok();
            }
        });
    }

    #[divan::bench(name = "url")]
    fn plain(bencher: Bencher) {
        let all = absolute();
        bencher.counter(ItemsCount::new(all.len())).bench(|| {
            for text in &all {
                black_box(Url::parse(text)).ok();
            }
        });
    }
}

#[divan::bench_group(name = "URL join (link)")]
mod join {
    use super::*;

    #[divan::bench(name = "harvestman, with fingerprint")]
    fn ours(bencher: Bencher) {
        bencher.counter(references()).bench(|| {
            for page in pages() {
                let base = page.exchange.url.base();
                for reference in &page.references {
                    black_box(base.join(reference).map(|url| url.fingerprint())).ok();
                }
            }
        });
    }

    #[divan::bench(name = "url")]
    fn plain(bencher: Bencher) {
        bencher.counter(references()).bench(|| {
            for page in pages() {
                let base = Url::parse(page.exchange.url.as_str()).ok();
                for reference in &page.references {
                    black_box(base.as_ref().map(|base| base.join(reference)));
                }
            }
        });
    }
}
