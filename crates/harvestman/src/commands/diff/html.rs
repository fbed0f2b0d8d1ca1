//! A diff as one page for a browser: no scripts, nothing from elsewhere, light or dark as the reader has it.
//!
//! The texts come from the web and are shown, never interpreted: every sign that means something to HTML is
//! escaped, signs that turn the direction of reading are written out, and the page forbids itself scripts
//! and every request.

use std::fmt::Write;

use collection::diff::{Diff, Line, LineKind};
use model::printable;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--soft:#66707a;--rule:#dfe3e8;--del:#ffeef0;\
--del-mark:#fbb6be;--ins:#e8fbee;--ins-mark:#a5e8b8}\
@media(prefers-color-scheme:dark){:root{--ink:#e3e6ea;--paper:#15181c;--soft:#939ca6;--rule:#30363d;\
--del:#341a1e;--del-mark:#7d2a35;--ins:#13301d;--ins-mark:#1f6b38}}\
body{margin:2rem auto;max-width:70rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;\
color:var(--ink);background:var(--paper)}\
h1{font-size:1.3rem;overflow-wrap:anywhere}p{color:var(--soft)}\
section{border:1px solid var(--rule);border-radius:6px;margin:1rem 0;overflow:hidden;\
font:14px/1.5 ui-monospace,monospace}\
h2{font:inherit;color:var(--soft);margin:0;padding:.3rem .8rem;border-bottom:1px solid var(--rule)}\
div{white-space:pre-wrap;overflow-wrap:anywhere;padding:0 .8rem 0 1.8rem;text-indent:-1rem;\
min-height:1.5em;unicode-bidi:isolate}\
.del{background:var(--del)}.ins{background:var(--ins)}del,ins{text-decoration:none;border-radius:3px}\
del{background:var(--del-mark)}ins{background:var(--ins-mark)}";

/// `facts` are lines about what is compared, shown below the title.
pub fn page(title: &str, facts: &[String], diff: &Diff) -> String {
    let title = escaped(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for fact in facts {
        let _ = writeln!(page, "<p>{}</p>", escaped(fact));
    }
    for hunk in &diff.hunks {
        let _ = writeln!(
            page,
            "<section>\n<h2>line {} of the old, line {} of the new</h2>",
            hunk.old_line, hunk.new_line
        );
        for line in &hunk.lines {
            write_line(&mut page, line);
        }
        page.push_str("</section>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn write_line(page: &mut String, line: &Line) {
    let (class, sign, mark) = match line.kind {
        LineKind::Same => ("same", ' ', "span"),
        LineKind::Removed => ("del", '-', "del"),
        LineKind::Added => ("ins", '+', "ins"),
    };
    let _ = write!(page, "<div class=\"{class}\">{sign} ");
    for part in &line.parts {
        let text = escaped(&part.text);
        let _ = match part.changed {
            true => write!(page, "<{mark}>{text}</{mark}>"),
            false => write!(page, "{text}"),
        };
    }
    page.push_str("</div>\n");
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}
