//! The text of a notice: `urlset` and `sitemapindex` (sitemaps.org 0.9, packed or not), a text of URLs, RSS 0.9
//! to 2.0, Atom, and the RDF that WIRE's servers wrote as robots.rdf ("paths to documents in the Web site,
//! including their last-modification times"; its vocabulary was never laid down, so any of the usual names will
//! do). One reader for all: people serve one as the other.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead, Read},
};

use foldhash::fast::RandomState;
use model::{CrawlUrl, Fingerprint, SignalSource, Timestamp, UrlBase};

use super::{
    dates::{Moment, read_moment},
    stamp::is_stamped,
};
use crate::{
    seeds::{
        LINE_BYTES_MAX,
        xml::{Doctype, Piece, Tag, Xml},
    },
    unpacked,
};

/// Pages of one sitemap, by the protocol; of robots.rdf likewise.
const PAGES_MAX: usize = 50_000;
/// Pages of one feed: it is to tell of the latest, and real ones have tens.
const FEED_PAGES_MAX: usize = 5_000;
/// Files of one index: fifty million URLs, and each file is a request to somebody's server.
const FILES_MAX: usize = 1_000;
/// Unpacked; the protocol says 52,428,800.
const BYTES_MAX: u64 = 50 << 20;
/// Lines without a URL at the head of a text, after which it is taken for something else.
const LINES_IN_VAIN: u64 = 50;

/// An answer that is a notice.
#[derive(Clone, Copy)]
pub struct NoticeText<'a> {
    pub source: SignalSource,
    pub url: &'a CrawlUrl,
    /// Decoded, but perhaps still packed.
    pub body: &'a [u8],
    pub fetched: Timestamp,
    /// `Last-Modified`, if it was told.
    pub modified: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    pub url: CrawlUrl,
    /// When it last changed, as far as that was said and can be.
    pub at: Option<Timestamp>,
}

/// What a notice says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcements {
    /// Each once, with the newest of its dates that is not in the future.
    pub pages: Vec<Announced>,
    /// Further sitemaps, named by an index.
    pub sitemaps: Vec<CrawlUrl>,
    /// Its dates are its own: they say nothing of the pages.
    pub stamped: bool,
    /// There was more than is read of one notice.
    pub cut: bool,
    /// What its XML wants that is never done: declarations, files of others.
    pub hostile: Option<&'static str>,
    /// Entries that name no URL, …
    pub bad: u64,
    /// … and one of them. Of a text that is no notice at all, its beginning.
    pub example: String,
}

impl Announcements {
    /// Nothing in it says that it is a notice.
    pub fn is_nothing(&self) -> bool {
        self.pages.is_empty() && self.sitemaps.is_empty()
    }
}

pub fn read_notice(text: &NoticeText<'_>) -> Announcements {
    let mut taker = Taker::new(text);
    // A stream that cannot be unpacked to its end has been read as far as it goes.
    if read(text.body, &mut taker).is_err() {
        taker.told.cut = true;
    }
    let modified = text.modified.and_then(read_moment).map(|moment| moment.at);
    taker.told.stamped = is_stamped(&taker.dates, text.fetched, modified);
    taker.told
}

fn read(body: &[u8], taker: &mut Taker) -> io::Result<()> {
    let mut reader = unpacked(body)?.take(BYTES_MAX);
    let head = reader.fill_buf()?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if head.starts_with(b"<") {
        let mut xml = Xml::new(&mut reader);
        let read = entries(&mut xml, taker);
        taker.told.hostile = match xml.doctype() {
            Some(Doctype::Declares) => Some("declarations in its document type"),
            Some(Doctype::External) => Some("document type of another file"),
            Some(Doctype::Plain) | None => taker.told.hostile,
        };
        read?;
    } else {
        lines(&mut reader, taker)?;
    }
    taker.told.cut |= reader.limit() == 0;
    Ok(())
}

/// Notes what is named, in the order of the text.
struct Taker {
    told: Announcements,
    base: UrlBase,
    fetched: Timestamp,
    pages_max: usize,
    seen: HashMap<Fingerprint, usize, RandomState>,
    files_seen: HashSet<Fingerprint, RandomState>,
    /// All that were given, for the notice's own habit.
    dates: Vec<Moment>,
}

