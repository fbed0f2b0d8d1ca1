//! `show`: the latest version of a page, as text, as it was served, or its heads; from the archive.

use gatherer::gather;
use harvester::http::decode_body;
use model::{CrawlUrl, EntryKind, Exchange, RecordLocation};
use seeder::parse_seed;
use serde_json::json;
use store::{
    census::{Census, PageStory, VisitEntry},
    collection::Collection,
    warc::{Adopted, Pair, Volumes},
};

use super::{Context, known_as};
use crate::{
    cli::ShowArgs,
    exit::{Exit, Failure},
    setup,
    terminal::{print, print_bytes, printable_lines},
    times,
};

pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let url = parse_seed(&args.url).map_err(|why| Failure::bad_url(&args.url, &why))?;
    let config = context.config(Vec::new())?;
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let (url, story) = known_as(&census, &setup::form(&config)?, url)?;
    let story = story.ok_or_else(|| unknown(&url))?;
    let version = newest(&story).ok_or_else(|| never_fetched(&url))?;
    if story.facts.as_ref().is_some_and(|facts| facts.noarchive) && !args.headers {
        return Err(Failure::usage(
            format!("{url} asks not to be shown from an archive (noarchive)"),
            "its history is kept: see harvestman explain",
        ));
    }
    let record = version.record.ok_or_else(|| never_fetched(&url))?;
    let volumes = Volumes::new(collection.volumes());
    let bytes_max = match story.page.requisite {
        true => config.fetch.requisite_bytes_max,
        false => config.fetch.body_bytes_max,
    };
    let exchange = exchange(&census, &volumes, record, bytes_max)?;
    if args.headers {
        print(&printable_lines(&heads(&exchange)))?;
    } else if args.html {
        print_bytes(&exchange.body)?;
    } else if context.json {
        let gathered = gather(&exchange, &gatherer::GatherOptions::default());
        let links: Vec<&str> = gathered.links.iter().map(|link| link.url.as_str()).collect();
        let answer = json!({
            "url": url.as_str(), "status": exchange.status, "date": times::iso(exchange.started),
            "media_type": gathered.media_type, "title": gathered.title, "text": gathered.text,
            "links": links, "bytes": exchange.body.len(),
        });
        print(&format!("{answer:#}\n"))?;
    } else {
        let gathered = gather(&exchange, &gatherer::GatherOptions::default());
        print(&format!("{}\n", printable_lines(&gathered.text)))?;
    }
    Ok(Exit::Done)
}

/// The newest row that has content of its own; unchanged visits are folded into it.
fn newest(story: &PageStory) -> Option<&VisitEntry> {
    story.visits.iter().rev().find(|visit| visit.change.is_version() && visit.record.is_some())
}

/// The archived exchange with its body decoded. A revisit has only a head: its body is where it refers to.
pub(super) fn exchange(
    census: &Census,
    volumes: &Volumes,
    at: RecordLocation,
    bytes_max: u64,
) -> Result<Exchange, Failure> {
    let mut exchange = read(volumes, at)?;
    if let EntryKind::SamePayload(refers) = &exchange.kind {
        let original = CrawlUrl::stored(&refers.target_uri).ok();
        let story = original.map(|url| census.page(&url)).transpose()?.flatten();
        let found = story.iter().flat_map(|story| &story.visits).find(|visit| {
            visit.record_date == Some(refers.date)
                && visit.record.is_some_and(|record| record != at)
        });
        if let Some(record) = found.and_then(|visit| visit.record) {
            let original = read(volumes, record)?.exchange;
            (exchange.exchange.entity, exchange.exchange.body) = (original.entity, original.body);
        }
    }
    let mut exchange = exchange.exchange;
    decode_body(&mut exchange, bytes_max);
    Ok(exchange)
}

fn read(volumes: &Volumes, at: RecordLocation) -> Result<Adopted, Failure> {
    let response = volumes.read_at(at)?;
    let pair = Pair { request: None, response };
    Adopted::from_pair(at.volume, &pair).map_err(|what| {
        Failure::fault(
            format!("the record in volume {} cannot be read: {what}", at.volume),
            "run harvestman check",
        )
    })
}

fn heads(exchange: &Exchange) -> String {
    String::from_utf8_lossy(&exchange.response_head).replace('\r', "")
}

fn unknown(url: &CrawlUrl) -> Failure {
    Failure::usage(
        format!("{url} is not in this collection"),
        format!("see why with: harvestman explain {url}"),
    )
}

fn never_fetched(url: &CrawlUrl) -> Failure {
    Failure::usage(
        format!("{url} is known but has no content"),
        format!("see why with: harvestman explain {url}"),
    )
}
