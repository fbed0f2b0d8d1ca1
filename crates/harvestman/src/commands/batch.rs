//! `batch`: part of the collection goes out to be harvested elsewhere, and comes home.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use harvester::clock::RealClock;
use model::{Clock, SpiderId, Timestamp};
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    frontier::{BatchRow, BatchState, SqliteFrontier},
};

use super::Context;
use crate::{
    cli::{BatchCommand, BatchExportArgs, BatchHarvestArgs},
    crawling::{self, AtTerminal, Wanted},
    results,
    terminal::print,
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure, cannot_write},
    times, units,
};
use engine::batch::{
    Home,
    choose::{Choice, Lent},
    file::{BatchFile, BatchWriter, FORMAT, Header, VERSION},
    import::{self, Imported},
    outpost,
};
use model::printable;

/// Whoever needs longer has forgotten the batch.
const LEASE_MAX: Duration = Duration::from_secs(366 * 86_400);
/// Sites and visits named in the text; `--json` has all.
const NAMED: usize = 10;

pub fn run(context: &Context, command: Option<&BatchCommand>) -> Result<Exit, Failure> {
    match command.unwrap_or(&BatchCommand::List) {
        BatchCommand::List => list(context),
        BatchCommand::Export(args) => export(context, args),
        BatchCommand::Harvest(args) => harvest(context, args),
        BatchCommand::Import { dir, partial } => import(context, dir, *partial),
        BatchCommand::Cancel { id } => cancel(context, *id),
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let rows = Census::open(&Collection::open(&context.folder)?)?.batches()?;
    let now = RealClock::new().now();
    if context.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        return print(&format!("{}\n", Value::from(rows))).map(|()| Exit::Done);
    }
    if rows.is_empty() {
        context.say("there is no batch; make one with harvestman batch export FILE");
    }
    let mut text = String::new();
    for row in rows {
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
            (_, None) => writeln!(text, "; give the import again"),
        };
    }
    print(&text).map(|()| Exit::Done)
}

fn row_json(row: &BatchRow) -> Value {
    json!({
        "id": row.id, "state": row.state.word(), "made": times::iso(row.made),
        "until": times::iso(row.until), "sites": row.sites, "pages": row.pages,
        "sites_out": row.sites_out, "ended": row.ended.map(times::iso),
    })
}

fn export(context: &Context, args: &BatchExportArgs) -> Result<Exit, Failure> {
    let lease = lease(&args.lease)?;
    if results::is_stdout(&args.file) {
        return Err(Failure::usage(
            "a batch cannot be written to standard output: it is named when it is harvested",
            "name a file, such as monday.batch; one that is called so is ./-",
        ));
    }
    if args.file.exists() {
        return Err(Failure::usage(
            format!("{} is there already", args.file.display()),
            "name a new file, or remove that one",
        ));
    }
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let mut home = Home::open(&context.folder, Arc::new(AtTerminal(context.clone())), &clock)?;
    let spider = spider(&home, args.spider.as_deref())?;
    let manners = manners(&home, spider)?;
    let now = clock.now();
    let frontier = &mut home.house.frontier;
    let (made, until) = (now, now.plus(lease));
    let batch = frontier.begin_batch(now, until, &absolute(&args.file)?)?;
    let choice = Choice {
        spiders: &home.house.stage.spiders,
        terms: &*home.terms,
        spider,
        pages_max: args.pages.map(|pages| pages as usize),
        batch,
        now,
        lease,
    };
    let mut blocks = Vec::new();
    frontier.each_block(|entry| blocks.push(entry.pattern))?;
    let collection = frontier.collection_id(now)?;
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        collection,
        batch,
        made,
        until,
        sites: 0,
        pages: 0,
        manners,
        blocks,
    };
    let lent = lend(&choice, frontier, &args.file, header);
    match lent {
        Ok((header, lent)) => exported(context, args, (&header, &lent), now),
        Err(failure) => {
            // It was not there before, and a file without its batch must not be harvested.
            let _ = fs::remove_file(&args.file);
            frontier.forget_batch(batch, now)?;
            Err(failure)
        }
    }
}

/// Writes the batch as its sites are lent.
fn lend(
    choice: &Choice<'_>,
    frontier: &mut SqliteFrontier,
    file: &Path,
    mut header: Header,
) -> Result<(Header, Lent), Failure> {
    let mut writer = BatchWriter::begin(file, &header)?;
    let lent = choice.lend(frontier, &mut |site| writer.add(site))?;
    if lent.sites == 0 {
        return Err(nothing_due());
    }
    (header.sites, header.pages) = (lent.sites, lent.pages);
    // A kill before the file stands leaves no batch, one after it leaves a batch that is out.
    writer.finish(&header)?;
    frontier.batch_is_out(choice.batch, (lent.sites, lent.pages), choice.now)?;
    Ok((header, lent))
}

/// Whoever looks for it later may stand in another folder.
fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| cannot_write(file, &error))
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

fn nothing_due() -> Failure {
    Failure::usage(
        "no page is due that could go into a batch",
        "harvestman status says when the next one is",
    )
}

fn spider(home: &Home, name: Option<&str>) -> Result<Option<SpiderId>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let found = home.house.stage.spiders.named(name);
    found.map(|spider| Some(spider.id)).ok_or_else(|| {
        Failure::usage(format!("there is no spider {name}"), "harvestman spider lists them")
    })
}

