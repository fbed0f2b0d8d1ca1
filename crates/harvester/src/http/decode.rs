//! Content codings undone as the bytes come, with the limit on the decoded side.
//!
//! - At most two codings on top of each other; more is nobody's honest page.
//! - The decoded size is bounded, and so is its ratio to the wire once past 1 MB: a bomb costs at most
//!   the limit in memory ([`Out::make_room`]), and the decoder's own window: 32 KB for gzip and deflate; for
//!   zstd and brotli what the stream asks for, up to 8 and 16 MB, of which no more is touched than is decoded.
//! - A stream that is cut or damaged keeps what could be decoded.
//! - A body that does not begin as its label says (plain text labelled gzip) is whole as it is, and
//!   taken so. Brotli has no mark to see that by: when nothing at all could be decoded and the bytes
//!   look like text, the text is taken and the coding said to be broken.
//! - Bytes after the end of a coded stream are passed over, as browsers do; gzip may go on with another
//!   member, zstd with another frame. The checksum of gzip is held to.
//! - Of a body that is only gzipped, the first [`HELD_BYTES_MAX`] are held back: when it ends within them, it is undone in
//!   one go ([`whole_gzip`]). So a limit on the decoded side ends the reading of such a body that much later at most.
//! - What is wrong with a coding has a name ([`Decoded::met`]).
//! - Unknown codings (`UTF-8`, `none`, `aws-chunked` are common) are taken to be none.

use model::{Hazard, Headers, Measure, Met};

use super::{
    engine::{Coding, End, Engine},
    whole_gzip,
};

/// Below this many decoded bytes a ratio says nothing: a page of spaces is no bomb.
const RATIO_FROM: u64 = 1 << 20;
/// Wire bytes are counted by so many at most before what comes of them: in larger steps a bomb would reach
/// the size limit before its ratio shows.
const RATIO_STEP_BYTES: usize = 4 * 1024;
const CODINGS_MAX: usize = 2;
/// Up to here the room for decoded bytes doubles: most pages end before.
const DOUBLING_BYTES: usize = 128 * 1024;
/// Beyond it, room for this much (or the limit, where that is less) is made at once.
const ROOM_BYTES: usize = 4 << 20;
/// What a decoder may put out in one step.
const STEP_BYTES: usize = 16 * 1024;
/// As much as a decoder that works piece by piece needs for itself. Nearly all pages are shorter.
const HELD_BYTES_MAX: usize = 64 * 1024;
/// The longest beginning that tells a coding and its window: the head of a zstd frame.
const MARK_BYTES: usize = 18;

pub struct Decoder {
    layers: Vec<Layer>,
    /// What has come of a body that may be undone in one go; `None` when the layers have begun.
    held: Option<Vec<u8>>,
    /// The content of one that was.
    whole: Option<Vec<u8>>,
    out: Out,
    nested: bool,
    broken: bool,
    full: bool,
    needs_memory: bool,
}

/// How the push of some bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Go,
    /// A limit is reached; more input is of no use.
    Full,
    /// What is decoded would take more memory than it may without being asked for ([`Decoder::free_bytes`]): the decoder
    /// is of no more use, another one has to begin again when there is some.
    NeedsMemory,
    /// The coding cannot be undone any further.
    Broken,
}

/// What became of a body.
pub struct Decoded {
    pub body: Vec<u8>,
    /// `Flow::Go` when the body is whole.
    pub end: Flow,
    pub met: Option<Met>,
}

/// The codings of an answer, in the order to undo them; `None` when nothing is coded.
pub fn codings_of(headers: &Headers) -> Option<Vec<Coding>> {
    let mut codings = Vec::new();
    for value in headers.all("content-encoding") {
        for name in value.split(',') {
            let name = name.trim();
            let coding = match () {
                () if name.eq_ignore_ascii_case("gzip") => Coding::Gzip,
                () if name.eq_ignore_ascii_case("x-gzip") => Coding::Gzip,
                () if name.eq_ignore_ascii_case("deflate") => Coding::Deflate,
                () if name.eq_ignore_ascii_case("br") => Coding::Brotli,
                () if name.eq_ignore_ascii_case("zstd") => Coding::Zstd,
                () => continue,
            };
            codings.push(coding);
        }
    }
    codings.reverse();
    (!codings.is_empty()).then_some(codings)
}

impl Decoder {
    pub fn new(codings: &[Coding], body_bytes_max: u64, ratio_max: u32) -> Decoder {
        let layers = codings.iter().take(CODINGS_MAX).copied().map(Layer::new).collect();
        let (bytes, free_bytes) = (Vec::new(), usize::MAX);
        let out = Out { bytes, wire: 0, body_bytes_max, free_bytes, ratio_max, bomb: false };
        let nested = codings.len() > CODINGS_MAX;
        let held = matches!(codings, [Coding::Gzip]).then(Vec::new);
        Decoder {
            layers,
            held,
            whole: None,
            out,
            nested,
            broken: nested,
            full: false,
            needs_memory: false,
        }
    }

