//! Pages on their way into `gather`, for the tests of this folder.

use gatherer::{GatherOptions, Gathered, gather};
use model::{
    Exchange,
    testing::{exchange, url},
};

pub const PAGE: &str = "http://page.test/dir/page";

pub fn gather_html(page: &str) -> Gathered {
    let fields = [("Content-Type", "text/html; charset=utf-8")];
    let exchange = Exchange { url: url(PAGE), ..exchange(200, &fields, page.as_bytes()) };
    gather(&exchange, &GatherOptions::default())
}

/// What `gather` makes of a reference, when it is a link at all.
pub fn resolved(reference: &str) -> Option<String> {
    let base = url(PAGE);
    let is_inside = reference.trim_matches(|c| c <= ' ').starts_with('#');
    if is_inside { None } else { base.join(reference).ok().map(|url| url.to_string()) }
}

/// One case of html5lib's tree-construction files.
pub struct TreeCase {
    pub file: String,
    pub data: String,
    pub fragment: bool,
    pub scripted: bool,
    pub tree: Vec<String>,
}

/// All cases, or `None` when the data is not there.
pub fn tree_cases() -> Option<Vec<TreeCase>> {
    let folder = model::testing::conformance("html5lib/tree-construction")?;
    let mut files: Vec<_> =
        std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "dat")) {
        let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cases.extend(text.split("\n#data\n").map(|case| read_case(&file, case)));
    }
    Some(cases)
}

fn read_case(file: &str, text: &str) -> TreeCase {
    let text = text.strip_prefix("#data\n").unwrap_or(text);
    let (data, rest) = text.split_once("\n#errors").unwrap_or_else(|| {
        // An empty page: its line is the one before `#errors`.
        ("", text.strip_prefix("#errors").unwrap_or(text))
    });
    let (head, tree) = rest.split_once("#document\n").unwrap_or((rest, ""));
    TreeCase {
        file: file.to_owned(),
        data: data.to_owned(),
        fragment: head.contains("#document-fragment"),
        scripted: head.contains("#script-on"),
        tree: tree.trim_end_matches('\n').split('\n').map(str::to_owned).collect(),
    }
}
