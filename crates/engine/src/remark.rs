//! The last words of a process: lines on standard error that must come out even when nothing else does.

use std::io::{self, Write};

/// A line on standard error; a closed standard error is ignored.
pub fn remark(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