    /// It takes no more memory than this for what is decoded.
    pub fn free_bytes(mut self, bytes: usize) -> Decoder {
        self.out.free_bytes = bytes;
        self
    }

    /// It has come to that.
    pub fn needs_memory(&self) -> bool {
        self.needs_memory
    }

    /// From now on it may take all that the limit on a body allows.
    pub fn free(&mut self) {
        self.out.free_bytes = usize::MAX;
    }

    /// Nothing more comes: what was held back is undone.
    pub fn close(&mut self) -> Flow {
        let Some(held) = self.held.take() else { return Flow::Go };
        self.whole = whole_gzip::inflate(&held, self.out.whole_max());
        if self.whole.is_some() { Flow::Go } else { self.pass_on(&held) }
    }

    pub fn push(&mut self, data: &[u8]) -> Flow {
        let Some(held) = &mut self.held else { return self.pass_on(data) };
        held.extend_from_slice(data);
        if held.len() <= HELD_BYTES_MAX {
            return Flow::Go;
        }
        let held = self.held.take().unwrap_or_default();
        self.pass_on(&held)
    }

    /// Through the layers.
    fn pass_on(&mut self, data: &[u8]) -> Flow {
        if self.broken {
            return Flow::Broken;
        }
        if self.needs_memory {
            return Flow::NeedsMemory;
        }
        for piece in data.chunks(RATIO_STEP_BYTES) {
            self.out.wire += piece.len() as u64;
            let flow = feed(&mut self.layers, &mut self.out, piece);
            self.broken = flow == Flow::Broken;
            self.full = flow == Flow::Full;
            self.needs_memory = flow == Flow::NeedsMemory;
            if flow != Flow::Go {
                return flow;
            }
        }
        Flow::Go
    }

    /// `entity` is all that was pushed.
    pub fn finish(mut self, entity: &[u8]) -> Decoded {
        self.close();
        if let Some(body) = self.whole {
            return Decoded { body, end: Flow::Go, met: None };
        }
        let mut end = match () {
            () if self.broken => Flow::Broken,
            () if self.full || self.needs_memory => Flow::Full,
            () => Flow::Go,
        };
        for place in 0..self.layers.len() {
            if end != Flow::Go {
                break;
            }
            let (done, rest) = self.layers.split_at_mut(place + 1);
            let out = &mut self.out;
            end = done[place].finish(&mut |decoded| feed(rest, out, decoded));
        }
        let met = self.met(end);
        let only_brotli =
            matches!(self.layers.as_slice(), [layer] if layer.coding == Coding::Brotli);
        if end == Flow::Broken
            && only_brotli
            && self.out.bytes.is_empty()
            && looks_like_text(entity)
        {
            return Decoded { body: entity.to_vec(), end, met };
        }
        Decoded { body: self.out.bytes, end, met }
    }

    fn met(&self, end: Flow) -> Option<Met> {
        let word = self.layers.last().map_or("", |layer| layer.coding.word());
        let met = |hazard, measure| Some(Met::new(hazard, measure).of(word));
        let any = |oddity| self.layers.iter().any(|layer| layer.oddity == Some(oddity));
        match end {
            _ if self.nested => met(Hazard::NestedEncoding, Measure::Refused),
            _ if self.out.bomb => met(Hazard::DecompressionBomb, Measure::Truncated),
            _ if any(Oddity::LargeWindow) => met(Hazard::LargeWindow, Measure::Refused),
            Flow::Broken => met(Hazard::BrokenEncoding, Measure::Truncated),
            Flow::Go if any(Oddity::NotCoded) || any(Oddity::MoreBehind) => {
                met(Hazard::BrokenEncoding, Measure::Corrected)
            }
            Flow::Go | Flow::Full | Flow::NeedsMemory => None,
        }
    }
}

/// What is odd about a coded stream although its content can be had, or why it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Oddity {
    NotCoded,
    MoreBehind,
    LargeWindow,
}

struct Out {
    bytes: Vec<u8>,
    wire: u64,
    body_bytes_max: u64,
    free_bytes: usize,
    ratio_max: u32,
    bomb: bool,
}

impl Out {
    /// Of a body that is undone in one go: what needs no thought about limits.
    fn whole_max(&self) -> usize {
        self.body_bytes_max.min(RATIO_FROM) as usize
    }

    fn take(&mut self, data: &[u8]) -> Flow {
        let room = self.body_bytes_max.saturating_sub(self.bytes.len() as u64);
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(data.len());
        if self.bytes.len() + fits > self.free_bytes {
            return Flow::NeedsMemory;
        }
        self.make_room(fits);
        self.bytes.extend_from_slice(&data[..fits]);
        let size = self.bytes.len() as u64;
        self.bomb |= size > RATIO_FROM && size > self.wire.saturating_mul(self.ratio_max.into());
        if fits < data.len() || self.bomb { Flow::Full } else { Flow::Go }
    }