impl Taker {
    fn new(text: &NoticeText<'_>) -> Taker {
        Taker {
            told: Announcements::default(),
            base: text.url.base(),
            fetched: text.fetched,
            pages_max: match text.source {
                SignalSource::Feed => FEED_PAGES_MAX,
                SignalSource::Sitemap | SignalSource::Rdf => PAGES_MAX,
            },
            seen: HashMap::default(),
            files_seen: HashSet::default(),
            dates: Vec::new(),
        }
    }

    /// Says whether more may come.
    fn take(&mut self, entry: Entry) -> bool {
        if entry.url.is_empty() {
            return true;
        }
        let Ok(url) = self.base.join(&entry.url) else {
            self.bad(&entry.url);
            return true;
        };
        if entry.is_file {
            return self.take_file(url);
        }
        let moment = entry.moment.filter(|moment| moment.at <= self.fetched);
        self.dates.extend(moment);
        let at = moment.map(|moment| moment.at);
        if let Some(&place) = self.seen.get(&url.fingerprint()) {
            let page = &mut self.told.pages[place];
            page.at = page.at.max(at);
            return true;
        }
        if self.told.pages.len() == self.pages_max {
            self.told.cut = true;
            return false;
        }
        self.seen.insert(url.fingerprint(), self.told.pages.len());
        self.told.pages.push(Announced { url, at });
        true
    }

    fn take_file(&mut self, url: CrawlUrl) -> bool {
        if self.told.sitemaps.len() == FILES_MAX {
            self.told.cut = true;
            return false;
        }
        if self.files_seen.insert(url.fingerprint()) {
            self.told.sitemaps.push(url);
        }
        true
    }

    fn bad(&mut self, text: &str) {
        self.told.bad += 1;
        if self.told.example.is_empty() {
            self.told.example = text.chars().take(80).collect();
        }
    }
}

/// One entry as far as it was read.
#[derive(Default)]
struct Entry {
    url: String,
    /// Only where no other URL is given.
    other_url: String,
    moment: Option<Moment>,
    /// Names a further sitemap, not a page.
    is_file: bool,
}

impl Entry {
    /// The newest counts: an entry may say when it was published and when it was changed.
    fn date(&mut self, text: &str) {
        if let Some(moment) = read_moment(text)
            && self.moment.is_none_or(|before| before.at < moment.at)
        {
            self.moment = Some(moment);
        }
    }
}

/// An open entry, and the element of it whose text is wanted.
struct Open {
    name: String,
    prefix: String,
    entry: Entry,
    field: Option<Field>,
    text: String,
    /// Inside an element that speaks of another document.
    foreign: bool,
    /// Nothing but text so far.
    bare: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Url,
    OtherUrl,
    Date,
}

fn entries<R: BufRead>(xml: &mut Xml<R>, taker: &mut Taker) -> io::Result<()> {
    let mut open: Option<Open> = None;
    while let Some(piece) = xml.next_piece()? {
        match piece {
            Piece::Open(tag) => {
                if local(&tag.name).1 == "include" && tag.attribute("href").is_some() {
                    taker.told.hostile = Some("include of another file");
                }
                if let Some(next) = begins(&tag, open.as_ref()) {
                    // The one before was never closed.
                    if !finish(open.replace(next), taker) {
                        return Ok(());
                    }
                    if tag.is_empty && !finish(open.take(), taker) {
                        return Ok(());
                    }
                } else if let Some(open) = &mut open {
                    open.child(&tag);
                }
            }
            Piece::Text(text) => {
                if let Some(open) = &mut open {
                    open.text(&text);
                }
            }
            Piece::Close(name) => {
                let is_end = open.as_ref().is_some_and(|open| open.name == name);
                if is_end && !finish(open.take(), taker) {
                    return Ok(());
                }
                if let Some(open) = &mut open {
                    open.close(local(&name).1);
                }
            }
        }
    }
    finish(open, taker);
    Ok(())
}

fn finish(open: Option<Open>, taker: &mut Taker) -> bool {
    let Some(Open { mut entry, .. }) = open else { return true };
    if entry.url.is_empty() {
        entry.url = std::mem::take(&mut entry.other_url);
    }
    taker.take(entry)
}

