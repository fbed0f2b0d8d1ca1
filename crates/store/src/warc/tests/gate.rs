//! Other people's tools must accept and replay what we write. Needs the environment that `tools/venv.sh`
//! makes; without it the tests say so and pass.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use model::{Archive, Mark};

use super::{
    super::WarcReader,
    sample::{every_kind, open, options, page},
};

/// Runs a script of `tools/` on a folder: whether it is content, and what it says.
fn run(script: &str, folder: &Path) -> Option<(bool, String)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    if !root.join(".venv/requirements.done").exists() {
        model::testing::skip_without("what tools/venv.sh installs");
        return None;
    }
    let python = root.join(".venv/bin/python");
    let output = Command::new(python).arg(root.join("tools").join(script)).arg(folder).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), said.into_owned()))
}

#[test]
fn public_tools_accept_and_replay_every_kind_of_record() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = open(folder.path(), options(), Mark::default());
    for sample in every_kind() {
        archive.append(&sample.entry(archive.record_id())).unwrap();
    }
    archive.seal().unwrap();
    archive.append(&page(70).entry(archive.record_id())).unwrap();
    archive.seal().unwrap();
    for script in ["warc_gate.py", "pywb_replay.py"] {
        let Some((content, said)) = run(script, folder.path()) else { return };
        assert!(content, "{script}: {said}");
        println!("{said}");
    }
}

#[test]
fn the_gate_refuses_a_torn_tail_and_a_repeated_record() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = open(folder.path(), options(), Mark::default());
    archive.append(&page(1).entry(archive.record_id())).unwrap();
    archive.seal().unwrap();
    let path = folder.path().join("harvest-000001.warc.gz");
    let sound = fs::read(&path).unwrap();
    let request = WarcReader::new(&sound[..]).nth(1).unwrap().unwrap();
    let (from, to) = (request.offset as usize, request.end() as usize);
    let cases = [
        (sound[..sound.len() - 5].to_vec(), "gzip -t refuses it"),
        ([&sound[..], &sound[from..]].concat(), "the id is taken"),
        ([&sound[..from], &sound[to..]].concat(), "which is not there"),
    ];
    for (bytes, expected) in cases {
        fs::write(&path, bytes).unwrap();
        let Some((content, said)) = run("warc_gate.py", folder.path()) else { return };
        assert!(!content && said.contains(expected), "{expected}: {said}");
    }
}
