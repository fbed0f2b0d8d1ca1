//! `config check`: everything that is wrong in what a crawl would read, at once, and when what is set
//! takes effect.

use std::{collections::BTreeMap, path::Path};

use serde_json::json;
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{cli::ConfigCheckArgs, terminal::print};
use config::{
    Config, FlagValues, Key, Origin,
    failure::{Exit, Failure},
    setup,
};
use model::printable;

/// A spider's name and its own values, as the collection keeps them.
type SpiderSettings = (String, BTreeMap<String, String>);

pub fn run(context: &Context, args: &ConfigCheckArgs) -> Result<Exit, Failure> {
    let mut findings = Findings::of(&context.folder, args.flags.values(), &spiders(context)?);
    if context.named && !context.folder.exists() {
        let folder = context.folder.display();
        findings.remarks.push(format!(
            "there is no {folder} yet: what was looked at are defaults, variables and flags"
        ));
    }
    print(&if context.json { findings.json() } else { findings.text() })?;
    Ok(if findings.mistakes.is_empty() { Exit::Done } else { Exit::Usage })
}

/// None where there is no collection yet.
fn spiders(context: &Context) -> Result<Vec<SpiderSettings>, Failure> {
    let Ok(collection) = Collection::open(&context.folder) else { return Ok(Vec::new()) };
    let rows = Census::open(&collection)?.spiders()?;
    Ok(rows.into_iter().map(|row| (row.name, row.settings)).collect())
}

#[derive(Debug, Default)]
pub struct Findings {
    pub mistakes: Vec<Failure>,
    /// Worth knowing, and no mistakes.
    pub remarks: Vec<String>,
    /// What is set and takes effect with the next start of a crawl.
    pub restart: Vec<String>,
    /// What is set and takes effect while a crawl runs.
    pub live: Vec<String>,
}

impl Findings {
    /// `spiders`: those of the collection, if there is one.
    pub fn of(folder: &Path, flags: FlagValues, spiders: &[SpiderSettings]) -> Findings {
        let (config, mistakes) = Config::examine(folder, flags);
        let mut findings = Findings { mistakes, ..Findings::default() };
        findings.look_at(&config, folder);
        findings.secrets(&config);
        findings.remarks.extend(setup::remarks(&config));
        let set = |setting: &&config::Setting| matches!(setting.origin, Origin::File { .. });
        let set = config.settings().iter().filter(set);
        for setting in set {
            let place = if setting.key.live { &mut findings.live } else { &mut findings.restart };
            place.push(setting.key.name.to_owned());
        }
        for (name, settings) in spiders {
            let spider = config.examine_spider(name, settings, &mut findings.mistakes);
            findings.look_at(&spider.config, folder);
            findings.effects(name, settings);
        }
        findings.unknown_spiders(&config, spiders);
        findings
    }

    /// What a crawl would make of the values. A mistake of the base is not told again for each spider.
    fn look_at(&mut self, config: &Config, folder: &Path) {
        for mistake in setup::mistakes(config, folder) {
            if !self.mistakes.contains(&mistake) {
                self.mistakes.push(mistake);
            }
        }
    }

    fn secrets(&mut self, config: &Config) {
        let credentials = config.credentials.iter().map(|one| one.authorization().map(drop));
        let logins = config.logins.iter().map(|login| login.values().map(drop));
        let webhooks = config.webhooks.iter().map(|webhook| webhook.key().map(drop));
        let all = credentials.chain(logins).chain(webhooks);
        self.mistakes.extend(all.filter_map(Result::err));
    }

    fn effects(&mut self, spider: &str, settings: &BTreeMap<String, String>) {
        for key in settings.keys().filter_map(|name| Key::named(name)) {
            let place = if key.live { &mut self.live } else { &mut self.restart };
            place.push(format!("{} of spider {spider}", key.name));
        }
    }

