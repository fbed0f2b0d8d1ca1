//! The plain bytes of one gzip member or zstd frame, and nothing behind it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::frame::{Frame, Unpacker};

#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it lies in a box")]
pub(super) enum Unpacked<R> {
    Gzip(GzDecoder<R>),
    Zstd(Frame<R>),
}

impl<R: BufRead> Unpacked<R> {
    pub(super) fn gzip(input: R) -> Unpacked<R> {
        Unpacked::Gzip(GzDecoder::new(input))
    }

    /// Without an unpacker: the file has no dictionary.
    pub(super) fn zstd(input: R, unpacker: Option<Unpacker>) -> io::Result<Unpacked<R>> {
        let unpacker = unpacker.map_or_else(|| Unpacker::new(&[]), Ok)?;
        Ok(Unpacked::Zstd(Frame::new(input, unpacker)?))
    }

    pub(super) fn input(&self) -> &R {
        match self {
            Unpacked::Gzip(member) => member.get_ref(),
            Unpacked::Zstd(frame) => frame.input(),
        }
    }

    pub(super) fn into_parts(self) -> (R, Option<Unpacker>) {
        match self {
            Unpacked::Gzip(member) => (member.into_inner(), None),
            Unpacked::Zstd(frame) => {
                let (input, unpacker) = frame.into_parts();
                (input, Some(unpacker))
            }
        }
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Gzip(member) => member.read(buffer),
            Unpacked::Zstd(frame) => frame.read(buffer),
        }
    }
}
