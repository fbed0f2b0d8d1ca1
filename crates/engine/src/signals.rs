//! Ctrl-C, termination and hang-up: the first ends the crawl in order, the second leaves at once.

use std::{fs, io, sync::Arc};

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc::Sender, oneshot},
};

/// The signals that end a crawl.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    /// Unless it was to be ignored.
    hangup: Option<Signal>,
}

impl Ends {
    fn listen() -> io::Result<Ends> {
        Ok(Ends {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match hangup_is_ignored() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
        })
    }

    /// Until one of them comes.
    async fn recv(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whoever starts a crawl with `nohup` wants it to survive the terminal: listening would undo that. Where the system
/// does not say (it has no /proc), it was not so started.
fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}

/// While it lives, the first signal ends the process at once.
pub struct Leaving {
    _until_dropped: oneshot::Sender<()>,
}

/// For work before a crawl or between two parts of it that may be cut off anywhere; `doing` says which. Signals that
/// were listened to once are not the system's to act on any more: without this nothing would. Of pages that are being
/// read meanwhile, none is to blame.
pub fn leave_at_once(doing: &'static str, marks: Option<Arc<Watch>>) -> Option<Leaving> {
    let (until_dropped, dropped) = oneshot::channel::<()>();
    let listen = move || {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(mut ends) = Ends::listen() else { return };
            tokio::select! {
                () = ends.recv() => {}
                _ = dropped => return,
            }
            if let Some(marks) = marks {
                marks.leave();
            }
            remark(&format!(
                "stopped while {doing}; the next start ends that, and nothing is lost"
            ));
            std::process::exit(Exit::Stopped as i32);
        });
    };
    pipeline::beside("signals", listen).ok().map(|_| Leaving { _until_dropped: until_dropped })
}

use crate::{
    pipeline::{self, marks::Watch, messages::Event},
    remark,
};
use config::failure::Exit;

/// Watches for signals for the rest of the process; to be called inside the runtime.
pub fn listen(events: Sender<Event>, marks: Arc<Watch>) {
    tokio::spawn(async move {
        let Ok(mut ends) = Ends::listen() else { return };
        let mut asked = false;
        loop {
            ends.recv().await;
            if asked {
                // What is being read now is not to blame for this end.
                marks.leave();
                remark("exited at once; saved data is safe, the same command continues");
                std::process::exit(Exit::Stopped as i32);
            }
            asked = true;
            let _ = events.send(Event::Stop).await;
        }
    });
}
