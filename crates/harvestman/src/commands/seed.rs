//! `seed`: more places to begin. A running crawl takes them up within seconds; otherwise the next one does.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

use harvester::clock::RealClock;
use model::{Clock, CrawlUrl};
use seeder::{SeedError, SeedReader, parse_seed};
use serde_json::json;
use store::{
    collection::Collection,
    control::{self, Command},
};

use super::Context;
use crate::{
    cli::SeedArgs,
    exit::{Exit, Failure, io_advice},
    terminal::{print, printable},
};

/// URLs handed over in one command: well below the bound on its size.
const BATCH: usize = 2_000;
/// Bad lines named; the rest is counted.
const BAD_SHOWN: usize = 20;

pub fn run(context: &Context, args: &SeedArgs) -> Result<Exit, Failure> {
    let mut intake = Intake::default();
    for text in &args.urls {
        if text == "-" {
            intake.read(io::stdin().lock(), "standard input")?;
        } else {
            let url = parse_seed(text).map_err(|why| Failure::bad_url(text, &why))?;
            intake.urls.push(url);
        }
    }
    for path in &args.file {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            Failure::usage(format!("cannot read {name}: {error}"), io_advice(error.kind()))
        })?;
        intake.read(BufReader::new(file), &name)?;
    }
    // The configuration is read so that a broken one is told now, not by the next crawl.
    context.config(Vec::new())?;
    intake.leave(context)?;
    intake.tell(context)
}

#[derive(Default)]
struct Intake {
    urls: Vec<CrawlUrl>,
    bad: Vec<String>,
    bad_count: u64,
}

impl Intake {
    fn read(&mut self, lines: impl BufRead, name: &str) -> Result<(), Failure> {
        for line in SeedReader::new(lines) {
            match line {
                Ok(url) => self.urls.push(url),
                Err(SeedError::Io { source, .. }) => {
                    return Err(Failure::usage(
                        format!("cannot read {name}: {source}"),
                        io_advice(source.kind()),
                    ));
                }
                Err(bad) => {
                    self.bad_count += 1;
                    if self.bad.len() < BAD_SHOWN {
                        self.bad.push(format!("{name}: {bad}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves the seeds where the crawl, running or next, finds them.
    fn leave(&self, context: &Context) -> Result<(), Failure> {
        if self.urls.is_empty() {
            return Ok(());
        }
        let database = Collection::open_or_create(&context.folder)?.database();
        let now = RealClock::new().now();
        for batch in self.urls.chunks(BATCH) {
            let urls = batch.iter().map(|url| url.as_str().to_owned()).collect();
            control::request(&database, &Command::Seed { urls, spider: None }, now)?;
        }
        Ok(())
    }

    fn tell(&self, context: &Context) -> Result<Exit, Failure> {
        let taken = self.urls.len();
        if context.json {
            let answer = json!({ "taken": taken, "bad": self.bad_count, "examples": self.bad });
            print(&format!("{answer}\n"))?;
        } else {
            self.bad.iter().for_each(|line| context.say(&printable(line)));
            let more = self.bad_count - self.bad.len() as u64;
            if more > 0 {
                context.say(&format!("… and {more} more lines that are no URLs"));
            }
            let when = match Collection::open(&context.folder).is_ok_and(|c| c.is_crawled()) {
                true => "the running crawl takes them up within seconds",
                false => "the next crawl begins with them",
            };
            context.say(&format!("{taken} seeds taken; {when}"));
        }
        Ok(if taken == 0 && self.bad_count > 0 { Exit::Usage } else { Exit::Done })
    }
}
