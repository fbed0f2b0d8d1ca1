//! `completions SHELL`: a script for the user's shell, made from the definitions of the command line.

use clap::{Arg, Command, CommandFactory, ValueHint, builder::PossibleValuesParser};
use config::keys::{KEYS, Kind};

use crate::{
    cli::{Cli, CompletionsArgs},
    terminal,
};
use config::failure::{Exit, Failure};

pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = with_values(Cli::command());
    clap_complete::generate(args.shell, &mut command, "harvestman", &mut script);
    terminal::print_bytes(&script)?;
    Ok(Exit::Done)
}

/// Flags that take one of a few words offer those, and no flag but those of paths offers files. Not in the
/// definitions themselves: there a wrong word gets a sentence with its key.
fn with_values(command: Command) -> Command {
    command.mut_args(offering).mut_subcommands(with_values)
}

fn offering(arg: Arg) -> Arg {
    let flag = arg.get_long().and_then(|long| KEYS.iter().find(|key| key.flag == Some(long)));
    match flag.map(|key| key.kind) {
        Some(Kind::OneOf(words)) => arg.value_parser(PossibleValuesParser::new(words)),
        _ if arg.get_long() == Some("collection") => arg.value_hint(ValueHint::DirPath),
        _ if arg.get_action().takes_values() && arg.get_value_hint() == ValueHint::Unknown => {
            arg.value_hint(ValueHint::Other)
        }
        _ => arg,
    }
}
