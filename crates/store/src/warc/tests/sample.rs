//! Exchanges of every kind, and a disk that fails when told to.

use std::{
    io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use model::{
    ArchiveEntry, CrawlUrl, EntryKind, Exchange, Hazard, Headers, Mark, Measure, Met, Purpose,
    RecordId, RefersTo, Stopped, StoreError, Timestamp, Timing,
};

use super::super::{
    Compression, Press, WarcArchive, WarcOptions, dechunk,
    digest::sha1,
    disk::{Disk, RealDisk, VolumeFile},
    press::Dictionary,
    record,
    recover::Recovery,
};

pub(in crate::warc) const NOON: i64 = 1_700_000_000_123;

/// An exchange and how it is archived.
#[derive(Clone)]
pub(in crate::warc) struct Sample {
    pub(in crate::warc) exchange: Exchange,
    pub(in crate::warc) kind: EntryKind,
}

impl Sample {
    pub(in crate::warc) fn entry(&self, id: RecordId) -> ArchiveEntry<'_> {
        ArchiveEntry {
            exchange: &self.exchange,
            record_id: id,
            payload_digest: sha1(&[&self.exchange.entity]),
            block_digest: None,
            kind: self.kind.clone(),
        }
    }
}

pub(in crate::warc) fn response(path: &str, head: &str, wire_body: impl Into<Bytes>) -> Sample {
    let url = CrawlUrl::parse(&format!("http://site.example{path}")).unwrap();
    let response_head = Bytes::from(format!("{head}\r\n\r\n"));
    let (headers, wire_body) = (Headers::parse(&response_head), wire_body.into());
    let chunked = headers.get("transfer-encoding").is_some();
    let entity = if chunked { Bytes::from(dechunk(&wire_body)) } else { wire_body.clone() };
    let request = format!("GET {path} HTTP/1.1\r\nHost: site.example\r\n\r\n");
    let timing = Timing { total: Duration::from_micros(12_345), reused: true, ..Timing::default() };
    let exchange = Exchange {
        url,
        purpose: if path == "/robots.txt" { Purpose::Robots } else { Purpose::Page },
        started: Timestamp(NOON),
        address: Some([192, 0, 2, 7].into()),
        request_head: request.into(),
        status: head[9..12].parse().unwrap(),
        response_head,
        headers,
        body: entity.clone(),
        entity,
        wire_body,
        stopped: None,
        met: Vec::new(),
        timing,
        protocol: Default::default(),
    };
    Sample { exchange, kind: EntryKind::Response }
}

pub(in crate::warc) fn page(number: u32) -> Sample {
    let body = format!("<html><title>page {number}</title><p>{}</p>", "words ".repeat(20));
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", body.len());
    let mut sample = response(&format!("/{number}"), &head, body);
    sample.exchange.started = Timestamp(NOON + i64::from(number) * 1_000);
    sample
}

/// The same page an hour later, unchanged.
pub(in crate::warc) fn same_again(earlier: &Sample) -> Sample {
    let mut again = earlier.clone();
    again.exchange.started.0 += 3_600_000;
    again.kind = EntryKind::SamePayload(refers_to(earlier));
    again
}

pub(in crate::warc) fn not_modified(earlier: &Sample) -> Sample {
    let path = earlier.exchange.url.path_and_query().to_owned();
    let mut again = response(&path, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"", "");
    again.exchange.started.0 = earlier.exchange.started.0 + 7_200_000;
    again.kind = EntryKind::NotModified(refers_to(earlier));
    again
}

fn refers_to(earlier: &Sample) -> RefersTo {
    RefersTo {
        target_uri: earlier.exchange.url.as_str().to_owned(),
        date: earlier.exchange.started,
        payload_digest: sha1(&[&earlier.exchange.entity]),
    }
}

