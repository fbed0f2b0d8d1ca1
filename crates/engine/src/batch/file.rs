//! The file in which a batch travels: JSON, a header on the first line, then a line for each site, or several where
//! it has many pages.
//!
//! It is written beside its place and renamed, so that there is a whole one or none. What it says is read as
//! what comes from outside: lines are bounded, URLs are parsed, and only manners are taken from it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use model::{
    Condition, CrawlUrl, LastVersion, Page, PageState, RobotsCopy, SignalSource, SiteClock,
    SiteHabit, SiteKey, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use config::failure::{Failure, cannot_write};

pub const FORMAT: &str = "harvestman-batch";
pub const VERSION: u32 = 1;

/// Pages in one line: whoever reads it has it in memory, and a site may have millions.
pub const LINE_PAGES_MAX: usize = 16_000;
/// Far above what so many pages take; older versions wrote a site into one line, however long.
const LINE_BYTES_MAX: u64 = 512 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The collection's own name for itself.
    pub collection: String,
    pub batch: i64,
    pub made: Timestamp,
    /// When the leases end: nobody may visit the sites in its name after that.
    pub until: Timestamp,
    pub sites: u64,
    pub pages: u64,
    /// How the collection behaves towards sites: keys of the configuration.
    pub manners: BTreeMap<String, Value>,
    /// What it keeps away from.
    pub blocks: Vec<String>,
}

/// A site with pages of it that are to be visited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteLine {
    pub key: SiteKey,
    pub fence: u64,
    /// Between two visits, as the collection has it for this site.
    pub pause: Duration,
    pub clock: SiteClock,
    pub habit: SiteHabit,
    pub robots: Vec<RobotsCopy>,
    pub pages: Vec<PageLine>,
}

/// What a visit needs to know of its page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageLine {
    pub url: String,
    /// By name.
    pub spider: String,
    pub state: PageState,
    pub level: u16,
    pub failures: u16,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requisite: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<SignalSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastLine>,
}

/// The version at hand, as far as asking conditionally and referring to its record go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    pub payload_sha1: [u8; 20],
    pub record_date: Timestamp,
    pub whole: bool,
    pub body_bytes: u64,
    pub content_hash: u64,
    pub text_hash: u64,
}

impl PageLine {
    pub fn new(page: &Page, spider: &str) -> PageLine {
        PageLine {
            url: page.url.as_str().to_owned(),
            spider: spider.to_owned(),
            state: page.state,
            level: page.level,
            failures: page.failures,
            requisite: page.terms.requisite,
            notice: page.terms.notice,
            last: page.last.as_ref().map(LastLine::new),
        }
    }
}

impl LastLine {
    fn new(last: &LastVersion) -> LastLine {
        let Condition { etag, last_modified } = last.condition.clone();
        LastLine {
            etag,
            last_modified,
            payload_sha1: last.payload_digest,
            record_date: last.record_date,
            whole: last.whole,
            body_bytes: last.body_bytes,
            content_hash: last.content_hash,
            text_hash: last.text_hash,
        }
    }
}

/// A batch file that is being written, beside its place: there is all of it or nothing. Sites go into it as they are
/// lent, so that no batch has to fit into memory; how many they are stands before them, in room that was left.
pub struct BatchWriter {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    head_bytes: usize,
}

impl BatchWriter {
    /// `header` with whatever counts: they are said at the end.
    pub fn begin(path: &Path, header: &Header) -> Result<BatchWriter, Failure> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let widest = Header { sites: u64::MAX, pages: u64::MAX, ..header.clone() };
        let head_bytes = line(&widest).len();
        let file = File::create(&part).map_err(|error| cannot_write(path, &error))?;
        let file = BufWriter::new(file);
        let mut writer = BatchWriter { path: path.to_owned(), part, file, head_bytes };
        writer.put(&" ".repeat(head_bytes))?;
        Ok(writer)
    }

    /// A site may come several times, each time with other pages.
    pub fn add(&mut self, site: &SiteLine) -> Result<(), Failure> {
        self.put(&line(site))
    }

    pub fn finish(mut self, header: &Header) -> Result<(), Failure> {
        let finished = self.put_in_place(header);
        finished.map_err(|error| cannot_write(&self.path, &error))
    }

    fn put_in_place(&mut self, header: &Header) -> io::Result<()> {
        let text = line(header);
        let width = self.head_bytes - 1;
        self.file.seek(SeekFrom::Start(0))?;
        writeln!(self.file, "{:<width$}", text.trim_end())?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.part, &self.path)?;
        sync_folder(&self.path)
    }

    fn put(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        // What is half written is of no use to anybody; that it stays harms nobody either.
        let _ = fs::remove_file(&self.part);
    }
}

fn line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("headers and sites are plain data");
    text + "\n"
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

/// A batch file that is being read.
#[derive(Debug)]
pub struct BatchFile {
    pub header: Header,
    path: PathBuf,
    reader: BufReader<File>,
    line: u64,
}

