//! `batch`: part of the collection goes out to be harvested elsewhere, and comes home.

use std::{fmt::Write, path::Path, sync::Arc, time::Duration};

use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use store::{census::Census, collection::Collection, frontier::BatchState};

use super::Context;
use crate::{
    cli::{BatchCommand, BatchExportArgs, BatchHarvestArgs},
    crawling::{self, AtTerminal, Wanted},
    results,
    terminal::{print, print_json},
};
use collection::batch;
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
    times, units,
};
use engine::batch::{
    export::{BatchWanted, ExportedBatch, export},
    file::{BatchFile, Header},
    import::{self, Imported, NotTakenReason},
    outpost,
};

/// Longer, and the batch was forgotten.
const LEASE_MAX: Duration = Duration::from_secs(366 * 86_400);
/// Sites and visits named in the text; `--json` has all.
const NAMED: usize = 10;

pub fn run(context: &Context, command: Option<&BatchCommand>) -> Result<Exit, Failure> {
    match command.unwrap_or(&BatchCommand::List) {
        BatchCommand::List => list(context),
        BatchCommand::Export(args) => make(context, args),
        BatchCommand::Harvest(args) => harvest(context, args),
        BatchCommand::Import { dir, partial } => import(context, dir, *partial),
        BatchCommand::Cancel { id } => cancel(context, *id),
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let batches = batch::list(&Census::open(&Collection::open(&context.folder)?)?)?;
    if context.json {
        return print_json(&batches).map(|()| Exit::Done);
    }
    if batches.rows.is_empty() {
        context.say("there is no batch; make one with harvestman batch export FILE");
    }
    let (mut text, now) = (String::new(), RealClock::new().now());
    for row in batches.rows {
        let (sites, pages) = (some(row.sites, "site"), some(row.pages, "page"));
        let _ = write!(text, "{:>4}  {:<9}  {pages} of {sites}", row.id, row.state.word());
        let _ = match (row.state, row.ended) {
            (BatchState::Out, _) => writeln!(
                text,
                "; {} out (the leases end {})",
                some(row.sites_out, "site"),
                times::until(row.until, now)
            ),
            (_, Some(ended)) => writeln!(text, "; {}", times::ago(ended, now)),
            (_, None) => writeln!(text, "; run the import again"),
        };
    }
    print(&text).map(|()| Exit::Done)
}

fn make(context: &Context, args: &BatchExportArgs) -> Result<Exit, Failure> {
    let wanted = BatchWanted {
        file: args.file.clone(),
        pages_max: args.pages.map(|pages| pages as usize),
        spider: args.spider.clone(),
        lease: lease(&args.lease)?,
    };
    if results::is_stdout(&args.file) {
        return Err(Failure::usage(
            "a batch cannot be written to standard output",
            "name a file, such as monday.batch; one that is called so is ./-",
        ));
    }
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let observer = Arc::new(AtTerminal(context.clone()));
    let done = export(&context.folder, observer, &wanted, &clock)?;
    match context.json {
        true => print_json(&done)?,
        false => exported(context, &done, clock.now()),
    }
    Ok(Exit::Done)
}

fn lease(text: &str) -> Result<Duration, Failure> {
    let refuse =
        |what: &str| Failure::usage(format!("--lease {text:?}: {what}"), "write a time such as 7d");
    match units::parse_time(text) {
        Ok(lease) if lease < Duration::from_secs(1) => Err(refuse("it is too short")),
        Ok(lease) if lease > LEASE_MAX => Err(refuse("it is longer than a year")),
        Ok(lease) => Ok(lease),
        Err(what) => Err(refuse(&what)),
    }
}

fn exported(context: &Context, done: &ExportedBatch, now: Timestamp) {
    let (file, end) = (done.file.display(), times::until(done.until, now));
    context.say(&format!(
        "batch {}: {} of {}; nobody else visits them until it is back (the leases end {end})",
        done.batch,
        some(done.pages, "page"),
        some(done.sites, "site")
    ));
    if done.over_site_max > 0 {
        context.say(&format!(
            "{} more would have had room, but are too many of their sites (revisit.batch_site_max)",
            some(done.over_site_max, "page")
        ));
    }
    context.say(&format!("harvest it:  harvestman batch harvest {file} --out DIR"));
}

fn harvest(context: &Context, args: &BatchHarvestArgs) -> Result<Exit, Failure> {
    results::folder("--out", &args.out)?;
    let now = RealClock::new().now();
    let file = BatchFile::open(&args.file)?;
    if file.header.until <= now {
        let ended = times::iso(file.header.until);
        return Err(Failure::usage(
            format!("the leases of this batch ended at {ended}: others may visit its sites"),
            "import what was crawled (harvestman batch import DIR --partial), and export a new batch",
        ));
    }
    let header = outpost::prepare(&args.out, file, now)?;
    outpost::try_again(&args.out, header.made, now)?;
    let context = Context { folder: args.out.clone(), named: true, ..context.clone() };
    let flags = outpost::flags(args.flags(), &header, now);
    let config = context.config(flags.clone())?;
    let wanted = Wanted { flags, ..Wanted::default() };
    let exit = crawling::crawl(&context, config, args.out.clone(), wanted);
    if matches!(&exit, Err(failure) if failure.code != Exit::NothingFetched) {
        return exit;
    }
    harvested(&context, args, &header, exit)
}

/// What is still to be visited; where no server could be reached, that is why.
fn harvested(
    context: &Context,
    args: &BatchHarvestArgs,
    header: &Header,
    exit: Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let now = RealClock::new().now();
    let (reach, offline) = outpost::try_again(&args.out, header.made, now)?;
    let frontier = Collection::open(&args.out)?.frontier()?;
    let left: u64 = frontier.still_due_since(header.made)?.iter().map(|(_, pages)| pages).sum();
    if left == 0 {
        let dir = args.out.display();
        context.say(&format!("the batch is done; import it with: harvestman batch import {dir}"));
        return exit;
    }
    let is_over = header.until <= now;
    if is_over && reach.has_lately() {
        let (dir, pages) = (args.out.display(), some(header.pages, "page"));
        context.say(&format!(
            "of {pages}, {} not visited, and the leases are over: others may visit the sites now; \
             bring home what is there:  harvestman batch import {dir} --partial",
            import::some_are(left, "page")
        ));
        return exit;
    }
    if reach.has_lately() {
        let still = import::some_are(left, "page");
        context.say(&format!(
            "of {}, {still} still to be visited; the same command continues",
            some(header.pages, "page")
        ));
        return exit;
    }
    let trouble = offline.example.map_or(String::new(), |(url, kind)| {
        format!("; the last trouble was {url}: {}", kind.word())
    });
    Err(Failure::nothing_fetched(
        format!(
            "no server answered{trouble}; {} still to be visited",
            import::some_are(left, "page")
        ),
        match is_over {
            true => {
                "the leases are over, and others may visit the sites now: export a new batch; nothing of \
                 this is taken for a failure of the sites"
            }
            false => {
                "check the network, the name servers and the proxy of this machine, then give the same \
                 command again; nothing of this is taken for a failure of the sites"
            }
        },
    ))
}

fn import(context: &Context, dir: &Path, partial: bool) -> Result<Exit, Failure> {
    let now = RealClock::new().now();
    let done =
        import::import(&context.folder, Arc::new(AtTerminal(context.clone())), dir, partial, now)?;
    if context.json {
        return print_json(&done).map(|()| Exit::Done);
    }
    imported(context, dir, &done, now);
    Ok(Exit::Done)
}

fn imported(context: &Context, dir: &Path, done: &Imported, now: Timestamp) {
    if let Some(before) = done.imported_before {
        let when = times::ago(before, now);
        context.say(&format!(
            "batch {} was imported already, {when}; nothing was changed",
            done.batch
        ));
        return;
    }
    let earlier = match done.already_imported {
        0 => String::new(),
        visits => format!(" ({} more were imported before)", number(visits)),
    };
    let others = match done.sites_out {
        0 => "its sites are given back".to_owned(),
        _ => "sites that are done are given back".to_owned(),
    };
    context.say(&format!(
        "batch {}: {} and {} taken{earlier}; {others}",
        done.batch,
        some(done.pages, "visit"),
        some(done.failed, "failed one"),
    ));
    say_rest(context, done, now);
    for site in done.lost_sites.iter().take(NAMED) {
        context.say(&format!("the lease of {} was over", printable(site)));
    }
    if done.lost_sites.len() > NAMED {
        let more = number((done.lost_sites.len() - NAMED) as u64);
        context.say(&format!("so were those of {more} more"));
    }
    for visit in done.not_taken.iter().take(NAMED) {
        let (url, at) = (printable(&visit.url), times::iso(visit.at));
        context.say(&format!("not taken: {url} of {at}: {}", why(visit.reason)));
    }
    if done.not_taken.len() > NAMED {
        let more = some((done.not_taken.len() - NAMED) as u64, "more visit");
        context.say(&format!("not taken: {more}; --json names all"));
    }
    done.damage.iter().for_each(|what| context.say(&printable(what)));
    if !(done.not_taken.is_empty() && done.damage.is_empty()) {
        context.say(&format!("what was not taken stays in {}", dir.display()));
    }
}

fn why(reason: NotTakenReason) -> &'static str {
    match reason {
        NotTakenReason::VisitedSince => "it was visited at home since",
        NotTakenReason::NotInCollection => "it is no longer in the collection",
        NotTakenReason::Blocked => "it is blocked",
        NotTakenReason::ReferenceMissing => "it refers to a record that was not taken",
    }
}

