//! A simulated web: sites, pages, changes and hazards computed from (seed, URL, time).
//!
//! Two faces of the same answers: [`Server`] on loopback for the real HTTP client, and [`SimFetcher`] with
//! [`SimResolver`] in process on a simulated clock. Both write the same [`Log`], and [`checks`] reads only
//! that log: the crawler's tests ask the servers what happened, not the crawler.
//!
//! Start reading with [`WebOptions`] (what a web is made of) and [`SimWeb::answer`] (where all answers
//! come from). Nothing here is for production; the servers' clocks are their own.

mod change;
pub mod checks;
mod dice;
mod fetcher;
mod hazard;
mod log;
mod names;
mod odd;
mod options;
mod prose;
mod resolver;
mod robots;
mod serve;
mod server;
mod web;
mod words;

pub use change::ChangeModel;
pub use fetcher::SimFetcher;
pub use hazard::{Hazard, Placed, SitemapTrick};
pub use log::{Arrival, Counts, Entry, Log, LogOptions, OpenVisit, read_log};
pub use odd::Odd;
pub use options::{Dates, Latency, NoticePlan, PageCount, PageOptions, RobotsPlan, WebOptions};
pub use resolver::SimResolver;
pub use robots::Rules;
pub use serve::{ServeOptions, instructions, resolve_rules, serve, serve_forever};
pub use server::{Now, Server, ServerOptions, faster_time, real_time};
pub use web::{Answer, LinkTo, Manner, PageId, Request, SimWeb};
pub use words::Language;
