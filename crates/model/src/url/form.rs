//! What may be changed about a URL only where the user says so.
//!
//! Applying a form twice changes nothing more, and its result is canonical like what it was made from:
//! whole segments and whole parameters go or move, none is rewritten.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalForm {
    /// File names that mean their folder: `index.html`.
    pub index_names: Vec<String>,
    /// By name; parameters of one name keep their order.
    pub sort_query: bool,
    /// Query parameters to remove, `*` at the end stands for any rest: `utm_*`.
    pub strip_query: Vec<String>,
}

impl NormalForm {
    /// Path and query in this form; `None`: they are already.
    pub(super) fn rewrite(&self, path: &str, query: Option<&str>) -> Option<String> {
        let new_path = self.without_index(path);
        let new_query = query.and_then(|query| self.query(query));
        if new_path.len() == path.len() && new_query.is_none() {
            return None;
        }
        let query = new_query.as_deref().or(query);
        // A query that was emptied here loses its question mark; one that was written so keeps it.
        match query.filter(|query| !query.is_empty() || new_query.is_none()) {
            None => Some(new_path.to_owned()),
            Some(query) => Some([new_path, "?", query].concat()),
        }
    }

    fn without_index<'a>(&self, path: &'a str) -> &'a str {
        let (folder, file) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        let is_index = !file.is_empty() && self.index_names.iter().any(|name| name == file);
        if is_index { folder } else { path }
    }

    /// The query without what is stripped, in order; `None` when that changes nothing.
    fn query(&self, query: &str) -> Option<String> {
        if !self.sort_query && self.strip_query.is_empty() {
            return None;
        }
        let is_kept = |parameter: &&str| !self.strips(name_of(parameter));
        let mut kept: Vec<&str> = query.split('&').filter(is_kept).collect();
        if !self.sort_query && kept.len() == query.split('&').count() {
            return None;
        }
        kept.retain(|parameter| !parameter.is_empty());
        if self.sort_query {
            kept.sort_by_key(|parameter| name_of(parameter));
        }
        let rewritten = kept.join("&");
        (rewritten != query || query.is_empty()).then_some(rewritten)
    }

    fn strips(&self, name: &str) -> bool {
        self.strip_query.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        })
    }
}

fn name_of(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}
