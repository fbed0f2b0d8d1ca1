//! The open elements of a page as its tags go by, and what selectors make of them.
//!
//! Not the standard's tree builder (HTML 13.2.6), but its rules that pages depend on: void elements, end
//! tags that may be left out, end tags that nothing opened, `</a>` inside out. `html` and `body` are
//! matched only where they are written.
//!
//! Bounds: so many open elements are followed ([`DEPTH_MAX`]); each tag looks through them at most twice,
//! so time is linear in the page.

use super::{Join, PARTS_MAX, Part, Selection, Test};
use crate::{
    html::{Break, Element, Tag},
    page::FoldedText,
};

/// Browsers stop at 512; real pages nest some thirty.
const DEPTH_MAX: usize = 256;

const _: () = assert!(2 * PARTS_MAX <= u64::BITS as usize);

/// Follows one page and gathers the text that is selected.
pub(crate) struct Selecting<'a, 'o> {
    selection: &'o Selection,
    open: Vec<Open<'a>>,
    /// Open elements beyond [`DEPTH_MAX`], which are only counted.
    beyond: usize,
    text: FoldedText,
}

struct Open<'a> {
    element: Element,
    name: &'a str,
    /// Parts that this element matches, those before them being matched above it.
    matched: u64,
    /// The same of this element and all above it together.
    above: u64,
}

impl<'a, 'o> Selecting<'a, 'o> {
    pub(crate) fn new(selection: &'o Selection) -> Selecting<'a, 'o> {
        let text = FoldedText::with_capacity(0);
        Selecting { selection, open: Vec::new(), beyond: 0, text }
    }

    pub(crate) fn start_tag(&mut self, tag: &Tag<'a, '_>, is_html: bool) {
        if is_html {
            self.close_implied(tag.element);
        }
        let matched = self.matches(tag);
        let is_void = if is_html { is_void(tag) } else { tag.self_closing };
        // What is watched stands on lines of its own, so that two of them never run together.
        let begins = matched & self.selection.watch != 0;
        self.text.part(if begins { Break::Line } else { tag.element.breaks() });
        if is_void {
            return;
        }
        if self.open.len() == DEPTH_MAX {
            self.beyond += 1;
            return;
        }
        let above = self.above() | matched;
        self.open.push(Open { element: tag.element, name: tag.name, matched, above });
    }

