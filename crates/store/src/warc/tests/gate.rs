//! Other people's tools must accept and replay what we write. Needs the environment that `tools/venv.sh`
//! makes; without it the test says so and passes.

use std::{path::PathBuf, process::Command};

use model::{Archive, Mark};

use super::sample::{every_kind, open, options, page};

fn tools() -> Option<(PathBuf, PathBuf)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let python = root.join(".venv/bin/python");
    let complete = python.exists() && root.join(".venv/requirements.done").exists();
    complete.then(|| (python, root.join("tools")))
}

#[test]
fn public_tools_accept_and_replay_every_kind_of_record() {
    let Some((python, tools)) = tools() else {
        println!("skipped: run tools/venv.sh to check volumes with public tools");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = open(folder.path(), options(), Mark::default());
    for sample in every_kind() {
        archive.append(&sample.entry(archive.record_id())).unwrap();
    }
    archive.seal().unwrap();
    archive.append(&page(70).entry(archive.record_id())).unwrap();
    archive.seal().unwrap();
    for script in ["warc_gate.py", "pywb_replay.py"] {
        let run = Command::new(&python).arg(tools.join(script)).arg(folder.path()).output();
        let output = run.unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
    }
}
