//! What can be typed after `simulate`.

use std::path::PathBuf;

use clap::Args;

use super::whole;

#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// Number of pages of each population [default: 5000]
    #[arg(long, value_name = "N", conflicts_with = "full", value_parser = whole::<usize>)]
    pub pages: Option<usize>,

    /// Number of sites [default: one per 50 pages]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub sites: Option<usize>,

    /// Number of simulated days [default: 100]
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,

    /// The scale of the published figures: 20,000 pages
    #[arg(long)]
    pub full: bool,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u64>)]
    pub seed: u64,

    /// How often a policy may choose what to visit
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub tick: String,

    /// Only these policies (value, profit-fast, profit, frequency, proportional, uniform, fixed);
    /// the optimum is always included
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub policy: Vec<String>,

    /// Only these populations: D1 (Cho & Garcia-Molina's classes), D2 (lognormal)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub population: Vec<String>,

    /// Only these budgets: a, b, c (as many visits as twice, once, a third of all changes), or visits a day
    #[arg(long, value_name = "NAME|N", value_delimiter = ',')]
    pub budget: Vec<String>,

    /// Correlation of importance and change rate, -1 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub correlation: f64,

    /// Some hosts announce changes in sitemaps, and some of these are wrong
    #[arg(long)]
    pub signals: bool,

    /// A tenth of the hosts allows only half of the planned visits
    #[arg(long)]
    pub hosts_limited: bool,

    /// Changes come in bursts and depend on the time of day
    #[arg(long)]
    pub bursts: bool,

    /// Percentage of visits that fail [default: 2]
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "2")]
    pub failing: Option<f64>,

    /// Use the history of the collection (-C) instead
    #[arg(long, conflicts_with_all = ["csv", "population", "pages", "full", "sites", "days"])]
    pub history: bool,

    /// Use a list of changes: lines of page,change_time[,importance[,site]]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["population", "pages", "full", "sites", "days"])]
    pub csv: Option<PathBuf>,

    /// Draw freshness by day to this file; - for standard output, instead of the table
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}
