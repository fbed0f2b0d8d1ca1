//! spider, a library in Rust: a small program around it (`bench/peers/spider.rs`), optimised over all crates.
//!
//! It keeps nothing and takes only links; the title is looked for by the program.

use std::{fs, path::Path, process::Command};

use super::{Peer, Stay, Task, step};
use crate::process::Job;

pub const PEER: Peer = Peer { name: "spider", install, job };

const MANIFEST: &str = include_str!("../../peers/spider.toml");
const PROGRAM: &str = include_str!("../../peers/spider.rs");
/// Sites that are crawled at the same time, connections to each.
const SITES: usize = 64;
const CONNECTIONS: usize = 32;

fn install(home: &Path) -> anyhow::Result<String> {
    let folder = home.join("spider");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    fs::write(folder.join("src/main.rs"), PROGRAM)?;
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--quiet"]).current_dir(&folder);
    build.env("CARGO_TARGET_DIR", "target").env_remove("RUSTFLAGS");
    step(&mut build)?;
    let line = MANIFEST.lines().find_map(|line| line.strip_prefix("version = \"="));
    Ok(line.unwrap_or_default().trim_end_matches('"').to_owned())
}

fn job(task: &Task<'_>) -> Result<Job, &'static str> {
    if task.stay != Stay::Once {
        return Err("remembers validators only while it runs");
    }
    // With a pause, all sites must be under way for each to have its page a second.
    let (at_once, connections) = match task.pause {
        Some(_) => (task.sites, 1),
        None => (SITES, CONNECTIONS),
    };
    let pause = task.pause.unwrap_or_default().as_millis();
    let mut job = Job::new(task.home.join("spider/target/release/spider-crawl"));
    job.argument(task.seeds.to_string_lossy());
    job.arguments([at_once.to_string(), connections.to_string(), pause.to_string()]);
    Ok(job)
}
