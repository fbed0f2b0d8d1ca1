//! The measurements behind `RESULTS.md`. `bench/run`, `bench/soak`, `bench/micro` and `bench/profile` build and start
//! it; see there for what they measure.
//!
//! One program in three parts, each a process of its own, so that each can be pinned to a core: `serve` is
//! the simulated web, `fetch` the crawler's HTTP client with nothing behind it, and `measure` starts these
//! and the crawler, and reads what the kernel and the server (never the crawler) say about them.

use std::path::Path;

use anyhow::bail;

mod build;
mod cases;
mod coming_back;
mod contest;
mod courtesy;
mod disk;
mod entrant;
mod fair;
mod fetch;
mod flame;
mod frontier;
mod giants;
mod growth;
mod machine;
mod makeup;
mod micro;
mod peers;
mod polite;
mod process;
mod profile;
mod results;
mod revisits;
mod room;
mod server;
mod soak;
mod wishes;

/// As in the program that is measured: the client alone must not lose by its allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", web, root] => server::serve(&web.parse()?, root.as_ref()),
        ["giants"] => giants::giants(),
        ["giant", number] => giants::giant(number.parse()?),
        ["fetch", web, ref manner @ ..] => fetch::fetch(&web.parse()?, &fetch::Manner::of(manner)?),
        ["install", scratch, ref wishes @ ..] => {
            let wishes = wishes::Wishes::of(wishes)?;
            match contest::wants_peers(&wishes.cases) {
                true => peers::install(&Path::new(scratch).join("peers"), &wishes.peers),
                false => Ok(()),
            }
        }
        ["measure", programs, scratch, results, ref wishes @ ..] => {
            let wishes = wishes::Wishes::of(wishes)?;
            cases::measure(programs.as_ref(), scratch.as_ref(), results.as_ref(), &wishes)
        }
        ["micro", output, results] => micro::write(output.as_ref(), results.as_ref()),
        ["soak", programs, scratch, results, ref wishes @ ..] => {
            soak::soak(programs.as_ref(), scratch.as_ref(), results.as_ref(), wishes)
        }
        ["profile", programs, profiled, scratch, graph, ref wishes @ ..] => profile::profile(
            programs.as_ref(),
            profiled.as_ref(),
            scratch.as_ref(),
            graph.as_ref(),
            wishes,
        ),
        _ => bail!("this is started by bench/run, bench/soak, bench/micro and bench/profile"),
    }
}
