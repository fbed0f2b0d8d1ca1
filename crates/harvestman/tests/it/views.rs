//! The views of `crawl.db`, which docs/formats.md promises to people who ask it with SQL.

use std::{fs, path::PathBuf};

use simweb::{PageCount, WebOptions};
use store::testing;

use crate::world::World;

#[test]
fn the_queries_of_the_documentation_find_pages_and_visits_of_a_collection() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(4), ..WebOptions::default() });
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    let queries = documented().replace("example.org", "s0.sim.test");
    for query in queries.split(';').map(str::trim).filter(|query| !query.is_empty()) {
        assert_eq!(testing::rows_of(&world.folder, query), 4, "{query}");
    }
    for view in ["v_sites", "v_spiders"] {
        assert_eq!(testing::rows_of(&world.folder, &format!("SELECT * FROM {view}")), 1);
    }
}

fn documented() -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/formats.md"].iter().collect();
    let text = fs::read_to_string(path).unwrap();
    let block = text.split("```sql").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("docs/formats.md has a block of SQL").to_owned()
}
