//! Picking what is due out of ten million pages in a hundred thousand sites; the program is an example of the store.

use std::{fs, process::Command, time::Duration};

use anyhow::{Context, ensure};

use crate::cases::Place;

/// For picking 200 sites with 2,000 due pages while others are being settled, at p99.
const AIM: Duration = Duration::from_millis(100);
/// Pages and sites.
const FULL: (u64, u64) = (10_000_000, 100_000);
/// Too few for picks of full size, and made in seconds.
const SMALL: (u64, u64) = (300_000, 3_000);

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let (pages, sites) = if place.small { SMALL } else { FULL };
    let folder = place.scratch.join("revisits");
    if folder.exists() {
        // One that was measured has less that is due.
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let output = Command::new(place.programs.join("examples/revisits_scale"))
        .arg(&folder)
        .args([pages.to_string(), sites.to_string()])
        .output()
        .context("revisits_scale")?;
    fs::remove_dir_all(&folder)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let verdict = verdict(&text).context("revisits_scale says something else than it did")?;
    Ok(format!("{pages} pages in {sites} sites.\n\n{verdict}\n```text\n{text}```\n"))
}

/// The picks beside their aim, from what the example prints.
fn verdict(text: &str) -> Option<String> {
    let mut table =
        "| picks while the crawl runs | p99 | aim | |\n| --- | --- | --- | --- |\n".to_owned();
    for clock in ["wall", "CPU"] {
        let line = text.lines().find(|line| line.starts_with(&format!("pick, {clock}: ")))?;
        let p99 = duration(line.split_once("p99 ")?.1.split(',').next()?)?;
        let met = if p99 < AIM { "met" } else { "**missed**" };
        let (here, aim) = (p99.as_secs_f64() * 1e3, AIM.as_millis());
        table += &format!("| {clock} | {here:.0} ms | {aim} ms | {met} |\n");
    }
    Some(table)
}

/// A duration as `{:?}` writes it.
pub fn duration(text: &str) -> Option<Duration> {
    let units = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let number = |(unit, seconds): (&str, f64)| {
        Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * seconds)
    };
    Some(Duration::from_secs_f64(units.into_iter().find_map(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_it_is_written() {
        for micros in [1, 999, 67_250, 1_500_000, 90_000_000] {
            let time = Duration::from_micros(micros);
            assert_eq!(duration(&format!("{time:?}")), Some(time));
        }
        assert_eq!(duration("soon"), None);
    }

    #[test]
    fn a_pick_that_takes_too_long_is_called_missed() {
        let text = "pick, wall: median 35ms, p95 53ms, p99 100.5ms, most 2s\n\
                    pick, CPU: median 35ms, p95 53ms, p99 64ms, most 70ms\n";
        let verdict = verdict(text).unwrap();
        assert!(verdict.contains("| wall | 100 ms | 100 ms | **missed** |"), "{verdict}");
        assert!(verdict.contains("| CPU | 64 ms | 100 ms | met |"), "{verdict}");
    }
}
