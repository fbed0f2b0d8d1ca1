//! The parts of a page that a browser loads by itself to show it: images, styles, scripts, fonts, media.
//!
//! They are no links: nobody follows them. What scripts ask for while they run cannot be known without
//! running them, and frames are pages of their own, found as links.

mod css;
mod srcset;
mod tags;

use std::{borrow::Cow, collections::HashSet};

use xxhash_rust::xxh3::xxh3_64;

use crate::GatherOptions;

pub(crate) use tags::is_part_rel;

/// References as a page or a style gives them, each once, up to a bound; the rest is counted.
#[derive(Debug, Default)]
pub(crate) struct RequisiteSink<'a> {
    pub(crate) taken: Vec<Cow<'a, str>>,
    pub(crate) over: u64,
    /// Hashes of what was taken: pages repeat the same picture by the hundred.
    seen: HashSet<u64>,
    /// `None`: nobody asked for them.
    max: Option<usize>,
}

impl<'a> RequisiteSink<'a> {
    /// Parts matter of what can be shown: of an error page, a redirect or a 304 there are none.
    pub(crate) fn new(options: &GatherOptions, status: u16) -> RequisiteSink<'a> {
        let wanted = options.requisites && matches!(status, 200..=299);
        RequisiteSink { max: wanted.then_some(options.requisites_max), ..RequisiteSink::default() }
    }

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.max.is_some()
    }

    /// All that a style names.
    pub(crate) fn style(&mut self, style: Cow<'a, str>) {
        match style {
            Cow::Borrowed(text) => css::references(text, &mut |found| self.push(found)),
            Cow::Owned(text) => css::references(&text, &mut |found| {
                self.push(Cow::Owned(found.into_owned()));
            }),
        }
    }

    pub(crate) fn push(&mut self, reference: Cow<'a, str>) {
        let Some(max) = self.max.filter(|_| leads_somewhere(&reference)) else { return };
        let hash = xxh3_64(reference.as_bytes());
        if self.seen.contains(&hash) {
            return;
        }
        if self.taken.len() >= max {
            self.over += 1;
            return;
        }
        self.seen.insert(hash);
        self.taken.push(reference);
    }
}

/// Not a place in the page itself, and not content that stands in the reference.
fn leads_somewhere(reference: &str) -> bool {
    let reference = reference.trim_start_matches(|c| c <= ' ');
    let is_inline = |scheme: &str| {
        reference.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    !reference.is_empty()
        && !reference.starts_with('#')
        && !["data:", "blob:", "about:", "javascript:"].into_iter().any(is_inline)
}

#[cfg(test)]
mod tests;
