//! `thin`: old versions leave the archive by rule or to keep within a budget; their visits stay in history.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::Clock;
use store::{
    collection::Collection,
    thin::{self, Thinned},
};

use super::Context;
use crate::{cli::ThinArgs, crawling::AtTerminal, terminal::print};
use config::{
    amounts::{bytes, some},
    failure::{Exit, Failure},
    setup,
};
use engine::upkeep::{removed_text, thin_now};
use model::printable;

/// Sites named in the text; `--json` has all.
const SITES_SHOWN: usize = 10;

pub fn run(context: &Context, args: &ThinArgs) -> Result<Exit, Failure> {
    let config = context.config(Vec::new())?;
    let Some(keep) = setup::keep(&config)? else {
        return Err(Failure::usage(
            "no rule says what to keep",
            "write store.keep = \"all 30d, then 1 per 7d\" or store.versions_bytes_max into harvest.toml",
        ));
    };
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock()?;
    let clock = RealClock::new();
    let thinned = match args.dry_run {
        true => thin::would_thin(&collection, &lock, &keep, clock.now())?,
        false => thin_now(&AtTerminal(context.clone()), &collection, &lock, &keep, clock.now())?,
    };
    tell(context, args.dry_run, &thinned)?;
    Ok(Exit::Done)
}

fn tell(context: &Context, dry_run: bool, thinned: &Thinned) -> Result<(), Failure> {
    if context.json {
        let mut answer = serde_json::to_value(thinned).unwrap_or_default();
        answer["dry_run"] = dry_run.into();
        if let (true, Some(answer)) = (dry_run, answer.as_object_mut()) {
            // Known only when the volumes have been read.
            let unknown = ["records", "records_bytes", "volumes_rewritten", "made_whole"];
            answer.retain(|name, _| !unknown.contains(&name.as_str()));
        }
        return print(&format!("{answer}\n"));
    }
    thinned.warnings.iter().for_each(|warning| context.say(&printable(warning)));
    context.say(&removed_text(thinned, dry_run));
    let mut text = String::new();
    for site in thinned.sites.iter().take(SITES_SHOWN) {
        let (versions, size) = (some(site.versions, "version"), bytes(site.bytes));
        let _ = writeln!(text, "{versions:>19}  {size:>9}  {}", printable(&site.site));
    }
    print(&text)
}
