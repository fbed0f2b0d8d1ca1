//! The `harvest.toml` that a new collection begins with: the commonest keys, all commented out.

use super::keys::{KEYS, Kind, sections};

/// Every line is a comment, so the file changes nothing until somebody edits it.
pub fn template() -> String {
    let mut text = String::from(
        "# Configuration of this collection. Every line that begins with # shows a default; to set a\n\
         # key, remove the # from its line and from the line of its [section].\n\
         # `harvestman config` prints all keys with their values and where each comes from;\n\
         # docs/configuration.md explains them.\n",
    );
    for section in sections() {
        let keys = KEYS.iter().filter(|key| key.section() == section && key.common);
        let lines: Vec<String> = keys
            .map(|key| {
                let remark = match (key.kind, key.default) {
                    (Kind::OneOf(words), _) => format!("   # {}", words.join(", ")),
                    (_, "\"none\"" | "[]") => format!("   # such as {}", key.example),
                    _ => String::new(),
                };
                format!("# {}\n# {} = {}{remark}\n", key.doc, key.short(), key.default)
            })
            .collect();
        if !lines.is_empty() {
            // A section that is open would be a mistake where somebody appends it.
            text.push_str(&format!("\n# [{section}]\n#\n{}", lines.join("#\n")));
        }
    }
    text
}
