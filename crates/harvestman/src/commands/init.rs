//! `init`: a new collection with a commented `harvest.toml`. Nothing that exists is changed.

use model::printable;

use super::Context;
use crate::terminal::print_json;
use collection::init::init;
use config::failure::{Exit, Failure};

pub fn run(context: &Context) -> Result<Exit, Failure> {
    let made = init(&context.folder)?;
    let file = made.file.to_string_lossy();
    if context.json {
        print_json(&made)?;
    } else if made.created {
        context.say(&format!("created {}", printable(&file)));
        let folder = context.folder.to_string_lossy();
        let place =
            if context.named { format!(" -C {}", printable(&folder)) } else { String::new() };
        context.say(&format!("next: harvestman{place} crawl https://example.org"));
    } else {
        context.say(&format!("{} exists and was left as it is", printable(&file)));
    }
    Ok(Exit::Done)
}
