//! A database of very many URLs: opening it, lending from it, settling into it, and the memory that takes. The program
//! is an example of the store, started twice: once to fill the database, once to be measured with the file out of the
//! system's cache.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, ensure};

use crate::{
    cases::Place,
    process::{Cores, Job, Outcome},
    revisits::duration,
};

/// A hundred million rows are written in well under this.
const TIME_MAX: Duration = Duration::from_secs(4 * 3_600);

/// How much there is, and what is asked of it.
struct Size {
    urls: u64,
    sites: u64,
    /// From the start of the process to the first check-out.
    open: Duration,
    memory_mb: Option<u64>,
}

/// As many sites as are lent.
const SMALL: Size = Size { urls: 500_000, sites: 25_000, ..FULL };
const FULL: Size =
    Size { urls: 5_000_000, sites: 50_000, open: Duration::from_secs(2), memory_mb: None };
const HUGE: Size = Size {
    urls: 100_000_000,
    sites: 1_000_000,
    open: Duration::from_secs(5),
    memory_mb: Some(1_000),
};
const CHECK_OUT: Duration = Duration::from_millis(50);

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let size = match (place.small, place.huge) {
        (true, _) => SMALL,
        (false, true) => HUGE,
        (false, false) => FULL,
    };
    let folder = place.scratch.join("frontier");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let outcome = size.measure(place, &folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

impl Size {
    fn measure(&self, place: &Place<'_>, folder: &Path) -> anyhow::Result<String> {
        let (_, loaded) = self.run(place, folder, "load")?;
        uncache(&folder.join("crawl.db"))?;
        let (outcome, measured) = self.run(place, folder, "measure")?;
        let verdict = self.verdict(&measured, &outcome);
        let verdict = verdict.context("frontier_scale says something else than it did")?;
        Ok(format!(
            "{} URLs in {} sites; the file not in the system's cache when it is opened.\n\n\
             {verdict}\n```text\n{loaded}{measured}```\n",
            self.urls, self.sites
        ))
    }

    fn run(
        &self,
        place: &Place<'_>,
        folder: &Path,
        part: &str,
    ) -> anyhow::Result<(Outcome, String)> {
        let mut job = Job::new(place.programs.join("examples/frontier_scale"));
        job.argument(folder.to_string_lossy());
        job.arguments([&self.urls.to_string(), &self.sites.to_string(), part]);
        let words = place.scratch.join("frontier.log");
        let outcome = job.run(Cores::Shared, TIME_MAX, &words)?;
        let told = fs::read_to_string(&words)?;
        ensure!(outcome.status == 0, "frontier_scale: status {}\n{told}", outcome.status);
        Ok((outcome, told))
    }

    /// What was asked beside what was seen.
    fn verdict(&self, told: &str, outcome: &Outcome) -> Option<String> {
        let line = |start: &str| told.lines().find_map(|line| line.strip_prefix(start));
        let open = duration(line("open: ")?)?;
        let memory = outcome.usage.peak_bytes >> 20;
        let mut text = "| | here | aim | |\n| --- | --- | --- | --- |\n".to_owned();
        let mut row = |what: &str, here: String, aim: String, met: bool| {
            let met = if met { "met" } else { "**missed**" };
            text += &format!("| {what} | {here} | {aim} | {met} |\n");
        };
        row("open", format!("{open:.1?}"), format!("{:?}", self.open), open <= self.open);
        // A busy machine stretches the first, not the second.
        for clock in ["wall", "CPU"] {
            let of_them = format!(" sites, {clock}: ");
            let is_it = |line: &&str| line.starts_with("check-out of ") && line.contains(&of_them);
            let times = told.lines().find(is_it)?;
            let p99 = duration(times.split_once("p99 ")?.1)?;
            let what = format!("check-out, p99, {clock}");
            row(&what, format!("{p99:.1?}"), format!("{CHECK_OUT:?}"), p99 <= CHECK_OUT);
        }
        let aim = self.memory_mb.unwrap_or(u64::MAX);
        match self.memory_mb {
            Some(aim_mb) => {
                row("peak memory", format!("{memory} MB"), format!("{aim_mb} MB"), memory <= aim);
            }
            None => text += &format!("| peak memory | {memory} MB | | |\n"),
        }
        Some(text)
    }
}

/// Asks the system to forget what it holds of a file.
fn uncache(file: &Path) -> anyhow::Result<()> {
    let file = file.to_string_lossy();
    let arguments = [&format!("if={file}"), "iflag=nocache", "count=0", "status=none"];
    ensure!(Command::new("dd").args(arguments).status().context("dd")?.success(), "dd {file}");
    Ok(())
}
