//! What the simulated servers saw: every request with its start and end, in memory and as JSON lines.
//!
//! A request is written when it is over, however it ends: an [`OpenVisit`] that is dropped (client gone,
//! server stopped) is written too. Memory is bounded; what no longer fits is counted as dropped.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Answer, PageId, Request, SimWeb, web::bare_host};

/// Microseconds since the log began.
pub(crate) type Micros = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Off: counters only, for measurements.
    pub entries: bool,
    /// About 200 bytes each: the default is 400 MB at the very most.
    pub entries_max: usize,
    /// Also append each entry to this file as a line of JSON, at once.
    pub file: Option<PathBuf>,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions { entries: true, entries_max: 2_000_000, file: None }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When the whole request was there, in µs since the log began.
    pub start_us: u64,
    /// When the last byte of the answer was handed over, or the connection broke.
    pub end_us: u64,
    /// The web's own time at the start.
    pub at: Timestamp,
    /// Lower case, without port and the dot behind: however it is spelled, it is one host.
    pub host: Arc<str>,
    /// Path and query.
    pub target: String,
    /// 0 when no status was sent.
    pub status: u16,
    pub connection: u64,
    /// The server's address.
    pub address: IpAddr,
    pub tls: bool,
    pub method: Arc<str>,
    pub agent: Arc<str>,
    /// Carried If-None-Match or If-Modified-Since.
    pub conditional: bool,
    /// Sent, head included.
    pub bytes: u64,
    pub retry_after: Option<u32>,
}

impl Entry {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host, self.target)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub requests: u64,
    pub connections: u64,
    /// Answers 200 to pages of the sites.
    pub pages: u64,
    /// The same, each page once (0 for webs of more than 100 million pages).
    pub unique_pages: u64,
    pub not_modified: u64,
    pub redirects: u64,
    /// 4xx, 5xx and requests that got no status.
    pub failures: u64,
    pub robots: u64,
    pub bytes: u64,
    /// Entries that found no room in memory.
    pub dropped: u64,
}

pub struct Log {
    options: LogOptions,
    micros: Micros,
    entries: Mutex<Vec<Entry>>,
    names: Mutex<HashSet<Arc<str>>>,
    file: Mutex<Option<File>>,
    counts: Mutex<Counts>,
    connections: AtomicU64,
    seen: Option<Seen>,
}

/// Where and when a request arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub connection: u64,
    pub address: IpAddr,
}

impl Log {
    pub(crate) fn new(web: &SimWeb, options: LogOptions, micros: Micros) -> io::Result<Arc<Log>> {
        let file = match &options.file {
            Some(path) => Some(File::options().create(true).append(true).open(path)?),
            None => None,
        };
        Ok(Arc::new(Log {
            options,
            micros,
            entries: Mutex::default(),
            names: Mutex::default(),
            file: Mutex::new(file),
            counts: Mutex::default(),
            connections: AtomicU64::new(0),
            seen: Seen::new(web),
        }))
    }

