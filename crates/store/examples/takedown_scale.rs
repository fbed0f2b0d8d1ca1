//! How much of the volumes a takedown reads: one site of many, by the indexes beside the volumes and as it was
//! before there were any, when every volume was read.
//!
//! A page takes some 7 KB, as measured for crawls of the web, and arrives compressed. Each site is visited from one
//! page to the next while a few hundred others are, as a polite crawl does.
//! `cargo run --release -p store --example takedown_scale -- FOLDER [MEGABYTES] [VOLUMES]`

use std::{fs::File, io::BufReader, path::Path, time::Instant};

use bytes::Bytes;
use model::{
    Archive, ArchiveEntry, CrawlUrl, EntryKind, Exchange, Headers, Purpose, Timestamp, Timing,
};
use store::{
    collection::Collection,
    forget::{Forget, Target, Targets, forget, would_forget},
    tombstones::Tombstone,
    warc::{Volumes, WarcArchive, WarcOptions, WarcReader, sha1},
};

const START: Timestamp = Timestamp(1_790_000_000_000);
/// Sites that are visited at the same time, and pages of each.
const AT_ONCE: usize = 300;
const PAGES: usize = 40;
/// As measured: what a page takes in a volume.
const PAGE_BYTES: u64 = 7_400;

type Trouble = Box<dyn std::error::Error>;

fn main() -> Result<(), Trouble> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().ok_or("say where: takedown_scale FOLDER [MEGABYTES] [VOLUMES]")?;
    let megabytes: u64 = arguments.next().map_or(Ok(100), |n| n.parse())?;
    let volumes: u64 = arguments.next().map_or(Ok(10), |n| n.parse())?;
    let collection = Collection::create(Path::new(&folder))?;
    let begun = Instant::now();
    let pages = build(&collection, megabytes * 1_000_000, volumes)?;
    let (all, indexes) = sizes(&collection)?;
    println!(
        "{pages} pages in {} sites: {:.1} MB in {} volumes, indexes {:.3} % of that, {:?}",
        pages / PAGES,
        mb(all),
        Volumes::new(collection.volumes()).list()?.len(),
        share(indexes, all),
        begun.elapsed()
    );
    // In the middle of the volumes.
    let site = format!("site-{}.example", pages / PAGES / 2);
    read_all(&collection, &site, all)?;
    take_down(&collection, &site, all, true)?;
    take_down(&collection, &site, all, false)
}

/// As it was: the fields of every record.
fn read_all(collection: &Collection, site: &str, all: u64) -> Result<(), Trouble> {
    let (begun, before, mut records) = (Instant::now(), read_by_process()?, 0);
    let targets = Targets::new(vec![Target::Site(site.to_owned())]);
    for volume in Volumes::new(collection.volumes()).list()? {
        let file = BufReader::with_capacity(1 << 20, File::open(&volume.path)?);
        for record in WarcReader::new(file).keep_at_most(0) {
            let record = record?;
            let uri = record.field("WARC-Target-URI").unwrap_or_default();
            records += u64::from(targets.covers_text(uri));
        }
    }
    println!(
        "every volume read: {records} records found in {:?}, the process read {:.3} %",
        begun.elapsed(),
        share(read_by_process()? - before, all)
    );
    Ok(())
}

fn take_down(collection: &Collection, site: &str, all: u64, dry: bool) -> Result<(), Trouble> {
    let lock = collection.lock()?;
    let (begun, before) = (Instant::now(), read_by_process()?);
    let request = Forget {
        targets: Targets::new(vec![Target::Site(site.to_owned())]),
        tombstones: vec![Tombstone { kind: "site".into(), hash: [7; 16], created: START }],
        now: START,
        progress: &mut |_| Ok(()),
    };
    let removed = match dry {
        true => would_forget(collection, &lock, request)?,
        false => forget(collection, &lock, request)?,
    };
    let read = removed.read;
    println!(
        "{}: {} records found in {:?}; read of indexes and records {:.3} % ({:.3} + {:.3}), {} volumes \
         rewritten ({:.3} %); the process read {:.3} % with the database",
        if dry { "dry run" } else { "takedown" },
        removed.records,
        begun.elapsed(),
        share(read.indexes + read.volumes, all),
        share(read.indexes, all),
        share(read.volumes, all),
        removed.volumes_rewritten,
        share(read.rewritten, all),
        share(read_by_process()? - before, all)
    );
    Ok(())
}

/// What the process has asked the system for, whether it came from the disk or from memory.
fn read_by_process() -> Result<u64, Trouble> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    Ok(line.ok_or("no rchar")?.parse()?)
}

fn build(collection: &Collection, bytes: u64, volumes: u64) -> Result<usize, Trouble> {
    let options = WarcOptions { volume_bytes_max: bytes / volumes, ..WarcOptions::default() };
    let (archive, _) = WarcArchive::open(&collection.volumes(), options, Default::default())?;
    let noise = noise();
    let together = AT_ONCE * PAGES;
    let pages = (bytes / PAGE_BYTES) as usize / PAGES * PAGES;
    for n in 0..pages {
        // Sites come in groups; within a group each has its turn.
        let (group, within) = (n / together, n % together);
        let sites = AT_ONCE.min((pages - group * together) / PAGES);
        let (site, page) = (group * AT_ONCE + within % sites, within / sites);
        // As long as titles in URLs are, and no more alike.
        let title = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let url = format!("https://site-{site}.example/section-{}/{title:016x}.html", page % 7);
        let exchange = exchange(CrawlUrl::parse(&url)?, n, &noise);
        let (record_id, payload_digest) = (archive.record_id(), sha1(&[&exchange.entity]));
        let kind = EntryKind::Response;
        let entry = ArchiveEntry {
            exchange: &exchange,
            record_id,
            payload_digest,
            block_digest: None,
            kind,
        };
        let record = archive.append(&entry)?;
        archive.settled(record);
    }
    archive.seal()?;
    Ok(pages)
}

/// Bytes that cannot be packed.
fn noise() -> Bytes {
    let mut state = 1u64;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).to_le_bytes()[0]
    };
    (0..1 << 20).map(next).collect::<Vec<u8>>().into()
}

fn exchange(url: CrawlUrl, n: usize, noise: &Bytes) -> Exchange {
    // From 2 to 11 KB.
    let length = 2_000 + n * 7_919 % 9_000;
    let from = n * 104_729 % (noise.len() - length);
    let body = noise.slice(from..from + length);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", url.path(), url.host());
    Exchange {
        url,
        purpose: Purpose::Page,
        started: Timestamp(START.0 + n as i64 * 9),
        address: None,
        request_head: Bytes::from(request),
        headers: Headers::parse(head.as_bytes()),
        response_head: Bytes::from(head),
        status: 200,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None,
        met: Vec::new(),
        protocol: Default::default(),
        timing: Timing::default(),
    }
}

/// Of volumes, and of their indexes.
fn sizes(collection: &Collection) -> Result<(u64, u64), Trouble> {
    let (mut volumes, mut indexes) = (0, 0);
    for entry in std::fs::read_dir(collection.volumes())? {
        let entry = entry?;
        let is_index = entry.path().extension().is_some_and(|ending| ending == "idx");
        *if is_index { &mut indexes } else { &mut volumes } += entry.metadata()?.len();
    }
    Ok((volumes, indexes))
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn share(bytes: u64, all: u64) -> f64 {
    100.0 * bytes as f64 / all as f64
}
