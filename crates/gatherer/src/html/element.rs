//! The tag names that mean something to a crawler, and what each means for visible text.
//!
//! A page asks for a name at every tag. Nearly all are of at most eight plain characters: one number, found at its
//! place in a table. To look for it by halves, the processor would guess wrong two or three times.

/// Names of up to 16 bytes fit in one number, so that a name is found by a switch, not by
/// comparing.
const NAME_BYTES_MAX: usize = 16;

macro_rules! elements {
    ($($variant:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Element {
            $($variant,)*
            /// Any other name.
            Other,
        }

        #[expect(non_upper_case_globals, reason = "each named after its variant")]
        mod key {
            $(pub(super) const $variant: u128 = super::pack($name.as_bytes());)*
        }

        const KNOWN: &[(&str, Element)] = &[$(($name, Element::$variant),)*];

        impl Element {
            /// By tag name, without regard to ASCII case.
            #[inline]
            pub(crate) fn of(name: &str) -> Element {
                match short_key(name.as_bytes()) {
                    Some(key) => short_name(key),
                    None => Element::of_any(name),
                }
            }

            /// The same for names of all kinds.
            #[cold]
            fn of_any(name: &str) -> Element {
                if name.len() > NAME_BYTES_MAX {
                    return Element::Other;
                }
                match pack(name.as_bytes()) {
                    $(key::$variant => Element::$variant,)*
                    _ => Element::Other,
                }
            }
        }
    };
}

elements! {
    A "a" Address "address" AnnotationXml "annotation-xml" Area "area" Article "article"
    Aside "aside" Audio "audio" B "b" Base "base" Big "big" Blockquote "blockquote" Body "body" Br "br"
    Caption "caption" Center "center" Code "code" Dd "dd" Desc "desc" Details "details"
    Dialog "dialog" Dir "dir" Div "div" Dl "dl" Dt "dt" Em "em" Embed "embed" Feimage "feimage" Fieldset "fieldset"
    Figcaption "figcaption" Figure "figure" Font "font" Footer "footer" ForeignObject "foreignobject"
    Form "form" Frame "frame" Frameset "frameset" H1 "h1" H2 "h2" H3 "h3" H4 "h4" H5 "h5" H6 "h6"
    Head "head" Header "header" Hgroup "hgroup" Hr "hr" Html "html" I "i" Iframe "iframe" Image "image"
    Img "img" Input "input"
    Legend "legend" Li "li" Link "link" Listing "listing" Main "main"
    Math "math" Menu "menu" Meta "meta" Mi "mi" Mn "mn" Mo "mo" Ms "ms"
    Mtext "mtext" Nav "nav" Nobr "nobr" Noembed "noembed" Noframes "noframes" Noscript "noscript"
    Object "object" Ol "ol" Optgroup "optgroup" Option "option" P "p" Plaintext "plaintext" Pre "pre" Ruby "ruby"
    S "s" Script "script" Search "search" Section "section" Small "small" Source "source" Span "span"
    Strike "strike" Strong "strong" Style "style" Sub "sub" Summary "summary" Sup "sup" Svg "svg"
    Table "table" Tbody "tbody" Td "td" Template "template" Textarea "textarea" Tfoot "tfoot"
    Th "th" Thead "thead" Title "title" Tr "tr" Track "track" Tt "tt" U "u" Ul "ul" Use "use" Var "var"
    Video "video" Xmp "xmp"
}

/// What a tag does to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Break {
    None,
    Space,
    Line,
}

impl Element {
    /// Cells of a table row are parted by a space, everything that is displayed as a block by a
    /// line.
    pub(crate) fn breaks(self) -> Break {
        use Element::{
            Address, Article, Aside, Blockquote, Body, Br, Caption, Center, Dd, Details, Dialog,
            Dir, Div, Dl, Dt, Fieldset, Figcaption, Figure, Footer, Form, Frame, Frameset, H1, H2,
            H3, H4, H5, H6, Head, Header, Hgroup, Hr, Html, Iframe, Legend, Li, Listing, Main,
            Menu, Nav, Ol, Optgroup, Option, P, Plaintext, Pre, Search, Section, Summary, Table,
            Tbody, Td, Textarea, Tfoot, Th, Thead, Title, Tr, Ul, Xmp,
        };
        match self {
            Td | Th | Iframe | Textarea => Break::Space,
            Address | Article | Aside | Blockquote | Body | Br | Caption | Center | Dd
            | Details | Dialog | Dir | Div | Dl | Dt | Fieldset | Figcaption | Figure | Footer
            | Form | Frame | Frameset | H1 | H2 | H3 | H4 | H5 | H6 | Head | Header | Hgroup
            | Hr | Html | Legend | Li | Listing | Main | Menu | Nav | Ol | Optgroup | Option
            | P | Plaintext | Pre | Search | Section | Summary | Table | Tbody | Tfoot | Thead
            | Title | Tr | Ul | Xmp => Break::Line,
            _ => Break::None,
        }
    }