    /// All finished requests by start.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = lock(&self.entries).clone();
        entries.sort_by_key(|entry| entry.start_us);
        entries
    }

    pub fn counts(&self) -> Counts {
        let unique_pages = self.seen.as_ref().map_or(0, Seen::count);
        let connections = self.connections.load(Relaxed);
        Counts { unique_pages, connections, ..*lock(&self.counts) }
    }

    /// Forgets all but the numbers of connections.
    pub fn reset(&self) {
        lock(&self.entries).clear();
        *lock(&self.counts) = Counts::default();
        if let Some(seen) = &self.seen {
            seen.clear();
        }
    }

    /// A number for a new connection.
    pub fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed) + 1
    }

    pub fn open(self: &Arc<Log>, request: &Request<'_>, arrival: Arrival) -> OpenVisit {
        let start_us = (self.micros)();
        let wanted = self.options.entries || self.options.file.is_some();
        let entry = wanted.then(|| {
            let host = bare_host(request.host);
            Entry {
                start_us,
                end_us: start_us,
                at: arrival.at,
                host: self.name(&host),
                target: request.target.to_owned(),
                status: 0,
                connection: arrival.connection,
                address: arrival.address,
                tls: request.tls,
                method: self.name(request.method),
                agent: self.name(request.agent),
                conditional: request.if_none_match.is_some() || request.if_modified_since.is_some(),
                bytes: 0,
                retry_after: None,
            }
        });
        let robots = request.path() == "/robots.txt";
        OpenVisit { log: Arc::clone(self), entry, robots, status: 0, bytes: 0, page: None }
    }

    fn close(&self, visit: &mut OpenVisit) {
        if let (Some(seen), Some(page), 200) = (&self.seen, visit.page, visit.status) {
            seen.mark(page);
        }
        self.count(visit);
        let Some(mut entry) = visit.entry.take() else { return };
        entry.end_us = (self.micros)();
        entry.status = visit.status;
        entry.bytes = visit.bytes;
        if let Some(file) = lock(&self.file).as_mut() {
            let mut line = serde_json::to_vec(&entry).unwrap_or_default();
            line.push(b'\n');
            // A log that cannot be written must not change how the simulated server answers.
            let _ = file.write_all(&line);
        }
        let mut entries = lock(&self.entries);
        if self.options.entries && entries.len() < self.options.entries_max {
            entries.push(entry);
        } else if self.options.entries {
            lock(&self.counts).dropped += 1;
        }
    }

    fn count(&self, visit: &OpenVisit) {
        let mut counts = lock(&self.counts);
        counts.requests += 1;
        counts.bytes += visit.bytes;
        counts.robots += u64::from(visit.robots);
        match visit.status {
            200 => counts.pages += u64::from(visit.page.is_some()),
            304 => counts.not_modified += 1,
            300..=399 => counts.redirects += 1,
            0 | 400.. => counts.failures += 1,
            _ => {}
        }
    }

    /// One copy of each host, agent and method.
    fn name(&self, text: &str) -> Arc<str> {
        let mut names = lock(&self.names);
        if let Some(name) = names.get(text) {
            return Arc::clone(name);
        }
        let name: Arc<str> = Arc::from(text);
        // A client that invents hosts must not grow the set without end.
        if names.len() < 100_000 {
            names.insert(Arc::clone(&name));
        }
        name
    }
}

/// A request that is being answered. Dropping it writes it down.
pub struct OpenVisit {
    log: Arc<Log>,
    entry: Option<Entry>,
    robots: bool,
    status: u16,
    page: Option<PageId>,
    bytes: u64,
}

impl OpenVisit {
    pub fn answered(&mut self, answer: &Answer) {
        self.status = answer.status;
        self.page = answer.page;
        if let Some(entry) = &mut self.entry {
            entry.retry_after = answer.retry_after;
        }
    }

    pub fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }
}

impl Drop for OpenVisit {
    fn drop(&mut self) {
        let log = Arc::clone(&self.log);
        log.close(self);
    }
}

/// Reads a log file that a server wrote; an unfinished last line is passed over.
pub fn read_log(path: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        if let Ok(entry) = serde_json::from_str::<Entry>(&line?) {
            entries.push(entry);
        }
    }
    entries.sort_by_key(|entry| entry.start_us);
    Ok(entries)
}

impl Default for Arrival {
    fn default() -> Arrival {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Arrival { at: Timestamp::ZERO, connection: 0, address }
    }
}

/// Which pages were given out: a bit each, where a web is small enough for that (12 MB at most).
struct Seen {
    /// Bits before those of each site.
    offsets: Vec<usize>,
    bits: Vec<AtomicU64>,
}

impl Seen {
    const PAGES_MAX: usize = 100_000_000;

    fn new(web: &SimWeb) -> Option<Seen> {
        let mut offsets = Vec::new();
        let mut total = 0;
        for site in 0..web.sites() {
            offsets.push(total);
            total += web.pages(site);
            if total > Seen::PAGES_MAX {
                return None;
            }
        }
        let bits = (0..total.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Some(Seen { offsets, bits })
    }

    fn mark(&self, page: PageId) {
        let at = self.offsets[page.site] + page.index;
        self.bits[at / 64].fetch_or(1 << (at % 64), Relaxed);
    }

    fn count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    fn clear(&self) {
        self.bits.iter().for_each(|word| word.store(0, Relaxed));
    }
}

/// A panic elsewhere must not hide what the log holds.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