/// Those of the one spider whose pages go out; where several do, those they have in common.
fn manners(home: &Home, spider: Option<SpiderId>) -> Result<BTreeMap<String, Value>, Failure> {
    let rows = home.house.frontier.spiders()?;
    let only = match (spider, &rows[..]) {
        (Some(id), _) => rows.iter().find(|row| row.id == id),
        (None, [row]) => Some(row),
        (None, _) => None,
    };
    Ok(match only {
        Some(row) => outpost::manners(&home.config.for_spider(&row.name, &row.settings)?.config),
        None => outpost::manners(&home.config),
    })
}

fn exported(
    context: &Context,
    args: &BatchExportArgs,
    (header, lent): (&Header, &Lent),
    now: Timestamp,
) -> Result<Exit, Failure> {
    if context.json {
        let answer = json!({
            "batch": header.batch, "file": args.file.display().to_string(),
            "sites": header.sites, "pages": header.pages, "until": times::iso(header.until),
            "over_site_max": lent.over_site_max,
        });
        return print(&format!("{answer}\n")).map(|()| Exit::Done);
    }
    let (file, end) = (args.file.display(), times::until(header.until, now));
    context.say(&format!(
        "batch {}: {} of {}; nobody else visits them until it is back (the leases end {end})",
        header.batch,
        some(header.pages, "page"),
        some(header.sites, "site")
    ));
    if lent.over_site_max > 0 {
        context.say(&format!(
            "{} more would have had room, but are too many of their sites (revisit.batch_site_max)",
            some(lent.over_site_max, "page")
        ));
    }
    context.say(&format!("harvest it:  harvestman batch harvest {file} --out DIR"));
    Ok(Exit::Done)
}

fn harvest(context: &Context, args: &BatchHarvestArgs) -> Result<Exit, Failure> {
    results::folder("--out", &args.out)?;
    let now = RealClock::new().now();
    let batch = BatchFile::open(&args.file)?;
    if batch.header.until <= now {
        let ended = times::iso(batch.header.until);
        return Err(Failure::usage(
            format!("the leases of this batch ended at {ended}: others may visit its sites"),
            "bring home what was harvested (harvestman batch import DIR --partial), and export a new batch",
        ));
    }
    let header = outpost::prepare(&args.out, batch, now)?;
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
    let frontier = SqliteFrontier::open(&Collection::open(&args.out)?.database())?;
    let left: u64 = frontier.still_due_since(header.made)?.iter().map(|(_, pages)| pages).sum();
    if left == 0 {
        let dir = args.out.display();
        context
            .say(&format!("the batch is harvested; bring it home:  harvestman batch import {dir}"));
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
            "of {}, {still} still to be visited; the same command goes on",
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
        let mut answer = times::iso_fields(json!(done), &["before"]);
        let left = done.left.iter().map(|left| times::iso_fields(json!(left), &["at"]));
        answer["left"] = left.collect();
        return print(&format!("{answer}\n")).map(|()| Exit::Done);
    }
    imported(context, dir, &done, now);
    Ok(Exit::Done)
}

fn imported(context: &Context, dir: &Path, done: &Imported, now: Timestamp) {
    if let Some(before) = done.before {
        let when = times::ago(before, now);
        context.say(&format!(
            "batch {} was imported already, {when}; nothing was changed",
            done.batch
        ));
        return;
    }
    let there = match done.there {
        0 => String::new(),
        there => format!(" ({} more had been brought home before)", number(there)),
    };
    let others = match done.sites_out {
        0 => "its sites are given back".to_owned(),
        _ => "sites that are done are given back".to_owned(),
    };
    context.say(&format!(
        "batch {}: {} and {} taken{there}; {others}",
        done.batch,
        some(done.pages, "visit"),
        some(done.failed, "failed one"),
    ));
    told_of_rest(context, done, now);
    for site in done.lost_sites.iter().take(NAMED) {
        context.say(&format!("the lease of {} was over", printable(site)));
    }
    if done.lost_sites.len() > NAMED {
        let more = number((done.lost_sites.len() - NAMED) as u64);
        context.say(&format!("so were those of {more} more"));
    }
    for left in done.left.iter().take(NAMED) {
        let at = times::iso(left.at);
        context.say(&format!("not taken: {} of {at}: {}", printable(&left.url), left.why));
    }
    if done.left.len() > NAMED {
        let more = some((done.left.len() - NAMED) as u64, "more visit");
        context.say(&format!("not taken: {more}; --json names all"));
    }
    done.damage.iter().for_each(|what| context.say(&printable(what)));
    if !(done.left.is_empty() && done.damage.is_empty()) {
        context.say(&format!("what was not taken stays in {}", dir.display()));
    }
}

/// What was not visited, and what could not be.
fn told_of_rest(context: &Context, done: &Imported, now: Timestamp) {
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
                "go on with harvestman batch harvest and import it again, or end it: \
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
    let _lock = collection.lock()?;
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    let row = frontier.batches()?.into_iter().find(|row| row.id == id).ok_or_else(|| {
        Failure::usage(format!("there is no batch {id}"), "harvestman batch list has them")
    })?;
    if row.state != BatchState::Out {
        return Err(Failure::usage(
            format!("batch {id} is not out: it is {}", row.state.word()),
            "nothing was changed",
        ));
    }
    let sites = frontier.close_batch(id, BatchState::Cancelled, RealClock::new().now())?.len();
    if context.json {
        print(&format!("{}\n", json!({ "batch": id, "sites": sites })))?;
    } else {
        let sites = some(sites as u64, "site");
        context.say(&format!("batch {id} is cancelled: {sites} given back"));
    }
    Ok(Exit::Done)
}
