//! All that settling an answer writes, as texts that can be compared.

use std::{collections::BTreeSet, path::Path};

use super::open;

/// What is compared: a name, and a query whose rows are texts. Times are not, nor where records lie.
const QUESTIONS: [(&str, &str); 8] = [
    (
        "pages",
        "SELECT url || ' state ' || state || ' level ' || level || ' hops ' || hops || ' seed ' || seed \
         || ' requisite ' || requisite || ' notice ' || notice || ' outside ' || outside \
         || ' via ' || via || ' fetched ' || fetched || ' failures ' || failures \
         || ' visits ' || visits || ' turn ' || turn || ' compared ' || compared \
         || ' changes ' || changes || ' signals ' || signals || ' due ' || (due IS NOT NULL) FROM pages",
    ),
    (
        "facts",
        "SELECT p.url || ' type ' || media_type || ' charset ' || charset || ' title ' || title \
         || ' language ' || language || ' canonical ' || coalesce(canonical, '-') \
         || ' etag ' || coalesce(etag, '-') || ' location ' || coalesce(location, '-') \
         || ' text ' || text_bytes || ' internal ' || links_internal || ' external ' || links_external \
         || ' noindex ' || noindex || ' duplicate ' || coalesce(duplicate_of, '-') \
         || ' near ' || coalesce(near_of, '-') \
         FROM page_facts f JOIN pages p ON p.site = f.site AND p.fp = f.fp",
    ),
    (
        "visits",
        "SELECT p.url || ' change ' || change || ' status ' || status || ' failure ' || coalesce(failure, '-') \
         || ' count ' || count || ' wire ' || wire_bytes || ' body ' || body_bytes \
         || ' digest ' || coalesce(hex(payload_digest), '-') || ' content ' || content_hash \
         || ' text ' || text_hash || ' simhash ' || simhash || ' record ' || (record_id IS NOT NULL) \
         || ' revisit ' || revisit || ' lost ' || coalesce(lost, '-') \
         FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp",
    ),
    (
        "sites",
        "SELECT key || ' pages ' || pages || ' known ' || known || ' waiting ' || waiting \
         || ' fetched ' || fetched || ' failed ' || failed || ' requisites ' || requisites \
         || ' duplicates ' || duplicates || ' visits ' || visits || ' bytes ' || bytes FROM sites",
    ),
    (
        "totals",
        "SELECT 'known ' || pages_known || ' fetched ' || pages_fetched || ' redirected ' || pages_redirected \
         || ' gone ' || pages_gone || ' requisites ' || requisites || ' visits ' || visits \
         || ' versions ' || versions || ' bytes ' || bytes FROM totals",
    ),
    (
        "hazards",
        "SELECT site || ' ' || hazard || ' ' || what || ' ' || measure || ' ' || count FROM hazards",
    ),
    ("decisions", "SELECT site || ' ' || reason || ' ' || rule || ' ' || count FROM decisions"),
    ("robots", "SELECT origin || ' ' || answer || ' ' || coalesce(status, '-') FROM robots"),
];

/// The answers to each question, by its name.
pub fn settled(folder: &Path) -> Vec<(&'static str, BTreeSet<String>)> {
    let database = open(folder);
    let rows = |query: &str| {
        let mut statement = database.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get::<String>(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    QUESTIONS.into_iter().map(|(name, query)| (name, rows(query))).collect()
}
