//! Crawls every site of a list with the spider crate: SEEDS-FILE SITES-AT-ONCE CONNECTIONS PAUSE-MS.
//! Each page's links are followed within its site and its title is looked for; nothing is kept.

use std::{env, fs, sync::Arc};

use spider::{
    tokio::{self, sync::Semaphore, task::JoinSet},
    website::Website,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let seeds = fs::read_to_string(&words[0]).expect("the seeds can be read");
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let (at_once, connections, pause) = (number(1), number(2), number(3) as u64);
    let rooms = Arc::new(Semaphore::new(at_once));
    let mut sites = JoinSet::new();
    for seed in seeds.lines() {
        let room = rooms.clone().acquire_owned().await.expect("never closed");
        let seed = seed.to_owned();
        sites.spawn(async move {
            let pages = crawl(&seed, connections, pause).await;
            drop(room);
            pages
        });
    }
    let (mut pages, mut titled) = (0, 0);
    while let Some(site) = sites.join_next().await {
        let (all, with_title) = site.expect("a crawl does not panic");
        pages += all;
        titled += with_title;
    }
    println!("{pages} pages, {titled} with a title");
}

async fn crawl(seed: &str, connections: usize, pause: u64) -> (usize, usize) {
    let mut site = Website::new(seed);
    site.with_respect_robots_txt(pause > 0)
        .with_delay(pause)
        .with_concurrency_limit(Some(connections))
        .with_danger_accept_invalid_certs(true)
        .with_user_agent(Some("spider"));
    let mut pages = site.subscribe(4096);
    let reader = tokio::spawn(async move {
        let (mut all, mut titled) = (0, 0);
        loop {
            match pages.recv().await {
                Ok(page) => {
                    all += 1;
                    titled += usize::from(page.get_html().contains("<title>"));
                }
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(_) => return (all, titled),
            }
        }
    });
    site.crawl().await;
    site.unsubscribe();
    drop(site);
    reader.await.expect("the reader does not panic")
}
