//! Promises of the WARC archive: what is written, what survives, what other people's tools say of it.

mod crash;
mod gate;
mod reading;
pub(in crate::warc) mod sample;
mod writing;
mod zstd;

/// The ways to pack a volume in turn; the dictionary is said to be of these pages, and names them.
pub(crate) fn in_turn(number: usize, pages: &[&str]) -> super::Press {
    match number % 3 {
        0 => super::Press::Gzip,
        1 => super::Press::Zstd(None),
        _ => super::Press::Zstd(Some(sample::dictionary_of(pages))),
    }
}
