//! What `visit` takes; `pause`, `resume` and `stop` take nothing.

use clap::Args;

#[derive(Clone, Debug, Args)]
pub struct VisitArgs {
    #[arg(value_name = "URL")]
    pub url: String,
}
