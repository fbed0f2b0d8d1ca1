//! `report`: what can be told of a collection in a table.

mod adaptation;
mod broken;
mod duplicates;
mod hazards;
mod replicas;

use super::Context;
use crate::cli::{Report, ReportArgs};
use config::failure::{Exit, Failure};

pub fn run(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    match &args.report {
        Report::Adaptation(args) => adaptation::run(context, args),
        Report::Hazards(args) => hazards::run(context, args),
        Report::Replicas(args) => replicas::run(context, args),
        Report::Duplicates(args) => duplicates::run(context, args),
        Report::Broken(args) => broken::run(context, args),
    }
}
