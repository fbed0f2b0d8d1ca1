//! `seed`: more places to begin, from arguments, lists, zone files, sitemaps, OPML or another collection.

use std::{
    fs::File,
    io::{self, BufReader},
    time::Duration,
};

use collection::seeding::{Seeded, Seeding};
use harvester::clock::RealClock;
use model::{Clock, Refusal, Timestamp, printable};
use seeder::{Seed, SeedKind};
use store::collection::Collection;

use super::{Context, answer};
use crate::{
    cli::{SeedArgs, SeedSource},
    terminal::print_json,
};
use config::{
    amounts::some,
    failure::{Exit, Failure, cannot_read},
};

/// Read at once from a file.
const BUFFER_BYTES: usize = 1 << 16;
/// How far it is, is said after this time; then after twice the time, up to the second.
const SAID_AFTER: Duration = Duration::from_secs(1);
const SAID_EVERY: Duration = Duration::from_secs(10);

pub fn run(context: &Context, args: &SeedArgs) -> Result<Exit, Failure> {
    let args = &args.with_files();
    let mut seeding = Seeding::new(&context.folder, args.spider.as_deref())?;
    // What was typed wrong ends the command before anything is taken; so does a file that is not there.
    let mut typed = Vec::new();
    for text in args.urls.iter().filter(|text| *text != "-") {
        typed.push(Seed::parse(text).map_err(|why| Failure::bad_url(text, &why))?);
    }
    for path in &args.file {
        path.metadata().map_err(|error| cannot_read(&path.display().to_string(), &error))?;
    }
    for seed in &typed {
        seeding.offer(seed)?;
    }
    let mut progress = Progress::new(context);
    if args.urls.iter().any(|text| text == "-") {
        let kind = kind(args.from)?;
        seeding.read(kind, "standard input", io::stdin().lock(), |counts| progress.say(counts))?;
    }
    for path in &args.file {
        let is_folder = path.is_dir();
        match args.from {
            Some(SeedSource::Collection) => {
                seeding.read_collection(path, |counts| progress.say(counts))?;
            }
            None if is_folder => seeding.read_collection(path, |counts| progress.say(counts))?,
            from => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
                let reader = BufReader::with_capacity(BUFFER_BYTES, file);
                seeding.read(kind(from)?, &name, reader, |counts| progress.say(counts))?;
            }
        }
    }
    show(context, &seeding.finish()?)
}

fn kind(from: Option<SeedSource>) -> Result<Option<SeedKind>, Failure> {
    Ok(match from {
        Some(SeedSource::Urls) => Some(SeedKind::Urls),
        Some(SeedSource::Hosts) => Some(SeedKind::Hosts),
        Some(SeedSource::Zone) => Some(SeedKind::Zone),
        Some(SeedSource::Sitemap) => Some(SeedKind::Sitemap),
        Some(SeedSource::Opml) => Some(SeedKind::Opml),
        Some(SeedSource::Collection) => {
            return Err(Failure::usage(
                "a collection is a folder and cannot come from standard input",
                "name it with --file",
            ));
        }
        None => None,
    })
}

/// Says how far it is, to who waits.
struct Progress<'a> {
    context: &'a Context,
    clock: RealClock,
    said: Timestamp,
    after: Duration,
}

impl Progress<'_> {
    fn new(context: &Context) -> Progress<'_> {
        let clock = RealClock::new();
        Progress { context, said: clock.now(), clock, after: SAID_AFTER }
    }

    fn say(&mut self, counts: &Seeded) {
        let Seeded { taken, repeated, refused, bad, .. } = counts;
        let read = taken + repeated + refused + bad;
        if !read.is_multiple_of(1_000) {
            return;
        }
        let now = self.clock.now();
        if now.since(self.said) >= self.after {
            self.said = now;
            self.after = (2 * self.after).min(SAID_EVERY);
            self.context.say(&format!("{read} read, {taken} taken …"));
        }
    }
}

/// Nothing that was given could be taken: something is wrong with it.
pub fn exit(seeded: &Seeded) -> Exit {
    let Seeded { taken, refused, bad, other_sitemaps, .. } = seeded;
    let in_vain = *taken == 0 && refused + bad + other_sitemaps > 0;
    if in_vain { Exit::Usage } else { Exit::Done }
}

pub fn show(context: &Context, seeded: &Seeded) -> Result<Exit, Failure> {
    if context.json {
        print_json(seeded)?;
    } else {
        say(context, seeded);
    }
    Ok(exit(seeded))
}

fn say(context: &Context, seeded: &Seeded) {
    let say = |line: &str| context.say(&printable(line));
    let more = |count: u64, named: usize, what: &str| {
        let more = count.saturating_sub(named as u64);
        if more > 0 {
            say(&format!("… and {more} more {what}"));
        }
    };
    for line in &seeded.bad_lines {
        say(&format!("{}: line {}: {}", line.file, line.line, line.why));
    }
    let bad = seeded.bad + seeded.other_sitemaps + seeded.cut;
    more(bad, seeded.bad_lines.len(), "lines that are no seeds");
    for seed in &seeded.refused_seeds {
        let rule = Refusal::with_remedy(&seed.rule);
        say(&format!("seed refused: {} ({rule})", seed.url.as_deref().unwrap_or("one")));
    }
    more(seeded.refused, seeded.refused_seeds.len(), "seeds refused");
    let mut asides = String::new();
    for (count, what) in [
        (seeded.repeated, "repeated"),
        (seeded.refused, "refused"),
        (seeded.bad, "bad"),
        (seeded.other_sitemaps, "other sitemaps, not fetched"),
        (seeded.taken.saturating_sub(seeded.new), "known before"),
    ] {
        let unknown = seeded.pending && what == "known before";
        if count > 0 && !unknown {
            asides.push_str(&format!(", {count} {what}"));
        }
    }
    let them = if seeded.taken == 1 { "it" } else { "them" };
    let running = Collection::open(&context.folder).is_ok_and(|it| it.is_crawled());
    let when = match running {
        _ if seeded.pending => answer::PENDING.to_owned(),
        true => format!("the running crawl visits {them}"),
        false => format!("the next crawl begins with {them}"),
    };
    let when = if seeded.taken == 0 { String::new() } else { format!("; {when}") };
    say(&format!("{} taken{asides}{when}", some(seeded.taken, "seed")));
}
