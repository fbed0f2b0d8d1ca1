//! Records into gzip members.
//!
//! What arrived compressed goes into stored deflate blocks: a second compression would cost the time of
//! the first and gain nothing. The rest is compressed at level 1 (measured: ratio 0.38 on HTML), what is
//! short by a packer of its own.

use libdeflater::{CompressionLvl, Compressor};

use super::{
    encode::Level,
    room::Room,
    short::{SHORT_BYTES_MAX, ShortPacker},
};

pub(super) struct MemberPacker {
    short: ShortPacker,
    /// A short member, before it stands behind the others.
    member: Vec<u8>,
    fast: Compressor,
    stored: Compressor,
}

impl MemberPacker {
    pub(super) fn new() -> MemberPacker {
        let level = |level| CompressionLvl::new(level).unwrap_or_default();
        MemberPacker {
            short: ShortPacker::new(),
            member: Vec::new(),
            fast: Compressor::new(level(1)),
            stored: Compressor::new(level(0)),
        }
    }

    /// Puts `plain` as one member behind what is there.
    pub(super) fn pack(&mut self, plain: &[u8], level: Level, out: &mut Room) {
        if level == Level::Fast && plain.len() <= SHORT_BYTES_MAX {
            return self.pack_short(plain, out);
        }
        let compressor = match level {
            Level::Fast => &mut self.fast,
            Level::Stored => &mut self.stored,
        };
        out.append(compressor.gzip_compress_bound(plain.len()), |room| {
            compressor
                .gzip_compress(plain, room)
                .expect("the compressor itself said that this is room enough")
        });
    }

    fn pack_short(&mut self, plain: &[u8], out: &mut Room) {
        self.member.clear();
        self.short.pack(plain, &mut self.member);
        out.append(self.member.len(), |room| {
            room[..self.member.len()].copy_from_slice(&self.member);
            self.member.len()
        });
    }
}
