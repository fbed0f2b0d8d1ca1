//! `config`: every key with its value and where that comes from. The listing is itself a `harvest.toml`.

use serde_json::json;

use super::Context;
use crate::{
    cli::ConfigArgs,
    config::{Config, Origin, Setting, keys},
    exit::{Exit, Failure},
    terminal::{print, printable},
};

/// Values longer than this do not push the column of origins further to the right.
const COLUMN_MAX: usize = 44;

pub fn run(context: &Context, args: &ConfigArgs) -> Result<Exit, Failure> {
    let config = context.config(args.flags.values())?;
    print(&if context.json { as_json(&config) } else { as_toml(&config) })?;
    Ok(Exit::Done)
}

fn as_toml(config: &Config) -> String {
    let line = |setting: &Setting| {
        format!("{} = {}", setting.key.short(), setting.value.shown(setting.key))
    };
    let width = config
        .settings()
        .iter()
        .map(|setting| line(setting).chars().count())
        .filter(|width| *width <= COLUMN_MAX)
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for section in keys::sections() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{section}]\n"));
        for setting in config.settings().iter().filter(|s| s.key.section() == section) {
            let line = printable(&line(setting)).into_owned();
            text.push_str(&format!("{line:width$}  # {}\n", remark_of(&setting.origin)));
        }
    }
    text
}

fn remark_of(origin: &Origin) -> String {
    printable(&origin.to_string()).into_owned()
}

fn as_json(config: &Config) -> String {
    let settings: Vec<serde_json::Value> = config
        .settings()
        .iter()
        .map(|setting| {
            json!({
                "key": setting.key.name,
                "value": setting.value.shown(setting.key).json(),
                "origin": setting.origin.json(),
                "default": setting.key.default,
                "about": setting.key.doc,
                "reach": setting.key.reach.word(),
                "live": setting.key.live,
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_has_every_key_with_its_origin() {
        let text = as_toml(&Config::defaults());
        assert_eq!(text.matches("# default").count(), keys::KEYS.len());
        assert!(text.starts_with("[crawl]\npages = \"none\""), "{text}");
    }

    #[test]
    fn the_json_listing_has_every_key() {
        let json: serde_json::Value = serde_json::from_str(&as_json(&Config::defaults())).unwrap();
        assert_eq!(json.as_array().unwrap().len(), keys::KEYS.len());
        assert_eq!(json[0]["key"], "crawl.pages");
        assert_eq!(json[0]["origin"]["kind"], "default");
    }
}