    /// Never room for more than the limit, and no two large rooms one after the other, as doubling makes them: the
    /// smaller is still in memory while the larger is filled. Room that is never filled costs no memory.
    fn make_room(&mut self, more: usize) {
        let (room, needed) = (self.bytes.capacity(), self.bytes.len() + more);
        if needed <= room {
            return;
        }
        let most = usize::try_from(self.body_bytes_max).unwrap_or(usize::MAX).min(self.free_bytes);
        let wanted = if room < DOUBLING_BYTES { 2 * room } else { (2 * room).max(ROOM_BYTES) };
        self.bytes.reserve_exact(wanted.min(most).max(needed) - self.bytes.len());
    }
}

/// One coding on its way from the first bytes to the end of its stream.
struct Layer {
    coding: Coding,
    state: State,
    oddity: Option<Oddity>,
    /// The output of one step, kept to be used again.
    step: Vec<u8>,
}

enum State {
    /// Too few bytes yet to tell what it is; `again` after a first stream was decoded whole.
    Start {
        held: Vec<u8>,
        again: bool,
    },
    Run(Engine),
    /// A zstd frame has ended, another may follow.
    Between(Engine),
    /// Not coded, whatever the label says.
    Plain,
    Ended,
}

fn feed(layers: &mut [Layer], out: &mut Out, data: &[u8]) -> Flow {
    match layers.split_first_mut() {
        None => out.take(data),
        Some((layer, rest)) => layer.push(data, &mut |decoded| feed(rest, out, decoded)),
    }
}

impl Layer {
    fn new(coding: Coding) -> Layer {
        let state = State::Start { held: Vec::new(), again: false };
        Layer { coding, state, oddity: None, step: Vec::new() }
    }

    fn push(&mut self, data: &[u8], next: &mut dyn FnMut(&[u8]) -> Flow) -> Flow {
        match &mut self.state {
            State::Plain => next(data),
            State::Ended => {
                self.oddity = self.oddity.or((!data.is_empty()).then_some(Oddity::MoreBehind));
                Flow::Go
            }
            State::Run(_) | State::Between(_) => self.run(data, next),
            State::Start { held, again } if held.is_empty() && data.len() >= MARK_BYTES => {
                let again = *again;
                self.begin(data, again, next)
            }
            State::Start { held, again } => {
                held.extend_from_slice(data);
                if held.len() < MARK_BYTES {
                    return Flow::Go;
                }
                let (held, again) = (std::mem::take(held), *again);
                self.begin(&held, again, next)
            }
        }
    }

    fn begin(&mut self, data: &[u8], again: bool, next: &mut dyn FnMut(&[u8]) -> Flow) -> Flow {
        if !again && self.coding.wants_large_window(data) {
            self.oddity = Some(Oddity::LargeWindow);
            return Flow::Broken;
        }
        match Engine::start(self.coding, data) {
            Some(engine) => {
                self.state = State::Run(engine);
                self.run(data, next)
            }
            None if again => {
                self.oddity = Some(Oddity::MoreBehind);
                self.state = State::Ended;
                Flow::Go
            }
            None => {
                self.oddity = Some(Oddity::NotCoded);
                self.state = State::Plain;
                next(data)
            }
        }
    }

    fn run(&mut self, mut data: &[u8], next: &mut dyn FnMut(&[u8]) -> Flow) -> Flow {
        self.step.resize(STEP_BYTES, 0);
        loop {
            let (engine, ended_before) = match &mut self.state {
                State::Run(engine) => (engine, false),
                State::Between(_) if data.is_empty() => return Flow::Go,
                State::Between(engine) => (engine, true),
                _ => return self.push(data, next),
            };
            let step = engine.step(data, &mut self.step);
            if step.end == End::Damaged && ended_before {
                self.oddity = Some(Oddity::MoreBehind);
                self.state = State::Ended;
                return Flow::Go;
            }
            data = &data[step.consumed..];
            let flow = next(&self.step[..step.produced]);
            if flow != Flow::Go {
                return flow;
            }
            if step.end == End::Damaged {
                return Flow::Broken;
            }
            let ended = step.end == End::Ended;
            self.turn(ended);
            // A full step may have left more inside the engine.
            let dry = step.produced < STEP_BYTES && (data.is_empty() || step.consumed == 0);
            if dry && !ended || ended && data.is_empty() {
                return Flow::Go;
            }
        }
    }

    fn turn(&mut self, ended: bool) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        self.state = match (state, self.coding) {
            (State::Run(engine) | State::Between(engine), _) if !ended => State::Run(engine),
            (State::Run(engine) | State::Between(engine), Coding::Zstd) => State::Between(engine),
            (State::Run(_), Coding::Gzip) => State::Start { held: Vec::new(), again: true },
            _ => State::Ended,
        };
    }

    fn finish(&mut self, next: &mut dyn FnMut(&[u8]) -> Flow) -> Flow {
        if let State::Start { held, again } = &mut self.state {
            let (held, again) = (std::mem::take(held), *again);
            if held.is_empty() {
                return Flow::Go;
            }
            let flow = self.begin(&held, again, next);
            if flow != Flow::Go {
                return flow;
            }
        }
        if matches!(self.state, State::Run(_)) { Flow::Broken } else { Flow::Go }
    }
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    !start.iter().any(|b| matches!(b, 0..=8 | 14..=26 | 28..=31))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
