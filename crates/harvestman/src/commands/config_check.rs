//! `config check`: everything that is wrong in what a crawl would read, at once, and when what is set
//! takes effect.

use model::printable;

use super::Context;
use crate::{
    cli::ConfigCheckArgs,
    terminal::{print, print_json},
};
use collection::settings::{SetKey, SettingsCheck, check};
use config::failure::{Exit, Failure};

pub fn run(context: &Context, args: &ConfigCheckArgs) -> Result<Exit, Failure> {
    let mut found = check(&context.folder, args.flags.values())?;
    if context.named && !context.folder.exists() {
        let folder = context.folder.display();
        found.remarks.push(format!(
            "there is no {folder} yet: what was checked are defaults, variables and flags"
        ));
    }
    match context.json {
        true => print_json(&found)?,
        false => print(&text(&found))?,
    }
    Ok(if found.mistakes.is_empty() { Exit::Done } else { Exit::Usage })
}

fn text(found: &SettingsCheck) -> String {
    let mut text = String::new();
    for mistake in &found.mistakes {
        let (sentence, what_to_do) = (&mistake.sentence, &mistake.what_to_do);
        text.push_str(&format!("{}\n    {}\n", printable(sentence), printable(what_to_do)));
    }
    for remark in &found.remarks {
        text.push_str(&format!("remark: {}\n", printable(remark)));
    }
    let effects = [("at the next start", &found.restart), ("while a crawl runs", &found.live)];
    for (when, keys) in effects.into_iter().filter(|(_, keys)| !keys.is_empty()) {
        let names: Vec<String> = keys.iter().map(name).collect();
        text.push_str(&format!("takes effect {when}: {}\n", printable(&names.join(", "))));
    }
    text.push_str(&match found.mistakes.len() {
        0 => "nothing is wrong\n".to_owned(),
        1 => "1 mistake\n".to_owned(),
        count => format!("{count} mistakes\n"),
    });
    text
}

fn name(set: &SetKey) -> String {
    match &set.spider {
        Some(spider) => format!("{} of spider {spider}", set.key),
        None => set.key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use collection::settings::{SpiderSettings, check_with};

    use super::*;

    fn findings(text: &str, spiders: &[SpiderSettings]) -> SettingsCheck {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("harvest.toml"), text).unwrap();
        check_with(folder.path(), Vec::new(), spiders)
    }

    fn spider(name: &str, settings: &[(&str, &str)]) -> SpiderSettings {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        (name.to_owned(), settings.collect())
    }

    #[track_caller]
    fn told(findings: &SettingsCheck, parts: &[&str]) {
        let text = text(findings);
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
        let written = "[crawl]\npages = 9\nactive_sites = 5\n[[override]]\nwhen = 'any'\nspider = 'nwes'\n\
                    crawl.depth = 2\n";
        let findings = findings(written, &settings);
        told(&findings, &[]);
        let names = |keys: &[SetKey]| keys.iter().map(name).collect::<Vec<_>>();
        assert_eq!(names(&findings.restart), ["crawl.active_sites"]);
        let live = ["crawl.pages", "crawl.pages of spider news", "fetch.http2 of spider news"];
        assert_eq!(names(&findings.live), live);
        assert_eq!(findings.remarks, ["line 4 names spider nwes, and there is none"]);
        assert!(text(&findings).ends_with("nothing is wrong\n"), "{}", text(&findings));
    }
}
