//! What figures are worth nothing without: the machine, and how busy it was.

use std::fs;

/// Cores, memory and kernel; no names.
pub fn description() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = cpu.lines().filter(|line| line.starts_with("processor")).count();
    let model = field(&cpu, "model name").unwrap_or("unknown processor");
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes: u64 = field(&memory, "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split('-').next().unwrap_or_default().trim();
    format!(
        "{cores} cores ({model}), {} GiB of memory, Linux {kernel}. Server on one core, crawler on \
         the other, loopback only.\n",
        kilobytes.div_ceil(1 << 20)
    )
}

/// Processes that wanted a core during the last minute: above about 1 before a case, others disturbed it.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
