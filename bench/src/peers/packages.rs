//! Programs and Python libraries from packages, without changing the machine: they are unpacked into a folder.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::step;

/// Where Debian's packages put libraries of this machine's kind.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A program of the machine, or else one that apt fetches with what it needs and the machine does not have.
pub fn debian(home: &Path, name: &str) -> anyhow::Result<()> {
    if on_path(name).is_some() {
        return Ok(());
    }
    let archives = home.join(name).join("archives");
    fs::create_dir_all(archives.join("partial"))?;
    let archives = fs::canonicalize(&archives)?;
    let fetch = || {
        step(
            Command::new("apt-get")
                .args(["install", "-y", "--download-only", "-o", "Debug::NoLocking=true", "-o"])
                .arg(format!("Dir::Cache::archives={}", archives.display()))
                .arg(name),
        )
    };
    if fetch().is_err() {
        step(Command::new("apt-get").arg("update"))?;
        fetch()?;
    }
    for entry in fs::read_dir(&archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            step(Command::new("dpkg").arg("-x").arg(&path).arg(home.join(name)))?;
        }
    }
    Ok(())
}

/// Where the program of [`debian`] is, and where its libraries are.
pub fn program(home: &Path, name: &str) -> (PathBuf, PathBuf) {
    let unpacked = home.join(name).join("usr/bin").join(name);
    let path = if unpacked.exists() { unpacked } else { PathBuf::from(name) };
    (path, home.join(name).join(LIBRARIES))
}

/// A Python library in a virtual environment of its own; gives back its version.
pub fn python(home: &Path, name: &str, wanted: &str) -> anyhow::Result<String> {
    let room = home.join(name);
    step(Command::new("python3").args(["-m", "venv"]).arg(&room))?;
    step(Command::new(room.join("bin/pip")).args(["install", "--quiet", wanted]))?;
    let ask = format!("import importlib.metadata as m; print(m.version({name:?}))");
    let version = step(Command::new(room.join("bin/python")).args(["-c", &ask]))?;
    let python = step(Command::new(room.join("bin/python")).arg("--version"))?;
    Ok(format!("{} ({})", version.trim(), python.trim()))
}

pub fn interpreter(home: &Path, name: &str) -> PathBuf {
    home.join(name).join("bin/python")
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
