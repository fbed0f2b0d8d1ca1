//! Listens to a page's tokens and takes what a crawler wants of them.
//!
//! What counts as visible: everything outside script, style, template, textarea, iframe and the
//! like, and the first title, which stands first. Text that is only hidden by the `hidden`
//! attribute or by `display: none` is kept: pages hide tabs, menus and long passages until a click,
//! and without a tree an element that is never closed would swallow the rest of the page. The
//! contents of a `<template>` are no text unless it is a shadow root (`shadowrootmode`), which
//! browsers show; its links count.

use std::borrow::Cow;

use model::{LinkKind, LinkRel, limits};

use super::{
    fold::FoldedText,
    head::Place,
    links::{LinkSink, RawLink, link_kind, rel_bits},
    meta::Meta,
    oddities::{LongPiece, Oddities},
};
use crate::{
    GatherOptions,
    fields::RawRefresh,
    html::{Content, Element, Foreign, Tag, TokenSink, push_decoded, replace_nul, tokenize},
    requisites::RequisiteSink,
    robots::Robots,
    selection::Selecting,
};

/// Headings longer than this are paragraphs in disguise.
const HEADING_CHARS_MAX: usize = 300;

/// What one pass took.
#[derive(Debug)]
pub(crate) struct PageParts<'a> {
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) headings: Vec<(u8, String)>,
    pub(crate) text: String,
    /// The part of the text that tells of changes, when only a part does.
    pub(crate) selected: Option<String>,
    pub(crate) links: LinkSink<'a>,
    pub(crate) requisites: RequisiteSink<'a>,
    pub(crate) base: Option<Cow<'a, str>>,
    /// `<html lang>`, or the `content-language` pragma.
    pub(crate) language: Option<Cow<'a, str>>,
    pub(crate) robots: Robots,
    pub(crate) refresh: Option<RawRefresh>,
    pub(crate) oddities: Oddities,
}

impl<'a> PageParts<'a> {
    /// Only what was known before the body.
    pub(crate) fn without_body(links: LinkSink<'a>) -> PageParts<'a> {
        PageParts {
            title: String::new(),
            description: String::new(),
            headings: Vec::new(),
            text: String::new(),
            selected: None,
            links,
            requisites: RequisiteSink::default(),
            base: None,
            language: None,
            robots: Robots::default(),
            refresh: None,
            oddities: Oddities::default(),
        }
    }
}

/// `links` and `requisites` may hold some already (from header fields).
pub(crate) fn read_page<'a>(
    page: &'a str,
    links: LinkSink<'a>,
    requisites: RequisiteSink<'a>,
    options: &GatherOptions,
) -> PageParts<'a> {
    let mut reader = PageReader { requisites, ..PageReader::new(page, links, options) };
    tokenize(page, &mut reader);
    reader.finish()
}

struct PageReader<'a, 'o> {
    options: &'o GatherOptions,
    foreign: Foreign,
    place: Place,
    /// The start tag that raw text belongs to.
    raw_element: Element,
    text: FoldedText,
    /// On few pages: none pays for it.
    selecting: Option<Box<Selecting<'a, 'o>>>,
    title: Option<String>,
    /// Templates we are in: whether each hides its text.
    templates: Vec<bool>,
    hiding_templates: usize,
    headings: Vec<(u8, String)>,
    /// Level of the heading we are in and where its text begins.
    heading: Option<(u8, usize)>,
    links: LinkSink<'a>,
    requisites: RequisiteSink<'a>,
    anchor: Option<OpenAnchor<'a>>,
    base: Option<Cow<'a, str>>,
    language: Option<Cow<'a, str>>,
    meta: Meta<'a>,
    oddities: Oddities,
}

/// The `<a>` we are in.
struct OpenAnchor<'a> {
    link: usize,
    text_start: usize,
    /// Of the first image inside.
    alt: Option<Cow<'a, str>>,
}

impl<'a, 'o> PageReader<'a, 'o> {
    fn new(page: &str, links: LinkSink<'a>, options: &'o GatherOptions) -> PageReader<'a, 'o> {
        PageReader {
            options,
            foreign: Foreign::default(),
            place: Place::default(),
            raw_element: Element::Other,
            text: FoldedText::with_capacity(match options.takes_text() {
                // Most pages are less than two thirds text.
                true => page.len() / 3 * 2,
                false => 0,
            }),
            selecting: options.selection.as_deref().map(|s| Box::new(Selecting::new(s))),
            title: None,
            templates: Vec::new(),
            hiding_templates: 0,
            headings: Vec::new(),
            heading: None,
            links,
            requisites: RequisiteSink::default(),
            anchor: None,
            base: None,
            language: None,
            meta: Meta::default(),
            oddities: Oddities::new(page),
        }
    }