    /// Only where the spiders are known.
    fn unknown_spiders(&mut self, config: &Config, spiders: &[SpiderSettings]) {
        if spiders.is_empty() {
            return;
        }
        let credentials =
            config.credentials.iter().filter_map(|c| Some((c.spider.as_deref()?, c.at.line)));
        let logins = config.logins.iter().filter_map(|l| Some((l.spider.as_deref()?, l.at.line)));
        let webhooks =
            config.webhooks.iter().filter_map(|w| Some((w.spider.as_deref()?, w.at.line)));
        let tables = credentials.chain(logins).chain(webhooks);
        for (name, line) in config.overrides.spiders().chain(tables) {
            if !spiders.iter().any(|(known, _)| known == name) {
                self.remarks
                    .push(format!("line {line} speaks of spider {name}, and there is none"));
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for mistake in &self.mistakes {
            let (sentence, what_to_do) = (&mistake.sentence, &mistake.what_to_do);
            text.push_str(&format!("{}\n    {}\n", printable(sentence), printable(what_to_do)));
        }
        for remark in &self.remarks {
            text.push_str(&format!("remark: {}\n", printable(remark)));
        }
        let effects = [("at the next start", &self.restart), ("while a crawl runs", &self.live)];
        for (when, keys) in effects.into_iter().filter(|(_, keys)| !keys.is_empty()) {
            text.push_str(&format!("takes effect {when}: {}\n", printable(&keys.join(", "))));
        }
        text.push_str(&match self.mistakes.len() {
            0 => "nothing is wrong\n".to_owned(),
            1 => "1 mistake\n".to_owned(),
            count => format!("{count} mistakes\n"),
        });
        text
    }

    fn json(&self) -> String {
        let mistake = |failure: &Failure| json!({ "sentence": failure.sentence, "what_to_do": failure.what_to_do });
        let mistakes: Vec<serde_json::Value> = self.mistakes.iter().map(mistake).collect();
        let all = json!({
            "mistakes": mistakes,
            "remarks": self.remarks,
            "restart": self.restart,
            "live": self.live,
        });
        format!("{all:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str, spiders: &[SpiderSettings]) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("harvest.toml"), text).unwrap();
        Findings::of(folder.path(), Vec::new(), spiders)
    }

    fn spider(name: &str, settings: &[(&str, &str)]) -> SpiderSettings {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        (name.to_owned(), settings.collect())
    }

    #[track_caller]
    fn told(findings: &Findings, parts: &[&str]) {
        let text = findings.text();
        assert_eq!(findings.mistakes.len(), parts.len(), "{text}");
        for (mistake, part) in findings.mistakes.iter().zip(parts) {
            assert!(mistake.sentence.contains(part), "{part} in {}", mistake.sentence);
            assert!(!mistake.what_to_do.is_empty(), "{}", mistake.sentence);
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let findings = findings(
            "[etiquette]\ndealy = 1\ndelay = 'soon'\n[zebra]\na = 1\n\
             [crawl]\nfilter = 'none.rhai'\n[reject]\ndisable = ['nothing']\n\
             [fetch]\nextra_roots = ['ca.pem']\ncookies = 'c.txt'\nclient_key = 'k.pem'\n\
             [[override]]\nwhen = 'host'\ncrawl.depth = 1\n\
             [[credential]]\norigin = 'https://a.org'\nbearer_file = 'token'\n",
            &[],
        );
        told(
            &findings,
            &[
                "\"dealy\"",
                "[zebra]",
                "delay = \"soon\"",
                "reject.disable = \"nothing\": there is no shipped reject rule named nothing",
                "when = \"host\"",
                "none.rhai",
                "fetch.extra_roots",
                "fetch.client_key = \"k.pem\": a key without a certificate",
                "fetch.cookies = \"c.txt\": it cannot be read",
                "its secret",
            ],
        );
    }

    #[test]
    fn every_wrong_item_of_a_list_is_said() {
        let list = "[fetch]\nallow_address = ['10.0.0.0/99', '1.2.3.4',\n  'abc']\n";
        told(&findings(list, &[]), &["line 2: fetch.allow_address = \"10.0.0.0/99\"", "line 3"]);
    }

    #[test]
    fn a_client_certificate_that_every_server_could_see_is_a_mistake() {
        let fetch = "[fetch]\nclient_certificate = 'c.pem'\n";
        told(&findings(fetch, &[]), &["every server that asks could see it"]);
        for wrong in ["http://a.org", "https://a.org/login", "a.org"] {
            let origins = format!("{fetch}client_certificate_origins = ['{wrong}']\n");
            let findings = findings(&origins, &[]);
            let said = &findings.mistakes[0].sentence;
            assert!(said.contains("no https and host alone"), "{said}");
        }
        let bound = format!("{fetch}client_certificate_origins = ['https://a.org']\n");
        told(&findings(&bound, &[]), &["cannot read the client certificate in"]);
    }

    #[test]
    fn a_login_whose_secret_is_missing_is_a_mistake() {
        let login = "[[login]]\npage = 'http://a.org/'\nsuccess = 'cookie a'\n";
        told(&findings(&format!("{login}fields.u = 'x'\n"), &[]), &[]);
        let missing = format!("{login}fields.password = 'file:nowhere'\n");
        told(&findings(&missing, &[]), &["line 1: the field \"password\": its secret"]);
    }

    #[test]
    fn mistakes_of_spiders_are_told_with_their_name_and_those_of_all_once() {
        let spiders = [
            spider("news", &[("crawl.scop", "'any'"), ("crawl.depth", "'deep'")]),
            spider("docs", &[("crawl.active_sites", "5"), ("crawl.filter", "'docs.rhai'")]),
        ];
        let findings = findings("[fetch]\ncookies = 'c.txt'\n", &spiders);
        told(
            &findings,
            &[
                "fetch.cookies",
                "spider news: crawl.depth = \"deep\"",
                "spider news: unknown key \"crawl.scop\"",
                "spider docs: crawl.active_sites cannot be set for one spider",
                "spider docs: crawl.filter = \"docs.rhai\": it cannot be read",
            ],
        );
    }

    #[test]
    fn what_is_set_says_when_it_takes_effect() {
        let settings = [spider("news", &[("crawl.pages", "5"), ("fetch.http2", "true")])];
        let text = "[crawl]\npages = 9\nactive_sites = 5\n[[override]]\nwhen = 'any'\nspider = 'nwes'\n\
                    crawl.depth = 2\n";
        let findings = findings(text, &settings);
        told(&findings, &[]);
        assert_eq!(findings.restart, ["crawl.active_sites"]);
        let live = ["crawl.pages", "crawl.pages of spider news", "fetch.http2 of spider news"];
        assert_eq!(findings.live, live);
        assert_eq!(findings.remarks, ["line 4 speaks of spider nwes, and there is none"]);
        assert!(findings.text().ends_with("nothing is wrong\n"), "{}", findings.text());
        let json: serde_json::Value = serde_json::from_str(&findings.json()).unwrap();
        assert_eq!(json["live"][0], "crawl.pages");
    }
}
