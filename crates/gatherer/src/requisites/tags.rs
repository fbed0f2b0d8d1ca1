//! Which attributes of which tags name parts of the page.

use std::borrow::Cow;

use super::{RequisiteSink, srcset};
use crate::html::{Element, Tag};

/// What a `<link>` (or `Link` field) of one of these leads to is loaded with the page.
const PART_RELS: [&str; 9] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "apple-touch-startup-image",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
];

pub(crate) fn is_part_rel(rel: &str) -> bool {
    rel.split_ascii_whitespace()
        .any(|word| PART_RELS.iter().any(|part| word.eq_ignore_ascii_case(part)))
}

impl<'a> RequisiteSink<'a> {
    pub(crate) fn html_tag(&mut self, tag: &Tag<'a, '_>) {
        match tag.element {
            Element::Img | Element::Image | Element::Source => {
                self.attribute(tag, "src");
                self.source_set(tag, "srcset");
            }
            Element::Script | Element::Embed | Element::Track | Element::Audio => {
                self.attribute(tag, "src");
            }
            Element::Video => {
                self.attribute(tag, "src");
                self.attribute(tag, "poster");
            }
            Element::Object => self.attribute(tag, "data"),
            Element::Input if is(tag, "type", "image") => self.attribute(tag, "src"),
            Element::Link if tag.value("rel").is_some_and(|rel| is_part_rel(&rel)) => {
                self.attribute(tag, "href");
                self.source_set(tag, "imagesrcset");
            }
            _ => {}
        }
        self.attribute(tag, "background");
        self.own_style(tag);
    }

    pub(crate) fn svg_tag(&mut self, tag: &Tag<'a, '_>) {
        if matches!(tag.element, Element::Image | Element::Use | Element::Feimage | Element::Script)
        {
            let name = if tag.has("href") { "href" } else { "xlink:href" };
            self.attribute(tag, name);
        }
        self.own_style(tag);
    }

    fn attribute(&mut self, tag: &Tag<'a, '_>, name: &str) {
        if let Some(reference) = tag.value(name) {
            self.push(reference);
        }
    }

    fn source_set(&mut self, tag: &Tag<'a, '_>, name: &str) {
        match tag.value(name) {
            Some(Cow::Borrowed(set)) => {
                srcset::urls(set).for_each(|url| self.push(Cow::Borrowed(url)));
            }
            Some(Cow::Owned(set)) => {
                srcset::urls(&set).for_each(|url| self.push(Cow::Owned(url.to_owned())));
            }
            None => {}
        }
    }

    fn own_style(&mut self, tag: &Tag<'a, '_>) {
        if let Some(style) = tag.value("style") {
            self.style(style);
        }
    }
}

fn is(tag: &Tag<'_, '_>, name: &str, value: &str) -> bool {
    tag.value(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
}
