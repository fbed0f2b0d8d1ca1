//! Compression of the archive: a page each, as records are. How much is left is told beside how long it takes.

use std::sync::Mutex;

use divan::{Bencher, black_box};
use flate2::{Compress, Compression, FlushCompress};
use libdeflater::{CompressionLvl, Compressor};

use crate::pages::{bytes, count, pages};

/// More than any of them makes of a page.
const ROOM: usize = 4 << 20;

/// Compresses one page and says how long the result is.
type Packer = Box<dyn FnMut(&[u8]) -> usize + Send>;

fn libdeflate(level: i32) -> Packer {
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap_or_default());
    let mut out = vec![0; ROOM];
    Box::new(move |body| compressor.gzip_compress(body, &mut out).unwrap_or(0))
}

fn zlib_rs(level: u32) -> Packer {
    let mut compress = Compress::new(Compression::new(level), true);
    let mut out = vec![0; ROOM];
    Box::new(move |body| {
        compress.reset();
        let done = compress.compress(body, &mut out, FlushCompress::Finish);
        done.map_or(0, |_| compress.total_out() as usize)
    })
}

fn zstd(level: i32) -> Packer {
    let mut compressor = zstd::bulk::Compressor::new(level).expect("a level that zstd has");
    let mut out = vec![0; ROOM];
    Box::new(move |body| compressor.compress_to_buffer(body, &mut out[..]).unwrap_or(0))
}

/// A line that `bench/micro` puts above the table.
pub fn tell_ratios() {
    let packers: [(&str, Packer); 6] = [
        ("libdeflate 1", libdeflate(1)),
        ("libdeflate 6", libdeflate(6)),
        ("zlib-rs 1", zlib_rs(1)),
        ("zlib-rs 6", zlib_rs(6)),
        ("zstd 1", zstd(1)),
        ("zstd 3", zstd(3)),
    ];
    let whole: usize = pages().iter().map(|page| page.exchange.body.len()).sum();
    let ratios: Vec<String> = packers
        .into_iter()
        .map(|(name, mut pack)| {
            let packed: usize = pages().iter().map(|page| pack(&page.exchange.body)).sum();
            format!("{name} {:.3}", packed as f64 / whole as f64)
        })
        .collect();
    println!("note: what is left of them, compressed: {}.", ratios.join(", "));
}

fn each(bencher: Bencher, pack: Packer) {
    let pack = Mutex::new(pack);
    bencher.counter(bytes()).counter(count()).bench_local(|| {
        let Ok(mut pack) = pack.lock() else { return };
        for page in pages() {
            black_box(pack(&page.exchange.body));
        }
    });
}

#[divan::bench_group(name = "compression (page)")]
mod compress {
    use super::*;

    #[divan::bench(name = "harvestman, libdeflate level 1")]
    fn ours(bencher: Bencher) {
        each(bencher, libdeflate(1));
    }

    #[divan::bench(name = "libdeflate level 6")]
    fn libdeflate_6(bencher: Bencher) {
        each(bencher, libdeflate(6));
    }

    #[divan::bench(name = "zlib-rs level 1")]
    fn zlib_rs_1(bencher: Bencher) {
        each(bencher, zlib_rs(1));
    }

    #[divan::bench(name = "zlib-rs level 6")]
    fn zlib_rs_6(bencher: Bencher) {
        each(bencher, zlib_rs(6));
    }

    #[divan::bench(name = "zstd level 1")]
    fn zstd_1(bencher: Bencher) {
        each(bencher, zstd(1));
    }

    #[divan::bench(name = "zstd level 3")]
    fn zstd_3(bencher: Bencher) {
        each(bencher, zstd(3));
    }
}
