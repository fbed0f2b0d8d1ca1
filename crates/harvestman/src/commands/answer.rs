//! What is said of an answer that has not come yet.

/// A running crawl has not answered in the time it usually takes.
pub const PENDING: &str = "the running crawl has not answered yet; it carries that out when it can";
