//! `<meta>`: description, robots, refresh, language.

use std::borrow::Cow;

use crate::{
    fields::{RawRefresh, parse_refresh},
    html::Tag,
    robots::Robots,
};

#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    description: Option<Cow<'a, str>>,
    /// `og:description`: taken where there is no better.
    shared_description: Option<Cow<'a, str>>,
    pub(crate) robots: Robots,
    pub(crate) refresh: Option<RawRefresh>,
    pub(crate) language: Option<Cow<'a, str>>,
}

impl<'a> Meta<'a> {
    pub(crate) fn read(&mut self, tag: &Tag<'a, '_>, agent: &str) {
        let Some(content) = tag.value("content") else { return };
        if let Some(name) = tag.value("name").or_else(|| tag.value("property")) {
            self.read_named(name.trim(), content, agent);
        } else if let Some(pragma) = tag.value("http-equiv") {
            self.read_pragma(pragma.trim(), content);
        }
    }

    fn read_named(&mut self, name: &str, content: Cow<'a, str>, agent: &str) {
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent) {
            self.robots.read_directives(&content);
        } else if name.eq_ignore_ascii_case("description") {
            self.description.get_or_insert(content);
        } else if name.eq_ignore_ascii_case("og:description") {
            self.shared_description.get_or_insert(content);
        }
    }

    fn read_pragma(&mut self, pragma: &str, content: Cow<'a, str>) {
        if pragma.eq_ignore_ascii_case("refresh") {
            if self.refresh.is_none() {
                self.refresh = parse_refresh(&content);
            }
        } else if pragma.eq_ignore_ascii_case("content-language") {
            self.language.get_or_insert(content);
        }
    }

    pub(crate) fn description(&self) -> Option<&str> {
        self.description.as_deref().or(self.shared_description.as_deref())
    }
}
