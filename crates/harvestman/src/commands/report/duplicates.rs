//! `report duplicates`: which pages of a site are the same or nearly so, how many, and how many bytes that is.

use std::fmt::Write;

use model::{fit, printable};
use store::{census::Census, collection::Collection};

use super::super::{Context, decisions::known_site};
use crate::{
    cli::DuplicatesArgs,
    terminal::{print, print_json},
};
use collection::{
    listing::Listing,
    reports::{DuplicateKind, DuplicateRow, duplicates},
};
use config::{
    amounts::{bytes, some},
    failure::{Exit, Failure},
};

/// Of a URL behind its indent, so that a line fits 80 columns.
const URL_WIDTH: usize = 76;

pub fn run(context: &Context, args: &DuplicatesArgs) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = args.site.as_deref().map(|site| known_site(&census, site)).transpose()?;
    let report = duplicates(&census, site.as_deref(), args.limit)?;
    if context.json {
        print_json(&report)?;
    } else if report.rows.is_empty() {
        context.say("no duplicates");
    } else {
        print(&text(&report))?;
    }
    Ok(Exit::Done)
}

fn text(report: &Listing<DuplicateRow>) -> String {
    let mut text = String::new();
    for row in &report.rows {
        let content = match row.kind {
            DuplicateKind::Exact => "the same content",
            DuplicateKind::Near => "nearly the same content",
        };
        let (pages, size) = (some(row.pages, "page"), bytes(row.bytes));
        let _ = writeln!(text, "{pages} with {content}, {size} besides the first:");
        let original = row.original.as_deref().unwrap_or("(the first is no longer known)");
        for url in std::iter::once(original).chain(row.examples.iter().map(String::as_str)) {
            let _ = writeln!(text, "    {}", fit(&printable(url), URL_WIDTH));
        }
        let shown = row.examples.len() as u64 + 1;
        if row.pages > shown {
            let _ = writeln!(text, "    … and {} more", some(row.pages - shown, "page"));
        }
    }
    if report.total.is_none() {
        let _ = writeln!(text, "… there may be more: --limit N");
    }
    text
}
