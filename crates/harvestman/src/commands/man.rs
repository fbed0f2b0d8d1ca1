//! `man`: manual pages, made from the definitions of the command line.
//!
//! The examples of `--help` become a section of their own, kept line by line: the maker of pages would
//! run them together.

use std::fs;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::{
    cli::{Cli, ManArgs},
    results, terminal,
};
use config::failure::{Exit, Failure, cannot_write};

pub fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let pages = pages();
    let Some(folder) = &args.out else {
        let (_, program) = &pages[0];
        terminal::print(program)?;
        return Ok(Exit::Done);
    };
    results::folder("--out", folder)?;
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    for (name, page) in pages {
        let path = folder.join(name);
        fs::write(&path, page).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(Exit::Done)
}

/// File names and texts, the program's own first.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    let mut program = Cli::command();
    program.build();
    collect(&program, "harvestman", &mut pages);
    pages
}

fn collect(command: &Command, name: &str, pages: &mut Vec<(String, String)>) {
    pages.push((format!("{name}.1"), page(command, name)));
    for sub in command.get_subcommands() {
        collect(sub, &format!("{name}-{}", sub.get_name()), pages);
    }
}

fn page(command: &Command, name: &str) -> String {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let bare = command.clone().after_help("").display_name(name.to_owned());
    let source = concat!("harvestman ", env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    Man::new(bare)
        .title(name.to_uppercase())
        .source(source)
        .render(&mut text)
        .expect("memory takes what is written");
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let examples = help.strip_prefix("Examples:\n").unwrap_or(&help);
    text.push_str(".SH EXAMPLES\n.nf\n");
    for line in examples.lines() {
        text.push_str(&escaped(line));
        text.push('\n');
    }
    text.push_str(".fi\n");
    text
}

/// A line of plain text as roff shows it unchanged.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples() {
        let pages = pages();
        let named = |name: &str| {
            let page = pages.iter().find(|(file, _)| *file == format!("{name}.1"));
            page.unwrap_or_else(|| panic!("{name} has no page")).1.clone()
        };
        let program = Cli::command();
        let mut all = Vec::new();
        names(&program, "harvestman", &mut all);
        assert_eq!(pages.len(), all.len());
        for name in all {
            let page = named(&name);
            assert!(page.contains(".SH SYNOPSIS") && page.contains(".TH"), "{page}");
            let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").expect("examples");
            let word = name.rsplit('-').next().unwrap();
            let shown = |line: &str| line.starts_with("  ") && line.contains(word);
            assert!(examples.lines().any(shown), "{name}: {examples}");
        }
    }

    fn names(command: &clap::Command, name: &str, all: &mut Vec<String>) {
        all.push(name.to_owned());
        for below in command.get_subcommands() {
            names(below, &format!("{name}-{}", below.get_name()), all);
        }
    }

    #[test]
    fn lines_that_roff_would_take_for_requests_are_shown() {
        assert_eq!(escaped(".TH a\\b"), "\\&.TH a\\eb");
        assert_eq!(escaped("  --out x"), "  \\-\\-out x");
    }
}
