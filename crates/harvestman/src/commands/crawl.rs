//! `crawl`: one pass over all that is new or due. `run`: the same without an end.

use model::CrawlUrl;
use seeder::parse_seed;

use super::{Context, dry_run};
use crate::{
    cli::{CrawlArgs, RunArgs},
    crawling::{Wanted, crawl as crawl_now},
};
use config::failure::{Exit, Failure};

pub fn crawl(context: &Context, args: &CrawlArgs) -> Result<Exit, Failure> {
    let seeds = seeds(&args.urls)?;
    let flags = args.flags.values();
    let config = context.config(flags.clone())?;
    if args.dry_run {
        return dry_run::run(context, config, seeds);
    }
    let (paths, fresh) = (context.folder.clone(), args.fresh);
    crawl_now(context, config, paths, Wanted { flags, seeds, fresh, ..Wanted::default() })
}

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let flags = args.flags.values();
    let config = context.config(flags.clone())?;
    let paths = context.folder.clone();
    crawl_now(context, config, paths, Wanted { flags, forever: true, ..Wanted::default() })
}

/// What was typed as URLs; the first that is none ends the command before anything is touched.
pub fn seeds(typed: &[String]) -> Result<Vec<CrawlUrl>, Failure> {
    typed.iter().map(|text| parse_seed(text).map_err(|why| Failure::bad_url(text, &why))).collect()
}
