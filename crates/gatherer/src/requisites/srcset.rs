//! The candidates of a `srcset` attribute (HTML standard, 4.8.4.2.2), without their descriptors.

/// The URLs in the order they stand.
pub(super) fn urls(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let url = word.trim_end_matches(',');
        // A comma at the end of the word ends the candidate; else its descriptors follow.
        rest = if url.len() < word.len() { behind } else { behind_descriptors(behind) };
        (!url.is_empty()).then_some(url)
    })
}

/// Behind the comma that ends the descriptors; commas in parentheses do not.
fn behind_descriptors(text: &str) -> &str {
    let mut inside = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => inside = true,
            b')' => inside = false,
            b',' if !inside => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}
