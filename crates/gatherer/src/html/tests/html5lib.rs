//! The tokenizer cases of html5lib. Parse errors and the parts of a doctype do not concern a
//! crawler; tags, attributes, text and comments must be equal.

use serde_json::Value;

use super::{Content, Token, tokens};

/// Files that are not run, each with its reason.
const EXCLUDED_FILES: [(&str, &str); 1] =
    [("xmlViolation.test", "expects an XML infoset, not HTML tokens")];

#[test]
fn html5lib_tokenizer_cases_give_the_same_tokens() {
    let Some(folder) = model::testing::conformance("html5lib/tokenizer") else { return };
    let folder = std::fs::read_dir(folder).unwrap();
    let (mut run, mut surrogates, mut failed) = (0, 0, Vec::new());
    for entry in folder {
        let path = entry.expect("the folder can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".test") || EXCLUDED_FILES.iter().any(|(file, _)| *file == name) {
            continue;
        }
        let data = std::fs::read(&path).expect("the file can be read");
        let Ok(file) = serde_json::from_slice::<Value>(&data) else {
            panic!("{name} is not JSON");
        };
        for case in file["tests"].as_array().expect("a list of tests") {
            match check(case) {
                Checked::Same(states) => run += states,
                Checked::Surrogate => surrogates += 1,
                Checked::Different(what) => failed.push(format!("{name}: {what}")),
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {run} differ:\n{}",
        failed.len(),
        failed[..failed.len().min(30)].join("\n")
    );
    // A lone surrogate cannot be in decoded text: the decoder makes U+FFFD of it.
    assert!(run > 6_500 && surrogates < 20, "{run} run, {surrogates} with lone surrogates");
}

enum Checked {
    /// In so many initial states.
    Same(usize),
    Surrogate,
    Different(String),
}

fn check(case: &Value) -> Checked {
    let escaped = case["doubleEscaped"].as_bool().unwrap_or(false);
    let text = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        if escaped { unescape(text) } else { Some(text.to_owned()) }
    };
    let (Some(input), Some(expected)) = (text(&case["input"]), expected(&case["output"], &text))
    else {
        return Checked::Surrogate;
    };
    let input = input.replace("\r\n", "\n").replace('\r', "\n");
    let open = case["lastStartTag"].as_str().unwrap_or_default();
    let default_states = [Value::from("Data state")];
    let states = case["initialStates"].as_array().map_or(&default_states[..], Vec::as_slice);
    for state in states {
        let found = tokens(&input, content(state), open);
        if found != expected {
            let description = &case["description"];
            return Checked::Different(format!(
                "{description} in {state}: {input:?}\n  found    {found:?}\n  expected {expected:?}"
            ));
        }
    }
    Checked::Same(states.len())
}

fn content(state: &Value) -> Content {
    match state.as_str().unwrap_or_default() {
        "RCDATA state" => Content::Rcdata,
        "RAWTEXT state" => Content::Rawtext,
        "Script data state" => Content::Script,
        "PLAINTEXT state" => Content::Plaintext,
        "CDATA section state" => Content::Cdata,
        "Data state" => Content::Data,
        other => panic!("unknown state {other}"),
    }
}

fn expected(output: &Value, text: &impl Fn(&Value) -> Option<String>) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    for token in output.as_array().into_iter().flatten() {
        let token = match token[0].as_str().unwrap_or_default() {
            "StartTag" => {
                let mut attributes = Vec::new();
                for (name, value) in token[2].as_object().into_iter().flatten() {
                    attributes.push((text(&Value::from(name.as_str()))?, text(value)?));
                }
                attributes.sort();
                let self_closing = token[3].as_bool().unwrap_or(false);
                Token::Start { name: text(&token[1])?, attributes, self_closing }
            }
            "EndTag" => Token::End(text(&token[1])?),
            "Character" => Token::Text(text(&token[1])?),
            "Comment" => Token::Comment(text(&token[1])?),
            "DOCTYPE" => Token::Doctype,
            other => panic!("unknown token {other}"),
        };
        match (tokens.last_mut(), token) {
            (Some(Token::Text(before)), Token::Text(more)) => before.push_str(&more),
            (_, token) => tokens.push(token),
        }
    }
    Some(tokens)
}

/// `\uHHHH` written out; `None` when a surrogate stands alone.
fn unescape(text: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        units.extend(rest[..at].encode_utf16());
        units.push(u16::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok()?);
        rest = &rest[at + 6..];
    }
    units.extend(rest.encode_utf16());
    String::from_utf16(&units).ok()
}
