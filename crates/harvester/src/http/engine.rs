//! One decompressor behind one small door: bytes in, bytes out, no I/O.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

/// RFC 9659: decoders need not take windows above 8 MB, and senders must not use them.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A content coding that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    /// zlib as the standard says, or raw deflate as some servers send.
    Deflate,
    Brotli,
    Zstd,
}

pub enum Engine {
    Inflate(Box<Decompress>),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    Zstd(ZstdDecoder<'static>),
}

pub struct Step {
    pub consumed: usize,
    /// Good bytes, also when the stream turned out to be damaged behind them.
    pub produced: usize,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    NotYet,
    /// The coded stream is at an end; what follows is another one or does not belong to it.
    Ended,
    Damaged,
}

impl Coding {
    /// As in the header.
    pub fn word(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// Whether these first bytes ask for a larger window than the web agreed on: 8 MB for zstd, 16 MB for
    /// brotli.
    pub fn wants_large_window(self, first: &[u8]) -> bool {
        match self {
            Coding::Gzip | Coding::Deflate => false,
            // RFC 7932 section 9.1: the one width that is reserved opens a "large window".
            Coding::Brotli => first.first().is_some_and(|byte| byte & 0x7f == 0x11),
            Coding::Zstd => zstd_window(first).is_some_and(|w| w > 1 << ZSTD_WINDOW_LOG_MAX),
        }
    }
}

/// What the head of a zstd frame says (RFC 8878 section 3.1.1.1); `None` for other frames, or half a head.
fn zstd_window(first: &[u8]) -> Option<u64> {
    let rest = first.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (&descriptor, rest) = rest.split_first()?;
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let window = rest.first()?;
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The window is the content, whose size follows the dictionary's number.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let bytes = rest.get(dictionary..dictionary + size)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

impl Engine {
    /// `None` when the first bytes show that the body is not of that coding at all (brotli has no mark
    /// to tell by).
    pub fn start(coding: Coding, first: &[u8]) -> Option<Engine> {
        match coding {
            Coding::Gzip => first
                .starts_with(&[0x1f, 0x8b])
                .then(|| Engine::Inflate(Box::new(Decompress::new_gzip(15)))),
            Coding::Deflate => {
                Some(Engine::Inflate(Box::new(Decompress::new(looks_like_zlib(first)))))
            }
            Coding::Brotli => {
                let alloc = StandardAlloc::default;
                // Strict: without the windows of up to 1 GB that the web never agreed on.
                let state = BrotliState::new_strict(alloc(), alloc(), alloc());
                Some(Engine::Brotli(Box::new(state)))
            }
            Coding::Zstd if looks_like_zstd(first) => {
                let mut decoder = ZstdDecoder::new().ok()?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).ok()?;
                Some(Engine::Zstd(decoder))
            }
            Coding::Zstd => None,
        }
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        match self {
            Engine::Inflate(inflate) => inflate_step(inflate, input, output),
            Engine::Brotli(state) => brotli_step(state, input, output),
            Engine::Zstd(decoder) => {
                let mut input = InBuffer::around(input);
                let mut output = OutBuffer::around(output);
                let end = match decoder.run(&mut input, &mut output) {
                    Ok(0) => End::Ended,
                    Ok(_) => End::NotYet,
                    Err(_) => End::Damaged,
                };
                Step { consumed: input.pos(), produced: output.pos(), end }
            }
        }
    }
}

fn inflate_step(z: &mut Decompress, input: &[u8], output: &mut [u8]) -> Step {
    let (read, written) = (z.total_in(), z.total_out());
    let end = match z.decompress(input, output, FlushDecompress::None) {
        Ok(Status::StreamEnd) => End::Ended,
        Ok(_) => End::NotYet,
        Err(_) => End::Damaged,
    };
    // Neither is more than the slice it counts.
    let consumed = (z.total_in() - read) as usize;
    let produced = (z.total_out() - written) as usize;
    Step { consumed, produced, end }
}

fn brotli_step(
    state: &mut BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    input: &[u8],
    output: &mut [u8],
) -> Step {
    let (mut left, mut consumed) = (input.len(), 0);
    let (mut room, mut produced, mut total) = (output.len(), 0, 0);
    let result = BrotliDecompressStream(
        &mut left,
        &mut consumed,
        input,
        &mut room,
        &mut produced,
        output,
        &mut total,
        state,
    );
    let end = match result {
        BrotliResult::ResultFailure => End::Damaged,
        BrotliResult::ResultSuccess => End::Ended,
        BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => End::NotYet,
    };
    Step { consumed, produced, end }
}

/// RFC 1950: deflate with a window of at most 32 KB, and a check on the two bytes together.
fn looks_like_zlib(first: &[u8]) -> bool {
    match first {
        [method, flags, ..] => {
            method & 0x0f == 8
                && method >> 4 <= 7
                && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0
        }
        _ => false,
    }
}

/// A frame, or one of the skippable frames of RFC 8878 section 3.1.2.
fn looks_like_zstd(first: &[u8]) -> bool {
    first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        || matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
