//! The room in which the crawlers of others run: a network of its own that holds nothing but loopback, and a table of
//! names for the simulated sites.
//!
//! `bench/run` opens it with `unshare` and says so in a variable. In it the server has the usual ports, so that the
//! links of its pages work for everybody, and nobody can reach the internet, whatever a peer does. Nothing of it is
//! seen outside or left behind.

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use simweb::SimWeb;

/// Set by `bench/run`.
const SIGN: &str = "HARVESTMAN_BENCH_ROOM";
const NAMES: &str = "/etc/hosts";
const OURSELVES: &str = "127.0.0.1 localhost\n";
/// Larger webs are for our crawler alone, which is told where their hosts are: it would read the table for nothing.
const NAMED_MAX: usize = 10_000;

pub fn is_here() -> bool {
    env::var_os(SIGN).is_some()
}

/// The ports of a server: those of the web where they are free for certain, else any.
pub fn ports() -> (u16, u16) {
    if is_here() { (80, 443) } else { (0, 0) }
}

/// Switches loopback on and puts a table of names over the machine's own. Before anything else in the room.
pub fn furnish(scratch: &Path) -> anyhow::Result<()> {
    if !is_here() {
        return Ok(());
    }
    let names = table(scratch);
    fs::write(&names, OURSELVES)?;
    run("ip", &["link", "set", "lo", "up"])?;
    run("mount", &["--bind", &names.to_string_lossy(), NAMES])
}

/// The names of a web take the place of those before.
pub fn name(web: &SimWeb, scratch: &Path) -> anyhow::Result<()> {
    if !is_here() {
        return Ok(());
    }
    let mut text = OURSELVES.to_owned();
    let named = if web.sites() <= NAMED_MAX { web.sites() } else { 0 };
    for host in (0..named).map(|site| web.host(site)) {
        if let Some(address) = web.address(&host) {
            let _ = writeln!(text, "{address} {host}");
        }
    }
    // The same file is written over: a new one would not be the one that is seen.
    Ok(fs::write(table(scratch), text)?)
}

fn table(scratch: &Path) -> PathBuf {
    scratch.join("hosts")
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(arguments).status();
    ensure!(status.context(program.to_owned())?.success(), "{program} {}", arguments.join(" "));
    Ok(())
}
