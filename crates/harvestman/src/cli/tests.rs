//! The command line agrees with itself, its examples and the keys of the configuration.

use clap::CommandFactory;

use super::*;
use config::keys::KEYS;

#[test]
fn the_definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_shows_examples_of_itself() {
    for command in Cli::command().get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let name = command.get_name();
        let own = help.lines().skip(1).filter(|line| {
            line.contains("harvestman ") && line.split_whitespace().any(|word| word == name)
        });
        assert!(help.starts_with("Examples:\n") && own.count() > 0, "{name}: {help}");
    }
}

#[test]
fn every_example_in_the_help_can_be_typed() {
    let mut texts = vec![Cli::command().get_after_help().unwrap().to_string()];
    for command in Cli::command().get_subcommands() {
        texts.push(command.get_after_help().unwrap().to_string());
    }
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some(start) = line.find("harvestman ").filter(|_| line.starts_with("  ")) else {
            continue;
        };
        let typed = line[start..].split(" > ").next().unwrap().split("      ").next().unwrap();
        let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn flags_and_keys_name_each_other() {
    let flags: Vec<&str> = CrawlFlags::default().values().iter().map(|(key, _)| *key).collect();
    for key in KEYS {
        assert_eq!(key.flag.is_some(), flags.contains(&key.name), "{}", key.name);
    }
    let command = Cli::command();
    let crawl = command.find_subcommand("crawl").unwrap();
    for key in KEYS.iter().filter(|key| key.flag.is_some()) {
        let arg = crawl.get_arguments().find(|arg| arg.get_long() == key.flag).expect(key.name);
        let help = arg.get_help().unwrap().to_string();
        assert!(help.ends_with(&format!("[{}]", key.name)), "{help}");
    }
}

#[test]
fn the_flags_promised_to_scripts_are_taken() {
    let cli = Cli::try_parse_from([
        "harvestman",
        "crawl",
        "http://a.example/",
        "-C",
        "x",
        "--pages",
        "5",
        "--site-pages",
        "4",
        "--depth",
        "3",
        "--for",
        "1m",
        "--delay",
        "0",
        "--connections",
        "2",
        "--scope",
        "any",
        "--resolve",
        "*.example=127.0.0.1",
        "--resolve",
        "b=127.0.0.1",
        "--allow-address",
        "127.0.0.0/8",
        "--proxy",
        "http://p:1",
        "--json",
        "--quiet",
    ])
    .unwrap();
    assert!(cli.json && cli.quiet);
    let Command::Crawl(args) = cli.command else { panic!() };
    assert_eq!(args.flags.resolve.len(), 2);
    assert_eq!(args.flags.time.as_deref(), Some("1m"));
}
