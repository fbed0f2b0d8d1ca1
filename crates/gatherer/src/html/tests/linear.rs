//! Any bytes are read, each a bounded number of times: counted, not timed.

use proptest::prelude::*;

use super::super::{Content, Element, Foreign, Start, Tag, TokenSink, tokenize_from};

/// Looks at a byte are few: a `<` is looked at by the search for it, by the test for markup, and by
/// the tag's reader.
const LOOKS_PER_BYTE_MAX: u64 = 8;

/// Switches states as a page does.
#[derive(Default)]
struct Counter {
    foreign: Foreign,
    tokens: u64,
    attributes: u64,
}

impl<'a> TokenSink<'a> for Counter {
    fn start_tag(&mut self, tag: &Tag<'a, '_>) -> Content {
        self.tokens += 1;
        self.attributes += tag.attributes.len() as u64;
        self.foreign.start_tag(tag).0
    }

    fn end_tag(&mut self, element: Element, _name: &'a str) {
        self.tokens += 1;
        self.foreign.end_tag(element);
    }

    fn text(&mut self, _text: &'a str, _content: Content) {
        self.tokens += 1;
    }

    fn cdata_allowed(&self) -> bool {
        self.foreign.is_inside()
    }
}

fn looks(page: &str) -> u64 {
    let mut counter = Counter::default();
    let start = Start { content: Content::Data, open: "" };
    let looked = tokenize_from(page, start, &mut counter);
    let bytes = page.len() as u64;
    assert!(counter.tokens <= bytes && counter.attributes <= bytes);
    looked
}

#[test]
fn hostile_pages_are_read_in_linear_time() {
    const BYTES: usize = 400_000;
    for unit in [
        "<",
        "</",
        "<!",
        "<!-",
        "<!--",
        "<!-- -",
        "<!--->",
        "-->",
        "<?",
        "<ul><li>",
        "<div>",
        "<a ",
        "<a b=",
        "<a b=\"",
        "<a b='x' ",
        "<a/",
        "&",
        "&#",
        "&amp",
        "<script>",
        "<script><!--",
        "<script><!--<script>",
        "</script",
        "<title>",
        "</titl",
        "<textarea></textare",
        "<svg>",
        "<svg><![CDATA[",
        "]]",
        "<![CDATA[",
        "<svg><title>",
        "<math><mi>",
        "<svg><p>",
        "<svg></g>",
        "</svg>",
        "<template>",
        "<plaintext>",
        ">",
        "=",
        "\"",
        "é<",
        "\0<a\0>",
        "<a href=x>",
        "<!doctype",
        "<style><",
        "<svg><foreignobject></svg>",
    ] {
        let page = unit.repeat(BYTES / unit.len());
        let looked = looks(&page);
        let limit = LOOKS_PER_BYTE_MAX * page.len() as u64 + 64;
        assert!(looked <= limit, "{unit:?}: {looked} looks at {} bytes", page.len());
    }
}

#[test]
fn a_long_attribute_is_looked_at_once() {
    for (before, unit, after) in
        [("<a href=\"", "x", "\">"), ("<a href=", "x", ">"), ("<a ", "y", "=z>"), ("<", "q", ">")]
    {
        let page = format!("{before}{}{after}", unit.repeat(1_000_000));
        assert!(looks(&page) < 2_000_100, "{before}");
    }
}

proptest! {
    #[test]
    fn any_markup_is_read_wherever_it_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "/", "!", "--", "-", "=", "\"", "'", " ", "&", "&amp;", "&#x", "a", "script", "/script",
            "title", "textarea", "style", "svg", "math", "mi", "foreignObject", "p", "[CDATA[", "]]>", "doctype",
            "é", "\u{0}", "\u{10ffff}", "plaintext", "template", "\n", "?",
        ]), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let page = parts.concat();
        let places: Vec<usize> = page.char_indices().map(|(i, _)| i).chain([page.len()]).collect();
        for piece in [page.as_str(), &page[..places[cut.index(places.len())]]] {
            prop_assert!(looks(piece) <= LOOKS_PER_BYTE_MAX * piece.len() as u64 + 64);
        }
    }
}
