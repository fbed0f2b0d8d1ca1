//! `crawl.filter`: a script of the user's with one function, `crawl(url) -> bool`.
//!
//! Rhai, shared by all threads, without state: nothing a call does is seen by the next. A script reaches
//! nothing but its argument and is bounded in work, depth and size; an error or too much work while
//! judging counts as a refusal that says so. What is broken is found at start: the script is compiled
//! and tried on one URL.
//!
//! `url` has `url`, `scheme`, `host`, `domain`, `port`, `path`, `query`, `extension` (lower case),
//! `level` and `dynamic`; what a URL does not have is an empty text.

#[cfg(test)]
mod tests;

use std::fmt;

use model::CrawlUrl;
use rhai::{
    AST, CallFnOptions, Engine, EvalAltResult, INT, ImmutableString, Position, Scope,
    packages::{
        ArithmeticPackage, BasicArrayPackage, BasicIteratorPackage, BasicMapPackage,
        BasicStringPackage, LogicPackage, MoreStringPackage, Package,
    },
};

/// A script is a page of text, not a program.
pub const SCRIPT_BYTES_MAX: usize = 65_536;
/// Some 20 µs of work for one URL: hundreds of comparisons, and the end of an endless loop.
const OPERATIONS_MAX: u64 = 10_000;
/// Functions inside each other.
const CALLS_MAX: usize = 16;
const NESTING_MAX: usize = 32;
/// Twice the longest URL that can be configured.
const TEXT_BYTES_MAX: usize = 131_072;
const ITEMS_MAX: usize = 1_000;

pub struct Script {
    /// As the user names it.
    name: String,
    engine: Engine,
    ast: AST,
}

/// A script that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("{0}")]
    Whole(String),
}

/// Why a script had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptFault {
    /// It works without end, or nearly.
    Endless,
    /// A text or list grew beyond its bound.
    TooLarge,
    /// Functions inside each other, without end.
    TooDeep,
    /// Something in this line, 0 where it has none.
    Error {
        line: usize,
    },
    NoBool,
}

/// What a script sees of a URL: made for nothing, each part only when it is asked for.
#[derive(Clone)]
struct Seen {
    url: CrawlUrl,
    level: u16,
    dynamic: bool,
}

impl Script {
    pub fn compile(name: &str, source: &str) -> Result<Script, ScriptError> {
        if source.len() > SCRIPT_BYTES_MAX {
            let what = format!("it is larger than {SCRIPT_BYTES_MAX} bytes");
            return Err(ScriptError::Whole(what));
        }
        let engine = engine();
        let ast = engine
            .compile(source)
            .map_err(|error| at_line(error.position(), error.err_type().to_string()))?;
        let is_crawl = |name: &str, parameters: usize| (name, parameters) == ("crawl", 1);
        if !ast.iter_functions().any(|function| is_crawl(function.name, function.params.len())) {
            let what = "it has no function crawl(url)".to_owned();
            return Err(ScriptError::Whole(what));
        }
        let script = Script { name: name.to_owned(), engine, ast };
        script.trial()?;
        Ok(script)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the script says.
    pub fn wants(&self, url: &CrawlUrl, level: u16, dynamic: bool) -> Result<bool, ScriptFault> {
        let result = self.call(url, level, dynamic);
        result.map_err(|error| fault(&error))
    }

    fn call(&self, url: &CrawlUrl, level: u16, dynamic: bool) -> Result<bool, Box<EvalAltResult>> {
        let options = CallFnOptions::new().eval_ast(false);
        let seen = Seen { url: url.clone(), level, dynamic };
        self.engine.call_fn_with_options(options, &mut Scope::new(), &self.ast, "crawl", (seen,))
    }

    /// Misspelt names are only found by running.
    fn trial(&self) -> Result<(), ScriptError> {
        let url = CrawlUrl::parse("http://www.example.org/folder/page.html?a=1")
            .map_err(|error| ScriptError::Whole(error.to_string()))?;
        self.call(&url, 1, true).map(drop).map_err(|error| {
            let error = innermost(&error);
            let what = match fault(error) {
                ScriptFault::Endless => format!("more than {OPERATIONS_MAX} steps for one URL"),
                ScriptFault::NoBool => "crawl(url) returns neither true nor false".to_owned(),
                _ => without_position(error),
            };
            at_line(error.position(), what)
        })
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptFault::Endless => write!(f, "stopped after {OPERATIONS_MAX} steps"),
            ScriptFault::TooLarge => f.write_str("made a text or list that is too large"),
            ScriptFault::TooDeep => f.write_str("called functions too deep inside each other"),
            ScriptFault::Error { line: 0 } => f.write_str("failed"),
            ScriptFault::Error { line } => write!(f, "failed in line {line}"),
            ScriptFault::NoBool => f.write_str("answered neither true nor false"),
        }
    }
}

