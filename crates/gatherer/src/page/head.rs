//! Whether what comes stands in the page's head, without a tree: where the head ends is told by the tags and the text
//! (HTML standard 13.2.6.4.3 to 13.2.6.4.6). What may name the page itself counts only there: in the body stand
//! comments of visitors and articles of others.

use crate::html::{Content, Element, Tag, push_decoded};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the end of the head, also where no tag has opened it.
    #[default]
    Head,
    /// Behind `</head>`: what belongs into the head is still put there.
    After,
    Body,
}

impl Place {
    pub(crate) fn is_head(self) -> bool {
        self != Place::Body
    }

    /// Not called for what stands in a `<template>`.
    #[inline]
    pub(crate) fn start_tag(&mut self, tag: &Tag<'_, '_>) {
        if self.is_head() && !self.holds(tag) {
            *self = Place::Body;
        }
    }

    fn holds(self, tag: &Tag<'_, '_>) -> bool {
        use Element::{
            Base, Head, Html, Link, Meta, Noframes, Noscript, Other, Script, Style, Template, Title,
        };
        match tag.element {
            Html | Head | Base | Link | Meta | Noframes | Script | Style | Template | Title => true,
            Noscript => self == Place::Head,
            Other => ["basefont", "bgsound"].iter().any(|name| tag.name.eq_ignore_ascii_case(name)),
            _ => false,
        }
    }

    /// Not called for what stands in a `<template>`.
    #[inline]
    pub(crate) fn end_tag(&mut self, element: Element) {
        *self = match (*self, element) {
            (Place::Head, Element::Head) => Place::After,
            (_, Element::Body | Element::Html | Element::Br) => Place::Body,
            (place, _) => place,
        }
    }

    /// Not called for what stands in a `<template>`.
    #[inline]
    pub(crate) fn text(&mut self, text: &str, content: Content) {
        if self.is_head() && content == Content::Data && !is_blank(text) {
            *self = Place::Body;
        }
    }
}

fn is_blank(text: &str) -> bool {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let mut all = true;
    push_decoded(text, |piece| all &= piece.chars().all(blank));
    all
}
