//! Promises about the source, kept by tests that read it: see `tests/tidy.rs` for the promises.
//!
//! Here is only what reading takes: finding files, and looking at code without its comments and strings.
//! Nothing depends on this crate, and it depends on none of ours.

use std::{
    fs,
    path::{Path, PathBuf},
};

mod code;

pub use code::{code_only, without_tests};

/// A source file of ours.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the root of the workspace, with forward slashes.
    pub path: String,
    pub text: String,
}

impl Source {
    /// Tests, examples and benchmarks: files that are not part of the product.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let apart = ["tests", "examples", "benches", "bench", "fuzz"];
        name == "tests.rs"
            || name == "suite.rs"
            || name.ends_with("_tests.rs")
            || self.path.split('/').any(|folder| apart.contains(&folder))
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below `folder` with this ending, without build results and hidden folders.
pub fn sources(folder: &Path, ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(folder, folder, ending, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, ending: &str, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            let built = ["target", "harvest", "corpus", "artifacts"];
            if !name.starts_with('.') && !built.contains(&name.as_str()) {
                collect(root, &path, ending, found);
            }
        } else if name.ends_with(ending)
            && let Ok(text) = fs::read_to_string(&path)
        {
            let path = path.strip_prefix(root).unwrap_or(&path);
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(Source { path, text });
        }
    }
}