    fn finish(mut self) -> PageParts<'a> {
        self.close_anchor();
        self.close_heading();
        let title = self.title.unwrap_or_default();
        PageParts {
            description: cut(&fold(self.meta.description().unwrap_or_default())),
            title: cut(&title),
            headings: self.headings,
            text: match self.options.takes_text() {
                true => self.text.into_string(),
                false => String::new(),
            },
            selected: self.selecting.map(|selecting| selecting.into_text()),
            links: self.links,
            requisites: self.requisites,
            base: self.base,
            language: self.language.or(self.meta.language),
            robots: self.meta.robots,
            refresh: self.meta.refresh,
            oddities: self.oddities,
        }
    }

    fn html_start(&mut self, tag: &Tag<'a, '_>) {
        let tags = &self.options.link_tags;
        match tag.element {
            Element::A => self.open_anchor(tag, tag.value("href")),
            Element::Area if tags.area => self.push_link(tag, "href", LinkKind::Area, "alt"),
            Element::Frame if tags.frame => self.push_link(tag, "src", LinkKind::Frame, "title"),
            Element::Iframe if tags.iframe => self.push_link(tag, "src", LinkKind::Iframe, "title"),
            Element::Link if tags.link => self.head_link(tag),
            Element::Img => self.image(tag),
            Element::Meta => self.meta.read(tag, &self.options.agent),
            Element::Base if self.base.is_none() => self.base = tag.value("href"),
            Element::Html if self.language.is_none() => {
                self.language = tag.value("lang").or_else(|| tag.value("xml:lang"));
            }
            Element::Template => self.open_template(tag),
            other => {
                if let Some(level) = other.heading_level() {
                    self.close_heading();
                    self.heading = Some((level, self.text.len()));
                }
            }
        }
        if !self.options.link_tags.others.is_empty() {
            self.other_links(tag);
        }
        if !self.options.log_tags.is_empty() {
            self.logged_links(tag);
        }
    }

    fn open_anchor(&mut self, tag: &Tag<'a, '_>, reference: Option<Cow<'a, str>>) {
        self.close_anchor();
        let Some(reference) = reference.filter(|_| self.options.link_tags.a) else { return };
        let rel = tag.value("rel").map_or(LinkRel::default(), |rel| rel_bits(&rel));
        let link = RawLink { reference, kind: LinkKind::A, rel, anchor: String::new() };
        if let Some(link) = self.links.push(link) {
            self.anchor = Some(OpenAnchor { link, text_start: self.text.len(), alt: None });
        }
    }

    fn close_anchor(&mut self) {
        let Some(open) = self.anchor.take() else { return };
        let mut anchor = self.text.since(open.text_start, limits::ANCHOR_CHARS_MAX);
        if anchor.is_empty()
            && let Some(alt) = open.alt
        {
            anchor = anchor_of(&alt);
        }
        if let Some(link) = self.links.taken.get_mut(open.link) {
            link.anchor = anchor;
        }
    }

    fn image(&mut self, tag: &Tag<'a, '_>) {
        if let Some(open) = &mut self.anchor
            && open.alt.is_none()
        {
            open.alt = tag.value("alt").filter(|alt| !alt.trim().is_empty());
        }
    }

    fn push_link(&mut self, tag: &Tag<'a, '_>, from: &str, kind: LinkKind, anchor: &str) {
        let Some(reference) = tag.value(from) else { return };
        let rel = tag.value("rel").map_or(LinkRel::default(), |rel| rel_bits(&rel));
        let anchor = tag.value(anchor).map_or(String::new(), |text| anchor_of(&text));
        self.links.push(RawLink { reference, kind, rel, anchor });
    }

    fn head_link(&mut self, tag: &Tag<'a, '_>) {
        let rel = tag.value("rel").unwrap_or_default();
        let media_type = tag.value("type").unwrap_or_default();
        let in_head = self.place.is_head() && self.templates.is_empty();
        let counts = |kind: &LinkKind| *kind != LinkKind::Canonical || in_head;
        if let Some(kind) = link_kind(&rel, &media_type).filter(counts) {
            self.push_link(tag, "href", kind, "title");
        }
    }

    /// Tags that the user asked for.
    fn other_links(&mut self, tag: &Tag<'a, '_>) {
        let options = self.options;
        for (name, attribute) in &options.link_tags.others {
            if tag.name.eq_ignore_ascii_case(name) {
                self.push_link(tag, attribute, LinkKind::Other, "title");
            }
        }
    }

    /// Tags whose links the user only wants to count.
    fn logged_links(&mut self, tag: &Tag<'a, '_>) {
        let options = self.options;
        for (name, attribute) in &options.log_tags {
            if let Some(reference) =
                tag.value(attribute).filter(|_| tag.name.eq_ignore_ascii_case(name))
            {
                let anchor = tag.value("title").map_or(String::new(), |text| anchor_of(&text));
                let (kind, rel) = (LinkKind::Other, LinkRel::LOGGED);
                self.links.push(RawLink { reference, kind, rel, anchor });
            }
        }
    }

    fn open_template(&mut self, tag: &Tag<'a, '_>) {
        let hides = !tag.has("shadowrootmode");
        self.templates.push(hides);
        self.hiding_templates += usize::from(hides);
    }

    fn close_template(&mut self) {
        if self.templates.pop() == Some(true) {
            self.hiding_templates -= 1;
        }
    }

    fn close_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else { return };
        if self.headings.len() < self.options.headings_max {
            let text = self.text.since(start, HEADING_CHARS_MAX);
            if !text.is_empty() {
                self.headings.push((level, text));
            }
        }
    }

    /// Without the text of the page, that of links and headings is still wanted.
    #[inline]
    fn listens(&self) -> bool {
        self.options.takes_text() || self.anchor.is_some() || self.heading.is_some()
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.text.push(text);
        if let Some(selecting) = &mut self.selecting {
            selecting.push(text);
        }
    }

    /// The whole text of a `<title>` comes as one token.
    fn take_title(&mut self, text: &str) {
        let mut folded = FoldedText::with_capacity(text.len());
        push_decoded(text, |piece| folded.push(piece));
        let title = folded.into_string();
        self.push(&title);
        self.title = Some(title);
    }
}

