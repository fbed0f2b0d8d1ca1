//! `thin`: old versions leave the archive by rule or to keep within a budget; their visits stay in history.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::Clock;
use store::collection::Collection;

use super::Context;
use crate::{
    cli::ThinArgs,
    crawling::AtTerminal,
    terminal::{print, print_json},
};
use collection::thin::{Thinned, preview};
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
        true => preview(&collection, &lock, &keep, clock.now())?,
        false => thin_now(&AtTerminal(context.clone()), &collection, &lock, &keep, clock.now())?,
    };
    match context.json {
        true => print_json(&thinned)?,
        false => tell(context, &thinned)?,
    }
    Ok(Exit::Done)
}

fn tell(context: &Context, thinned: &Thinned) -> Result<(), Failure> {
    thinned.warnings.iter().for_each(|warning| context.say(&printable(warning)));
    context.say(&removed_text(thinned));
    let mut text = String::new();
    for site in thinned.sites.iter().take(SITES_SHOWN) {
        let (versions, size) = (some(site.versions, "version"), bytes(site.bytes));
        let _ = writeln!(text, "{versions:>19}  {size:>9}  {}", printable(&site.site));
    }
    print(&text)
}
