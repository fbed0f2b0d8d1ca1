//! `demo`: a crawl of a simulated web before your eyes, offline, in half a minute.

use std::{path::PathBuf, sync::mpsc, thread};

use model::CrawlUrl;
use simweb::{ServeOptions, WebOptions, resolve_rules, serve};

use super::Context;
use crate::{
    cli::DemoArgs,
    crawling::{self, Wanted},
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
};

/// Short enough to finish in half a minute, long enough that the pauses can be seen. All sites share one
/// address, whose own pause is an eighth of this: 800 requests make 15 s.
const DELAY: &str = "150ms";
/// The page that always answers 500 must not make its site the last one by far.
const BACKOFF: &str = "500ms";

pub fn run(context: &Context, args: &DemoArgs) -> Result<Exit, Failure> {
    let folder = match context.named {
        true => context.folder.clone(),
        false => PathBuf::from("./harvest-demo"),
    };
    let context = Context { folder, named: true, ..context.clone() };
    let web =
        start(WebOptions { sites: args.sites as usize, seed: args.seed, ..WebOptions::demo() })?;
    context.say(&format!(
        "a simulated web of {} and {}, on this machine only; delay {DELAY} per site",
        some(web.homes.len() as u64, "site"),
        some(web.pages as u64, "page")
    ));
    let flags = vec![
        ("etiquette.delay", vec![DELAY.to_owned()]),
        ("etiquette.backoff_first", vec![BACKOFF.to_owned()]),
        ("etiquette.contact", vec!["demo@example.org".to_owned()]),
        ("fetch.resolve", web.rules.clone()),
        ("fetch.allow_address", vec!["127.0.0.0/8".to_owned()]),
    ];
    let config = context.config(flags.clone())?;
    let wanted = Wanted { flags, seeds: web.homes, fresh: true, ..Wanted::default() };
    let exit = crawling::crawl(&context, config, context.folder.clone(), wanted)?;
    let place = context.folder.display();
    context.say(&format!("look around:  harvestman -C {place} status"));
    context.say(&format!("              harvestman -C {place} show {}", web.first));
    context.say(&format!(
        "              sqlite3 {place}/crawl.db 'select url, title from v_pages limit 5'"
    ));
    Ok(exit)
}

/// A running simulated web; it ends with the process.
struct Web {
    homes: Vec<CrawlUrl>,
    first: String,
    pages: usize,
    rules: Vec<String>,
}

fn start(options: WebOptions) -> Result<Web, Failure> {
    let (tell, told) = mpsc::sync_channel(1);
    let serving = thread::Builder::new().name("simweb".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (server, web) =
                serve(ServeOptions { web: options, port: 0, ..ServeOptions::default() }).await?;
            let homes: Vec<String> = (0..web.sites()).map(|site| web.home(site)).collect();
            let pages = (0..web.sites()).map(|site| web.pages(site)).sum();
            let _ = tell.send((homes, pages, resolve_rules(&server, &web)));
            std::future::pending::<std::io::Result<()>>().await
        })
    });
    let trouble = |what: String| Failure::fault(what, "try again, or use another machine");
    serving.map_err(|error| trouble(format!("cannot start the simulated web: {error}")))?;
    let (homes, pages, rules) = told
        .recv()
        .map_err(|_| trouble("the simulated web could not listen on 127.0.0.1".to_owned()))?;
    let first = homes.first().cloned().unwrap_or_default();
    let homes = homes.iter().filter_map(|home| CrawlUrl::parse(home).ok()).collect();
    Ok(Web { homes, first, pages, rules })
}
