//! One file per command: what was typed in, an [`Exit`] or a [`Failure`] out.
//!
//! [`main`] reads the command line, [`run`] hands it to its command, and a failure is printed in one place.

use std::{borrow::Cow, path::PathBuf, process::ExitCode};

use clap::CommandFactory;
use model::CrawlUrl;
use seeder::UrlForm;
use store::census::{Census, PageStory};

use crate::{
    cli::{Cli, Command},
    crawling::shell_word,
    terminal::{LogWriter, say, stderr_is_terminal, tame_panics},
};
use collection::page::Duplicate;
use config::{
    Config, FlagValues,
    failure::{Exit, Failure},
};
use engine::remark;

mod announcements;
mod answer;
mod batch;
mod block;
mod changes;
mod check;
mod completions;
mod config_check;
mod config_show;
mod control;
mod crawl;
mod decisions;
mod demo;
mod diff;
mod dry_run;
mod explain;
mod export;
mod forget;
mod history;
mod init;
mod kept;
mod links;
mod man;
mod next_visit;
mod outlook;
mod pages;
mod quarantine;
mod rebuild;
mod regather;
mod replicas;
mod report;
mod seed;
mod show;
mod simulate;
mod simweb;
mod sites;
mod spider;
mod status;
mod story;
mod table;
mod thin;
mod traps;
mod webhook;
mod which;

/// Where a collection lives when nobody says otherwise.
pub const COLLECTION: &str = "./harvest";

/// Mistakes of the settings named by a command that reads in spite of them; `config check` has all.
const MISTAKES_TOLD: usize = 3;

/// What every command is told besides its own arguments.
#[derive(Clone, Debug)]
pub struct Context {
    /// The collection's folder.
    pub folder: PathBuf,
    /// The user named the folder; it is not just the default.
    pub named: bool,
    pub json: bool,
    pub quiet: bool,
    pub verbose: u8,
}

impl Context {
    fn of(cli: &Cli) -> Result<Context, Failure> {
        let place = cli.collection.as_deref().unwrap_or(COLLECTION);
        if place.contains("://") {
            return Err(Failure::usage(
                format!("{place:?} is a URL, and this version keeps collections in folders only"),
                "give a folder with -C, such as -C ./harvest",
            ));
        }
        if place.is_empty() {
            return Err(Failure::usage("the collection has no name", "give a folder with -C"));
        }
        Ok(Context {
            folder: PathBuf::from(place),
            named: cli.collection.is_some(),
            json: cli.json,
            quiet: cli.quiet,
            verbose: cli.verbose,
        })
    }

    /// The configuration of the collection with these flags on top.
    pub fn config(&self, flags: FlagValues) -> Result<Config, Failure> {
        Config::load(&self.folder, flags)
    }

    /// The same for commands that only read what was collected: a mistake in the settings keeps nobody from
    /// it. What is wrong is left out, told, and given back.
    pub fn config_to_read(&self) -> (Config, Vec<Failure>) {
        let (config, mistakes) = Config::examine(&self.folder, Vec::new());
        self.warn(&mistakes);
        (config, mistakes)
    }

    fn warn(&self, mistakes: &[Failure]) {
        for mistake in mistakes.iter().take(MISTAKES_TOLD) {
            self.say(&if self.json { mistake.warning_json() } else { mistake.warning() });
        }
        if mistakes.is_empty() || self.json {
            return;
        }
        if let Some(more @ 1..) = mistakes.len().checked_sub(MISTAKES_TOLD) {
            self.say(&format!("            … and {more} more: harvestman config check"));
        }
        self.say(
            "            continuing without it; commands that crawl refuse until it is corrected",
        );
    }

    /// A remark for people: nothing with `--quiet`.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            say(&self.advised(line));
        }
    }

    /// Commands named in a text, for the folder that the user named.
    pub fn advised<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.named {
            true => for_folder(text, &self.folder.display().to_string()),
            false => Cow::Borrowed(text),
        }
    }
}

/// `harvestman status` becomes `harvestman -C FOLDER status`, so that advice can be typed as it is.
fn for_folder<'t>(text: &'t str, folder: &str) -> Cow<'t, str> {
    const PROGRAM: &str = "harvestman ";
    if !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let cli = Cli::command();
    let is_command = |rest: &str| {
        let word = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
        cli.find_subcommand(word).is_some()
    };
    let mut parts = text.split(PROGRAM);
    let mut advised = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        advised.push_str(PROGRAM);
        if is_command(rest) {
            advised.push_str(&format!("-C {} ", shell_word(folder)));
        }
        advised.push_str(rest);
    }
    Cow::Owned(advised)
}

/// A URL as the collection writes it, and what is known of it.
fn known_as(
    census: &Census,
    form: &UrlForm,
    typed: CrawlUrl,
) -> Result<(CrawlUrl, Option<PageStory>), Failure> {
    Ok(collection::page::known_as(census, form, typed)?)
}

/// Whose duplicate a page is.
fn duplicate_words(duplicate: &Duplicate) -> String {
    let Duplicate { url, exact } = duplicate;
    match exact {
        true => format!("a duplicate of {url}: the same content"),
        false => {
            format!("a near duplicate of {url}: only its links to something else are followed")
        }
    }
}

/// The whole program.
pub fn main() -> ExitCode {
    tame_panics();
    let cli = Cli::typed();
    let (json, folder) = (cli.json, cli.collection.clone());
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(mut failure) => {
            if let Some(folder) = folder {
                failure.what_to_do = for_folder(&failure.what_to_do, &folder).into_owned();
            }
            match json {
                true => remark(&failure.json()),
                false => say(&failure.to_string()),
            }
            failure.code.into()
        }
    }
}

