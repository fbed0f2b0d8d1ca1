//! A process on the crawler's core, and what the kernel says of it at its end.

use std::{
    io::Error,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

const CORE: &str = "1";

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub wall: Duration,
    pub user: Duration,
    pub system: Duration,
    pub peak_bytes: u64,
}

impl Usage {
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Runs the program on its core to its end.
pub fn run(program: &Path, arguments: &[String]) -> anyhow::Result<Usage> {
    let begun = Instant::now();
    let child = Command::new("taskset").args(["-c", CORE]).arg(program).args(arguments).spawn();
    let child = child.context("start taskset")?;
    let (status, usage) = wait(child.id())?;
    let wall = begun.elapsed();
    ensure!(status == 0, "{} ended with wait status {status}", program.display());
    let peak_bytes = u64::try_from(usage.ru_maxrss)? * 1024;
    let (user, system) = (duration(usage.ru_utime), duration(usage.ru_stime));
    Ok(Usage { wall, user, system, peak_bytes })
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}

/// The standard library waits for children too, but does not hand on what they used.
#[allow(unsafe_code)]
fn wait(pid: u32) -> anyhow::Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a structure of numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live, exclusive places of the types asked for.
    let waited = unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage) };
    ensure!(waited > 0, "wait for a process: {}", Error::last_os_error());
    Ok((status, usage))
}
