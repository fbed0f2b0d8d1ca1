//! WARC files of anybody: records, pairs and what can be made of them again, from any bytes, from any offset.
#![cfg_attr(fuzzing, no_main)]

use fuzz::timed;
use store::warc::{Adopted, Pairs, WarcReader, dechunk};

/// What is kept of a block here; the reader's own bound is made for bodies of pages.
const KEPT: u64 = 1 << 20;

fuzz::target!(|data: &[u8]| {
    timed(|| {
        let (mut ended, mut records) = (0, 0);
        for record in WarcReader::new(data).keep_at_most(KEPT) {
            let Ok(record) = record else { break };
            assert!(record.offset >= ended || !record.own_member, "records that overlap");
            assert!(record.end() <= data.len() as u64, "beyond the end");
            ended = record.end();
            records += 1;
            let http = record.http();
            let entity = http.entity();
            assert!(entity.len() <= record.block.len());
            let _ = dechunk(&record.block);
        }
        assert!(records <= data.len());
        let mut pairs = Pairs::starting_at(data, 0);
        for pair in pairs.by_ref() {
            let Ok(pair) = pair else { break };
            let _ = Adopted::from_pair(1, &pair);
        }
        assert!(pairs.whole_to() <= data.len() as u64);
        let middle = data.len() / 2;
        let _ = WarcReader::starting_at(&data[middle..], middle as u64).count();
        // What a frame of zstd holds, and its dictionary: the first bytes are hard to find.
        for begin in [&b"\x28\xb5\x2f\xfd"[..], b"\x5d\x2a\x4d\x18"] {
            let frame = [begin, data].concat();
            let _ = WarcReader::new(&frame[..]).keep_at_most(KEPT).count();
        }
    });
});
