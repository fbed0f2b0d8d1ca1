//! The table of the micro-benchmarks, made of what divan prints: `bench/micro` runs them and gives it here.
//!
//! divan prints a tree; in each line the columns are cut by `│`: the fastest sample is the sixth from the right, the median
//! the fourth, and below a benchmark stand lines with its rates: things a second, bytes a second. Compared is the fastest:
//! it is the cost of the code, where a busy machine makes the median that of the neighbours.

use std::{fs, path::Path};

use anyhow::ensure;

use crate::{machine, results};

/// What its rows begin with; the others of a group are held against the first of these.
const OURS: &str = "harvestman";

pub fn write(output: &Path, results: &Path) -> anyhow::Result<()> {
    let output = fs::read_to_string(output)?;
    let groups = read(&output);
    ensure!(!groups.is_empty(), "no benchmark in what divan printed:\n{output}");
    let mut text = String::new();
    for note in output.lines().filter_map(|line| line.strip_prefix("note: ")) {
        text += &format!("{note}\n");
    }
    text += "The fastest sample and the median, on one core; a group asks the same of all its rows, unless they say \
             otherwise.\n\n\
             | | each | median | bytes | against ours |\n| --- | --- | --- | --- | --- |\n";
    for group in &groups {
        text += &group.rows();
    }
    text += &format!("\nLoad of the machine at the end: {:.1}.\n", machine::load());
    print!("{text}");
    results::write(results, "micro", &text)
}

#[derive(Debug, Default, PartialEq)]
struct Group {
    name: String,
    rows: Vec<Row>,
}

#[derive(Debug, Default, PartialEq)]
struct Row {
    name: String,
    /// Things a second, in the fastest sample and in the median.
    items: [f64; 2],
    /// Of the fastest, as divan has it, such as `84.2 MB/s`.
    bytes: Option<String>,
}

impl Group {
    fn rows(&self) -> String {
        let ours = self.rows.iter().find(|row| row.name.starts_with(OURS));
        let mut text = format!("| **{}** | | | | |\n", self.name);
        for row in &self.rows {
            let against = match ours {
                Some(ours) if ours != row => times(ours.items[0] / row.items[0]),
                _ => String::new(),
            };
            let bytes = row.bytes.as_deref().unwrap_or_default();
            let [best, median] = row.items.map(|items| time(1.0 / items));
            text += &format!("| {} | {best} | {median} | {bytes} | {against} |\n", row.name);
        }
        text
    }
}

fn read(output: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in output.lines() {
        let Some(median) = line.rsplit('│').nth(3).map(str::trim) else { continue };
        if let Some(name) = name_of(line) {
            match (median.is_empty(), groups.last_mut()) {
                (false, Some(group)) => group.rows.push(Row { name, ..Row::default() }),
                _ => groups.push(Group { name, rows: Vec::new() }),
            }
        } else if let Some(row) = groups.last_mut().and_then(|group| group.rows.last_mut()) {
            let fastest = fastest_of(line).unwrap_or_default();
            match items(&fastest).zip(items(median)) {
                Some((fastest, median)) => row.items = [fastest, median],
                None => row.bytes = Some(fastest),
            }
        }
    }
    groups.retain(|group| !group.rows.is_empty());
    groups
}

/// Of a group or a benchmark: what stands behind the branch of the tree, up to the first column.
fn name_of(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("├─ ").or_else(|| line.split_once("╰─ "))?;
    let name = rest.split("  ").next()?.split(" │").next()?.trim();
    Some(name.to_owned())
}

/// A number and its unit, behind the branches of the tree.
fn fastest_of(line: &str) -> Option<String> {
    let mut words = line.rsplit('│').nth(5)?.split_whitespace().rev();
    let (unit, number) = (words.next()?, words.next()?);
    Some(format!("{number} {unit}"))
}

/// `1.5 Kitem/s` as a number.
fn items(text: &str) -> Option<f64> {
    let (number, unit) = text.strip_suffix("item/s")?.split_once(' ')?;
    let factor = match unit {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn times(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.4} ×") } else { format!("{ratio:.2} ×") }
}

fn time(seconds: f64) -> String {
    match seconds * 1e9 {
        nanos if nanos < 1e3 => format!("{nanos:.0} ns"),
        nanos if nanos < 1e6 => format!("{:.1} µs", nanos / 1e3),
        nanos => format!("{:.1} ms", nanos / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Timer precision: 20 ns
micro                              fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ links and text (page)                         │               │               │               │         │
│  ├─ harvestman, everything       1.6 ms        │ 2 ms          │ 1.9 ms        │ 1.9 ms        │ 100     │ 100
│  │                               84.2 MB/s     │ 60 MB/s       │ 70 MB/s       │ 70 MB/s       │         │
│  │                               10 Kitem/s    │ 7 Kitem/s     │ 8 Kitem/s     │ 8 Kitem/s     │         │
│  ╰─ lol_html                     3 ms          │ 4 ms          │ 3.2 ms        │ 3.3 ms        │ 100     │ 100
│                                  42.1 MB/s     │ 30 MB/s       │ 35 MB/s       │ 35 MB/s       │         │
│                                  5 Kitem/s     │ 3 Kitem/s     │ 4 Kitem/s     │ 4 Kitem/s     │         │
╰─ URL parse (URL)                               │               │               │               │         │
   ╰─ url                          1 ms          │ 2 ms          │ 2 ms          │ 2 ms          │ 100     │ 100
                                   2 Mitem/s     │ 1 Mitem/s     │ 1 Mitem/s     │ 1 Mitem/s     │         │
";

    #[test]
    fn the_tree_becomes_groups_with_rates() {
        let groups = read(OUTPUT);
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["links and text (page)", "URL parse (URL)"]);
        let row = |name: &str, items: [f64; 2], bytes: Option<&str>| Row {
            name: name.to_owned(),
            items,
            bytes: bytes.map(str::to_owned),
        };
        assert_eq!(
            groups[0].rows[0],
            row("harvestman, everything", [10e3, 8e3], Some("84.2 MB/s"))
        );
        assert_eq!(groups[0].rows[1], row("lol_html", [5e3, 4e3], Some("42.1 MB/s")));
        assert_eq!(groups[1].rows, [row("url", [2e6, 1e6], None)]);
    }

    #[test]
    fn the_others_are_held_against_ours() {
        let text: String = read(OUTPUT).iter().map(Group::rows).collect();
        assert!(
            text.contains("| harvestman, everything | 100.0 µs | 125.0 µs | 84.2 MB/s |  |"),
            "{text}"
        );
        assert!(text.contains("| lol_html | 200.0 µs | 250.0 µs | 42.1 MB/s | 2.00 × |"), "{text}");
        assert!(text.contains("| url | 500 ns | 1.0 µs |  |  |"), "{text}");
    }
}