/// One of every kind of record there is.
pub(in crate::warc) fn every_kind() -> Vec<Sample> {
    let text = "lorem ipsum dolor sit amet ".repeat(300);
    let packed = gzip(text.as_bytes());
    let length =
        |n: usize| format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {n}");
    let plain = response("/plain?a=b&c=%20", &length(text.len()), text.clone());
    let chunked = response(
        "/chunked",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked",
        "5\r\nhello\r\n6;ext\r\n world\r\n0\r\nTrailer: x\r\n\r\n",
    );
    let coded =
        response("/gzip", &format!("{}\r\nContent-Encoding: gzip", length(packed.len())), packed);
    let binary: Vec<u8> = (0..5_000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let image = response("/image", "HTTP/1.1 200 OK\r\nContent-Type: image/png", binary);
    let large: Vec<u8> =
        (0..1u32 << 20).map(|i| b"0123456789abcdef"[(i * 7 % 16) as usize]).collect();
    let large = response("/large", &length(large.len()), large);
    let mut cut = response("/cut", &length(10_000), "only this much came");
    cut.exchange.stopped = Some(Stopped::Disconnect);
    cut.exchange.met = vec![
        Met::new(Hazard::BadLength, Measure::Corrected).of("a length that is no number"),
        Met::new(Hazard::SlowResponse, Measure::Noted),
    ];
    let mut unwanted = response("/movie", "HTTP/1.1 200 OK\r\nContent-Type: video/mp4", "");
    unwanted.exchange.stopped = Some(Stopped::Type);
    let empty = response("/empty", "HTTP/1.1 200 OK\r\nContent-Length: 0", "");
    let missing = response("/missing", "HTTP/1.1 404 Not Found\r\nContent-Length: 4", "gone");
    let robots =
        response("/robots.txt", "HTTP/1.1 200 OK\r\nContent-Length: 15", "User-agent: *\r\n");
    let mut v6 = page(6);
    v6.exchange.address = Some("2001:db8::1".parse().unwrap());
    v6.exchange.protocol = model::Protocol::Http2;
    let (same, unmodified, same_chunked) =
        (same_again(&plain), not_modified(&coded), same_again(&chunked));
    vec![
        robots,
        plain,
        chunked,
        coded,
        image,
        large,
        cut,
        unwanted,
        empty,
        missing,
        v6,
        same,
        unmodified,
        same_chunked,
    ]
}

/// A folder for one case of thousands: in memory where the system has such a place.
pub(in crate::warc) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(in crate::warc) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::default();
    let mut packed = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let length = compressor.gzip_compress(bytes, &mut packed).unwrap();
    packed.truncate(length);
    packed
}

/// The ways to pack a volume: every promise holds for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warc) enum Way {
    Gzip,
    Zstd,
    /// With a dictionary, a small one.
    Dictionary,
}

impl Way {
    pub(in crate::warc) const ALL: [Way; 3] = [Way::Gzip, Way::Zstd, Way::Dictionary];

    pub(in crate::warc) fn options(self) -> WarcOptions {
        let compression = if self == Way::Gzip { Compression::Gzip } else { Compression::Zstd };
        WarcOptions { compression, ..options() }
    }

    pub(in crate::warc) fn small_volumes(self, bytes: u64) -> WarcOptions {
        WarcOptions { volume_bytes_max: bytes, ..self.options() }
    }

    /// What the first volume is called.
    pub(in crate::warc) fn first_volume(self) -> &'static str {
        if self == Way::Gzip { "harvest-000001.warc.gz" } else { "harvest-000001.warc.zst" }
    }

    pub(in crate::warc) fn open(
        self,
        folder: &Path,
        options: WarcOptions,
    ) -> (WarcArchive, Recovery) {
        self.open_on(TestDisk::sound(), folder, options).unwrap()
    }

    pub(in crate::warc) fn open_on(
        self,
        disk: TestDisk,
        folder: &Path,
        options: WarcOptions,
    ) -> Result<(WarcArchive, Recovery), StoreError> {
        let opened = WarcArchive::open_on(Arc::new(disk), folder, options, Mark::default())?;
        if self == Way::Dictionary {
            opened.0.pack_with(Press::Zstd(Some(dictionary())));
        }
        Ok(opened)
    }
}

