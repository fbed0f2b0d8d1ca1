//! No pauses: our crawler, its client alone and the crawlers of others over the same web, one after the other in the
//! same run. The server counts the pages, the kernel what they cost.

use std::{fmt::Write, time::Duration};

use anyhow::{bail, ensure};

use crate::{
    cases::Place,
    disk::Disk,
    entrant::{Course, Entrant},
    makeup::Makeup,
    peers::Stay,
    polite,
    process::{Cores, Job, Usage},
    results::{median, spread},
    server::{Kind, Server, Web},
};

const REPETITIONS: usize = 3;
/// Beside an earlier program, where a few per cent are looked for.
const REPETITIONS_BEFORE: usize = 5;
/// Ours has to come to its end; a peer that is slower than this says what it has to say in a minute.
const OURS_MAX: Duration = Duration::from_secs(900);
const THEIRS_MAX: Duration = Duration::from_secs(60);

pub struct Contest {
    pub name: &'static str,
    web: Web,
    /// Also without a core for each.
    shared_too: bool,
    /// All pages are visited a second time, which is what is measured; none has changed.
    again: bool,
}

const ONE_SITE: Web =
    Web { sites: 1, pages: 20_000, addresses: 1, latency_ms: 0, kind: Kind::Plain };
const MANY_SITES: Web =
    Web { sites: 500, pages: 40, addresses: 200, latency_ms: 0, kind: Kind::Plain };

#[rustfmt::skip]
pub const CONTESTS: [Contest; 8] = [
    Contest { name: "one-site", web: ONE_SITE, shared_too: true, again: false },
    Contest { name: "many-sites", web: MANY_SITES, shared_too: true, again: false },
    Contest { name: "latency", web: Web { latency_ms: 100, ..MANY_SITES }, shared_too: false, again: false },
    Contest { name: "gzip", web: Web { kind: Kind::Gzip, ..ONE_SITE }, shared_too: false, again: false },
    Contest { name: "tls", web: Web { kind: Kind::Tls, ..ONE_SITE }, shared_too: false, again: false },
    Contest { name: "small-pages", web: Web { kind: Kind::Small, ..ONE_SITE }, shared_too: false, again: false },
    Contest { name: "large-pages", web: Web { kind: Kind::Large, pages: 4_000, ..ONE_SITE }, shared_too: false, again: false },
    Contest { name: "unchanged", web: ONE_SITE, shared_too: false, again: true },
];

/// One process that fetched a web, as the kernel and the server saw it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    usage: Usage,
    pages: u64,
    connections: u64,
    cut: bool,
}

/// All turns of one entrant, or why it had none.
struct Score {
    title: String,
    entrant: Entrant,
    turns: Result<Vec<Turn>, String>,
}

impl Contest {
    pub fn measure(&self, place: &Place<'_>) -> anyhow::Result<String> {
        let web = self.web(place);
        let makeup = Makeup::of(&simweb::SimWeb::new(web.options()));
        let mut text = format!(
            "{} {} of {} pages{}{}. {}\n",
            web.sites,
            if web.sites == 1 { "site" } else { "sites" },
            web.pages,
            self.particular(),
            if self.again { ", visited once before and unchanged since" } else { "" },
            makeup.text(),
        );
        text += &self.table(place, Cores::Apart)?;
        let disk = Disk::of(&place.collection())?;
        let _ = writeln!(text, "\nOn disk: {}", disk.text(web.sites * web.pages));
        if self.shared_too && place.before.is_none() {
            text += "\nBoth cores for both:\n";
            text += &self.table(place, Cores::Shared)?;
        }
        Ok(text)
    }

    fn web(&self, place: &Place<'_>) -> Web {
        match (place.small, self.web.sites) {
            (false, _) => self.web,
            (true, 1) => Web { pages: 500, ..self.web },
            (true, _) => Web { sites: 25, pages: 20, addresses: 10, ..self.web },
        }
    }

    fn particular(&self) -> String {
        match (self.web.kind, self.web.latency_ms) {
            (Kind::Gzip, _) => ", sent compressed".to_owned(),
            (Kind::Tls, _) => ", over TLS".to_owned(),
            (_, 0) => String::new(),
            (_, latency) => format!(", {latency} ms latency"),
        }
    }

    /// Everybody by turns, so that what else happens on the machine meets all of them.
    fn table(&self, place: &Place<'_>, cores: Cores) -> anyhow::Result<String> {
        let mut entrants =
            vec![Entrant::Lean, Entrant::EverythingZstd, Entrant::Everything, Entrant::Floor];
        entrants.extend(place.wanted_peers().map(Entrant::Peer));
        let mut repetitions = REPETITIONS;
        if place.before.is_some() {
            entrants = vec![Entrant::Everything, Entrant::Before];
            repetitions = REPETITIONS_BEFORE;
        }
        let score = |entrant: &Entrant| Score {
            title: entrant.title(place),
            entrant: *entrant,
            turns: Ok(Vec::new()),
        };
        let mut scores: Vec<Score> = entrants.iter().map(score).collect();
        for _ in 0..if place.small { 1 } else { repetitions } {
            for score in &mut scores {
                score.turn(self, place, cores)?;
            }
        }
        Ok(text(&scores))
    }
}

impl Score {
    /// The whole crawler, not only its client.
    fn is_ours(&self) -> bool {
        matches!(self.entrant, Entrant::Lean | Entrant::Everything | Entrant::EverythingZstd)
    }

