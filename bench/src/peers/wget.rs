//! GNU Wget: one connection, one site after the other; it keeps every page as a file.

use std::{path::Path, process::Command};

use super::{Peer, Stay, Task, packages, step};
use crate::process::Job;

pub const PEER: Peer = Peer { name: "wget", install, job };

fn install(home: &Path) -> anyhow::Result<String> {
    packages::debian(home, "wget")?;
    let (program, libraries) = packages::program(home, "wget");
    let told = step(Command::new(program).arg("--version").env("LD_LIBRARY_PATH", libraries))?;
    Ok(told.split_whitespace().nth(2).unwrap_or_default().to_owned())
}

fn job(task: &Task<'_>) -> Result<Job, &'static str> {
    if task.pause.is_some() {
        return Err("visits one site after the other");
    }
    if task.stay != Stay::Once {
        // With --timestamping it asks, and then does not look for links in the file it has.
        return Err("goes no further than a page that has not changed");
    }
    let (program, libraries) = packages::program(task.home, "wget");
    let mut job = Job::new(program);
    job.environment("LD_LIBRARY_PATH", libraries.to_string_lossy());
    job.arguments(["--quiet", "--recursive", "--level=inf", "--follow-tags=a", "-e", "robots=off"]);
    job.argument(format!("--input-file={}", task.seeds.display()));
    job.argument(format!("--directory-prefix={}", task.folder.display()));
    if task.gzip {
        job.argument("--compression=gzip");
    }
    if let Some(root) = &task.root {
        job.argument(format!("--ca-certificate={}", root.display()));
    }
    Ok(job)
}
