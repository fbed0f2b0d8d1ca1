//! Where a body lies in what was received: read on from its head, piece by piece, as its framing says.

use std::ops::Range;

use super::{
    chunks::{Chunks, Step},
    framing::Framing,
};

/// A body is handed over in pieces of this size, so that one that reaches a limit is cut close to it.
const PIECE_BYTES: usize = 8 * 1024;

pub struct Body {
    rest: Rest,
    /// What was received belongs to the answer up to here.
    pub at: usize,
}

/// What is to come.
enum Rest {
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

impl Body {
    pub fn new(framing: Framing, head_end: usize) -> Body {
        let rest = match framing {
            Framing::Empty => Rest::Length(0),
            Framing::Length(length) => Rest::Length(length),
            Framing::Chunked => Rest::Chunked(Chunks::default()),
            Framing::UntilClose => Rest::UntilClose,
        };
        Body { rest, at: head_end }
    }

    /// What comes next; `ended` when nothing more will be received.
    pub fn next(&mut self, received: &[u8], ended: bool) -> Step {
        let step = match &mut self.rest {
            Rest::Length(0) => Step::End,
            Rest::Length(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX);
                let step = piece(&mut self.at, received.len(), most);
                if let Step::Data(data) = &step {
                    *left -= data.len() as u64;
                }
                step
            }
            Rest::Chunked(chunks) => chunks.next(received, &mut self.at, PIECE_BYTES),
            Rest::UntilClose => match piece(&mut self.at, received.len(), usize::MAX) {
                Step::More if ended => Step::End,
                step => step,
            },
        };
        if step == Step::More && ended { Step::Broken } else { step }
    }
}

fn piece(at: &mut usize, end: usize, most: usize) -> Step {
    let count = most.min(end - *at).min(PIECE_BYTES);
    if count == 0 {
        return Step::More;
    }
    let data: Range<usize> = *at..*at + count;
    *at = data.end;
    Step::Data(data)
}
