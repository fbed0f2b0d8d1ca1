//! The forms of a page, as far as a login needs them: where they go and what they hide.
//!
//! A scanner over tags, after the tokenizer of the HTML standard: comments and the insides of scripts,
//! styles and their like hold no tags, attributes may be quoted or not, a form inside a form is none, an
//! input may name its form by `form=`. One pass, every byte looked at a bounded number of times, forms
//! and inputs counted: what goes beyond is left out.

use model::CrawlUrl;

/// A page with more is no login page.
const FORMS_MAX: usize = 64;
/// … of all forms together.
const INPUTS_MAX: usize = 1_000;
/// Login pages are small; the rest of a larger page is not read.
const PAGE_BYTES_MAX: usize = 2 << 20;
/// Elements that hold text, never tags.
const RAW: [&str; 8] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

#[derive(Debug, Default)]
pub struct Forms {
    pub list: Vec<Form>,
    base: Option<String>,
}

#[derive(Debug, Default)]
pub struct Form {
    pub name: Option<String>,
    pub id: Option<String>,
    pub hidden: Vec<(String, String)>,
    pub has_password: bool,
    action: Option<String>,
}

impl Forms {
    pub fn read(body: &[u8]) -> Forms {
        let text = String::from_utf8_lossy(&body[..body.len().min(PAGE_BYTES_MAX)]);
        let mut reader = Reader::default();
        let mut rest = &text[..];
        while let Some(start) = rest.find('<') {
            rest = reader.markup(&rest[start + 1..]);
        }
        reader.finish()
    }

    /// Where a form goes: its action against the page's base, without one the page itself.
    pub fn target(&self, form: &Form, page: &CrawlUrl) -> Result<CrawlUrl, String> {
        let base = match &self.base {
            Some(base) => page.join(base).unwrap_or_else(|_| page.clone()),
            None => page.clone(),
        };
        match form.action.as_deref().map(str::trim) {
            None | Some("") => Ok(page.clone()),
            Some(action) => {
                base.join(action).map_err(|e| format!("the form goes to what is no page: {e}"))
            }
        }
    }
}

#[derive(Default)]
struct Reader {
    forms: Forms,
    inputs: Vec<Input>,
    /// The form that is open.
    open: Option<usize>,
}

struct Input {
    /// By `form=`, the id; else by place.
    owner: Result<String, usize>,
    kind: Kind,
    name: String,
    value: String,
}

#[derive(PartialEq)]
enum Kind {
    Hidden,
    Password,
}

impl Reader {
    /// Takes what stands behind a `<`; returns what comes after it.
    fn markup<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(comment) = rest.strip_prefix("!--") {
            return after(comment, "-->");
        }
        let (closing, rest) = match rest.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return rest;
        }
        let (tag, rest) = Tag::read(rest);
        match (tag.name.as_str(), closing) {
            ("form", true) => self.open = None,
            (_, true) => {}
            ("form", false) => self.form(tag),
            ("input", false) => self.input(tag),
            ("base", false) if self.forms.base.is_none() => self.forms.base = tag.get("href"),
            (name, false) if RAW.contains(&name) => return after_end_of(rest, name),
            _ => {}
        }
        rest
    }

    fn form(&mut self, tag: Tag) {
        if self.open.is_some() || self.forms.list.len() == FORMS_MAX {
            return;
        }
        self.open = Some(self.forms.list.len());
        self.forms.list.push(Form {
            name: tag.get("name"),
            id: tag.get("id"),
            action: tag.get("action"),
            ..Form::default()
        });
    }

    fn input(&mut self, tag: Tag) {
        let owner = match (tag.get("form"), self.open) {
            (Some(id), _) => Ok(id),
            (None, Some(open)) => Err(open),
            (None, None) => return,
        };
        let kind = match tag.get("type").map(|kind| kind.to_ascii_lowercase()).as_deref() {
            Some("hidden") => Kind::Hidden,
            Some("password") => Kind::Password,
            _ => return,
        };
        if self.inputs.len() < INPUTS_MAX {
            let name = tag.get("name").unwrap_or_default();
            let value = tag.get("value").unwrap_or_default();
            self.inputs.push(Input { owner, kind, name, value });
        }
    }

    fn finish(mut self) -> Forms {
        for input in self.inputs {
            let list = &mut self.forms.list;
            let form = match &input.owner {
                Ok(id) => list.iter_mut().find(|form| form.id.as_ref() == Some(id)),
                Err(place) => list.get_mut(*place),
            };
            let Some(form) = form else { continue };
            form.has_password |= input.kind == Kind::Password;
            if input.kind == Kind::Hidden && !input.name.is_empty() {
                form.hidden.push((input.name, input.value));
            }
        }
        self.forms
    }
}

struct Tag {
    name: String,
    /// Names in lower case; of several of a name the first counts.
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn get(&self, name: &str) -> Option<String> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }

    /// From its name on; returns what comes after its `>`.
    fn read(text: &str) -> (Tag, &str) {
        let end = text.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        let (name, mut rest) = text.split_at(end.unwrap_or(text.len()));
        let mut tag = Tag { name: name.to_ascii_lowercase(), attributes: Vec::new() };
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return (tag, rest);
            }
            if let Some(rest) = rest.strip_prefix('>') {
                return (tag, rest);
            }
            rest = tag.attribute(rest);
        }
    }

    /// At least one character is taken, so that reading comes to an end.
    fn attribute<'a>(&mut self, text: &'a str) -> &'a str {
        /// Only a few are asked for; a tag with more is a trap.
        const ATTRIBUTES_MAX: usize = 64;
        let first = text.chars().next().map_or(0, char::len_utf8);
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
        let end = text[first..].find(ends).map_or(text.len(), |end| end + first);
        let (name, rest) = text.split_at(end);
        let after_space = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (value, rest) = match after_space.strip_prefix('=') {
            Some(rest) => value(rest.trim_start_matches(|c: char| c.is_ascii_whitespace())),
            None => ("", rest),
        };
        if self.attributes.len() < ATTRIBUTES_MAX {
            self.attributes.push((name.to_ascii_lowercase(), unescape(value)));
        }
        rest
    }
}

fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>');
    text.split_at(end.unwrap_or(text.len()))
}

/// What forms hold is made by programs: numbers and the five names of XML are all they use.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        // The longest reference, `&#x10ffff;`, has ten characters.
        let end = rest.bytes().take(12).position(|b| b == b';');
        match end.and_then(|end| Some((reference(&rest[1..end])?, end))) {
            Some((meant, end)) => {
                plain.push(meant);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| *c != '\0')
        }
    }
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.find(end).map_or("", |place| &text[place + end.len()..])
}

/// Behind `</name`, whatever its case.
fn after_end_of<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(place) = rest.find("</") {
        rest = &rest[place + 2..];
        if rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return &rest[name.len()..];
        }
    }
    ""
}
