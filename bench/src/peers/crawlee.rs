//! Crawlee for Python: its crawler for HTML that is not rendered (`bench/peers/crawlee_crawl.py`).

use std::path::Path;

use super::{Peer, Stay, Task, packages};
use crate::process::Job;

pub const PEER: Peer = Peer { name: "crawlee", install, job };

/// From the root of the workspace, where `bench/run` starts.
const PROGRAM: &str = "bench/peers/crawlee_crawl.py";
const CONCURRENCY: usize = 64;

fn install(home: &Path) -> anyhow::Result<String> {
    packages::python(home, "crawlee", "crawlee[parsel]")
}

fn job(task: &Task<'_>) -> Result<Job, &'static str> {
    if task.pause.is_some() {
        return Err("has no pause for each site");
    }
    if task.stay != Stay::Once {
        return Err("does not ask whether a page has changed");
    }
    let mut job = Job::new(packages::interpreter(task.home, "crawlee"));
    job.argument(PROGRAM);
    job.argument(task.seeds.to_string_lossy());
    job.argument(CONCURRENCY.to_string());
    Ok(job)
}
