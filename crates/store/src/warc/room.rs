//! Bytes that grow without being zeroed again for each record.

/// Only the first `length` bytes count.
#[derive(Default)]
pub(super) struct Room {
    space: Vec<u8>,
    length: usize,
}

impl Room {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.space[..self.length]
    }

    /// Lends at least `bytes_max` bytes behind the others; `write` says how many it used.
    pub(super) fn append(&mut self, bytes_max: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        let end = self.length + bytes_max;
        if self.space.len() < end {
            self.space.resize(end, 0);
        }
        let used = write(&mut self.space[self.length..]);
        self.length += used;
    }

    /// Gives back what a large record took.
    pub(super) fn shrink(&mut self, bytes_max: usize) {
        if self.space.capacity() > bytes_max {
            *self = Room::default();
        }
    }
}
