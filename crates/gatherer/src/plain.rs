//! Links in plain text: `http://` and `https://` where they stand.

use std::borrow::Cow;

use memchr::memmem;
use model::{LinkKind, LinkRel};

use crate::page::{LinkSink, RawLink};

pub(crate) fn read_plain<'a>(text: &'a str, links: &mut LinkSink<'a>) {
    let bytes = text.as_bytes();
    let mut free_from = 0;
    for colon in memmem::find_iter(bytes, b"://") {
        let Some(start) = scheme_start(bytes, colon).filter(|&start| start >= free_from) else {
            continue;
        };
        let end = start + url_length(&text[start..]);
        free_from = end;
        if end > colon + 3 {
            links.push(RawLink {
                reference: Cow::Borrowed(&text[start..end]),
                kind: LinkKind::Text,
                rel: LinkRel::default(),
                anchor: String::new(),
            });
        }
    }
}

fn scheme_start(bytes: &[u8], colon: usize) -> Option<usize> {
    let scheme = |length: usize, word: &[u8]| {
        let start = colon.checked_sub(length)?;
        let is_word = bytes[start..colon].eq_ignore_ascii_case(word);
        let is_whole = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
        (is_word && is_whole).then_some(start)
    };
    scheme(5, b"https").or_else(|| scheme(4, b"http"))
}

/// Up to white space or a mark that no URL holds unescaped, without the sentence's punctuation.
fn url_length(text: &str) -> usize {
    let end = text
        .find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`{}|\\^".contains(c))
        .unwrap_or(text.len());
    let mut url = &text[..end];
    // A closing bracket belongs to the URL only if it was opened in it.
    let mut unopened = url.matches(')').count().saturating_sub(url.matches('(').count());
    loop {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']']);
        match url.strip_suffix(')') {
            Some(shorter) if unopened > 0 => {
                unopened -= 1;
                url = shorter;
            }
            _ => return url.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LinkSink, read_plain};

    fn found(text: &str) -> Vec<String> {
        let mut links = LinkSink::new(100);
        read_plain(text, &mut links);
        links.taken.into_iter().map(|link| link.reference.into_owned()).collect()
    }

    #[test]
    fn urls_are_cut_out_of_sentences() {
        for (text, expected) in [
            ("see http://a.test/x. Then", &["http://a.test/x"][..]),
            ("(HTTPS://a.test/x_(y)), <http://b.test>", &["HTTPS://a.test/x_(y)", "http://b.test"]),
            ("http://a.test/?u=http://b.test/", &["http://a.test/?u=http://b.test/"]),
            ("xhttp://a.test ftp://a.test ://x http:// https://", &[]),
            ("«http://a.test/é»", &["http://a.test/é»"]),
            ("\"http://a.test\"'", &["http://a.test"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn links_over_the_limit_are_counted() {
        let mut links = LinkSink::new(2);
        read_plain("http://a.test http://b.test http://c.test", &mut links);
        assert_eq!((links.taken.len(), links.over), (2, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(http|s|://|[.)(]|é|[\u{0}-\u{ffff}]){0,60}") {
            found(&text);
        }
    }
}
