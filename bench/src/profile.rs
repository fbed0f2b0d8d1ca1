//! Where the time of a crawl goes: one site under `perf`, and a flame graph of it. `bench/profile` builds what this
//! needs, a crawler that keeps frame pointers.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail, ensure};

use crate::{
    flame::Frame,
    process::{Cores, Job},
    server::{Kind, Server, Web},
};

/// Samples a second: enough for parts of a thousandth in a few seconds, and no divisor of any timer of ours.
const RATE: &str = "997";
/// Functions that are told by name.
const TOLD: usize = 25;
const TIME_MAX: Duration = Duration::from_secs(900);

pub fn profile(
    programs: &Path,
    profiled: &Path,
    scratch: &Path,
    graph: &Path,
    words: &[&str],
) -> anyhow::Result<()> {
    let pages = match words {
        [] => 20_000,
        ["--pages", number] => number.parse().context("--pages")?,
        _ => bail!("there is only --pages"),
    };
    fs::create_dir_all(scratch)?;
    let scratch = &fs::canonicalize(scratch)?;
    let web = Web { sites: 1, pages, addresses: 1, latency_ms: 0, kind: Kind::Plain };
    let server = Server::start(programs, scratch, web)?;
    let (data, collection) = (scratch.join("perf.data"), scratch.join("profiled"));
    if collection.exists() {
        fs::remove_dir_all(&collection)?;
    }
    let mut job = Job::new("perf".into());
    job.arguments([
        "record",
        "--quiet",
        "--event",
        "cpu-clock",
        "--call-graph",
        "fp",
        "--freq",
        RATE,
    ]);
    job.arguments(["--output", &data.to_string_lossy(), "--", &profiled.to_string_lossy()]);
    job.arguments(["-C", &collection.to_string_lossy(), "--quiet", "crawl", "--delay", "0"]);
    job.arguments(["--connections", "32", "--allow-address", "127.0.0.0/8"]);
    job.arguments(["--resolve", &server.resolve_rule()]);
    job.arguments(server.seeds());
    let log = scratch.join("profile.log");
    let outcome = job.run(Cores::Apart, TIME_MAX, &log)?;
    let fetched = server.counts()?.unique_pages;
    ensure!(
        outcome.status == 0 && fetched == pages as u64,
        "status {}, {fetched} of {pages} pages\n{}",
        outcome.status,
        fs::read_to_string(&log)?
    );
    let frame = Frame::read(&script(&data)?);
    fs::remove_file(data)?;
    fs::remove_dir_all(collection)?;
    let micros = outcome.usage.cpu().as_secs_f64() * 1e6 / pages as f64;
    let title = format!(
        "One site of {pages} pages, everything on: {micros:.0} µs CPU a page under perf, {} samples",
        frame.samples()
    );
    fs::write(graph, frame.svg(&title))?;
    println!("{title}\n");
    tell(&frame, micros);
    println!("\nwritten: {}", graph.display());
    Ok(())
}

/// The samples as text.
fn script(data: &Path) -> anyhow::Result<String> {
    let output = Command::new("perf")
        .args(["script", "--fields", "comm,tid,ip,sym", "--input"])
        .arg(data)
        .stderr(Stdio::null())
        .output()
        .context("perf script")?;
    ensure!(output.status.success(), "perf script failed");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn tell(frame: &Frame, micros: f64) {
    for (thread, part) in frame.threads() {
        println!("{:7.1} µs  {:5.1} %  {thread}", micros * part, part * 100.0);
    }
    println!("\nby themselves:");
    for (function, part) in frame.own().into_iter().take(TOLD) {
        println!("{:7.1} µs  {:5.1} %  {function}", micros * part, part * 100.0);
    }
}
