//! `RESULTS.md`: a section for each case. Only the sections of the cases that ran are written anew.

use std::{fs, path::Path};

use anyhow::Context;

/// Puts `text` below the heading `## title`, which is appended when it is not there yet.
pub fn write(path: &Path, title: &str, text: &str) -> anyhow::Result<()> {
    let old = fs::read_to_string(path).unwrap_or_else(|_| "# Results\n".to_owned());
    let heading = format!("\n## {title}\n");
    let section = format!("{heading}{text}");
    let new = match old.find(&heading) {
        None => format!("{old}{section}"),
        Some(start) => {
            let rest = &old[start + heading.len()..];
            let end = rest.find("\n## ").map_or("", |at| &rest[at..]);
            format!("{}{section}{end}", &old[..start])
        }
    };
    fs::write(path, new).with_context(|| format!("write {}", path.display()))
}

/// `median (smallest to largest)`.
pub fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return "-".to_owned() };
    let median = values[values.len() / 2];
    format!("{median:.0} ({first:.0} to {last:.0})")
}
