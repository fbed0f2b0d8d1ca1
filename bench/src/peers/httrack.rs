//! HTTrack, a mirror of sites: its limits on speed are lifted, links to parts of pages are left out.

use std::{path::Path, process::Command};

use super::{Peer, Stay, Task, packages, step};
use crate::process::Job;

pub const PEER: Peer = Peer { name: "httrack", install, job };

fn install(home: &Path) -> anyhow::Result<String> {
    packages::debian(home, "httrack")?;
    let (program, libraries) = packages::program(home, "httrack");
    let told = step(Command::new(program).arg("--version").env("LD_LIBRARY_PATH", libraries))?;
    let version = told.split_whitespace().nth(2).unwrap_or_default();
    Ok(version.split('+').next().unwrap_or_default().to_owned())
}

fn job(task: &Task<'_>) -> Result<Job, &'static str> {
    if task.pause.is_some() {
        return Err("has a pause for all sites together only");
    }
    let (program, libraries) = packages::program(task.home, "httrack");
    let mut job = Job::new(program);
    job.environment("LD_LIBRARY_PATH", libraries.to_string_lossy());
    job.arguments(["--list", &task.seeds.to_string_lossy(), "-O", &task.folder.to_string_lossy()]);
    job.arguments(["--disable-security-limits", "--sockets=32", "--connection-per-second=0"]);
    job.arguments(["--max-rate=0", "--robots=0", "--depth=99999", "--index=0", "--quiet"]);
    job.arguments(["-*.png", "-*.css", "-*.js"]);
    match task.stay {
        Stay::Once => job.argument("--cache=0"),
        Stay::First => {}
        Stay::Again => job.argument("--update"),
    }
    Ok(job)
}
