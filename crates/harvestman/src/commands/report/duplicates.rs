//! `report duplicates`: which pages of a site are alike, the very same or nearly, how many, and how many bytes that is.

use std::fmt::Write;

use serde_json::Value;
use store::{census::Census, collection::Collection, history::Duplicates};

use super::super::{Context, decisions::known_site};
use crate::{cli::DuplicatesArgs, terminal::print};
use config::{
    amounts::{bytes, number},
    failure::{Exit, Failure},
};
use model::printable;

pub fn run(context: &Context, args: &DuplicatesArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = args.site.as_deref().map(|site| known_site(&census, site)).transpose()?;
    let found = census.duplicates(site.as_deref(), args.limit)?;
    if context.json {
        let rows: Vec<Value> = found.iter().map(row_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else if found.is_empty() {
        context.say("no page of a site repeats another");
    } else {
        print(&listing(&found))?;
    }
    Ok(Exit::Done)
}

fn listing(found: &[Duplicates]) -> String {
    let mut text = String::new();
    for family in found {
        let alike = if family.exact { "the same" } else { "nearly the same" };
        let first = match family.first.as_str() {
            "" => "a page that is no longer known",
            url => url,
        };
        let _ = writeln!(
            text,
            "{:>9} pages, {alike}, {} twice: {}",
            number(family.pages),
            bytes(family.bytes),
            printable(first)
        );
        for example in &family.examples {
            let _ = writeln!(text, "                 {}", printable(example));
        }
    }
    text
}

fn row_json(family: &Duplicates) -> Value {
    serde_json::json!({
        "site": family.site, "kind": if family.exact { "exact" } else { "near" },
        "first": family.first, "pages": family.pages, "bytes": family.bytes,
        "examples": family.examples,
    })
}
