//! What `simweb` and `demo` are told: the shape of a simulated web.

use clap::Args;

use super::whole;

#[derive(Clone, Debug, Args)]
pub struct SimwebArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,

    /// Number of sites
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub sites: u32,

    /// Number of pages of each site
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub site_pages: u32,

    /// Seed from which the simulated web is computed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
}

#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Number of simulated sites
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sites: u32,

    /// Seed from which the simulated web is computed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    pub seed: u64,
}
