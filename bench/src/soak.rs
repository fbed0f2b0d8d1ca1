//! Days of work in an hour: millions of small pages over very many hosts, and whether memory, open files and threads are
//! in the last tenth of the way what they were in the first. Looked at from outside, by what the kernel says of the process.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use simweb::Counts;

use crate::{
    disk::Disk,
    machine,
    process::{self, Cores, Job, Outcome},
    results,
    server::{Kind, Server, Web},
};

/// The last tenth of the way against the first, for memory, open files and threads alike.
const GROWTH_AIM: f64 = 1.10;
const MEMORY_AIM_MB: u64 = 1_000;
/// Connections come and go: so many open files more or less say nothing.
const NOISE: u64 = 16;
/// How often the server is asked how far it is.
const LOOK: Duration = Duration::from_millis(250);
/// The slowest machine that makes sense: 500 fetches a second.
const RATE_MIN: u64 = 500;

/// How much of it.
#[derive(Debug, PartialEq)]
struct Size {
    fetches: usize,
    hosts: usize,
}

/// The process over a tenth of the way: the most of each that was seen. A single moment would say less: memory breathes
/// by a tenth with every transaction.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// When it was seen last.
    at: Duration,
    pages: u64,
    /// Of it `anonymous`: without the parts of files that the kernel keeps for it.
    resident: u64,
    anonymous: u64,
    handles: u64,
    threads: u64,
}

pub fn soak(programs: &Path, scratch: &Path, results: &Path, words: &[&str]) -> anyhow::Result<()> {
    let size = Size::of(words)?;
    fs::create_dir_all(scratch)?;
    let load = machine::load();
    let text = size.measure(programs, &fs::canonicalize(scratch)?)?;
    let text = format!("{text}\nLoad of the machine before: {load:.1}.\n");
    print!("{text}");
    results::write(results, "soak", &text)
}

impl Size {
    fn of(words: &[&str]) -> anyhow::Result<Size> {
        let mut size = Size { fetches: 10_000_000, hosts: 100_000 };
        for pair in words.chunks(2) {
            let [name, number] = pair else { bail!("{} needs a number", pair[0]) };
            let number: usize = number.parse().with_context(|| format!("{name} {number}"))?;
            match *name {
                "--fetches" => size.fetches = number,
                "--hosts" => size.hosts = number,
                other => bail!("no option {other}: there are --fetches and --hosts"),
            }
        }
        ensure!(size.hosts > 0 && size.fetches >= size.hosts, "every host needs a fetch");
        Ok(size)
    }

    fn web(&self) -> Web {
        Web {
            sites: self.hosts,
            pages: self.fetches / self.hosts,
            addresses: 1,
            latency_ms: 0,
            kind: Kind::SmallDomains,
        }
    }

    fn measure(&self, programs: &Path, scratch: &Path) -> anyhow::Result<String> {
        let (web, collection) = (self.web(), scratch.join("soak"));
        if collection.exists() {
            fs::remove_dir_all(&collection)?;
        }
        let server = Server::start(programs, scratch, web)?;
        seed(programs, scratch, &collection, &server)?;
        let mut watch = Watch::new(&server, (web.sites * web.pages) as u64);
        let limit = Duration::from_secs(600 + self.fetches as u64 / RATE_MIN);
        let log = scratch.join("soak.log");
        let job = crawl(programs, &collection, &server);
        let outcome = job.run_watched(Cores::Apart, limit, &log, |pid| watch.look(pid))?;
        let counts = server.counts()?;
        ensure!(
            outcome.status == 0 && counts.unique_pages == watch.pages,
            "status {}, {} of {} pages\n{}",
            outcome.status,
            counts.unique_pages,
            watch.pages,
            fs::read_to_string(&log)?
        );
        let disk = Disk::of(&collection)?.text(web.sites * web.pages);
        fs::remove_dir_all(&collection)?;
        Ok(text(web, &watch.rows(), &outcome, &counts, &disk))
    }
}

/// A new collection that knows the home pages of all hosts.
fn seed(programs: &Path, scratch: &Path, collection: &Path, server: &Server) -> anyhow::Result<()> {
    let seeds = scratch.join("soak-seeds");
    fs::write(&seeds, server.seeds().join("\n") + "\n")?;
    let mut job = Job::new(programs.join("harvestman"));
    job.arguments(["-C", &collection.to_string_lossy(), "--quiet", "seed", "--file"]);
    job.argument(seeds.to_string_lossy());
    let log = scratch.join("soak.log");
    let outcome = job.run(Cores::Shared, Duration::from_secs(600), &log)?;
    ensure!(outcome.status == 0, "seed: {}", fs::read_to_string(&log)?);
    Ok(fs::remove_file(seeds)?)
}

fn crawl(programs: &Path, collection: &Path, server: &Server) -> Job {
    let mut job = Job::new(programs.join("harvestman"));
    job.arguments(["-C", &collection.to_string_lossy(), "--quiet", "crawl", "--delay", "0"]);
    job.arguments(["--allow-address", "127.0.0.0/8", "--resolve", &server.resolve_rule()]);
    job
}

/// Looks at the process and keeps what it saw in each tenth of the way.
struct Watch<'a> {
    server: &'a Server,
    pages: u64,
    begun: Instant,
    next: Instant,
    tenths: Vec<(u64, Sample)>,
}

