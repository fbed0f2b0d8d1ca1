//! A page as HTML, put together from the web's prose.
//!
//! The size is log-normal; while there is room, a paragraph comes when text is below its share of the bytes
//! so far, else a script, style, comment or empty markup. Version `v` differs from `v-1` in the paragraphs
//! `p` with `(v + p) mod stride = 0`.

use std::io::Write;

use model::Timestamp;

use crate::dice::{Dice, mix, unit};

use super::{LinkTo, PageId, SimWeb, alias::escaped_first, shape::Twin};

/// The head, navigation and footer alone take about this much.
const BYTES_MIN: f64 = 1_500.0;
/// 4.3 sigma above the median: pages above are not what this web is about.
const BYTES_MAX: f64 = 400_000.0;
/// A link with its surroundings, on average.
const LINK_BYTES: usize = 95;

/// What differs between two showings of one version of a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Dress {
    /// Appended to internal links: a session id.
    pub suffix: String,
    /// Put before the paths of internal links: `/s-1234`.
    pub prefix: String,
    /// Written into a comment.
    pub noise: Option<Timestamp>,
}

struct Draft {
    out: Vec<u8>,
    text: usize,
}

impl SimWeb {
    /// The bytes of a page at a version, in its own charset.
    pub(super) fn render(&self, page: PageId, version: u64, dress: &Dress) -> Vec<u8> {
        let page = self.source(page);
        let size = self.page_bytes(page);
        let mut draft = Draft { out: Vec::with_capacity(size + 2_048), text: 0 };
        let links = self.links(page);
        self.write_head(page, dress, &mut draft);
        let nav = links.len().min(4);
        draft.markup(b"<nav><ul>\n");
        links[..nav].iter().for_each(|link| self.write_item(page, link, dress, &mut draft));
        draft.markup(b"</ul></nav>\n<main>\n");
        let rest = self.write_main(page, version, &links[nav..], size, dress, &mut draft);
        draft.markup(b"</main>\n<footer><ul>\n");
        rest.iter().for_each(|link| self.write_item(page, link, dress, &mut draft));
        self.write_extras(page, &mut draft);
        draft.markup(b"</ul></footer>\n</body>\n</html>\n");
        match self.is_latin1(page) {
            true => latin1(&draft.out),
            false => draft.out,
        }
    }

    pub(super) fn is_latin1(&self, page: PageId) -> bool {
        self.share_has(self.source(page), 0x1A71, self.options.page.latin1_share)
    }

    pub(super) fn is_noisy(&self, page: PageId) -> bool {
        self.share_has(self.source(page), 0x2015E, self.options.page.noisy_share)
    }

    pub(super) fn share_has(&self, page: PageId, salt: u64, share: f64) -> bool {
        share > 0.0 && unit(mix(self.page_hash(page), salt)) < share
    }

    fn page_bytes(&self, page: PageId) -> usize {
        let options = &self.options.page;
        let sigma = options.bytes_sigma;
        let mu = options.bytes_mean.ln() - sigma * sigma / 2.0;
        let z = Dice::new(mix(self.page_hash(page), 0x512E)).normal();
        (mu + sigma * z).exp().clamp(BYTES_MIN, BYTES_MAX) as usize
    }

    fn write_head(&self, page: PageId, dress: &Dress, draft: &mut Draft) {
        let language = self.language(page.site);
        let charset = if self.is_latin1(page) { "iso-8859-1" } else { "utf-8" };
        let title = self.prose.title(language, self.page_hash(page));
        let name = self.prose.title(language, self.site_hash(page.site));
        draft.format(format_args!(
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"{charset}\">\n<title>",
            language.code()
        ));
        draft.text(title.as_bytes());
        draft.markup(b" | ");
        draft.text(name.as_bytes());
        draft.format(format_args!("</title>\n<meta name=\"description\" content=\"{title} ("));
        draft.format(format_args!("{}).\">\n", page.index));
        let noindex = self.share_has(page, 0x2019, self.options.page.noindex_share);
        let nofollow =
            self.is_leaf(page) && self.share_has(page, 0x2F01, self.options.page.nofollow_share);
        if noindex || nofollow {
            let robots = match (noindex, nofollow) {
                (true, true) => "noindex, nofollow",
                (true, false) => "noindex",
                _ => "nofollow",
            };
            draft.format(format_args!("<meta name=\"robots\" content=\"{robots}\">\n"));
        }
        draft.markup(b"<link rel=\"canonical\" href=\"");
        self.write_path(page, &mut draft.out);
        draft.markup(b"\">\n");
        if self.options.notices.feed {
            let feed =
                b"<link rel=\"alternate\" type=\"application/atom+xml\" href=\"/feed.atom\">\n";
            draft.markup(feed);
        }
        draft.markup(b"<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n");
        if self.options.requisites {
            draft.markup(self.parts_markup(page).as_bytes());
        }
        if let Some(now) = dress.noise {
            draft.format(format_args!("<!-- served at {} -->\n", now.0));
        }
        draft.markup(b"<h1>");
        draft.text(title.as_bytes());
        draft.format(format_args!("</h1>\n<img src=\"/img/{}.png\" alt=\"\">\n", page.index % 50));
    }

