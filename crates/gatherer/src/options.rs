//! What to take from a page, and how much of it at most.

use std::sync::Arc;

use model::limits;

use crate::Selection;

/// Headings kept of one page; an index of a book has dozens, hostile pages millions.
const HEADINGS_MAX: usize = 100;

#[derive(Clone, Debug)]
pub struct GatherOptions {
    /// Media types to read, lower case: `text/html`, `text/*`, `*/*`. Others are told as a problem.
    pub media_types: Vec<String>,
    pub link_tags: LinkTags,
    /// Further tags and attributes whose links are marked as only to be logged ([`LinkTags::names`]).
    pub log_tags: Vec<(String, String)>,
    /// Links taken; the rest is counted.
    pub links_max: usize,
    /// References longer than this are counted, not taken.
    pub url_bytes_max: usize,
    pub headings_max: usize,
    /// The crawler's own name in `<meta name=…>` and `X-Robots-Tag: name: …`, lower case.
    pub agent: String,
    /// Whether to take the visible text, and what is told by it: changes, likeness, language. Where a
    /// selection tells of changes it is taken all the same.
    pub text: bool,
    /// Whether to judge the language.
    pub language: bool,
    /// Whether to collect what a browser loads to show the page: images, styles, scripts, fonts.
    pub requisites: bool,
    /// Of one page or style; the rest is counted.
    pub requisites_max: usize,
    /// Elements whose text alone tells of changes, or does not.
    pub selection: Option<Arc<Selection>>,
}

impl Default for GatherOptions {
    fn default() -> GatherOptions {
        GatherOptions {
            media_types: ["text/html", "application/xhtml+xml", "text/plain"]
                .map(String::from)
                .into(),
            link_tags: LinkTags::default(),
            log_tags: Vec::new(),
            links_max: limits::LINKS_PER_PAGE_MAX,
            url_bytes_max: limits::URL_BYTES_MAX,
            headings_max: HEADINGS_MAX,
            agent: "harvestman".to_owned(),
            text: true,
            language: true,
            requisites: false,
            requisites_max: limits::REQUISITES_PER_PAGE_MAX,
            selection: None,
        }
    }
}

impl GatherOptions {
    pub fn takes_text(&self) -> bool {
        self.text || self.selection.is_some()
    }

    pub(crate) fn wants(&self, media_type: &str) -> bool {
        self.media_types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(start) => wanted == "*/*" || media_type.starts_with(start),
            None => wanted == media_type,
        })
    }
}

/// Which tags carry links (WIRE's `gatherer/link`), written `tag/attribute`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTags {
    pub(crate) a: bool,
    pub(crate) area: bool,
    pub(crate) frame: bool,
    pub(crate) iframe: bool,
    pub(crate) link: bool,
    /// `meta/content`: refresh.
    pub(crate) meta: bool,
    /// Others, as (tag, attribute), lower case: their links are of kind `Other`.
    pub(crate) others: Vec<(String, String)>,
}

impl Default for LinkTags {
    /// `a/href`, `area/href`, `frame/src`, `iframe/src`, `link/href`, `meta/content`.
    fn default() -> LinkTags {
        LinkTags {
            a: true,
            area: true,
            frame: true,
            iframe: true,
            link: true,
            meta: true,
            others: Vec::new(),
        }
    }
}

impl LinkTags {
    /// Reads a list such as `["a/href", "img/src"]`. The error says what is wrong with which entry.
    pub fn parse<S: AsRef<str>>(tags: &[S]) -> Result<LinkTags, String> {
        let mut parsed = LinkTags {
            a: false,
            area: false,
            frame: false,
            iframe: false,
            link: false,
            meta: false,
            others: Vec::new(),
        };
        for tag in tags {
            parsed.add(tag.as_ref())?;
        }
        Ok(parsed)
    }

    /// The entries of such a list as (tag, attribute), lower case.
    pub fn names<S: AsRef<str>>(tags: &[S]) -> Result<Vec<(String, String)>, String> {
        tags.iter().map(|tag| split(&tag.as_ref().trim().to_ascii_lowercase())).collect()
    }

    fn add(&mut self, entry: &str) -> Result<(), String> {
        let entry = entry.trim().to_ascii_lowercase();
        match entry.as_str() {
            "a/href" => self.a = true,
            "area/href" => self.area = true,
            "frame/src" => self.frame = true,
            "iframe/src" => self.iframe = true,
            "link/href" => self.link = true,
            "meta/content" => self.meta = true,
            other => self.others.push(split(other)?),
        }
        Ok(())
    }
}

fn split(entry: &str) -> Result<(String, String), String> {
    match entry.split_once('/') {
        Some((tag, attribute)) if is_name(tag) && is_name(attribute) => {
            Ok((tag.to_owned(), attribute.to_owned()))
        }
        _ => Err(format!("\"{entry}\" is not of the form tag/attribute, as a/href is")),
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':'))
}

#[cfg(test)]
mod tests {
    use super::{GatherOptions, LinkTags};

    #[test]
    fn a_list_of_link_tags_is_read_and_a_wrong_entry_is_named() {
        let all = ["a/href", "area/href", "frame/src", "iframe/src", "link/href", "meta/content"];
        assert_eq!(LinkTags::parse(&all), Ok(LinkTags::default()));
        let tags = LinkTags::parse(&["A/HREF", " img/src "]).expect("both are well formed");
        assert!(tags.a && !tags.iframe);
        assert_eq!(tags.others, [("img".to_owned(), "src".to_owned())]);
        let error = LinkTags::parse(&["a/href", "img"]).expect_err("no attribute");
        assert!(error.contains("\"img\""), "{error}");
    }

    #[test]
    fn media_types_may_have_a_star() {
        let mut options = GatherOptions::default();
        assert!(options.wants("text/html") && !options.wants("text/css"));
        options.media_types = vec!["text/*".to_owned()];
        assert!(options.wants("text/css") && !options.wants("image/png"));
        options.media_types = vec!["*/*".to_owned()];
        assert!(options.wants("image/png"));
    }
}
