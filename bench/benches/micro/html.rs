//! From a page's bytes to its links and text. Ours does much more in the same pass (charset, title, description, rules
//! for robots, hashes of bytes, text and words); the others take references, title and text, and join nothing.

use std::{cell::RefCell, rc::Rc};

use divan::{Bencher, black_box};
use gatherer::{GatherOptions, gather};
use html5gum::{Token, Tokenizer};
use lol_html::{RewriteStrSettings, element, rewrite_str, text};

use crate::pages::{bytes, count, pages};

#[divan::bench_group(name = "links and text (page)")]
mod extract {
    use super::*;

    #[divan::bench(name = "harvestman, everything but language")]
    fn ours(bencher: Bencher) {
        let options = GatherOptions { language: false, ..GatherOptions::default() };
        bencher.counter(bytes()).counter(count()).bench(|| {
            for page in pages() {
                black_box(gather(&page.exchange, &options));
            }
        });
    }

    #[divan::bench(name = "lol_html")]
    fn by_lol_html(bencher: Bencher) {
        bencher.counter(bytes()).counter(count()).bench(|| {
            for page in pages() {
                black_box(with_lol_html(page.html()));
            }
        });
    }

    #[divan::bench(name = "html5gum")]
    fn by_html5gum(bencher: Bencher) {
        bencher.counter(bytes()).counter(count()).bench(|| {
            for page in pages() {
                black_box(with_html5gum(page.html()));
            }
        });
    }
}

fn with_lol_html(page: &str) -> (Vec<String>, String) {
    let (links, out) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(String::new())));
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
    drop(rewrite_str(page, settings));
    (links.take(), out.take())
}

fn with_html5gum(page: &str) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut links, mut out) = (Vec::new(), Vec::new());
    for Ok(token) in Tokenizer::new(page) {
        match token {
            Token::StartTag(mut tag) if &*tag.name == b"a" => {
                links.extend(tag.attributes.remove(&b"href"[..]).map(|value| value.to_vec()));
            }
            Token::String(text) => out.extend_from_slice(&text),
            _ => {}
        }
    }
    (links, out)
}
