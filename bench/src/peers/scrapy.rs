//! Scrapy, a framework in Python: a spider of our own with its settings for broad crawls (`bench/peers/scrapy_crawl.py`).

use std::path::Path;

use super::{Peer, Stay, Task, packages};
use crate::process::Job;

pub const PEER: Peer = Peer { name: "scrapy", install, job };

/// From the root of the workspace, where `bench/run` starts.
const PROGRAM: &str = "bench/peers/scrapy_crawl.py";
/// Requests at the same time; more made it slower.
const CONCURRENCY: usize = 64;

fn install(home: &Path) -> anyhow::Result<String> {
    packages::python(home, "scrapy", "scrapy")
}

fn job(task: &Task<'_>) -> Result<Job, &'static str> {
    let concurrency = if task.pause.is_some() { task.sites } else { CONCURRENCY };
    let pause = task.pause.unwrap_or_default().as_secs_f64();
    let mut job = Job::new(packages::interpreter(task.home, "scrapy"));
    job.argument(PROGRAM);
    job.argument(task.seeds.to_string_lossy());
    job.arguments([concurrency.to_string(), pause.to_string()]);
    if task.stay != Stay::Once {
        job.argument(task.folder.to_string_lossy());
    }
    Ok(job)
}