/// Without the core package, which can sleep; without anything that reads, writes or loads.
fn engine() -> Engine {
    let mut engine = Engine::new_raw();
    ArithmeticPackage::new().register_into_engine(&mut engine);
    LogicPackage::new().register_into_engine(&mut engine);
    BasicStringPackage::new().register_into_engine(&mut engine);
    MoreStringPackage::new().register_into_engine(&mut engine);
    BasicIteratorPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    BasicMapPackage::new().register_into_engine(&mut engine);
    engine
        .disable_symbol("eval")
        .set_max_operations(OPERATIONS_MAX)
        .set_max_call_levels(CALLS_MAX)
        .set_max_expr_depths(NESTING_MAX, NESTING_MAX)
        .set_max_string_size(TEXT_BYTES_MAX)
        .set_max_array_size(ITEMS_MAX)
        .set_max_map_size(ITEMS_MAX)
        .set_max_variables(ITEMS_MAX)
        .set_max_functions(ITEMS_MAX);
    register_url(&mut engine);
    engine
}

fn register_url(engine: &mut Engine) {
    let text = |text: &str| ImmutableString::from(text);
    engine
        .register_type_with_name::<Seen>("Url")
        .register_get("url", move |seen: &mut Seen| text(seen.url.as_str()))
        .register_get("scheme", move |seen: &mut Seen| text(seen.url.scheme()))
        .register_get("host", move |seen: &mut Seen| text(seen.url.host()))
        .register_get("domain", move |seen: &mut Seen| text(seen.url.domain()))
        .register_get("port", |seen: &mut Seen| INT::from(seen.url.port_or_default()))
        .register_get("path", move |seen: &mut Seen| text(seen.url.path()))
        .register_get("query", move |seen: &mut Seen| text(seen.url.query().unwrap_or_default()))
        .register_get("extension", |seen: &mut Seen| {
            seen.url.extension().unwrap_or_default().to_ascii_lowercase()
        })
        .register_get("level", |seen: &mut Seen| INT::from(seen.level))
        .register_get("dynamic", |seen: &mut Seen| seen.dynamic);
}

fn fault(error: &EvalAltResult) -> ScriptFault {
    match innermost(error) {
        EvalAltResult::ErrorTooManyOperations(_) => ScriptFault::Endless,
        EvalAltResult::ErrorDataTooLarge(..) => ScriptFault::TooLarge,
        EvalAltResult::ErrorStackOverflow(_) => ScriptFault::TooDeep,
        EvalAltResult::ErrorMismatchOutputType(..) => ScriptFault::NoBool,
        other => ScriptFault::Error { line: other.position().line().unwrap_or(0) },
    }
}

/// What went wrong, rather than which call it went wrong in.
fn innermost(mut error: &EvalAltResult) -> &EvalAltResult {
    while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) = error {
        error = inner;
    }
    error
}

fn without_position(error: &EvalAltResult) -> String {
    let text = error.to_string();
    text.rfind(" (line ").map_or(text.as_str(), |at| &text[..at]).to_owned()
}

fn at_line(position: Position, what: String) -> ScriptError {
    match position.line() {
        Some(line) => ScriptError::Line { line, what },
        None => ScriptError::Whole(what),
    }
}