    pub(crate) fn end_tag(&mut self, element: Element, name: &str) {
        self.text.part(element.breaks());
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        // What comes behind them is still inside.
        if matches!(element, Element::Html | Element::Body) {
            return;
        }
        for at in (0..self.open.len()).rev() {
            let open = &self.open[at];
            if open.element == element && open.name.eq_ignore_ascii_case(name) {
                return self.close_at(at);
            }
            if bars(open.element, element) {
                return;
            }
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        if self.takes() {
            self.text.push(text);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text.into_string()
    }

    fn takes(&self) -> bool {
        let (above, selection) = (self.above(), self.selection);
        (selection.watch == 0 || above & selection.watch != 0) && above & selection.ignore == 0
    }

    fn above(&self) -> u64 {
        self.open.last().map_or(0, |open| open.above)
    }

    fn matches(&self, tag: &Tag<'_, '_>) -> u64 {
        let (above, parent) =
            self.open.last().map_or((0, 0), |parent| (parent.above, parent.matched));
        let mut matched = 0;
        for (at, part) in self.selection.parts.iter().enumerate() {
            let before = 1u64 << at >> 1;
            let stands = match part.join {
                Join::Anywhere => true,
                Join::Inside => above & before != 0,
                // The parent of what is nested too deep is not known.
                Join::Child => parent & before != 0 && self.beyond == 0,
            };
            if stands && part.fits(tag) {
                matched |= 1 << at;
            }
        }
        matched
    }

    /// Closes this element; a link or the like, closed inside out, alone, all others with what is in them.
    fn close_at(&mut self, at: usize) {
        self.text.part(match self.open[at].matched & self.selection.watch {
            0 => Break::None,
            _ => Break::Line,
        });
        let inside_out = self.open[at + 1..].iter().any(|open| is_block(open.element));
        if !(is_formatting(self.open[at].element) && inside_out) {
            self.open.truncate(at);
            return;
        }
        self.open.remove(at);
        let mut above = if at == 0 { 0 } else { self.open[at - 1].above };
        for open in &mut self.open[at..] {
            above |= open.matched;
            open.above = above;
        }
    }

    /// End tags that may be left out before this start tag (13.1.2.4, 13.2.6.4).
    fn close_implied(&mut self, element: Element) {
        use Element::{
            A, Body, Dd, Dt, Head, Li, Optgroup, Option, P, Table, Tbody, Td, Tfoot, Th, Thead, Tr,
        };
        let top = self.open.last().map(|open| open.element);
        if top == Some(Head) && !belongs_in_head(element) {
            self.open.pop();
        }
        match element {
            Body => self.close_nearest(&[Head], |_| false),
            Li => self.close_nearest(&[Li], is_list_border),
            Dd | Dt => self.close_nearest(&[Dd, Dt], is_list_border),
            Tr => self.close_nearest(&[Tr], |open| open == Table),
            Td | Th => self.close_nearest(&[Td, Th], |open| matches!(open, Tr | Table)),
            Tbody | Thead | Tfoot => {
                self.close_nearest(&[Tbody, Thead, Tfoot], |open| open == Table);
            }
            Option if top == Some(Option) => {
                self.open.pop();
            }
            Optgroup => self.close_nearest(&[Optgroup, Option], is_block),
            A => self.close_nearest(&[A], |open| bars(open, A)),
            _ if element.heading_level().is_some()
                && top.is_some_and(|top| top.heading_level().is_some()) =>
            {
                self.open.pop();
            }
            _ => {}
        }
        if closes_paragraph(element) {
            self.close_nearest(&[P], |open| bars(open, P));
        }
    }

    fn close_nearest(&mut self, wanted: &[Element], is_border: impl Fn(Element) -> bool) {
        for at in (0..self.open.len()).rev() {
            let element = self.open[at].element;
            if wanted.contains(&element) {
                return self.close_at(at);
            }
            if is_border(element) || element == Element::Template {
                return;
            }
        }
    }
}

impl Part {
    fn fits(&self, tag: &Tag<'_, '_>) -> bool {
        self.name.as_ref().is_none_or(|name| tag.name.eq_ignore_ascii_case(name))
            && self.tests.iter().all(|test| test.holds(tag))
    }
}

impl Test {
    fn holds(&self, tag: &Tag<'_, '_>) -> bool {
        match self {
            Test::Id(id) => tag.value("id").is_some_and(|value| value == *id),
            Test::Class(class) => tag
                .value("class")
                .is_some_and(|value| value.split_ascii_whitespace().any(|word| word == class)),
            Test::Has(name) => tag.has(name),
            Test::Is(name, wanted) => tag.value(name).is_some_and(|value| value == *wanted),
        }
    }
}

/// Whether the end tag of `closing` cannot reach through this open element.
fn bars(open: Element, closing: Element) -> bool {
    use Element::{Caption, Html, Object, Table, Tbody, Td, Template, Tfoot, Th, Thead, Tr};
    match closing {
        Table => open == Template,
        Tbody | Thead | Tfoot | Tr | Td | Th | Caption => matches!(open, Table | Template),
        _ if matches!(open, Table | Td | Th | Caption | Template | Html | Object) => true,
        // Blocks close what was left open in them, and links are closed inside out.
        _ => !is_block(closing) && !is_formatting(closing) && is_block(open),
    }
}

fn is_block(element: Element) -> bool {
    element.breaks() != Break::None
}

fn is_list_border(element: Element) -> bool {
    is_block(element) && !matches!(element, Element::Address | Element::Div | Element::P)
}

/// Elements that a page may close inside out (13.2.6.4.7, the adoption agency).
fn is_formatting(element: Element) -> bool {
    use Element::{A, B, Big, Code, Em, Font, I, Nobr, S, Small, Strike, Strong, Tt, U};
    matches!(
        element,
        A | B | Big | Code | Em | Font | I | Nobr | S | Small | Strike | Strong | Tt | U
    )
}

fn closes_paragraph(element: Element) -> bool {
    use Element::{
        Body, Caption, Frame, Frameset, Head, Html, Iframe, Legend, Optgroup, Option, Tbody, Td,
        Textarea, Tfoot, Th, Thead, Title, Tr,
    };
    is_block(element)
        && !matches!(
            element,
            Body | Caption
                | Element::Br
                | Frame
                | Frameset
                | Head
                | Html
                | Iframe
                | Legend
                | Optgroup
                | Option
                | Tbody
                | Td
                | Textarea
                | Tfoot
                | Th
                | Thead
                | Title
                | Tr
        )
}

fn belongs_in_head(element: Element) -> bool {
    use Element::{Base, Head, Html, Link, Meta, Noscript, Script, Style, Template, Title};
    matches!(
        element,
        Base | Head | Html | Link | Meta | Noscript | Script | Style | Template | Title
    )
}

/// Elements without content and end tag.
fn is_void(tag: &Tag<'_, '_>) -> bool {
    use Element::{Area, Base, Br, Embed, Frame, Hr, Image, Img, Input, Link, Meta, Source, Track};
    match tag.element {
        Area | Base | Br | Embed | Frame | Hr | Image | Img | Input | Link | Meta | Source
        | Track => true,
        Element::Other => ["col", "wbr", "param", "keygen", "bgsound", "basefont"]
            .iter()
            .any(|name| tag.name.eq_ignore_ascii_case(name)),
        _ => false,
    }
}
