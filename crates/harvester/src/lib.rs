//! How to fetch: who may be visited now (workbench, clocks, robots.txt), and the visit itself (DNS, HTTP, TLS).
//!
//! Start with [`workbench`] (a pure state machine given `now`), then [`http`] (the fetcher).
//! [`login`] gets a spider past a form.

pub mod clock;
pub mod failure;
pub mod http;
pub mod login;
pub mod robots;
pub mod workbench;
