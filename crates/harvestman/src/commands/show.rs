//! `show`: a version of a page, the latest or that of a time, as text, as it was served, or its heads; from
//! the archive.

use encoding_rs::Encoding;
use gatherer::Gathered;
use harvester::clock::RealClock;
use model::{Clock, Exchange};
use serde_json::json;

use super::{Context, alike::Alike, story::Story};
use crate::{
    cli::ShowArgs,
    terminal::{print, print_bytes, stdout_is_terminal},
};
use collection::{
    archived::{Kept, gathered},
    versions::{Picked, Which},
};
use config::{
    failure::{Exit, Failure},
    times,
};
use model::printable_lines;

pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let story = Story::find(context, &args.url)?;
    let picked = pick(&story, args)?;
    if let Some(note) = note(&picked) {
        context.say(&note);
    }
    let exchange = story.archived().exchange(picked.record)?;
    if args.headers {
        print(&printable_lines(&heads(&exchange)))?;
        return Ok(Exit::Done);
    }
    let gathered = gathered(&exchange);
    let noarchive = story.is_noarchive(gathered.noarchive);
    if noarchive {
        story.remark_noarchive(context);
    }
    story.is_kept(context, &picked, &exchange)?;
    let facts = story.story.facts.as_ref();
    let alike = facts.map(|facts| Alike::of(&story.census, &story.url, facts)).transpose()?;
    if let Some(alike) = alike.flatten() {
        context.say(&alike.words());
    }
    if args.html {
        print_source(&exchange, &gathered)?;
    } else if context.json {
        let links: Vec<&str> = gathered.links.iter().map(|link| link.url.as_str()).collect();
        let answer = json!({
            "url": story.url.as_str(), "status": exchange.status,
            "date": times::iso(exchange.started), "version": picked.number,
            "versions": story.versions().count(), "seen": times::iso(picked.seen),
            "media_type": gathered.media_type, "title": gathered.title, "text": gathered.text,
            "links": links, "bytes": exchange.body.len(), "missing": Kept::of(&exchange).words(),
            "noarchive": noarchive,
        });
        print(&format!("{answer:#}\n"))?;
    } else {
        print(&format!("{}\n", printable_lines(&gathered.text)))?;
    }
    Ok(Exit::Done)
}

fn pick<'a>(story: &'a Story, args: &ShowArgs) -> Result<Picked<'a>, Failure> {
    let versions = story.versions();
    let which = match (&args.at, args.version) {
        (Some(text), _) => Some(Which::at(text, RealClock::new().now())?),
        (None, Some(number)) => Some(Which::Number(usize::try_from(number).unwrap_or(usize::MAX))),
        (None, None) => None,
    };
    let newest = versions.newest().ok_or_else(|| story.never_fetched());
    match which {
        Some(which) if versions.count() > 0 => versions.pick(which),
        _ => newest,
    }
}

/// What the visit found that is not shown: that the page was gone, or led elsewhere.
fn note(picked: &Picked<'_>) -> Option<String> {
    let found = picked.found?;
    let at = found.times.first().copied().unwrap_or_default();
    let what = match &found.failure {
        Some(failure) => failure.clone(),
        None => format!("status {}", found.status),
    };
    Some(format!(
        "at that time there was no content ({what}, {}): this is version {}, last seen {}",
        times::iso(at),
        picked.number,
        times::iso(picked.seen)
    ))
}

/// A program gets the bytes as they were served; a terminal gets the text, with what would drive it written out.
fn print_source(exchange: &Exchange, gathered: &Gathered) -> Result<(), Failure> {
    if !stdout_is_terminal() {
        return print_bytes(&exchange.body);
    }
    let encoding = Encoding::for_label(gathered.charset.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    let (text, _, _) = encoding.decode(&exchange.body);
    print(&printable_lines(&text))
}

fn heads(exchange: &Exchange) -> String {
    String::from_utf8_lossy(&exchange.response_head).replace('\r', "")
}
