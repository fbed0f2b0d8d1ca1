//! Promises of the WARC archive: what is written, what survives, what other people's tools say of it.

mod crash;
mod gate;
mod reading;
mod sample;
mod writing;
