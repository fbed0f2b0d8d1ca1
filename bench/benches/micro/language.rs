//! The language of a page's text. Ours first believes what the page declares, where that is plausible; the simulated
//! pages declare theirs, so it is asked with and without.

use divan::{Bencher, black_box};
use gatherer::judge_language;

use crate::pages::{count, pages};

/// What the others are given: their cost grows with the text.
const SAMPLE: usize = 1_000;

fn sample(text: &str) -> &str {
    text.char_indices().nth(SAMPLE).map_or(text, |(end, _)| &text[..end])
}

#[divan::bench_group(name = "language (page)")]
mod guess {
    use super::*;

    fn each<T>(bencher: Bencher, guess: impl Fn(&str) -> T + Sync) {
        bencher.counter(count()).bench(|| {
            for page in pages() {
                black_box(guess(&page.text));
            }
        });
    }

    #[divan::bench(name = "harvestman, not declared")]
    fn ours(bencher: Bencher) {
        each(bencher, |text| judge_language(text, []));
    }

    #[divan::bench(name = "harvestman, declared")]
    fn declared(bencher: Bencher) {
        let declared: Vec<String> = pages().iter().map(|page| declared_in(page.html())).collect();
        bencher.counter(count()).bench(|| {
            for (page, declared) in pages().iter().zip(&declared) {
                black_box(judge_language(&page.text, [declared.as_str()]));
            }
        });
    }

    #[divan::bench(name = "whatlang, 1,000 characters")]
    fn by_whatlang(bencher: Bencher) {
        each(bencher, |text| whatlang::detect(sample(text)));
    }

    #[divan::bench(name = "whichlang, 1,000 characters")]
    fn by_whichlang(bencher: Bencher) {
        each(bencher, |text| whichlang::detect_language(sample(text)));
    }
}

fn declared_in(html: &str) -> String {
    let tag = html.split_once("<html lang=\"").and_then(|(_, rest)| rest.split('"').next());
    tag.unwrap_or_default().to_owned()
}
