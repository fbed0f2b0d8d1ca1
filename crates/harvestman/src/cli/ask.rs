//! What `explain` and `decisions` are told: questions about what the collection holds.

use clap::Args;

#[derive(Clone, Debug, Args)]
pub struct DecisionsArgs {
    /// Only this reason, such as robots, scope or blocked
    #[arg(long, value_name = "WORD")]
    pub reason: Option<String>,

    /// Only on this site: its own pages, and what they link to
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Maximum number of rules, those that refused most first
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Explain for this spider [default: the owner of the page, or all spiders]
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    #[arg(value_name = "URL")]
    pub url: String,
}
