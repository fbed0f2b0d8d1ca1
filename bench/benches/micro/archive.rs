//! Appending to the archive: request and response as two records, digests, compression, and the write itself. Beside it
//! the same bytes written plainly, which is what the file system asks for.

use std::{fs::File, io::Write};

use divan::{Bencher, black_box};
use model::{Archive, ArchiveEntry, EntryKind};
use store::warc::{WarcArchive, WarcOptions, sha1_pair};

use crate::pages::{bytes, count, pages};

#[divan::bench_group(name = "WARC append (page)")]
mod append {
    use super::*;

    #[divan::bench(name = "harvestman, packed, with digests")]
    fn ours(bencher: Bencher) {
        let folder = tempfile::tempdir().expect("a folder for volumes");
        let opened = WarcArchive::open(folder.path(), WarcOptions::default(), Default::default());
        let (archive, _) = opened.expect("an empty folder can be opened");
        bencher.counter(bytes()).counter(count()).bench_local(|| {
            for page in pages() {
                let exchange = &page.exchange;
                let block = [&exchange.response_head[..], &exchange.wire_body];
                let (payload_digest, block) = sha1_pair(&exchange.entity, block);
                let entry = ArchiveEntry {
                    exchange,
                    record_id: archive.record_id(),
                    payload_digest,
                    block_digest: Some(block),
                    kind: EntryKind::Response,
                };
                let record = archive.append(&entry).expect("the disk has room");
                archive.settled(black_box(record));
            }
        });
    }

    #[divan::bench(name = "plain writes of head and body")]
    fn plain(bencher: Bencher) {
        let folder = tempfile::tempdir().expect("a folder for a file");
        let mut file = File::create(folder.path().join("plain")).expect("a file can be made");
        bencher.counter(bytes()).counter(count()).bench_local(|| {
            for page in pages() {
                let exchange = &page.exchange;
                file.write_all(&exchange.response_head).expect("the disk has room");
                file.write_all(&exchange.body).expect("the disk has room");
            }
        });
    }
}
