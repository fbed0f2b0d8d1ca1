//! Records into zstd frames (RFC 8878) and back, one frame at a time.
//!
//! Every frame says its length and has a checksum; where a volume has a dictionary every frame uses it. What
//! is read is bounded whatever the bytes say: the window by [`WINDOW_LOG_MAX`], what a frame yields by
//! [`FRAME_BYTES_MAX`]. Dictionaries are copied into the contexts that use them, which therefore borrow
//! nothing; that takes some 100 µs, so a context is kept from frame to frame.

use std::io::{self, BufRead, Read};

use zstd::{
    bulk::Compressor,
    zstd_safe::{
        CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, compress_bound,
        get_error_name,
    },
};

use super::{encode::Level, room::Room};

/// With a dictionary, level 3 makes pages a sixth smaller and takes half as long again.
const LEVEL_FAST: i32 = 1;
/// What is compressed already is copied nearly as fast as it can be read.
const LEVEL_STORED: i32 = -50;
/// RFC 8878 asks decoders for 8 MB; frames of ours have 512 KB.
const WINDOW_LOG_MAX: u32 = 23;
/// As long as a record may be. A frame of a few KB may yield far more.
pub(super) const FRAME_BYTES_MAX: u64 = 4 << 30;

/// Packs records with the dictionary it was made with.
pub(super) struct FramePacker {
    fast: Compressor<'static>,
    stored: Compressor<'static>,
}

impl FramePacker {
    pub(super) fn new(dictionary: Option<&[u8]>) -> io::Result<FramePacker> {
        let compressor = |level| {
            let mut compressor = Compressor::with_dictionary(level, dictionary.unwrap_or(&[]))?;
            compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
            compressor.set_parameter(CParameter::ChecksumFlag(true))?;
            io::Result::Ok(compressor)
        };
        Ok(FramePacker { fast: compressor(LEVEL_FAST)?, stored: compressor(LEVEL_STORED)? })
    }

    /// Puts `plain` as one frame behind what is there.
    pub(super) fn pack(&mut self, plain: &[u8], level: Level, out: &mut Room) {
        let compressor = match level {
            Level::Fast => &mut self.fast,
            Level::Stored => &mut self.stored,
        };
        out.append(compress_bound(plain.len()), |room| {
            compressor
                .compress_to_buffer(plain, room)
                .expect("the library itself said that this is room enough")
        });
    }
}

/// What frames are unpacked with.
pub(super) struct Unpacker {
    context: DCtx<'static>,
}

impl Unpacker {
    /// An empty dictionary is none.
    pub(super) fn new(dictionary: &[u8]) -> io::Result<Unpacker> {
        let mut context = DCtx::create();
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(bad_frame)?;
        context.load_dictionary(dictionary).map_err(bad_frame)?;
        Ok(Unpacker { context })
    }

    /// What it takes in memory: a window may have been large.
    pub(super) fn bytes(&self) -> usize {
        self.context.sizeof()
    }
}

/// The plain bytes of the frame that `input` stands at. Takes no byte past its end; at the end the checksum
/// has been compared.
pub(super) struct Frame<R> {
    input: R,
    unpacker: Unpacker,
    yielded: u64,
    ended: bool,
}

impl<R: BufRead> Frame<R> {
    pub(super) fn new(input: R, mut unpacker: Unpacker) -> io::Result<Frame<R>> {
        unpacker.context.reset(ResetDirective::SessionOnly).map_err(bad_frame)?;
        Ok(Frame { input, unpacker, yielded: 0, ended: false })
    }

    pub(super) fn input(&self) -> &R {
        &self.input
    }

    pub(super) fn into_parts(self) -> (R, Unpacker) {
        (self.input, self.unpacker)
    }
}

impl<R: BufRead> Read for Frame<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !buffer.is_empty() {
            let packed = self.input.fill_buf()?;
            let (mut from, mut to) = (InBuffer::around(packed), OutBuffer::around(buffer));
            let at_end = packed.is_empty();
            let left = self.unpacker.context.decompress_stream(&mut to, &mut from);
            let (taken, given) = (from.pos(), to.pos());
            self.input.consume(taken);
            self.ended = left.map_err(bad_frame)? == 0;
            self.yielded += given as u64;
            if self.yielded > FRAME_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an endless frame"));
            }
            if given > 0 {
                return Ok(given);
            }
            if at_end && !self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

fn bad_frame(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, get_error_name(code))
}
