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

/// `median (smallest to largest)`; a single value alone.
pub fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match values[..] {
        [] => "-".to_owned(),
        [only] => format!("{only:.0}"),
        [first, .., last] => format!("{:.0} ({first:.0} to {last:.0})", values[values.len() / 2]),
    }
}

/// Not a number for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
