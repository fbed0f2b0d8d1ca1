//! What is known of a URL when a condition is asked about it.
//!
//! Not everything is known at every time: a link's text only where the link is judged, the media type only
//! when the answer's head is there.

use model::CrawlUrl;

use crate::Marking;

static SHIPPED: Marking = Marking::SHIPPED;

#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub url: &'a CrawlUrl,
    pub level: u16,
    pub marking: &'a Marking,
    /// The texts of all links to it on the page where it was found.
    pub anchors: Option<&'a [&'a str]>,
    /// Without parameters, in any case.
    pub media_type: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// As much as a URL says of itself.
    pub fn new(url: &'a CrawlUrl, level: u16) -> Asked<'a> {
        Asked { url, level, marking: &SHIPPED, anchors: None, media_type: None }
    }

    pub fn of_type(self, media_type: &'a str) -> Asked<'a> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        Asked { media_type: Some(essence), ..self }
    }
}
