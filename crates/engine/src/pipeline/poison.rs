//! Poison for tests: in debug builds alone, pages can be made to break the reading of them down, to see that it
//! costs a page and not the crawl. `HARVESTMAN_TEST_POISON=panic:PART` (or `abort:`, `hang:`) is about every URL that
//! contains PART; `hang:loop:PART` hangs the crawl's own loop when such an answer comes, and `never:PART` makes fetches that do
//! not end. Release builds know nothing of it.

#[cfg(debug_assertions)]
pub fn taste(url: &str) {
    let Some((how, part)) = poison() else { return };
    if url.contains(&part) {
        work(&how, url);
    }
}

/// In the crawl's own loop.
#[cfg(debug_assertions)]
pub fn taste_in_loop(url: &str) {
    let Some((how, part)) = poison() else { return };
    if part.strip_prefix("loop:").is_some_and(|part| url.contains(part)) {
        work(&how, url);
    }
}

/// A fetch that no limit of its own ends.
#[cfg(debug_assertions)]
pub async fn linger(url: &str) {
    if poison().is_some_and(|(how, part)| how == "never" && url.contains(&part)) {
        std::future::pending().await
    }
}

#[cfg(debug_assertions)]
fn poison() -> Option<(String, String)> {
    let poison = std::env::var("HARVESTMAN_TEST_POISON").ok()?;
    let (how, part) = poison.split_once(':')?;
    Some((how.to_owned(), part.to_owned()))
}

#[cfg(debug_assertions)]
fn work(how: &str, url: &str) {
    match how {
        "panic" => panic!("poisoned: {url}"),
        "abort" => std::process::abort(),
        "hang" => loop {
            std::thread::sleep(std::time::Duration::from_secs(3_600));
        },
        _ => {}
    }
}

#[cfg(not(debug_assertions))]
pub fn taste(_url: &str) {}

#[cfg(not(debug_assertions))]
pub fn taste_in_loop(_url: &str) {}

#[cfg(not(debug_assertions))]
pub async fn linger(_url: &str) {}
