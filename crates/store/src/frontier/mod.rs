//! The Global Frontier on SQLite.
