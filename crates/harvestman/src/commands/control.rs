//! `pause`, `resume`, `stop` and `visit`: what acts on a running crawl through the `control` table.

use harvester::clock::RealClock;
use model::{Clock, StoreError, printable};
use seeder::parse_seed;
use store::{
    census::Census,
    collection::Collection,
    control::{self, Command, Outcome},
    frontier::SqliteFrontier,
};

use super::{Context, answer, known_as};
use crate::{cli::VisitArgs, terminal::print};
use config::{
    failure::{Exit, Failure},
    setup,
};
use engine::pipeline::desk::Desk;

pub fn pause(context: &Context) -> Result<Exit, Failure> {
    let line = "paused: no new requests until harvestman resume";
    act(context, &Command::Pause, line)
}

pub fn resume(context: &Context) -> Result<Exit, Failure> {
    act(context, &Command::Resume, "the crawl continues")
}

pub fn stop(context: &Context) -> Result<Exit, Failure> {
    let line = "the crawl stops: requests in flight are finished, everything is saved";
    act(context, &Command::Stop, line)
}

/// Has the running crawl do it and waits until it has answered.
fn act(context: &Context, command: &Command, line: &str) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    if !collection.is_crawled() {
        return Err(not_running(context));
    }
    match ask(&collection, command)? {
        Some(Outcome::Refused { why }) => {
            Err(Failure::usage(format!("the running crawl refuses it: {why}"), "try it again"))
        }
        Some(outcome) => tell(context, &outcome, line),
        // It ended before it took the command up.
        None if !collection.is_crawled() => Err(not_running(context)),
        None => Err(not_answered()),
    }
}

pub fn visit(context: &Context, args: &VisitArgs) -> Result<Exit, Failure> {
    let url = parse_seed(&args.url).map_err(|why| Failure::no_url(&args.url, &why))?;
    let collection = Collection::open(&context.folder)?;
    let (config, _) = context.config_to_read();
    let (url, _) = known_as(&Census::open(&collection)?, &setup::form(&config)?, url)?;
    let shown = printable(url.as_str());
    let (outcome, line) = match collection.lock() {
        Ok(_lock) => {
            let mut frontier = SqliteFrontier::open(&collection.database())?;
            let now = RealClock::new().now();
            let outcome = Desk::visit_now(&mut frontier, &url, now, now)?;
            (Some(outcome), format!("{shown} is due now; the next crawl visits it"))
        }
        Err(StoreError::Busy { .. }) => {
            let command = Command::VisitNow { url: url.as_str().to_owned() };
            let line = format!("{shown} is due now; the running crawl visits it next");
            (ask(&collection, &command)?, line)
        }
        Err(error) => return Err(error.into()),
    };
    match outcome {
        Some(outcome @ Outcome::Visit { .. }) => tell(context, &outcome, &line),
        Some(Outcome::NotFound) => Err(Failure::usage(
            format!("{shown} is not in the collection"),
            format!("add it with: harvestman seed {shown}"),
        )),
        Some(Outcome::Refused { why }) => {
            Err(Failure::usage(why, format!("see why with: harvestman explain {shown}")))
        }
        _ => Err(not_answered()),
    }
}

fn ask(collection: &Collection, command: &Command) -> Result<Option<Outcome>, Failure> {
    let database = collection.database();
    let id = control::request(&database, command, RealClock::new().now())?;
    answer::wait(&database, id)
}

fn tell(context: &Context, outcome: &Outcome, line: &str) -> Result<Exit, Failure> {
    if context.json {
        let outcome = serde_json::to_string(outcome).unwrap_or_default();
        print(&format!("{outcome}\n"))?;
    } else {
        context.say(line);
    }
    Ok(Exit::Done)
}

fn not_running(context: &Context) -> Failure {
    Failure::usage(
        format!("no crawl is running in {}", context.folder.display()),
        "start one with: harvestman crawl, or name another folder with -C",
    )
}

fn not_answered() -> Failure {
    Failure::fault(
        "the running crawl has not answered yet",
        "it takes the command up when it can; look again with: harvestman status",
    )
}
