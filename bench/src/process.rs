//! A process on the crawler's core, and what the kernel says of it at its end.

use std::{
    fs::{self, File},
    io::Error,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

const CORE: &str = "1";
/// How often is looked whether a process with a limit has ended: an error of the time it took.
const LOOK: Duration = Duration::from_millis(5);
/// One look in so many is also for the memory: it takes some microseconds.
const LOOKS_FOR_MEMORY: u32 = 10;
/// The kernel counts what is written in these.
const BLOCK: u64 = 512;

/// How server and crawler share the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// A core each.
    Apart,
    /// Both run where the kernel puts them.
    Shared,
}

impl Cores {
    /// The beginning of a command that runs there.
    pub fn command(self, core: &str, program: &Path) -> Command {
        match self {
            Cores::Shared => Command::new(program),
            Cores::Apart => {
                let mut command = Command::new("taskset");
                command.args(["-c", core]).arg(program);
                command
            }
        }
    }
}

/// With its children, as far as it waited for them.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub wall: Duration,
    pub user: Duration,
    pub system: Duration,
    /// Of the largest of them; of a [`Job`] without its children.
    pub peak_bytes: u64,
    /// To files; what stayed in a socket or a pipe is not in it.
    pub written_bytes: u64,
}

impl Usage {
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }

    fn new(wall: Duration, usage: &libc::rusage) -> Usage {
        let number = |n: libc::c_long| u64::try_from(n).unwrap_or_default();
        Usage {
            wall,
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            peak_bytes: number(usage.ru_maxrss) * 1024,
            written_bytes: number(usage.ru_oublock) * BLOCK,
        }
    }
}

/// Runs the program on its core to its end.
pub fn run(program: &Path, arguments: &[String]) -> anyhow::Result<Usage> {
    let begun = Instant::now();
    let child = Cores::Apart.command(CORE, program).args(arguments).spawn();
    let child = child.context("start taskset")?;
    let (status, usage) = wait(&child, 0)?.context("a process that was waited for")?;
    ensure!(status == 0, "{} ended with wait status {status}", program.display());
    Ok(Usage::new(begun.elapsed(), &usage))
}

/// A program that may fail or take too long without ending the measurement.
#[derive(Clone, Debug)]
pub struct Job {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub usage: Usage,
    /// It was stopped at the limit.
    pub cut: bool,
    /// As `wait` gives it.
    pub status: i32,
}

impl Job {
    pub fn new(program: PathBuf) -> Job {
        Job { program, arguments: Vec::new(), environment: Vec::new() }
    }

    /// The same with another program.
    pub fn of(self, program: PathBuf) -> Job {
        Job { program, ..self }
    }

    pub fn argument(&mut self, text: impl Into<String>) {
        self.arguments.push(text.into());
    }

    pub fn arguments<T: Into<String>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.arguments.extend(words.into_iter().map(Into::into));
    }

    pub fn environment(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// Runs it to its end or to the limit; what it prints goes to the file `words`.
    pub fn run(&self, cores: Cores, limit: Duration, words: &Path) -> anyhow::Result<Outcome> {
        self.run_watched(cores, limit, words, |_| Ok(()))
    }

    /// The same, and while it runs `watch` is called with its number every few milliseconds.
    pub fn run_watched(
        &self,
        cores: Cores,
        limit: Duration,
        words: &Path,
        mut watch: impl FnMut(u32) -> anyhow::Result<()>,
    ) -> anyhow::Result<Outcome> {
        let words = File::create(words)?;
        let begun = Instant::now();
        let mut child = cores
            .command(CORE, &self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(words.try_clone()?)
            .stderr(words)
            .spawn()
            .with_context(|| self.program.display().to_string())?;
        let (mut cut, mut peak) = (false, None);
        for look in 0_u32.. {
            if let Some((status, usage)) = wait(&child, libc::WNOHANG)? {
                let usage = Usage::new(begun.elapsed(), &usage);
                let peak_bytes = peak.unwrap_or(usage.peak_bytes);
                return Ok(Outcome { usage: Usage { peak_bytes, ..usage }, cut, status });
            }
            if look % LOOKS_FOR_MEMORY == 0 {
                peak = high_water(child.id()).max(peak);
            }
            // A process that is left behind by a watcher's trouble would hold its collection.
            if let Err(trouble) = watch(child.id()) {
                child.kill()?;
                wait(&child, 0)?;
                return Err(trouble);
            }
            if !cut && begun.elapsed() >= limit {
                child.kill()?;
                cut = true;
            }
            thread::sleep(LOOK);
        }
        unreachable!("a range without end")
    }
}

/// The most memory a process has had, while it runs. The figure at its end is no smaller than that of the process
/// which started it, whose memory the new one has until it becomes another program.
fn high_water(pid: u32) -> Option<u64> {
    Some(status(pid, "VmHWM:")? * 1024)
}

/// A number of a process that runs, by the name that `/proc/PID/status` gives it.
pub fn status(pid: u32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}

/// The standard library waits for children too, but does not hand on what they used. `None`: it still runs.
#[allow(unsafe_code)]
fn wait(child: &Child, options: libc::c_int) -> anyhow::Result<Option<(i32, libc::rusage)>> {
    let mut status = 0;
    // SAFETY: a structure of numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = child.id() as libc::pid_t;
    // SAFETY: both pointers are to live, exclusive places of the types asked for.
    let waited = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
    ensure!(waited >= 0, "wait for a process: {}", Error::last_os_error());
    Ok((waited > 0).then_some((status, usage)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Job {
        let mut job = Job::new("/bin/sh".into());
        job.arguments(["-c", script]);
        job
    }

    fn run(script: &str, limit: Duration) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        shell(script).run(Cores::Shared, limit, &folder.path().join("words")).unwrap()
    }

    #[test]
    fn a_process_is_stopped_at_its_limit_and_what_it_used_is_known() {
        let outcome = run("while :; do :; done", Duration::from_millis(300));
        assert!(outcome.cut);
        assert!(outcome.usage.cpu() > Duration::ZERO);
        assert!(outcome.usage.wall >= Duration::from_millis(300));
    }

    #[test]
    fn what_children_used_is_in_the_sum() {
        let outcome = run(
            "sh -c 'n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done'; exit 3",
            Duration::from_secs(60),
        );
        assert!(!outcome.cut);
        assert_eq!(libc::WEXITSTATUS(outcome.status), 3);
        assert!(outcome.usage.cpu() >= Duration::from_millis(10), "{:?}", outcome.usage);
    }
}