    /// Paragraphs and fillers up to the size; gives back the links that found no place.
    fn write_main<'l>(
        &self,
        page: PageId,
        version: u64,
        mut links: &'l [LinkTo],
        size: usize,
        dress: &Dress,
        draft: &mut Draft,
    ) -> &'l [LinkTo] {
        let near = match self.twin(page) {
            Some(Twin::Near(original)) => Some(self.page_hash(original)),
            _ => None,
        };
        let own = self.page_hash(page);
        let language = self.language(page.site);
        let sentences = self.prose.sentences(language);
        let stride = (size / 1_200).max(1) as u64;
        let mut fill = Dice::new(mix(near.unwrap_or(own), 0xF111));
        let mut paragraph = 0u64;
        loop {
            let reserved = links.len() * LINK_BYTES + 60;
            let room = size.saturating_sub(draft.out.len() + reserved);
            if paragraph > 0 && room < 100 {
                return links;
            }
            let due = self.options.page.text_share * (draft.out.len() + reserved / 2) as f64;
            if paragraph > 0 && draft.text as f64 > due {
                draft.markup(self.prose.fillers.get(fill.next()));
                continue;
            }
            let content = if paragraph == 0 { own } else { near.unwrap_or(own) };
            let edition = (version + paragraph % stride) / stride;
            let mut dice = Dice::new(mix(mix(content, paragraph), edition));
            if paragraph % 5 == 3 {
                draft.markup(b"<h2>");
                draft.text(self.prose.title(language, dice.next()).as_bytes());
                draft.markup(b"</h2>\n");
            }
            draft.markup(b"<p>");
            for _ in 0..(2 + dice.below(5)).min(room / 100).max(1) {
                draft.text(sentences.get(dice.next()));
            }
            if let Some((link, others)) = links.split_first() {
                self.write_link(page, link, dress, draft);
                links = others;
            }
            draft.markup(b"</p>\n");
            paragraph += 1;
        }
    }

    fn write_item(&self, page: PageId, link: &LinkTo, dress: &Dress, draft: &mut Draft) {
        draft.markup(b"<li>");
        self.write_link(page, link, dress, draft);
        draft.markup(b"</li>\n");
    }

    fn write_link(&self, page: PageId, link: &LinkTo, dress: &Dress, draft: &mut Draft) {
        draft.markup(b"<a href=\"");
        let hash = match (link, self.write_alias(page, link, &mut draft.out)) {
            (LinkTo::Page(to), true) => self.page_hash(*to),
            _ => self.write_target(page, link, dress, draft),
        };
        draft.markup(b"\">");
        draft.text(self.prose.title(self.language(page.site), hash).as_bytes());
        draft.markup(b"</a>");
    }

    /// Writes the address; the hash chooses the anchor text (for pages: their title).
    fn write_target(&self, page: PageId, link: &LinkTo, dress: &Dress, draft: &mut Draft) -> u64 {
        match *link {
            LinkTo::Page(to) if to.site == page.site => {
                draft.markup(dress.prefix.as_bytes());
                let start = draft.out.len();
                self.write_path(to, &mut draft.out);
                if !dress.suffix.is_empty() {
                    let query = draft.out[start..].contains(&b'?');
                    draft.markup(if query { b"&amp;" } else { b"?" });
                    draft.markup(dress.suffix.as_bytes());
                }
                self.page_hash(to)
            }
            LinkTo::Page(to) => {
                let (scheme, options) = (self.scheme(to.site), &self.options);
                let (prefix, suffix) = (&options.host_prefix, &options.host_suffix);
                draft.format(format_args!("{scheme}://{prefix}{}{suffix}", to.site));
                self.write_path(to, &mut draft.out);
                self.page_hash(to)
            }
            LinkTo::Redirect { page: to, hops } => {
                draft.format(format_args!("/go/{hops}/{}", to.index));
                self.page_hash(to)
            }
            LinkTo::Missing(number) => {
                draft.format(format_args!("/missing/{number:x}"));
                number
            }
            LinkTo::DeadHost(number) => {
                draft.format(format_args!("http://e{number}.elsewhere.test/"));
                number
            }
        }
    }

    /// The home page leads to what was switched on for its host: hazards and forbidden places.
    fn write_extras(&self, page: PageId, draft: &mut Draft) {
        if page.index > 0 && !mix(self.page_hash(page), 0xE8).is_multiple_of(8) {
            return;
        }
        for prefix in self.forbidden_places(page.site) {
            draft.format(format_args!("<li><a href=\"{prefix}{}\">", page.index % 10));
            draft.markup(b"private</a></li>\n");
            if self.options.page.alias_share > 0.0 {
                let (prefix, number) = (escaped_first(&prefix), page.index % 10);
                draft.format(format_args!("<li><a href=\"{prefix}{number}\">private</a></li>\n"));
            }
        }
        if page.index == 0 && !self.hazards.is_empty() {
            let placed = self.hazards.get(&self.host(page.site)).into_iter().flatten();
            for (path, placed) in placed.filter_map(|placed| Some((placed.path()?, placed))) {
                let word = placed.hazard.word();
                draft.format(format_args!("<li><a href=\"{path}\">{word}</a></li>\n"));
            }
        }
    }
}

impl Draft {
    fn markup(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn text(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        self.text += bytes.len();
    }

    fn format(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.out.write_fmt(arguments).expect("writing to memory cannot fail");
    }
}

/// UTF-8 to ISO-8859-1; what it cannot hold becomes a question mark.
pub(super) fn latin1(utf8: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(utf8);
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}
