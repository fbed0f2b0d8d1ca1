//! The tag names that mean something to a crawler, and what each means for visible text.

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

        impl Element {
            /// By tag name, without regard to ASCII case.
            pub(crate) fn of(name: &str) -> Element {
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
    use super::{Break, Element};

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
    fn cells_are_parted_by_less_than_blocks() {
        assert_eq!(Element::Span.breaks(), Break::None);
        assert!(Element::Td.breaks() < Element::Tr.breaks());
    }
}
