//! Sentences and advice for changes that cannot be made.

use config::{amounts::number, failure::Failure};
use model::UrlTraps;

use super::Error;

pub fn advice(error: &Error) -> Failure {
    match error {
        Error::SpiderExists { name } => Failure::usage(
            format!("there is a spider {name} already"),
            format!("change it with `harvestman spider edit {name}`, or choose another name"),
        ),
        Error::SettingUnknown { spider, key } => Failure::usage(
            format!("spider {spider} does not set {key}"),
            "see what it has with: harvestman spider list",
        ),
        Error::NothingToChange => {
            Failure::usage("nothing is to be changed", "give --set KEY=VALUE or --unset KEY")
        }
        Error::NoSeed { given, why } => Failure::bad_url(given, why),
        Error::NoBlock { given, why } => Failure::usage(
            format!("cannot block {given:?}: {why}"),
            "see what can be blocked with: harvestman block --help",
        ),
        Error::TrapUnknown { site, pattern, known, lifted } => {
            no_trap(site, pattern.as_deref(), known, *lifted)
        }
        Error::NotLifted { site, pattern, lifted } => not_lifted(site, pattern.as_deref(), lifted),
        Error::NotQuarantined { given } => Failure::usage(
            format!("nothing of {} was noted", given.join(", ")),
            "give a URL or a site as it is listed by: harvestman quarantine",
        ),
        Error::BlockUnknown { first, count } => {
            let what = match count {
                1 => format!("{first} is not on the list of blocks"),
                n => format!("none of these {} is on the list of blocks: {first} …", number(*n)),
            };
            Failure::usage(what, "see what is on it with: harvestman block --list")
        }
        Error::ListBroken { file, line, why, taken } => Failure::usage(
            format!("cannot read {file} after line {line}: {why}; taken before it: {taken}"),
            "repair the file and give the same command again",
        ),
        Error::SameCollection { collection } => Failure::usage(
            format!("{} is the collection itself", collection.display()),
            "name another collection with --file, or the one to fill with -C",
        ),
        Error::NotRunning { collection } => Failure::usage(
            format!("no crawl is running in {}", collection.display()),
            "start one with: harvestman crawl, or name another folder with -C",
        ),
        Error::NotVisited { url, rule } => Failure::usage(
            format!("{url} is refused: {rule}"),
            format!("see how to allow it with: harvestman explain {url}"),
        ),
        Error::Refused { why } => {
            Failure::usage(why, "nothing was changed; see how things are with: harvestman status")
        }
        Error::OtherVersion => Failure::fault(
            "the answer of the running crawl cannot be read: it is of another version",
            "see how things are with: harvestman status",
        ),
        // The others have theirs beside their definition.
        other => Failure::fault(format!("{other:?}"), ""),
    }
}

fn no_trap(site: &str, pattern: Option<&str>, known: &[String], lifted: bool) -> Failure {
    let Some(pattern) = pattern else {
        let what_to_do = match lifted {
            true => format!(
                "nothing ever is: you lifted it; to take that back: harvestman traps watch {site}"
            ),
            false => format!(
                "so that nothing ever is: harvestman traps lift {site} '{}'",
                UrlTraps::SITE
            ),
        };
        return Failure::usage(format!("nothing is stopped on {site}"), what_to_do);
    };
    let there = match known.is_empty() {
        true => "nothing is stopped there".to_owned(),
        false => format!("there are {}", quoted(known)),
    };
    Failure::usage(
        format!("there is no trap {pattern:?} on {site}"),
        format!("{there}; details: harvestman traps --site {site}"),
    )
}

fn not_lifted(site: &str, pattern: Option<&str>, lifted: &[String]) -> Failure {
    let (what, there) = match lifted.is_empty() {
        true => ("nothing".to_owned(), "everything there is watched".to_owned()),
        false => (
            format!("no {:?}", pattern.unwrap_or_default()),
            format!("lifted are {}", quoted(lifted)),
        ),
    };
    Failure::usage(format!("{what} was lifted on {site}"), there)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
