//! What it takes to have the program: the size of its file without symbols, and a release build from nothing.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use crate::cases::Place;

const SIZE_AIM_MB: f64 = 40.0;
const TIME_AIM: Duration = Duration::from_secs(15 * 60);

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let mb = stripped_bytes(&place.programs.join("harvestman"), place.scratch)? as f64 / 1e6;
    let mut text = format!(
        "| | here | aim | |\n| --- | --- | --- | --- |\n\
         | program, stripped | {mb:.1} MB | {SIZE_AIM_MB} MB | {} |\n",
        met(mb <= SIZE_AIM_MB)
    );
    if !place.small {
        let time = cold_build(place.scratch)?;
        let (here, aim) = (time.as_secs_f64() / 60.0, TIME_AIM.as_secs() / 60);
        let met = met(time <= TIME_AIM);
        text += &format!(
            "| cold release build, downloads apart | {here:.1} min | {aim} min | {met} |\n"
        );
    }
    Ok(text)
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

fn stripped_bytes(program: &Path, scratch: &Path) -> anyhow::Result<u64> {
    let stripped = scratch.join("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(program).status();
    ensure!(status.context("strip (it is part of binutils)")?.success(), "strip failed");
    let bytes = fs::metadata(&stripped)?.len();
    fs::remove_file(stripped)?;
    Ok(bytes)
}

/// Everything is compiled anew, by all cores, in a folder that is gone afterwards.
fn cold_build(scratch: &Path) -> anyhow::Result<Duration> {
    let folder = scratch.join("cold");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let begun = Instant::now();
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--locked", "--offline", "-p", "harvestman"])
        .arg("--target-dir")
        .arg(&folder)
        // A cache of what was compiled before would be another measurement.
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .status()
        .context("cargo")?;
    let time = begun.elapsed();
    fs::remove_dir_all(&folder)?;
    ensure!(status.success(), "the cold build failed");
    Ok(time)
}
