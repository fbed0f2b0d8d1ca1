//! The list of commands in `harvestman --help`, in groups: a newcomer needs six of them, not thirty.
//!
//! `-h` describes the first group and names the others; `--help` describes all.

use std::fmt::Write;

use clap::Command;

const WIDTH: usize = 80;
/// Where the names of commands begin behind the title of their group.
const INDENT: usize = 12;

/// Every command stands in one of them; a test holds that.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Crawl", &["crawl", "run", "status", "show", "changes", "demo"]),
    (
        "Look",
        &[
            "pages",
            "sites",
            "explain",
            "decisions",
            "history",
            "diff",
            "links",
            "report",
            "mirrors",
            "traps",
        ],
    ),
    (
        "Steer",
        &[
            "pause",
            "resume",
            "stop",
            "init",
            "seed",
            "visit",
            "block",
            "spider",
            "config",
            "quarantine",
            "webhook",
            "batch",
        ],
    ),
    (
        "Maintain",
        &["check", "rebuild", "regather", "export", "forget", "thin", "completions", "man"],
    ),
    ("Laboratory", &["simulate", "simweb"]),
];

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

pub fn grouped(command: Command) -> Command {
    let (short, long) = (listed(&command, 1), listed(&command, GROUPS.len()));
    command.help_template(TEMPLATE).before_help(short).before_long_help(long)
}

/// The groups, those after the first `described` by name only.
fn listed(command: &Command, described: usize) -> String {
    let mut text = String::new();
    for (at, (title, names)) in GROUPS.iter().enumerate() {
        if at >= described {
            text.push_str(&named(title, names));
            continue;
        }
        text.push_str(&format!("{title}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12}{about}\n"));
        }
        text.push('\n');
    }
    if described < GROUPS.len() {
        text.push_str("\n`--help` describes all commands.\n");
    }
    text
}

/// A group by the names of its commands, in lines that fit a terminal.
fn named(title: &str, names: &[&str]) -> String {
    let mut text = String::new();
    let mut line = format!("{:<INDENT$}", format!("{title}:"));
    for (at, name) in names.iter().enumerate() {
        let last = at + 1 == names.len();
        let word = format!("{name}{}", if last { "" } else { "," });
        if line.chars().count() + word.len() > WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(INDENT);
        }
        line.push_str(&word);
        line.push(' ');
    }
    let _ = writeln!(text, "{}", line.trim_end());
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn the_list_of_commands_fits_80_columns() {
        let command = grouped(Cli::command());
        for text in [command.clone().render_help(), command.clone().render_long_help()] {
            let text = text.to_string();
            let list = text.split("Options:").next().unwrap();
            for line in list.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
