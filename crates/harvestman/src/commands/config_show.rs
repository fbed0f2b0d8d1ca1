//! `config`: every key with its value and where that comes from. The listing is itself a `harvest.toml`.

use super::{Context, config_check};
use crate::{
    cli::{ConfigAction, ConfigArgs},
    terminal::{print, print_json},
};
use collection::settings::settings;
use config::{
    Config, Reach, Secret, Setting,
    failure::{Exit, Failure},
    keys, quoted,
};
use model::printable;

/// Values longer than this do not push the column of origins further to the right.
const COLUMN_MAX: usize = 44;

pub fn run(context: &Context, args: &ConfigArgs) -> Result<Exit, Failure> {
    if let Some(ConfigAction::Check(args)) = &args.action {
        return config_check::run(context, args);
    }
    let config = context.config(args.flags.values())?;
    match context.json {
        true => print_json(&settings(&config))?,
        false => print(&as_toml(&config))?,
    }
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
            text.push_str(&format!("{line:width$}  # {}\n", remark_of(setting)));
        }
    }
    text.push_str(&tables(config));
    text
}

/// Overrides as they would be written; what holds secrets as remarks, since it cannot be.
fn tables(config: &Config) -> String {
    let mut text = String::new();
    for (line, lines) in config.overrides.listing() {
        text.push_str(&format!("\n[[override]]  # line {line}\n"));
        lines.iter().for_each(|line| text.push_str(&format!("{}\n", printable(line))));
    }
    for credential in &config.credentials {
        let scheme = credential.scheme.word();
        let spider = spider_of(credential.spider.as_deref());
        text.push_str(&format!(
            "\n# [[credential]] line {}: origin = \"{}\", {scheme} = {}{spider}\n",
            credential.at.line, credential.origin, credential.secret,
        ));
    }
    for login in &config.logins {
        let field = |(name, secret): &(String, Secret)| format!("{} = {secret}", quoted(name));
        let fields: Vec<String> = login.fields.iter().map(field).collect();
        let spider = spider_of(login.spider.as_deref());
        let line = format!(
            "# [[login]] line {}: page = \"{}\", fields = {{ {} }}{spider}",
            login.at.line,
            login.page,
            fields.join(", "),
        );
        text.push_str(&format!("\n{}\n", printable(&line)));
    }
    for webhook in &config.webhooks {
        let line = format!(
            "# [[webhook]] line {}: name = {}, url = \"{}\", secret = {}{}",
            webhook.at.line,
            quoted(&webhook.name),
            webhook.shown_url(),
            webhook.secret,
            spider_of(webhook.spider.as_deref()),
        );
        text.push_str(&format!("\n{}\n", printable(&line)));
    }
    text
}

fn spider_of(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(", spider = {}", quoted(&printable(name))))
}

/// Where the value comes from, and for what else than the whole collection it can be set.
fn remark_of(setting: &Setting) -> String {
    let reach = match setting.key.reach {
        Reach::Collection => "",
        Reach::Spider => "; also for spiders",
        Reach::Site => "; also for spiders, sites",
        Reach::Page => "; also for spiders, sites, pages",
    };
    format!("{}{reach}", printable(&setting.origin.to_string()))
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
    fn the_listing_says_how_far_down_a_key_can_be_set() {
        let text = as_toml(&Config::defaults());
        let remark = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_once('#').unwrap().1.to_owned()
        };
        assert_eq!(remark("volume_bytes_max ="), " default");
        assert_eq!(remark("scope ="), " default; also for spiders");
        assert_eq!(remark("delay ="), " default; also for spiders, sites");
        assert_eq!(remark("period ="), " default; also for spiders, sites, pages");
    }

    #[test]
    fn the_listing_shows_tables_but_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[fetch]\nproxy = 'http://me:hush1@proxy.example:3128'\n\
                    [[override]]\nwhen = 'host a.org'\netiquette.delay = '9s'\n\
                    [[credential]]\norigin = 'https://a.org'\nbasic = 'me:hush2'\n\
                    [[credential]]\norigin = 'https://b.org'\nbearer = 'env:TOKEN'\n\
                    [[login]]\npage = 'https://a.org/login'\nsuccess = 'cookie sid'\n\
                    fields = { user = 'me', password = 'hush3' }\n";
        std::fs::write(folder.path().join("harvest.toml"), text).unwrap();
        let config = Config::load(folder.path(), Vec::new()).unwrap();
        let shown = as_toml(&config);
        for part in [
            "proxy = \"http://***@proxy.example:3128\"",
            "[[override]]  # line 3\nwhen = \"host a.org\"\netiquette.delay = \"9s\"\n",
            "# [[credential]] line 6: origin = \"https://a.org\", basic = \"***\"\n",
            "# [[credential]] line 9: origin = \"https://b.org\", bearer = \"env:TOKEN\"\n",
            "fields = { \"user\" = \"***\", \"password\" = \"***\" }",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let tables = format!("{:?} {:?}", config.credentials, config.logins);
        let json = serde_json::to_string(&settings(&config)).unwrap();
        for text in [shown, json, tables, format!("{:?}", config.settings())] {
            assert!(!text.contains("hush"), "{text}");
        }
    }

    #[test]
    fn the_json_listing_has_every_key() {
        let json = serde_json::to_value(settings(&Config::defaults())).unwrap();
        assert_eq!(json["total"], keys::KEYS.len());
        assert_eq!(json["rows"][0]["key"], "crawl.pages");
        assert_eq!(json["rows"][0]["origin"]["kind"], "default");
    }
}