/// Of 2 KB: tests cut volumes at every byte.
pub(in crate::warc) fn dictionary() -> Dictionary {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| {
        let text = |number: u32| {
            let mut out = Vec::new();
            let sample = page(number);
            record::response(&mut out, &sample.entry(RecordId(u128::from(number) << 64)));
            out
        };
        let samples: Vec<_> = (0..500).map(text).collect();
        ::zstd::dict::from_samples(&samples, 2_048).unwrap()
    });
    Dictionary::new(bytes.clone(), vec!["http://site.example/0".to_owned()]).unwrap()
}

/// One that ends with the names of these pages.
pub(in crate::warc) fn dictionary_of(pages: &[&str]) -> Dictionary {
    let (pages, mut bytes) = (pages.iter().map(|url| (*url).to_owned()), dictionary().bytes);
    let pages: Vec<String> = pages.collect();
    let (at, names) = (bytes.len() - pages.concat().len(), pages.concat());
    bytes[at..].copy_from_slice(names.as_bytes());
    Dictionary::new(bytes, pages).unwrap()
}

pub(in crate::warc) fn options() -> WarcOptions {
    WarcOptions {
        software: "Harvestman/0.1.0".to_owned(),
        user_agent: "Harvestman/0.1 (+mailto:nobody@site.example)".to_owned(),
        operator: "Nobody\r\nat: all".to_owned(),
        ..WarcOptions::default()
    }
}

pub(in crate::warc) fn open(
    folder: &Path,
    options: WarcOptions,
    mark: Mark,
) -> (WarcArchive, Recovery) {
    WarcArchive::open_on(Arc::new(TestDisk::sound()), folder, options, mark).unwrap()
}

/// What goes wrong at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warc) enum Fault {
    /// ENOSPC; a write first takes half of its bytes.
    Full,
    /// EIO.
    Broken,
    /// The machine dies in the middle of a write: no operation after it does anything.
    Death,
}

/// Counts operations and fails one of them. Its syncs do nothing: tests need not wait for a disk.
#[derive(Clone)]
pub(in crate::warc) struct TestDisk {
    count: Arc<AtomicU64>,
    fail_at: u64,
    fault: Fault,
    dead: Arc<AtomicBool>,
}

impl TestDisk {
    pub(in crate::warc) fn sound() -> TestDisk {
        TestDisk::failing(u64::MAX, Fault::Broken)
    }

    pub(in crate::warc) fn failing(fail_at: u64, fault: Fault) -> TestDisk {
        TestDisk { count: Arc::default(), fail_at, fault, dead: Arc::default() }
    }

    pub(in crate::warc) fn has_failed(&self) -> bool {
        self.count.load(Ordering::SeqCst) >= self.fail_at
    }

    fn step(&self) -> io::Result<()> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 != self.fail_at {
            return Ok(());
        }
        self.dead.store(self.fault == Fault::Death, Ordering::SeqCst);
        let code = if self.fault == Fault::Full { libc::ENOSPC } else { libc::EIO };
        Err(io::Error::from_raw_os_error(code))
    }
}

impl Disk for TestDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        self.step()?;
        Ok(Arc::new(TestFile { disk: self.clone(), file: RealDisk.create(path)? }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        self.step()?;
        Ok(Arc::new(TestFile { disk: self.clone(), file: RealDisk.open(path)? }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove(path)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        self.step()
    }
}

struct TestFile {
    disk: TestDisk,
    file: Arc<dyn VolumeFile>,
}

impl VolumeFile for TestFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let was_dead = self.disk.dead.load(Ordering::SeqCst);
        let stepped = self.disk.step();
        if stepped.is_err() && !was_dead {
            self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
        }
        stepped?;
        // Short writes are legal at any time.
        self.file.write_at(&bytes[..bytes.len().div_ceil(3).max(bytes.len().min(500))], offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.step()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.step()?;
        self.file.set_len(length)
    }
}
