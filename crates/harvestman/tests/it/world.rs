//! The stage: a simulated web on a free port, an empty folder for the collection, and the real binary
//! between them.
//!
//! Every process is bounded in time and ended with its [`World`], so that a hanging program is a failed
//! test and never a hanging one.

use std::{
    fmt,
    io::{Read, Write},
    ops::{Deref, DerefMut},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use simweb::{Entry, Request, Server, ServerOptions, SimWeb, WebOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::ask::Questions;

/// Far above what any command here takes, on a busy machine too.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub web: Arc<SimWeb>,
    /// To the program about the collection; the world can be asked all of them.
    questions: Questions,
    /// For other files of a test; the collection lies below it.
    pub temp: TempDir,
    variables: Vec<(String, String)>,
    server: Option<Server>,
    /// Last, so that it outlives the server.
    runtime: Runtime,
}

impl World {
    pub fn new(options: WebOptions) -> World {
        World::with(options, ServerOptions::default())
    }

    pub fn with(options: WebOptions, server: ServerOptions) -> World {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let web = Arc::new(SimWeb::new(options));
        warm(&web);
        let server = runtime.block_on(Server::start(Arc::clone(&web), server)).unwrap();
        let temp = tempfile::tempdir().unwrap();
        let questions = Questions::at(temp.path().join("harvest"));
        World { web, questions, temp, variables: Vec::new(), server: Some(server), runtime }
    }

    /// Sets an environment variable for all commands from now on.
    pub fn variable(mut self, name: &str, value: &str) -> World {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn port(&self) -> u16 {
        self.server().addr().port()
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("the server runs until the world ends")
    }

    /// Every finished request, by start.
    pub fn log(&self) -> Vec<Entry> {
        self.server().log().entries()
    }

    /// The requests for anything but robots.txt.
    pub fn visits(&self) -> Vec<Entry> {
        self.log().into_iter().filter(|entry| entry.path() != "/robots.txt").collect()
    }

    /// The same as `host/path`, in the order they came.
    pub fn visited(&self) -> Vec<String> {
        self.visits().iter().map(|entry| format!("{}{}", entry.host, entry.target)).collect()
    }

    pub fn forget_log(&self) {
        self.server().log().reset();
    }

    /// The program with `-C` and, for commands that fetch, the way to the simulated web.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
        command.arg("-C").arg(&self.folder).args(args).current_dir(self.temp.path());
        if matches!(args, ["crawl" | "run", ..] | ["batch", "harvest", ..]) {
            for rule in simweb::resolve_rules(self.server(), &self.web) {
                command.args(["--resolve", &rule]);
            }
            command.args(["--allow-address", "127.0.0.0/8"]);
        }
        // Nothing of the machine's own settings may reach a test.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HARVESTMAN_")) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Done {
        self.start(args).wait(PATIENCE)
    }

    /// Runs a command with `input` on its standard input.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Done {
        let mut running = Running::new(self.command(args).stdin(Stdio::piped()));
        running.child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        running.wait(PATIENCE)
    }

    /// Starts a command and leaves it running.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::new(self.command(args).stdin(Stdio::null()))
    }

    /// What is asked of the collection in another folder of the test.
    pub fn beside(&self, name: &str) -> Questions {
        Questions::at(self.temp.path().join(name))
    }

    /// Waits until `condition` holds; fails the test when it does not come true in time.
    pub fn wait_for(&self, what: &str, condition: impl Fn(&World) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !condition(self) {
            assert!(Instant::now() < until, "never happened: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl World {
    /// Waits until no request has come for so long.
    pub fn wait_for_silence(&self, silent: Duration) {
        let until = Instant::now() + PATIENCE;
        let (mut count, mut since) = (self.log().len(), Instant::now());
        while since.elapsed() < silent {
            assert!(Instant::now() < until, "requests go on");
            std::thread::sleep(Duration::from_millis(20));
            let now = self.log().len();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
    }
}

/// Waits for the next second of the clock: readers of archives file captures by the second.
pub fn next_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    std::thread::sleep(Duration::from_millis(1_005 - u64::from(now.subsec_millis())));
}

impl Deref for World {
    type Target = Questions;

    fn deref(&self) -> &Questions {
        &self.questions
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Questions {
        &mut self.questions
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

/// Each language's prose is made when it is first needed, which stops the server for a fifth of a second:
/// requests that wait for it look as if they had come too close to the next.
fn warm(web: &SimWeb) {
    for site in 0..web.sites().min(32) {
        let host = web.host(site);
        let tls = web.is_https(site);
        web.answer(&Request { tls, ..Request::get(&host, "/") }, web.options().origin);
    }
}

/// A command under way. Dropped, it is killed.
pub struct Running {
    child: Child,
    /// How its advice begins: with the folder that it was given.
    advised: Option<String>,
    began: Instant,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    pub fn new(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        Running { child, advised: advised(command), began: Instant::now(), out, err }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory it has had so far, in bytes; 0 when it has ended (or where /proc is not kept).
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) << 10
    }

    /// Sends a signal by its name, such as `INT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(status.unwrap().success(), "the process is there to be signalled");
    }

    /// Ends it the hard way and waits for that.
    pub fn kill(mut self) -> Done {
        self.child.kill().unwrap();
        self.wait(PATIENCE)
    }

    pub fn wait(mut self, patience: Duration) -> Done {
        let until = Instant::now() + patience;
        let (status, late) = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break (status, false);
            }
            if Instant::now() > until {
                self.child.kill().unwrap();
                break (self.child.wait().unwrap(), true);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = self.began.elapsed();
        let text = |reader: Option<JoinHandle<Vec<u8>>>| {
            let bytes = reader.map(|reader| reader.join().unwrap()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match &self.advised {
                Some(advised) => text.replace(advised, "harvestman "),
                None => text,
            }
        };
        let done = Done { status, took, out: text(self.out.take()), err: text(self.err.take()) };
        assert!(!late, "still running after {patience:?}\n{done}");
        done
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Advice repeats the `-C` of the command line, which is another folder in every test.
fn advised(command: &Command) -> Option<String> {
    let mut args = command.get_args();
    let folder = args.next().filter(|first| *first == "-C").and(args.next())?;
    Some(format!("harvestman -C {} ", folder.to_str()?))
}

fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub took: Duration,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Fails the test, with all that was said, when the exit code is another.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Done {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Fails the test when one of these is missing from what was said to people.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Done {
        for part in parts {
            assert!(self.err.contains(part), "does not say {part:?}\n{self}");
        }
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

impl Done {
    /// Standard output as one line: texts are broken between words where a line ends.
    pub fn flat(&self) -> String {
        self.out.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { status, took, out, err } = self;
        write!(f, "{status} after {took:?}\n--- out\n{out}\n--- err\n{err}")
    }
}
