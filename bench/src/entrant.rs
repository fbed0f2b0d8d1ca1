//! Who takes part in a measurement, and the command line each is started with.

use std::{fs, path::Path, time::Duration};

use anyhow::Context;

use crate::{
    cases::Place,
    peers::{Peer, Stay, Task},
    process::Job,
    room,
    server::{Kind, Server, Web},
};

#[derive(Clone, Copy)]
pub enum Entrant {
    /// Our crawler with all it does for a page: archive, database, text, hashes, language, links.
    Everything,
    /// The same of an earlier program.
    Before,
    /// The same with volumes packed by zstd.
    EverythingZstd,
    /// Links and titles, as the crawlers of others take them: no bodies are kept, no text is taken. Requests and heads
    /// are archived, and pages and links written down, all the same.
    Lean,
    /// Our HTTP client and nothing behind it.
    Floor,
    Peer(&'static Peer),
}

/// What is asked of all of them.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub web: Web,
    /// Between two visits to one site, and the time after which the crawl may end.
    pub polite: Option<(Duration, Duration)>,
    pub stay: Stay,
}

impl Entrant {
    pub fn name(self) -> &'static str {
        match self {
            Entrant::Everything => "harvestman, everything on",
            Entrant::Before => "harvestman before, everything on",
            Entrant::EverythingZstd => "harvestman, everything on, zstd",
            Entrant::Lean => "harvestman, links and titles",
            Entrant::Floor => "fetch only",
            Entrant::Peer(peer) => peer.name,
        }
    }

    /// The name with the version, for those that are not ours.
    pub fn title(self, place: &Place<'_>) -> String {
        match self {
            Entrant::Peer(peer) => match peer.version(&place.peers()) {
                Ok(version) => format!("{} {}", peer.name, version.trim()),
                Err(_) => peer.name.to_owned(),
            },
            ours => ours.name().to_owned(),
        }
    }

    /// What to start, or why there is nothing to start.
    pub fn job(
        self,
        place: &Place<'_>,
        server: &Server,
        course: &Course,
    ) -> anyhow::Result<Result<Job, String>> {
        Ok(match self {
            Entrant::Everything => Ok(ours(place, server, course)?),
            Entrant::Before => {
                let program = place.before.clone().context("there is no program before")?;
                Ok(ours(place, server, course)?.of(program))
            }
            Entrant::EverythingZstd => {
                let mut job = ours(place, server, course)?;
                job.environment("HARVESTMAN_STORE_COMPRESSION", "zstd");
                Ok(job)
            }
            Entrant::Lean => {
                let mut job = ours(place, server, course)?;
                job.environment("HARVESTMAN_STORE_CONTENT_BYTES_MAX", "0");
                job.environment("HARVESTMAN_PARSE_TEXT", "false");
                Ok(job)
            }
            Entrant::Floor => Ok(floor(place, server, course)),
            Entrant::Peer(peer) => theirs(peer, place, server, course)?,
        })
    }
}

fn ours(place: &Place<'_>, server: &Server, course: &Course) -> anyhow::Result<Job> {
    let mut flags = Vec::new();
    let time =
        course.polite.map(|(pause, end)| [pause, end].map(|t| format!("{}ms", t.as_millis())));
    match &time {
        Some([pause, end]) => flags.extend(["--delay", pause, "--for", end]),
        None => flags.extend(["--delay", "0", "--connections", "32"]),
    }
    if course.stay == Stay::Again {
        flags.push("--fresh");
    } else {
        place.clear()?;
    }
    let mut job = Job::new(place.programs.join("harvestman"));
    job.arguments(place.crawl_on(server, &flags));
    place.configure(server)?;
    if course.polite.is_some() {
        // Each is to have its page a second: none may wait for another to be done.
        let sites = course.web.sites.to_string();
        job.environment("HARVESTMAN_CRAWL_ACTIVE_SITES", sites);
    } else if course.web.latency_ms > 0 {
        // As many as the others may have: with the 200 of everyday, a tenth of a second each is 2,000 pages/s.
        job.environment("HARVESTMAN_ETIQUETTE_MAX_FETCHES", "1000");
    }
    Ok(job)
}

fn floor(place: &Place<'_>, server: &Server, course: &Course) -> Job {
    let mut job = Job::new(place.programs.join("bench"));
    job.arguments(["fetch", &server.text, &server.port_of(0).to_string()]);
    match server.root() {
        Some(root) => job.argument(root.to_string_lossy()),
        None if course.stay == Stay::Again => job.argument("changed"),
        None => {}
    }
    job
}

fn theirs(
    peer: &Peer,
    place: &Place<'_>,
    server: &Server,
    course: &Course,
) -> anyhow::Result<Result<Job, String>> {
    if !room::is_here() {
        return Ok(Err("needs a network room (`unshare`), which was not to be had".to_owned()));
    }
    let home = place.peers();
    if let Err(why) = peer.version(&home) {
        return Ok(Err(why));
    }
    let folder = place.scratch.join("theirs");
    if course.stay != Stay::Again {
        empty(&folder)?;
    }
    let seeds = place.scratch.join("seeds");
    fs::write(&seeds, server.seeds().join("\n") + "\n")?;
    let task = Task {
        home: &home,
        folder,
        seeds,
        sites: course.web.sites,
        root: server.root().map(Path::to_owned),
        gzip: course.web.kind == Kind::Gzip,
        pause: course.polite.map(|(pause, _)| pause),
        stay: course.stay,
    };
    Ok((peer.job)(&task).map_err(str::to_owned))
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}