/// Whether the tag begins an entry. Inside one, only another of its kind does.
fn begins(tag: &Tag, within: Option<&Open>) -> Option<Open> {
    if within.is_some_and(|open| open.name != tag.name) {
        return None;
    }
    let (prefix, name) = local(&tag.name);
    let about = || tag.attribute("rdf:about").or_else(|| tag.attribute("about"));
    let is_entry = match name.to_ascii_lowercase().as_str() {
        "url" | "sitemap" | "item" | "entry" => true,
        "description" | "document" | "page" => about().is_some(),
        _ => false,
    };
    if !is_entry {
        return None;
    }
    let mut entry = Entry { is_file: name == "sitemap", ..Entry::default() };
    entry.other_url = about().unwrap_or_default();
    for attribute in ["lastmod", "last-modified", "dc:date", "dcterms:modified"] {
        if let Some(value) = tag.attribute(attribute) {
            entry.date(&value);
        }
    }
    let (name, prefix) = (tag.name.clone(), prefix.to_owned());
    Some(Open { name, prefix, entry, field: None, text: String::new(), foreign: false, bare: true })
}

impl Open {
    fn child(&mut self, tag: &Tag) {
        let (prefix, name) = local(&tag.name);
        let name = name.to_ascii_lowercase();
        self.bare = false;
        self.text.clear();
        self.field = None;
        if self.foreign {
            return;
        }
        match name.as_str() {
            // The document that an Atom entry was taken from has a link and dates of its own.
            "source" => self.foreign = !tag.is_empty,
            // Not that of an image or a video.
            "loc" if prefix == self.prefix => self.field = Some(Field::Url),
            // In a sitemap it names the page in another language.
            "link" if self.is_of_sitemap() => {}
            "link" => match tag.attribute("href") {
                Some(href) => self.link(tag, href),
                None => self.field = Some(Field::Url),
            },
            // Also where it says that it is no link: one that is a URL all the same is better than none.
            "guid" => self.field = Some(Field::OtherUrl),
            "lastmod" | "last-modified" | "lastmodified" | "pubdate" | "date" | "updated"
            | "modified" | "published" | "issued" => self.field = Some(Field::Date),
            _ => {}
        }
    }

    fn is_of_sitemap(&self) -> bool {
        matches!(local(&self.name).1, "url" | "sitemap")
    }

    fn link(&mut self, tag: &Tag, href: String) {
        let is_page = tag.attribute("rel").is_none_or(|rel| rel.eq_ignore_ascii_case("alternate"));
        if is_page && self.entry.url.is_empty() {
            self.entry.url = href.trim().to_owned();
        }
    }

    fn text(&mut self, text: &str) {
        // Some indexes leave `loc` out.
        if self.bare && self.entry.is_file && text.trim_start().starts_with("http") {
            self.entry.other_url = text.trim().to_owned();
        }
        if self.field.is_some() && self.text.len() < LINE_BYTES_MAX {
            self.text.push_str(text);
        }
    }

    fn close(&mut self, name: &str) {
        self.foreign &= !name.eq_ignore_ascii_case("source");
        let text = self.text.trim();
        match self.field.take() {
            Some(Field::Url) if self.entry.url.is_empty() => self.entry.url = text.to_owned(),
            Some(Field::OtherUrl) if text.starts_with("http") => {
                self.entry.other_url = text.to_owned();
            }
            Some(Field::Date) => self.entry.date(text),
            _ => {}
        }
        self.text.clear();
    }
}

/// Prefix and name.
fn local(name: &str) -> (&str, &str) {
    name.rsplit_once(':').unwrap_or(("", name))
}

/// A text of URLs, one a line.
fn lines(reader: &mut impl BufRead, taker: &mut Taker) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // What is longer is taken in pieces, none of which is a URL that may enter.
        if reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if !text.starts_with("http://") && !text.starts_with("https://") {
            taker.bad(text);
            if taker.told.is_nothing() && taker.told.bad >= LINES_IN_VAIN {
                return Ok(());
            }
        } else if !taker.take(Entry { url: text.to_owned(), ..Entry::default() }) {
            return Ok(());
        }
    }
}
