//! Poison for tests: in debug builds alone, pages can be made to break the reading of them down, to see that it
//! costs a page and not the crawl. `HARVESTMAN_TEST_POISON=panic:PART` (or `abort:`, `hang:`) is about every URL that
//! contains PART. Release builds know nothing of it.

#[cfg(debug_assertions)]
pub fn taste(url: &str) {
    let Ok(poison) = std::env::var("HARVESTMAN_TEST_POISON") else { return };
    let Some((how, part)) = poison.split_once(':') else { return };
    if !url.contains(part) {
        return;
    }
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
