//! Ctrl-C and termination: the first ends the crawl in order, the second leaves at once.

use std::sync::Arc;

use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    sync::{mpsc::Sender, oneshot},
};

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
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = dropped => return,
            }
            if let Some(marks) = marks {
                marks.leave();
            }
            remark(&format!(
                "stopped while {doing}; the next start ends that, and nothing is lost"
            ));
            std::process::exit(Exit::Done as i32);
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
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        let mut asked = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if asked {
                // What is being read now is not to blame for this end.
                marks.leave();
                remark("exited at once; saved data is safe, the same command continues");
                std::process::exit(Exit::Fault as i32);
            }
            asked = true;
            let _ = events.send(Event::Stop).await;
        }
    });
}