    /// 1 to 6 for `h1` to `h6`.
    pub(crate) fn heading_level(self) -> Option<u8> {
        match self {
            Element::H1 => Some(1),
            Element::H2 => Some(2),
            Element::H3 => Some(3),
            Element::H4 => Some(4),
            Element::H5 => Some(5),
            Element::H6 => Some(6),
            _ => None,
        }
    }
}

/// Places of the table; few names share one.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 9;

/// Short names by the hash of their keys, or at the next free place.
static SHORT_NAMES: [(u64, Element); PLACES] = {
    let mut table = [(0, Element::Other); PLACES];
    let mut n = 0;
    while n < KNOWN.len() {
        let (name, element) = KNOWN[n];
        if let Some(key) = short_key(name.as_bytes()) {
            let mut at = place(key);
            while table[at].0 != 0 {
                at = (at + 1) % PLACES;
            }
            table[at] = (key, element);
        }
        n += 1;
    }
    table
};

const fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS)) as usize
}

#[inline]
fn short_name(key: u64) -> Element {
    let mut at = place(key);
    loop {
        match SHORT_NAMES[at] {
            (found, element) if found == key => return element,
            (0, _) => return Element::Other,
            _ => at = (at + 1) % PLACES,
        }
    }
}

/// One to eight bytes from the space on, with the bit set that makes letters lower: no other bytes become a letter, a
/// digit or a hyphen by it. Never 0.
#[inline]
const fn short_key(name: &[u8]) -> Option<u64> {
    const LOWER: u64 = u64::from_le_bytes([0x20; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let bytes = match name {
        [] => return None,
        [a] => *a as u64,
        [a, b] => *a as u64 | (*b as u64) << 8,
        [a, b, c] => *a as u64 | (*b as u64) << 8 | (*c as u64) << 16,
        [a, b, c, d, ..] if name.len() <= 8 => {
            let (behind, end) = (8 * (name.len() as u32 - 4), name.len());
            let last = [name[end - 4], name[end - 3], name[end - 2], name[end - 1]];
            u32::from_le_bytes([*a, *b, *c, *d]) as u64
                | (u32::from_le_bytes(last) as u64) << behind
        }
        _ => return None,
    };
    let lower = LOWER >> (64 - 8 * name.len() as u32);
    // Every byte is at least a space: taking one away borrows from none. Zero bytes behind the name are left out.
    let too_low = (bytes.wrapping_sub(lower) & !bytes) & (HIGHS >> (64 - 8 * name.len() as u32));
    if too_low == 0 { Some(bytes | lower) } else { None }
}

/// Lower-cased bytes as a number. A zero byte is kept apart from the padding: no name holds 0xff.
const fn pack(name: &[u8]) -> u128 {
    let mut key = 0u128;
    let mut i = 0;
    while i < name.len() {
        let byte = if name[i] == 0 { 0xff } else { name[i].to_ascii_lowercase() };
        key = (key << 8) | byte as u128;
        i += 1;
    }
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Break, Element, KNOWN};

    #[test]
    fn names_are_known_in_any_case_and_only_whole() {
        assert_eq!(Element::of("A"), Element::A);
        assert_eq!(Element::of("foreignObject"), Element::ForeignObject);
        assert_eq!(Element::of("ANNOTATION-xml"), Element::AnnotationXml);
        for name in ["", "aa", "a\0", "\0a", "blockquotes", "annotation-xml-with-more-behind"] {
            assert_eq!(Element::of(name), Element::Other, "{name:?}");
        }
    }

    #[test]
    fn every_name_is_found_in_any_case_and_none_beside_it() {
        for (name, element) in KNOWN {
            assert_eq!(Element::of(name), *element, "{name}");
            assert_eq!(Element::of(&name.to_uppercase()), *element, "{name}");
            let mut bytes = name.as_bytes().to_vec();
            for at in 0..bytes.len() {
                for byte in 0..128 {
                    let was = std::mem::replace(&mut bytes[at], byte);
                    let other = std::str::from_utf8(&bytes).expect("ASCII");
                    assert_eq!(Element::of(other), Element::of_any(other), "{other:?}");
                    bytes[at] = was;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn short_names_are_what_they_are_among_all(name in "[a-z0-9\\-A-Z\u{0}-\u{30}é]{0,9}") {
            prop_assert_eq!(Element::of(&name), Element::of_any(&name));
        }
    }

    #[test]
    fn cells_are_parted_by_less_than_blocks() {
        assert_eq!(Element::Span.breaks(), Break::None);
        assert!(Element::Td.breaks() < Element::Tr.breaks());
    }
}
