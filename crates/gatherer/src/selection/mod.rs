//! CSS selections: which elements' text tells of changes, and which is left out.
//!
//! A subset of CSS that can be matched as tags go by, without a tree: tag names, `*`, `#id`, `.class`,
//! `[attribute]`, `[attribute=value]`, descendants, `>` and lists. Everything else is refused when it is
//! read, never ignored when it is matched.
//!
//! The rooms: `parse` reads selectors, `open` follows the open elements of a page and matches.

mod open;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use open::Selecting;

/// Parts of the selectors of one list. Which of them an open element has matched is kept in one number with a
/// bit for each, and there are two lists; people write a dozen.
pub const PARTS_MAX: usize = 32;

/// What to look at (`watch`) and what to overlook (`ignore`). Empty lists select nothing: then all text
/// counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    parts: Vec<Part>,
    /// The parts that end a selector of either list, as bits.
    watch: u64,
    ignore: u64,
}

impl Selection {
    /// The error says what is wrong with which selector.
    pub fn new<S: AsRef<str>>(watch: &[S], ignore: &[S]) -> Result<Selection, String> {
        let mut selection = Selection::default();
        selection.watch = selection.add_all(watch)?;
        selection.ignore = selection.add_all(ignore)?;
        Ok(selection)
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Only what is selected counts.
    pub fn is_watching(&self) -> bool {
        self.watch != 0
    }

    /// The bits of the parts that end a selector of the list.
    fn add_all<S: AsRef<str>>(&mut self, list: &[S]) -> Result<u64, String> {
        let (before, mut ends) = (self.parts.len(), 0);
        for text in list {
            for selector in parse::selectors(text.as_ref())? {
                self.parts.extend(selector);
                if self.parts.len() - before > PARTS_MAX {
                    return Err(format!("the selectors have more than {PARTS_MAX} parts together"));
                }
                ends |= 1 << (self.parts.len() - 1);
            }
        }
        Ok(ends)
    }
}

/// What one element must be like, and where it must stand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    join: Join,
    /// Lower case; `None`: any.
    name: Option<String>,
    tests: Vec<Test>,
}

/// How a part hangs on the part before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    /// It is the first.
    Anywhere,
    Inside,
    Child,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Id(String),
    Class(String),
    Has(String),
    Is(String, String),
}