pub fn run(cli: Cli) -> Result<Exit, Failure> {
    let context = Context::of(&cli)?;
    start_log(cli.verbose);
    match cli.command {
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Config(args) => config_show::run(&context, &args),
        Command::Init => init::run(&context),
        Command::Crawl(args) => crawl::crawl(&context, &args),
        Command::Run(args) => crawl::run(&context, &args),
        Command::Pause => control::pause(&context),
        Command::Resume => control::resume(&context),
        Command::Stop => control::stop(&context),
        Command::Visit(args) => control::visit(&context, &args),
        Command::Seed(args) => seed::run(&context, &args),
        Command::Spider(args) => spider::run(&context, args.command.as_ref()),
        Command::Block(args) => block::run(&context, &args),
        Command::Quarantine(args) => quarantine::run(&context, &args),
        Command::Traps(args) => traps::run(&context, &args),
        Command::Forget(args) => forget::run(&context, &args),
        Command::Thin(args) => thin::run(&context, &args),
        Command::Status => status::run(&context),
        Command::Pages(args) => pages::run(&context, &args),
        Command::Sites(args) => sites::run(&context, &args),
        Command::Explain(args) => explain::run(&context, &args),
        Command::Decisions(args) => decisions::run(&context, &args),
        Command::History(args) => history::run(&context, &args),
        Command::Show(args) => show::run(&context, &args),
        Command::Diff(args) => diff::run(&context, &args),
        Command::Changes(args) => changes::run(&context, &args),
        Command::Links(args) => links::run(&context, &args),
        Command::Report(args) => report::run(&context, &args),
        Command::Replicas(args) => replicas::run(&context, &args),
        Command::Webhook(args) => webhook::run(&context, &args),
        Command::Export(args) => export::run(&context, &args),
        Command::Batch(args) => batch::run(&context, args.command.as_ref()),
        Command::Check(args) => check::run(&context, &args),
        Command::Rebuild(args) => rebuild::run(&context, &args),
        Command::Regather(args) => regather::run(&context, &args),
        Command::Simweb(args) => simweb::run(&context, &args),
        Command::Simulate(args) => simulate::run(&context, &args),
        Command::Demo(args) => demo::run(&context, &args),
    }
}

/// The crates whose log `-v` is about.
const OURS: [&str; 9] = [
    "harvestman",
    "engine",
    "collection",
    "config",
    "store",
    "seeder",
    "manager",
    "harvester",
    "gatherer",
];

/// What the crates trace goes to standard error: warnings always, more with `-v`, or as the variable
/// `HARVESTMAN_LOG` says (`harvester=debug,store=trace`).
fn start_log(verbose: u8) {
    // Of libraries two steps less: what they do is seldom what somebody asks for.
    let (ours, theirs) = match verbose {
        0 => ("warn", "warn"),
        1 => ("info", "warn"),
        2 => ("debug", "warn"),
        _ => ("trace", "info"),
    };
    let levels = OURS.map(|name| format!("{name}={ours}")).join(",");
    let filter = tracing_subscriber::EnvFilter::try_from_env("HARVESTMAN_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(format!("{theirs},{levels}")));
    let colours = stderr_is_terminal();
    // A second call in one process (tests) keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || LogWriter { colours })
        .with_ansi(colours)
        .with_target(verbose > 1)
        .without_time()
        .try_init();
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn typed(words: &[&str]) -> Result<Exit, Failure> {
        run(Cli::try_parse_from(words).unwrap())
    }

    #[test]
    fn a_collection_on_a_server_is_refused_in_plain_words() {
        let failure = typed(&["harvestman", "-C", "postgres://db/x", "config"]).unwrap_err();
        assert_eq!(failure.code, Exit::Usage);
        assert!(failure.sentence.contains("folders only"), "{failure}");
    }

    #[test]
    fn advice_names_the_folder_that_the_user_named() {
        let advice = "see why with: harvestman explain URL; harvestman is a crawler";
        let advised = for_folder(advice, "my news");
        assert_eq!(
            advised,
            "see why with: harvestman -C 'my news' explain URL; harvestman is a crawler"
        );
        let once = "harvestman -C news status";
        assert_eq!(for_folder(once, "news"), once);
    }

    #[test]
    fn the_readme_names_every_command_and_no_other() {
        let readme = include_str!("../../../../README.md");
        let command = Cli::command();
        let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let rows: Vec<&str> = readme
            .lines()
            .filter_map(|line| line.strip_prefix("| `harvestman "))
            .map(|rest| rest.split([' ', '`']).next().unwrap_or_default())
            .collect();
        assert_eq!(rows, known, "the README's table of commands and the command line differ");
    }

    #[test]
    fn every_command_line_in_readme_and_docs_can_be_typed() {
        let pages = [
            include_str!("../../../../README.md"),
            include_str!("../../../../docs/configuration.md"),
            include_str!("../../../../docs/seeds.md"),
            include_str!("../../../../docs/directory.md"),
            include_str!("../../../../docs/webhooks.md"),
            include_str!("../../../../docs/thinning.md"),
            include_str!("../../../../docs/history.md"),
            include_str!("../../../../docs/links.md"),
            include_str!("../../../../docs/listing.md"),
            include_str!("../../../../docs/batch.md"),
        ];
        let mut seen = 0;
        for line in pages.iter().flat_map(|page| page.lines()) {
            let line = line.split(" #").next().unwrap_or(line);
            // What the shell takes for itself.
            let line = line.split(" > ").next().unwrap_or(line).trim();
            let typed = match line.strip_prefix("cargo run --release -- ") {
                Some(rest) => format!("harvestman {rest}"),
                None if line.starts_with("harvestman ") => line.to_owned(),
                None => continue,
            };
            let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            seen += 1;
        }
        assert!(seen >= 5, "the README shows command lines");
    }
}
