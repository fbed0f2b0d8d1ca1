//! The crawlers of others: how each is installed, and how it is told to crawl as fast as its documentation says it can.
//!
//! They are installed by name from their registries into a folder of their own, which is kept between runs. What
//! came of it is written beside them, because they are installed where there is a network and run where there is
//! none (see `room`). One that cannot be installed is a line in the table, never the end of a run.

mod crawlee;
mod httrack;
mod packages;
mod scrapy;
mod spider;
mod wget;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};

use crate::process::Job;

pub struct Peer {
    pub name: &'static str,
    /// Puts it below the folder; gives back its version.
    install: fn(&Path) -> anyhow::Result<String>,
    /// What to start; `Err` says why this crawler does not do such a thing.
    pub job: fn(&Task<'_>) -> Result<Job, &'static str>,
}

pub const PEERS: [Peer; 5] = [spider::PEER, wget::PEER, httrack::PEER, scrapy::PEER, crawlee::PEER];

/// What a peer is to crawl.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// Where the peers are installed.
    pub home: &'a Path,
    /// Where it may put what it keeps.
    pub folder: PathBuf,
    /// A file of home pages, one a line.
    pub seeds: PathBuf,
    pub sites: usize,
    /// The authority behind the server's certificates, when it has any.
    pub root: Option<PathBuf>,
    pub gzip: bool,
    /// Between two visits to one site.
    pub pause: Option<Duration>,
    pub stay: Stay,
}

/// Whether the same pages are visited twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Nothing has to be kept.
    Once,
    /// What is needed to ask "has it changed?" is kept.
    First,
    /// The same pages again, in the same folder.
    Again,
}

impl Peer {
    /// Its version as it was installed, or why it was not.
    pub fn version(&self, home: &Path) -> Result<String, String> {
        let read = |ending: &str| fs::read_to_string(home.join(format!("{}.{ending}", self.name)));
        read("version").map_err(|_| match read("failed") {
            Ok(why) => format!("could not be installed: {}", why.trim()),
            Err(_) => "is not installed".to_owned(),
        })
    }
}

/// The peers of these names, in the order of the table.
pub fn named(names: &[String]) -> anyhow::Result<Vec<&'static Peer>> {
    for name in names {
        let known = PEERS.iter().any(|peer| peer.name == name);
        ensure!(known, "no peer {name}: there are spider, wget, httrack, scrapy and crawlee");
    }
    Ok(PEERS.iter().filter(|peer| names.iter().any(|name| name == peer.name)).collect())
}

/// Installs those that are not there yet.
pub fn install(home: &Path, names: &[String]) -> anyhow::Result<()> {
    fs::create_dir_all(home)?;
    for peer in named(names)? {
        if peer.version(home).is_ok() {
            continue;
        }
        println!("installing {}", peer.name);
        let (ending, text) = match (peer.install)(home) {
            Ok(version) => ("version", version),
            Err(error) => ("failed", format!("{error:#}")),
        };
        println!("{}: {text}", peer.name);
        fs::write(home.join(format!("{}.{ending}", peer.name)), text)?;
    }
    Ok(())
}

/// Runs a step of an installation; gives back what it printed.
fn step(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| name.clone())?;
    let last = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().last().map(str::to_owned);
    let why = || last(&output.stderr).or(last(&output.stdout)).unwrap_or_default();
    ensure!(output.status.success(), "{name}: {}", why());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_taken_by_name_and_an_unknown_one_is_refused() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = named(&names(&["wget", "spider"])).unwrap();
        let found: Vec<&str> = found.iter().map(|peer| peer.name).collect();
        assert_eq!(found, ["spider", "wget"]);
        assert!(named(&names(&["curl"])).is_err());
    }

    #[test]
    fn what_became_of_an_installation_is_found_again() {
        let home = tempfile::tempdir().unwrap();
        let peer = &PEERS[0];
        assert_eq!(peer.version(home.path()).unwrap_err(), "is not installed");
        fs::write(home.path().join("spider.failed"), "no network\n").unwrap();
        assert_eq!(peer.version(home.path()).unwrap_err(), "could not be installed: no network");
        fs::write(home.path().join("spider.version"), "2.53.9").unwrap();
        assert_eq!(peer.version(home.path()).unwrap(), "2.53.9");
    }
}
