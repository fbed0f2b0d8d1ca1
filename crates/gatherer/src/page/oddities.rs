//! What is odd about a page as a whole: how deep it nests, how long its longest piece is, whether scripts
//! do its work. Counted in passing; nothing here changes how the page is read.

use crate::html::{Element, Tag};

/// Browsers nest no deeper (Blink and WebKit stop at 512).
pub(crate) const DEPTH_MAX: u32 = 512;
/// An attribute, comment or line as long as this is no writing: pictures in `data:` URLs are shorter.
pub(crate) const PIECE_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Oddities {
    depth: u32,
    pub(crate) deepest: u32,
    pub(crate) long: Option<LongPiece>,
    pub(crate) has_scripts: bool,
    /// The page is long enough to hold a long piece.
    pub(crate) may_be_long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongPiece {
    Attribute,
    Comment,
    Line,
}

impl LongPiece {
    pub fn word(self) -> &'static str {
        match self {
            LongPiece::Attribute => "attribute",
            LongPiece::Comment => "comment",
            LongPiece::Line => "line",
        }
    }
}

impl Oddities {
    pub(crate) fn new(page: &str) -> Oddities {
        Oddities { may_be_long: page.len() > PIECE_BYTES_MAX, ..Oddities::default() }
    }

    #[inline]
    pub(crate) fn start_tag(&mut self, tag: &Tag<'_, '_>) {
        if nests(tag.element) {
            self.depth += 1;
            self.deepest = self.deepest.max(self.depth);
        }
        self.has_scripts |= tag.element == Element::Script;
        if self.may_be_long {
            let values = tag.attributes.iter().map(|a| a.value.len().max(a.name.len()));
            self.piece(values.max().unwrap_or(0), LongPiece::Attribute);
        }
    }

    #[inline]
    pub(crate) fn end_tag(&mut self, element: Element) {
        self.depth = self.depth.saturating_sub(u32::from(nests(element)));
    }

    pub(crate) fn text(&mut self, text: &str) {
        if self.may_be_long && text.len() > PIECE_BYTES_MAX {
            let longest = text.split('\n').map(str::len).max().unwrap_or(0);
            self.piece(longest, LongPiece::Line);
        }
    }

    pub(crate) fn piece(&mut self, bytes: usize, piece: LongPiece) {
        if bytes > PIECE_BYTES_MAX {
            self.long.get_or_insert(piece);
        }
    }
}

/// Elements that must be closed. Where end tags may be left out (`li`, `p`, `td`), a long list would
/// look like a deep one.
fn nests(element: Element) -> bool {
    use Element::{
        Article, Aside, B, Blockquote, Center, Details, Dir, Div, Dl, Fieldset, Font, Footer, Form,
        Header, I, Main, Menu, Nav, Ol, Section, Span, Table, Ul,
    };
    matches!(
        element,
        Article
            | Aside
            | B
            | Blockquote
            | Center
            | Details
            | Dir
            | Div
            | Dl
            | Fieldset
            | Font
            | Footer
            | Form
            | Header
            | I
            | Main
            | Menu
            | Nav
            | Ol
            | Section
            | Span
            | Table
            | Ul
    )
}
