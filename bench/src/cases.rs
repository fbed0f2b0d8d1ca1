//! The cases: what is measured by which name, and where it is written down.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;

use crate::{
    build, coming_back,
    contest::CONTESTS,
    courtesy, fair, frontier, growth, machine,
    peers::{self, Peer},
    polite, results, revisits, room,
    server::Server,
    wishes::Wishes,
};

/// Where the programs are, where collections may be made, and where the figures go.
pub struct Place<'a> {
    pub programs: &'a Path,
    pub scratch: &'a Path,
    results: &'a Path,
    /// See [`Wishes::small`].
    pub small: bool,
    /// See [`Wishes::huge`].
    pub huge: bool,
    /// See [`Wishes::before`].
    pub before: Option<PathBuf>,
    peers: Vec<&'static Peer>,
}

pub fn measure(
    programs: &Path,
    scratch: &Path,
    results: &Path,
    wishes: &Wishes,
) -> anyhow::Result<()> {
    fs::create_dir_all(scratch)?;
    let scratch = &fs::canonicalize(scratch)?;
    let peers = peers::named(&wishes.peers)?;
    let before = wishes.before.as_ref().map(fs::canonicalize).transpose()?;
    let (small, huge) = (wishes.small, wishes.huge);
    let place = Place { programs, scratch, results, small, huge, before, peers };
    room::furnish(scratch)?;
    if !wishes.small {
        results::write(results, "Machine", &machine::description())?;
    }
    for case in &wishes.cases {
        let load = machine::load();
        println!("{case} (load {load:.1})");
        let text = place.case(case)?;
        let text = format!("{text}\nLoad of the machine before: {load:.1}.\n");
        print!("{text}");
        if !place.small {
            let title = match place.before {
                Some(_) => format!("{case}, before and after"),
                None => case.clone(),
            };
            results::write(place.results, &title, &text)?;
        }
    }
    Ok(())
}

impl Place<'_> {
    fn case(&self, name: &str) -> anyhow::Result<String> {
        if let Some(contest) = CONTESTS.iter().find(|contest| contest.name == name) {
            return contest.measure(self);
        }
        match name {
            "polite" => polite::few(self),
            polite::CROWD => polite::many(self),
            "frontier" => frontier::measure(self),
            "growth" => growth::measure(self),
            "build" => build::measure(self),
            "revisits" => revisits::measure(self),
            "coming-back" => coming_back::measure(self),
            "courtesy" => courtesy::measure(self),
            "fair" => fair::measure(self),
            other => {
                let contests: Vec<&str> = CONTESTS.iter().map(|contest| contest.name).collect();
                bail!(
                    "no case {other}: there are {}, polite, {}, frontier, growth, revisits, coming-back, courtesy, \
                     fair and build",
                    contests.join(", "),
                    polite::CROWD
                )
            }
        }
    }

    /// The command line of a crawl of all sites into a new collection.
    pub fn crawl(&self, server: &Server, flags: &[&str]) -> anyhow::Result<Vec<String>> {
        self.clear()?;
        Ok(self.crawl_on(server, flags))
    }

    /// The same into the collection as it is.
    pub fn crawl_on(&self, server: &Server, flags: &[&str]) -> Vec<String> {
        let folder = self.collection().to_string_lossy().into_owned();
        let mut arguments: Vec<String> =
            ["-C", &folder, "--quiet", "crawl", "--allow-address", "127.0.0.0/8"]
                .map(str::to_owned)
                .into();
        arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
        for rule in server.resolve_rules() {
            arguments.extend(["--resolve".to_owned(), rule]);
        }
        arguments.extend(server.seeds());
        arguments
    }

    pub fn clear(&self) -> anyhow::Result<()> {
        let folder = self.collection();
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    /// Before a crawl: that the server's certificates are to be believed.
    pub fn configure(&self, server: &Server) -> anyhow::Result<()> {
        let Some(root) = server.root() else { return Ok(()) };
        let text = format!("[fetch]\nextra_roots = [{root:?}]\n");
        let folder = self.collection();
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join("harvest.toml"), text)?)
    }

    pub fn collection(&self) -> PathBuf {
        self.scratch.join("harvest")
    }

    /// Where the crawlers of others are installed.
    pub fn peers(&self) -> PathBuf {
        self.scratch.join("peers")
    }

    /// Those that were asked for.
    pub fn wanted_peers(&self) -> impl Iterator<Item = &'static Peer> {
        self.peers.iter().copied()
    }
}
