//! What can be typed after `simulate`.

use std::path::PathBuf;

use clap::Args;

use super::whole;

#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// Pages of each population [default: 5000]
    #[arg(long, value_name = "N", conflicts_with = "full", value_parser = whole::<usize>)]
    pub pages: Option<usize>,

    /// Sites they are on [default: one for 50 pages]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub sites: Option<usize>,

    /// Days to live through [default: 100]
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,

    /// The scale of the published figures: 20,000 pages
    #[arg(long)]
    pub full: bool,

    /// Another draw of everything that is left to chance
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u64>)]
    pub seed: u64,

    /// How often a policy may choose what to visit
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub tick: String,

    /// Only these policies (value, profit-fast, profit, frequency, proportional, uniform, fixed);
    /// the oracle always takes part
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub policy: Vec<String>,

    /// Only these populations: D1 (Cho & Garcia-Molina's classes), D2 (lognormal)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub population: Vec<String>,

    /// Only these budgets: a, b, c (as many visits as twice, once, a third of all changes), or visits a day
    #[arg(long, value_name = "NAME|N", value_delimiter = ',')]
    pub budget: Vec<String>,

    /// How much important pages change more often, -1 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub correlation: f64,

    /// Some hosts announce changes in their sitemaps, and some of these lie
    #[arg(long)]
    pub signals: bool,

    /// A tenth of the hosts allows half of the visits they would be given
    #[arg(long)]
    pub hosts_limited: bool,

    /// Changes come in bursts and by the time of day
    #[arg(long)]
    pub bursts: bool,

    /// A share of the visits fails, in hundredths [default: 2]
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "2")]
    pub failing: Option<f64>,

    /// Live through the collection's own history instead (-C)
    #[arg(long, conflicts_with_all = ["csv", "population", "pages", "full", "sites", "days"])]
    pub history: bool,

    /// Live through a list of changes: lines of page,change_time[,importance[,site]]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["population", "pages", "full", "sites", "days"])]
    pub csv: Option<PathBuf>,

    /// Draw freshness by day into this file; - for standard output, instead of the table
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}
