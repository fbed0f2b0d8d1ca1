//! The one table from class of failure to wait and retries.
