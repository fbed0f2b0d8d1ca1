//! SHA-256 of a file, computed while it is read or written for something else.

use std::io::{self, BufRead, Read, Write};

use sha2::{Digest, Sha256};

/// Passes everything on and hashes it.
pub(super) struct Hashed<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Hashed<T> {
    pub(super) fn new(inner: T) -> Hashed<T> {
        Hashed { inner, hash: Sha256::new(), bytes: 0 }
    }

    pub(super) fn into_inner(self) -> (T, [u8; 32]) {
        (self.inner, self.hash.finalize().into())
    }

    /// Of what has passed so far.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    pub(super) fn passed(&self) -> u64 {
        self.bytes
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<T: BufRead> Read for Hashed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.add(&buffer[..count]);
        Ok(count)
    }
}

impl<T: BufRead> BufRead for Hashed<T> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What is consumed is held, so that this reads nothing and cannot fail.
        if let Ok(held) = self.inner.fill_buf() {
            let held = &held[..count.min(held.len())];
            self.hash.update(held);
            self.bytes += held.len() as u64;
        }
        self.inner.consume(count);
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// As `sha256sum` prints it.
pub fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// FIPS 180-2, B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn reading_and_writing_have_the_digest_of_what_passed() {
        let mut read = Hashed::new(BufReader::with_capacity(2, &b"abc"[..]));
        let mut first = [0; 1];
        read.read_exact(&mut first).unwrap();
        while let length @ 1.. = read.fill_buf().unwrap().len() {
            read.consume(length);
        }
        assert_eq!((hex(&read.digest()).as_str(), read.passed()), (ABC, 3));
        let mut written = Hashed::new(Vec::new());
        written.write_all(b"abc").unwrap();
        let (bytes, digest) = written.into_inner();
        assert_eq!((hex(&digest).as_str(), &bytes[..]), (ABC, &b"abc"[..]));
    }
}
