//! `regather`: archived pages read again with today's parser and settings.

use std::sync::Arc;

use super::Context;
use crate::{
    cli::RegatherArgs,
    crawling::AtTerminal,
    terminal::{print, print_json},
};
use collection::sites;
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
};
use engine::regather::{Reread, regather};
use store::{census::Census, collection::Collection};

pub fn run(context: &Context, args: &RegatherArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = args.site.as_deref().map(|site| sites::known(&census, site)).transpose()?;
    drop(census);
    let observer = Arc::new(AtTerminal(context.clone()));
    let mut show = |done: &Reread| context.say(&format!("{} read", some(done.pages, "page")));
    let done =
        regather(&context.folder, args.flags.values(), site.as_deref(), observer, &mut show)?;
    match context.json {
        true => print_json(&done)?,
        false => print(&text(&done))?,
    }
    Ok(Exit::Done)
}

fn text(done: &Reread) -> String {
    let continued = if done.continued { " (continued)" } else { "" };
    let mut text = format!(
        "{} read again{continued}: {} with other text, {} new\n",
        some(done.pages, "page"),
        number(done.changed),
        some(done.new_pages, "page"),
    );
    if done.unreadable > 0 {
        let pages = some(done.unreadable, "page");
        text.push_str(&format!("{pages} left alone: not whole in the archive, or in quarantine\n"));
    }
    if done.out > 0 {
        text.push_str(&format!("{} left: out with a batch\n", some(done.out, "page")));
    }
    text
}