/// What was not visited, and what could not be.
fn say_rest(context: &Context, done: &Imported, now: Timestamp) {
    let (pages, id) = (import::some_are(done.not_visited, "page"), done.batch);
    match done.sites_out {
        0 if done.not_visited > 0 => {
            context.say(&format!("{pages} not visited and due as before"));
        }
        0 => {}
        sites => {
            let (sites, end) = (some(sites, "site"), times::until(done.until, now));
            context.say(&format!(
                "{pages} still to be visited: {sites} out with the batch as before (the leases end {end})"
            ));
            context.say(&format!(
                "continue with harvestman batch harvest and import it again, or end it: \
                 harvestman batch cancel {id}"
            ));
        }
    }
    if done.unreached > 0 {
        let (visits, sites) = (done.unreached, &done.unreached_sites);
        let named: Vec<String> =
            sites.iter().take(NAMED).map(|site| printable(site).into_owned()).collect();
        let more = if sites.len() > NAMED { " and others" } else { "" };
        context.say(&format!(
            "{} not taken, for nothing of {}{more} could be reached from there: the pages are due as before",
            some(visits, "failed visit"),
            named.join(", ")
        ));
    }
}

fn cancel(context: &Context, id: i64) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock()?;
    let done = batch::cancel(&collection, &lock, id, RealClock::new().now())?;
    if context.json {
        print_json(&done)?;
    } else {
        let sites = some(done.sites, "site");
        context.say(&format!("batch {id} is cancelled: {sites} given back"));
    }
    Ok(Exit::Done)
}