impl<'a> TokenSink<'a> for PageReader<'a, '_> {
    fn start_tag(&mut self, tag: &Tag<'a, '_>) -> Content {
        let (content, is_html) = self.foreign.start_tag(tag);
        self.oddities.start_tag(tag);
        if self.templates.is_empty() {
            self.place.start_tag(tag);
        }
        if self.requisites.is_wanted() {
            match is_html {
                true => self.requisites.html_tag(tag),
                false => self.requisites.svg_tag(tag),
            }
        }
        if let Some(selecting) = &mut self.selecting {
            selecting.start_tag(tag, is_html);
        }
        if is_html {
            self.text.part(tag.element.breaks());
            self.html_start(tag);
            // A first title without text is a title still: later ones do not count.
            if self.raw_element == Element::Title && self.title.is_none() {
                self.title = Some(String::new());
            }
            self.raw_element = tag.element;
        } else if tag.element == Element::A && self.foreign.is_svg() {
            self.open_anchor(tag, tag.value("href").or_else(|| tag.value("xlink:href")));
        }
        content
    }

    fn end_tag(&mut self, element: Element, name: &'a str) {
        self.foreign.end_tag(element);
        self.oddities.end_tag(element);
        if self.templates.is_empty() {
            self.place.end_tag(element);
        }
        if let Some(selecting) = &mut self.selecting {
            selecting.end_tag(element, name);
        }
        self.text.part(element.breaks());
        match element {
            Element::A => self.close_anchor(),
            Element::Template => self.close_template(),
            _ if element.heading_level().is_some() => self.close_heading(),
            _ => {}
        }
    }

    fn text(&mut self, text: &'a str, content: Content) {
        self.oddities.text(text);
        if self.templates.is_empty() {
            self.place.text(text, content);
        }
        let heard = self.hiding_templates == 0 && self.listens();
        match (content, self.raw_element) {
            // In HTML a NUL is no text at all (13.2.6.4.7); everywhere else it is a sign that cannot be read.
            (Content::Data, _) if heard && self.foreign.is_inside() => {
                push_decoded(&replace_nul(text), |piece| self.push(piece));
            }
            (Content::Data, _) if heard => push_decoded(text, |piece| self.push(piece)),
            (Content::Rcdata, Element::Title) if self.title.is_none() => {
                self.take_title(&replace_nul(text));
            }
            (Content::Rawtext, Element::Xmp) | (Content::Plaintext | Content::Cdata, _)
                if heard =>
            {
                self.push(&replace_nul(text));
            }
            (Content::Rawtext, Element::Style) if self.requisites.is_wanted() => {
                self.requisites.style(replace_nul(text));
            }
            _ => {}
        }
    }

    fn comment(&mut self, text: &'a str) {
        self.oddities.piece(text.len(), LongPiece::Comment);
    }

    fn unfinished_tag(&mut self, bytes: usize) {
        self.oddities.piece(bytes, LongPiece::Attribute);
    }

    fn cdata_allowed(&self) -> bool {
        self.foreign.is_inside()
    }
}

/// Folded and cut to an anchor's length.
fn anchor_of(text: &str) -> String {
    let mut folded = FoldedText::with_capacity(text.len().min(limits::ANCHOR_CHARS_MAX));
    folded.push(text);
    folded.since(0, limits::ANCHOR_CHARS_MAX)
}

fn fold(text: &str) -> String {
    let mut folded = FoldedText::with_capacity(text.len());
    folded.push(text);
    folded.into_string()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::TITLE_CHARS_MAX) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}
