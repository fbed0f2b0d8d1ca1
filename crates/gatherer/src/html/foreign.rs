//! A light notion of being inside SVG or MathML, where tags are read by other rules.
//!
//! Not the standard's stack of elements (13.2.6.5), only the borders between HTML and foreign
//! content: `svg` and `math` lead out, the integration points (`foreignObject`, `desc`, `title`,
//! `mi` …) lead back in, HTML's own tags break out.

use super::{Content, Element, Tag};

/// Borders inside borders beyond this many are not noticed: an end tag looks through all of them,
/// and time must stay linear. Real pages nest three or four.
const BORDERS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Borders crossed and not yet left, outermost first. Empty on nearly every page and tag.
    borders: Vec<Border>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Border {
    element: Element,
    inside: Space,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Html,
    Svg,
    Math,
}

impl Foreign {
    /// Whether text and tags here are SVG's or MathML's.
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.space() != Space::Html
    }

    pub(crate) fn is_svg(&self) -> bool {
        self.space() == Space::Svg
    }

    #[inline]
    fn space(&self) -> Space {
        self.borders.last().map_or(Space::Html, |border| border.inside)
    }

    /// Takes notice of a start tag; says how what follows is to be read, and whether the tag itself
    /// is HTML's.
    #[inline]
    pub(crate) fn start_tag(&mut self, tag: &Tag<'_, '_>) -> (Content, bool) {
        if self.borders.is_empty() && !matches!(tag.element, Element::Svg | Element::Math) {
            return (html_content(tag.element), true);
        }
        self.start_tag_near_border(tag)
    }

    fn start_tag_near_border(&mut self, tag: &Tag<'_, '_>) -> (Content, bool) {
        if self.is_inside() && breaks_out(tag) {
            while self.is_inside() {
                self.borders.pop();
            }
        }
        let space = self.space();
        let inside = match (space, tag.element) {
            (Space::Html | Space::Math, Element::Svg) => Some(Space::Svg),
            (Space::Html, Element::Math) => Some(Space::Math),
            (Space::Svg, Element::Svg) => Some(Space::Svg),
            (Space::Svg, Element::ForeignObject | Element::Desc | Element::Title) => {
                Some(Space::Html)
            }
            (
                Space::Math,
                Element::Mi | Element::Mo | Element::Mn | Element::Ms | Element::Mtext,
            ) => Some(Space::Html),
            (Space::Math, Element::AnnotationXml) if holds_html(tag) => Some(Space::Html),
            (Space::Math, Element::Math) => Some(Space::Math),
            _ => None,
        };
        match inside {
            Some(inside) if !tag.self_closing && self.borders.len() < BORDERS_MAX => {
                self.borders.push(Border { element: tag.element, inside });
            }
            Some(_) => {}
            None if space == Space::Html => return (html_content(tag.element), true),
            None => {}
        }
        (Content::Data, false)
    }

    #[inline]
    pub(crate) fn end_tag(&mut self, element: Element) {
        if !self.borders.is_empty() {
            self.end_tag_near_border(element);
        }
    }

    fn end_tag_near_border(&mut self, element: Element) {
        if self.is_inside() && matches!(element, Element::P | Element::Br) {
            while self.is_inside() {
                self.borders.pop();
            }
            return;
        }
        // Up to the nearest integration point: beyond it lies what this tag cannot close.
        for (i, border) in self.borders.iter().enumerate().rev() {
            if border.element == element {
                self.borders.truncate(i);
                return;
            }
            if border.inside == Space::Html {
                return;
            }
        }
    }
}

/// How the content of an HTML element is read (13.2.6.4, scripting off: `noscript` is parsed).
fn html_content(element: Element) -> Content {
    match element {
        Element::Title | Element::Textarea => Content::Rcdata,
        Element::Style | Element::Xmp | Element::Iframe | Element::Noembed | Element::Noframes => {
            Content::Rawtext
        }
        Element::Script => Content::Script,
        Element::Plaintext => Content::Plaintext,
        _ => Content::Data,
    }
}

fn holds_html(tag: &Tag<'_, '_>) -> bool {
    tag.value("encoding").is_some_and(|encoding| {
        ["text/html", "application/xhtml+xml"].iter().any(|t| encoding.eq_ignore_ascii_case(t))
    })
}

/// HTML tags that end foreign content (13.2.6.5).
fn breaks_out(tag: &Tag<'_, '_>) -> bool {
    use Element::{
        B, Big, Blockquote, Body, Br, Center, Code, Dd, Div, Dl, Dt, Em, Embed, Font, H1, H2, H3,
        H4, H5, H6, Head, Hr, I, Img, Li, Listing, Menu, Meta, Nobr, Ol, P, Pre, Ruby, S, Small,
        Span, Strike, Strong, Sub, Sup, Table, Tt, U, Ul, Var,
    };
    match tag.element {
        B | Big | Blockquote | Body | Br | Center | Code | Dd | Div | Dl | Dt | Em | Embed | H1
        | H2 | H3 | H4 | H5 | H6 | Head | Hr | I | Img | Li | Listing | Menu | Meta | Nobr | Ol
        | P | Pre | Ruby | S | Small | Span | Strong | Strike | Sub | Sup | Table | Tt | U | Ul
        | Var => true,
        Font => ["color", "face", "size"].into_iter().any(|name| tag.has(name)),
        _ => false,
    }
}