impl Watch<'_> {
    fn new(server: &Server, pages: u64) -> Watch<'_> {
        let now = Instant::now();
        Watch { server, pages, begun: now, next: now, tenths: Vec::new() }
    }

    fn look(&mut self, pid: u32) -> anyhow::Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + LOOK;
        let pages = self.server.counts()?.pages;
        // With the last page it begins to leave, and a process that has left has no figures any more.
        if pages >= self.pages {
            return Ok(());
        }
        let Some(sample) = Sample::of(pid, self.begun.elapsed(), pages) else { return Ok(()) };
        let tenth = pages * 10 / self.pages;
        match self.tenths.last_mut() {
            Some((last, seen)) if *last == tenth => *seen = seen.and(sample),
            _ => {
                if let Some((_, done)) = self.tenths.last() {
                    println!("{}", done.row(self.pages));
                }
                self.tenths.push((tenth, sample));
            }
        }
        Ok(())
    }

    fn rows(&self) -> Vec<Sample> {
        self.tenths.iter().map(|(_, sample)| *sample).collect()
    }
}

impl Sample {
    fn of(pid: u32, at: Duration, pages: u64) -> Option<Sample> {
        let bytes = |name| Some(process::status(pid, name)? * 1024);
        Some(Sample {
            at,
            pages,
            resident: bytes("VmRSS:")?,
            anonymous: bytes("RssAnon:")?,
            handles: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64,
            threads: process::status(pid, "Threads:")?,
        })
    }

    /// This one and a later one.
    fn and(self, later: Sample) -> Sample {
        Sample {
            at: later.at,
            pages: later.pages,
            resident: self.resident.max(later.resident),
            anonymous: self.anonymous.max(later.anonymous),
            handles: self.handles.max(later.handles),
            threads: self.threads.max(later.threads),
        }
    }

    fn row(&self, pages: u64) -> String {
        format!(
            "| {:.1} % | {:.0} | {:.1} | {:.1} | {} | {} |",
            self.pages as f64 * 100.0 / pages as f64,
            self.at.as_secs_f64(),
            self.resident as f64 / 1e6,
            self.anonymous as f64 / 1e6,
            self.handles,
            self.threads,
        )
    }
}

fn text(web: Web, rows: &[Sample], outcome: &Outcome, counts: &Counts, disk: &str) -> String {
    let pages = (web.sites * web.pages) as u64;
    let usage = &outcome.usage;
    let mut text = format!(
        "{pages} pages of 1.5 KB over {} hosts, {} each, no pause, everything on: {:.0} pages/s, {:.0} µs CPU a page, \
         peak {} MB, {} connections, {} requests failed. On disk: {disk}\n\n\
         The most that was seen in each tenth of the way:\n\n\
         | up to | after s | memory MB | of it anonymous | open files | threads |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        web.sites,
        web.pages,
        pages as f64 / usage.wall.as_secs_f64(),
        usage.cpu().as_secs_f64() * 1e6 / pages as f64,
        usage.peak_bytes / 1_000_000,
        counts.connections,
        counts.failures,
    );
    for row in rows {
        text += &(row.row(pages) + "\n");
    }
    text + "\n" + &verdict(rows, usage.peak_bytes / 1_000_000)
}

/// Memory of the last tenth beside that of the first; open files and threads, which breathe with the connections of the
/// moment, of the second half beside the first.
fn verdict(rows: &[Sample], peak_mb: u64) -> String {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return "Over before it could be looked at.\n".to_owned();
    };
    let mut text =
        "| at the end against the beginning | here | aim | |\n| --- | --- | --- | --- |\n"
            .to_owned();
    let (early, late) = rows.split_at(rows.len().div_ceil(2));
    let most = |rows: &[Sample], of: fn(&Sample) -> u64| rows.iter().map(of).max().unwrap_or(0);
    let halves = |of| (most(early, of), most(late, of));
    let (handles, threads) = (halves(|row| row.handles), halves(|row| row.threads));
    let figures: [(&str, u64, u64, u64); 3] = [
        ("memory, last tenth against first", first.resident, last.resident, 0),
        ("open files, second half against first", handles.0, handles.1, NOISE),
        ("threads, second half against first", threads.0, threads.1, 0),
    ];
    for (what, first, last, noise) in figures {
        let ratio = last as f64 / first as f64;
        let met = met(last.saturating_sub(noise) as f64 <= first as f64 * GROWTH_AIM);
        text += &format!("| {what} | {ratio:.2} × | {GROWTH_AIM:.2} × | {met} |\n");
    }
    let met = met(peak_mb <= MEMORY_AIM_MB);
    text + &format!("| peak memory | {peak_mb} MB | {MEMORY_AIM_MB} MB | {met} |\n")
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_size_can_be_chosen() {
        assert_eq!(Size::of(&[]).unwrap(), Size { fetches: 10_000_000, hosts: 100_000 });
        let size = Size::of(&["--hosts", "10", "--fetches", "200"]).unwrap();
        assert_eq!(size, Size { fetches: 200, hosts: 10 });
        for wrong in [&["--hosts"][..], &["--pages", "3"], &["--fetches", "3"], &["--hosts", "0"]] {
            assert!(Size::of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_grows_by_more_than_a_tenth_is_called_missed() {
        let sample = |mb: u64, handles| Sample {
            at: Duration::from_secs(1),
            pages: 10,
            resident: mb * 1_000_000,
            anonymous: 0,
            handles,
            threads: 6,
        };
        let text = verdict(&[sample(100, 200), sample(111, 230)], 1_001);
        assert!(
            text.contains("| memory, last tenth against first | 1.11 × | 1.10 × | **missed** |"),
            "{text}"
        );
        assert!(
            text.contains("| open files, second half against first | 1.15 × | 1.10 × | met |"),
            "{text}"
        );
        assert!(
            text.contains("| threads, second half against first | 1.00 × | 1.10 × | met |"),
            "{text}"
        );
        assert!(text.contains("| peak memory | 1001 MB | 1000 MB | **missed** |"), "{text}");
    }
}
