//! Links that are only logged, by extension (WIRE's `seeder/ext/log/group`): counted and listed with
//! examples, never crawled.
//!
//! Extensions come in shipped [`GROUPS`] or one by one, with a dot (`.svg`), so that a mistyped group is
//! not taken for an extension.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;
use model::CrawlUrl;

/// Group and extensions. An extension may be in several; the group that was named first counts it.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "images",
        &[
            "jpg", "jpeg", "jpe", "jfif", "png", "gif", "bmp", "ico", "tif", "tiff", "webp",
            "avif", "heic", "svg", "svgz", "psd", "eps", "raw", "xcf",
        ],
    ),
    (
        "audio",
        &[
            "mp3", "wav", "ogg", "oga", "opus", "flac", "aac", "m4a", "wma", "mid", "midi", "aif",
            "aiff", "au", "ra", "ram", "m3u", "pls",
        ],
    ),
    (
        "video",
        &[
            "mp4", "m4v", "avi", "mpg", "mpeg", "mov", "qt", "wmv", "flv", "webm", "mkv", "ogv",
            "3gp", "asf", "asx", "rm", "swf", "ts", "m3u8",
        ],
    ),
    (
        "documents",
        &[
            "pdf", "doc", "docx", "dot", "rtf", "odt", "xls", "xlsx", "ods", "csv", "ppt", "pptx",
            "pps", "ppsx", "odp", "ps", "tex", "dvi", "djvu", "epub", "mobi", "vsd", "mdb",
        ],
    ),
    ("pdf", &["pdf"]),
    (
        "archives",
        &[
            "zip", "gz", "tgz", "tar", "bz2", "tbz", "xz", "txz", "zst", "7z", "rar", "lzh", "arj",
            "cab", "iso", "img", "dmg", "jar", "war",
        ],
    ),
    (
        "software",
        &["exe", "msi", "apk", "ipa", "deb", "rpm", "pkg", "bin", "dll", "so", "class", "torrent"],
    ),
    ("styles", &["css", "less", "scss"]),
    ("scripts", &["js", "mjs", "json", "map", "wasm"]),
    ("fonts", &["woff", "woff2", "ttf", "otf", "eot"]),
];

#[derive(Clone, Debug, Default)]
pub struct LogList {
    by_extension: Arc<HashMap<Box<str>, Logged, RandomState>>,
}

/// Why a link is only logged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Logged {
    /// As in the configuration: `images`, `.svg`.
    pub group: Box<str>,
    pub extension: Box<str>,
}

impl LogList {
    /// Reads a list such as `["images", ".svg"]`. The error says what is wrong with which entry.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<LogList, String> {
        let mut by_extension = HashMap::default();
        for entry in entries.iter().map(AsRef::as_ref) {
            for extension in extensions_of(entry)? {
                let logged = Logged { group: entry.into(), extension: extension.clone() };
                by_extension.entry(extension).or_insert(logged);
            }
        }
        Ok(LogList { by_extension: Arc::new(by_extension) })
    }

    /// The names of the shipped groups.
    pub fn groups() -> impl Iterator<Item = &'static str> {
        GROUPS.iter().map(|(name, _)| *name)
    }

    pub fn is_empty(&self) -> bool {
        self.by_extension.is_empty()
    }

    pub fn find(&self, url: &CrawlUrl) -> Option<&Logged> {
        if self.is_empty() {
            return None;
        }
        let extension = url.extension()?;
        match extension.bytes().any(|b| b.is_ascii_uppercase()) {
            true => self.by_extension.get(extension.to_ascii_lowercase().as_str()),
            false => self.by_extension.get(extension),
        }
    }
}

fn extensions_of(entry: &str) -> Result<Vec<Box<str>>, String> {
    if let Some((_, extensions)) = GROUPS.iter().find(|(name, _)| *name == entry) {
        return Ok(extensions.iter().map(|extension| Box::from(*extension)).collect());
    }
    let is_one = |text: &&str| !text.is_empty() && !text.contains(['/', '.', '?', '#', ' ']);
    match entry.strip_prefix('.').filter(is_one) {
        Some(extension) => Ok(vec![extension.to_ascii_lowercase().into()]),
        None => {
            let known: Vec<&str> = LogList::groups().collect();
            Err(format!(
                "\"{entry}\" is neither a group ({}) nor an extension with its dot",
                known.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &LogList, text: &str) -> Option<(String, String)> {
        let url = CrawlUrl::parse(text).expect("a URL");
        list.find(&url).map(|logged| (logged.group.to_string(), logged.extension.to_string()))
    }

    #[test]
    fn groups_and_single_extensions_are_found_in_any_case() {
        let list = LogList::parse(&["pdf", "documents", ".XYZ"]).expect("a list");
        let of = |group: &str, extension: &str| Some((group.to_owned(), extension.to_owned()));
        assert_eq!(found(&list, "http://a.org/x.PDF?y"), of("pdf", "pdf"));
        assert_eq!(found(&list, "http://a.org/x.doc"), of("documents", "doc"));
        assert_eq!(found(&list, "http://a.org/x.xyz"), of(".XYZ", "xyz"));
        assert_eq!(found(&list, "http://a.org/x.html"), None);
        assert_eq!(found(&list, "http://a.org/pdf"), None);
        assert_eq!(found(&LogList::default(), "http://a.org/x.pdf"), None);
    }

    #[test]
    fn a_mistyped_group_is_refused_with_those_there_are() {
        let error = LogList::parse(&["imagse"]).expect_err("no such group");
        assert!(error.contains("\"imagse\"") && error.contains("images, audio"), "{error}");
        assert!(LogList::parse(&["."]).is_err() && LogList::parse(&[".tar.gz"]).is_err());
        let names: Vec<&str> = LogList::groups().collect();
        assert!(LogList::parse(&names).is_ok());
    }

    #[test]
    fn no_page_is_in_a_shipped_group() {
        let all: Vec<&str> = LogList::groups().collect();
        let list = LogList::parse(&all).expect("a list");
        for page in ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "txt", "xml"] {
            assert_eq!(found(&list, &format!("http://a.org/x.{page}")), None, "{page}");
        }
    }
}