impl BatchFile {
    pub fn open(path: &Path) -> Result<BatchFile, Failure> {
        let file = File::open(path).map_err(|error| {
            Failure::usage(
                format!("cannot read {}: {error}", path.display()),
                "name a file that harvestman batch export has written",
            )
        })?;
        let (path, reader) = (path.to_owned(), BufReader::new(file));
        let header = Header {
            format: String::new(),
            version: 0,
            collection: String::new(),
            batch: 0,
            made: Timestamp::ZERO,
            until: Timestamp::ZERO,
            sites: 0,
            pages: 0,
            manners: BTreeMap::new(),
            blocks: Vec::new(),
        };
        let mut batch = BatchFile { header, path, reader, line: 0 };
        let text = batch.next_line()?.ok_or_else(|| batch.wrong("it is empty"))?;
        let header: Value = serde_json::from_str(&text).map_err(|e| batch.wrong(&e.to_string()))?;
        if header["format"] != FORMAT {
            return Err(batch.wrong("it is no batch"));
        }
        if header["version"] != VERSION {
            return Err(batch.wrong("it was written by another version of this program"));
        }
        batch.header = serde_json::from_value(header).map_err(|e| batch.wrong(&e.to_string()))?;
        Ok(batch)
    }

    /// The next site, with its pages as URLs of that site.
    pub fn next_site(&mut self) -> Result<Option<(SiteLine, Vec<CrawlUrl>)>, Failure> {
        let Some(text) = self.next_line()? else { return Ok(None) };
        let site: SiteLine = serde_json::from_str(&text).map_err(|e| self.wrong(&e.to_string()))?;
        let mut urls = Vec::with_capacity(site.pages.len());
        for page in &site.pages {
            let url = CrawlUrl::parse(&page.url).ok();
            let url = url.filter(|url| url.site() == site.key && url.as_str() == page.url);
            urls.push(url.ok_or_else(|| self.wrong("a page is none of its site's"))?);
        }
        Ok(Some((site, urls)))
    }

    fn next_line(&mut self) -> Result<Option<String>, Failure> {
        let mut text = String::new();
        self.line += 1;
        let read = (&mut self.reader).take(LINE_BYTES_MAX).read_line(&mut text);
        match read {
            Ok(0) => Ok(None),
            Ok(_) if !text.ends_with('\n') => Err(self.wrong("it is cut off")),
            Ok(_) => Ok(Some(text)),
            Err(error) => Err(self.wrong(&error.to_string())),
        }
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::usage(
            format!("{}, line {}: {what}", self.path.display(), self.line),
            "copy it again from where harvestman batch export wrote it",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            collection: "c".to_owned(),
            batch: 3,
            made: Timestamp(1),
            until: Timestamp(2),
            sites: 1,
            pages: 1,
            manners: BTreeMap::from([("etiquette.delay".to_owned(), Value::from("5s"))]),
            blocks: vec![".b.example".to_owned()],
        }
    }

    fn site(url: &str) -> SiteLine {
        SiteLine {
            key: SiteKey::stored("a.example"),
            fence: 4,
            pause: Duration::from_secs(2),
            clock: SiteClock::default(),
            habit: SiteHabit::default(),
            robots: Vec::new(),
            pages: vec![PageLine {
                url: url.to_owned(),
                spider: "default".to_owned(),
                state: PageState::Known,
                level: 1,
                failures: 0,
                requisite: false,
                notice: None,
                last: None,
            }],
        }
    }

    fn write(path: &Path, header: &Header, sites: &[SiteLine]) {
        let mut writer = BatchWriter::begin(path, header).unwrap();
        sites.iter().for_each(|site| writer.add(site).unwrap());
        writer.finish(header).unwrap();
    }

    #[test]
    fn what_was_written_is_read_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        let line = site("http://a.example/x");
        write(&path, &header(), &[line.clone(), line.clone()]);
        let mut batch = BatchFile::open(&path).unwrap();
        assert_eq!(batch.header, header());
        for _ in 0..2 {
            assert_eq!(batch.next_site().unwrap().unwrap().0, line);
        }
        assert!(batch.next_site().unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::begin(&folder.path().join("b.jsonl"), &header()).unwrap();
        writer.add(&site("http://a.example/x")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_no_whole_batch_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        for text in ["", "{}\n", "no\n", "{\"format\":\"harvestman-batch\",\"version\":99}\n"] {
            fs::write(&path, text).unwrap();
            let failure = BatchFile::open(&path).unwrap_err();
            assert!(failure.sentence.contains("line 1"), "{text:?}: {failure}");
        }
        write(&path, &header(), &[site("http://b.example/")]);
        let failure = BatchFile::open(&path).unwrap().next_site().unwrap_err();
        assert!(failure.sentence.contains("none of its site's"), "{failure}");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        let failure = BatchFile::open(&path).unwrap().next_site().unwrap_err();
        assert!(failure.sentence.contains("cut off"), "{failure}");
    }
}
