//! robots.txt: parsing, verdicts, life of a copy.
