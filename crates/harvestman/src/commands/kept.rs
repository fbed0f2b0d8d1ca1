//! Remarks on versions that are not whole, or whose pages ask not to be archived.

use model::Stopped;

use super::Context;
use collection::archived::Kept;

/// What is missing of a version; `None` where it is whole.
pub fn missing(kept: Kept, stopped: Option<Stopped>) -> Option<String> {
    let what = match kept {
        Kept::Whole => return None,
        Kept::Beginning => "only the beginning of its content is kept",
        Kept::Nothing => "its content is not kept",
    };
    Some(match stopped {
        Some(stopped) => format!("{what}: {}", collection::why(stopped)),
        None => what.to_owned(),
    })
}

pub fn remark_missing(
    context: &Context,
    url: &str,
    version: usize,
    kept: Kept,
    stopped: Option<Stopped>,
) {
    if let Some(words) = missing(kept, stopped) {
        context.say(&format!("version {version} of {url}: {words}"));
    }
}

/// What the page asks for is about giving it to others: who runs the collection may read it, and must know.
pub fn remark_noarchive(context: &Context, url: &str) {
    context.say(&format!("the page says noarchive: {url} is shown to you and left out of exports"));
}