    /// One more, unless it makes no sense.
    fn turn(&mut self, contest: &Contest, place: &Place<'_>, cores: Cores) -> anyhow::Result<()> {
        let Ok(turns) = &mut self.turns else { return Ok(()) };
        if turns.last().is_some_and(|turn| turn.cut) {
            return Ok(());
        }
        match take_turn(self.entrant, contest, place, cores)? {
            Ok(turn) => turns.push(turn),
            Err(why) => self.turns = Err(why),
        }
        Ok(())
    }
}

fn take_turn(
    entrant: Entrant,
    contest: &Contest,
    place: &Place<'_>,
    cores: Cores,
) -> anyhow::Result<Result<Turn, String>> {
    let web = contest.web(place);
    let ours = !matches!(entrant, Entrant::Peer(_));
    let limit = if ours { OURS_MAX } else { THEIRS_MAX };
    let words = place.scratch.join(format!("{}.log", entrant.name()));
    let server = Server::start_on(cores, place.programs, place.scratch, web)?;
    let course = |stay| Course { web, polite: None, stay };
    let run = |job: &Job, limit| {
        job.run(cores, limit, &words).map_err(|error| format!("could not be run: {error:#}"))
    };
    let mut before = 0;
    let mut stay = Stay::Once;
    if contest.again {
        // The floor has nothing to remember.
        if !matches!(entrant, Entrant::Floor) {
            let job = entrant.job(place, &server, &course(Stay::First))?;
            match job.and_then(|job| run(&job, OURS_MAX)) {
                Ok(_) => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        server.ask("/reset")?;
        (stay, before) = (Stay::Again, server.counts()?.connections);
    }
    let job = entrant.job(place, &server, &course(stay))?;
    let outcome = match job.and_then(|job| run(&job, limit)) {
        Ok(outcome) => outcome,
        Err(why) if ours => bail!("{}: {why}", entrant.name()),
        Err(why) => return Ok(Err(why)),
    };
    let counts = server.counts()?;
    let pages = if contest.again { counts.not_modified } else { counts.unique_pages };
    let all = (web.sites * web.pages) as u64;
    let told = || std::fs::read_to_string(&words).unwrap_or_default();
    ensure!(
        !ours || (outcome.status == 0 && pages == all),
        "{}: status {}, {pages} of {all} pages\n{}",
        entrant.name(),
        outcome.status,
        told()
    );
    if pages == 0 {
        let last = told().lines().last().unwrap_or_default().to_owned();
        return Ok(Err(format!("got no page (status {}): {last}", outcome.status)));
    }
    let connections = counts.connections - before;
    Ok(Ok(Turn { usage: outcome.usage, pages, connections, cut: outcome.cut }))
}

fn text(scores: &[Score]) -> String {
    let mut text = "\n| | pages | pages/s | CPU µs a page | of it system | peak MB | connections | MB written |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for score in scores {
        text += &match &score.turns {
            Ok(turns) => row(&score.title, turns),
            Err(why) => format!("| {} | {why} | | | | | | |\n", score.title),
        };
    }
    text + &ratios(scores)
}

fn row(title: &str, turns: &[Turn]) -> String {
    let of = |figure: fn(&Turn) -> f64| spread(turns.iter().map(figure).collect());
    let cut = match turns.iter().any(|turn| turn.cut) {
        true => format!(", cut after {} s", THEIRS_MAX.as_secs()),
        false => String::new(),
    };
    format!(
        "| {title}{cut} | {} | {} | {} | {} | {} | {} | {} |\n",
        of(|turn| turn.pages as f64),
        of(|turn| turn.pages as f64 / turn.usage.wall.as_secs_f64()),
        of(cost),
        of(|turn| turn.usage.system.as_secs_f64() * 1e6 / turn.pages as f64),
        of(|turn| turn.usage.peak_bytes as f64 / f64::from(1 << 20)),
        of(|turn| turn.connections as f64),
        of(|turn| turn.usage.written_bytes as f64 / 1e6),
    )
}

/// Processor time a page, in µs.
fn cost(turn: &Turn) -> f64 {
    turn.usage.cpu().as_secs_f64() * 1e6 / turn.pages as f64
}

/// What a page costs us as a multiple of what it costs the others.
fn ratios(scores: &[Score]) -> String {
    let costs = |score: &Score| {
        let turns = score.turns.as_ref().ok().filter(|turns| !turns.is_empty())?;
        Some(median(turns.iter().map(cost).collect()))
    };
    let (ours, others): (Vec<&Score>, Vec<&Score>) =
        scores.iter().partition(|score| score.is_ours());
    let line = |score: &Score| {
        let cost = costs(score)?;
        let times = |other: &&Score| {
            Some(format!("{:.2} × {}", cost / costs(other)?, other.entrant.name()))
        };
        let times: Vec<String> = others.iter().filter_map(times).collect();
        Some(format!("\nCPU a page, {}: {}.\n", score.entrant.name(), times.join(", ")))
    };
    ours.into_iter().filter_map(line).collect()
}

/// Whether peers take part in any of these cases.
pub fn wants_peers(cases: &[String]) -> bool {
    let has_peers = |case: &String| {
        case == polite::CROWD || CONTESTS.iter().any(|contest| contest.name == case)
    };
    cases.iter().any(has_peers)
}
