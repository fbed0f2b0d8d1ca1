//! Ctrl-C and termination: the first ends the crawl in order, the second leaves at once.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::Sender,
};

use crate::{exit::Exit, pipeline::messages::Event, terminal::remark};

/// Watches for signals for the rest of the process; to be called inside the runtime.
pub fn listen(events: Sender<Event>) {
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
                remark("left at once; what was settled is safe, the same command goes on");
                std::process::exit(Exit::Fault as i32);
            }
            asked = true;
            let _ = events.send(Event::Stop).await;
        }
    });
}
