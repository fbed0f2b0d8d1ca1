//! `pause`, `resume`, `stop` and `visit`.

use collection::control::{Command, Control, Outcome};
use model::printable;
use store::collection::Collection;

use super::{Context, answer};
use crate::{cli::VisitArgs, terminal::print_json};
use config::failure::{Exit, Failure};

pub fn pause(context: &Context) -> Result<Exit, Failure> {
    act(context, Command::Pause, "paused: no new requests until harvestman resume")
}

pub fn resume(context: &Context) -> Result<Exit, Failure> {
    act(context, Command::Resume, "the crawl continues")
}

pub fn stop(context: &Context) -> Result<Exit, Failure> {
    let line = "the crawl stops: requests in flight are finished, everything is saved";
    act(context, Command::Stop, line)
}

fn act(context: &Context, command: Command, line: &str) -> Result<Exit, Failure> {
    let outcome = control(context)?.apply(command)?;
    show(context, &outcome, |_| line.to_owned())
}

pub fn visit(context: &Context, args: &VisitArgs) -> Result<Exit, Failure> {
    let control = control(context)?;
    let running = control.is_running();
    let outcome = control.apply(Command::VisitNow { url: args.url.clone(), due: None })?;
    show(context, &outcome, |outcome| {
        let url = match outcome {
            Outcome::Visit { url } => printable(url),
            _ => printable(&args.url),
        };
        match running {
            true => format!("{url} is due now; the running crawl visits it next"),
            false => format!("{url} is due now; the next crawl visits it"),
        }
    })
}

/// The way to change the collection.
pub fn control(context: &Context) -> Result<Control, Failure> {
    Ok(Control::open(&Collection::open(&context.folder)?))
}

/// `line`: what is said of a command that was carried out.
pub fn show(
    context: &Context,
    outcome: &Outcome,
    line: impl FnOnce(&Outcome) -> String,
) -> Result<Exit, Failure> {
    match outcome {
        _ if context.json => print_json(outcome)?,
        Outcome::Pending => context.say(answer::PENDING),
        outcome => context.say(&line(outcome)),
    }
    Ok(Exit::Done)
}
