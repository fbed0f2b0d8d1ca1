//! Pages as files: their folders, what a link in their place does, and how they are forgotten.

use std::fs;

use super::*;
use crate::forget::{Target, Targets};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// 2026-11-16T03:05:49Z.
const START: Timestamp = Timestamp(1_794_798_349_000);

fn once() -> Vec<Sitting> {
    vec![Sitting { started: START, daily: false }]
}

#[test]
fn a_crawl_has_one_folder_and_one_that_never_ends_a_folder_a_day() {
    let later = START.plus(DAY);
    assert_eq!(folder_name(&once(), later), "2026-11-16_03-05-49");
    let daily = [once(), vec![Sitting { started: later, daily: true }]].concat();
    assert_eq!(folder_name(&daily, START), "2026-11-16_03-05-49");
    assert_eq!(folder_name(&daily, later), "2026-11-17_00-00-00");
    assert_eq!(folder_name(&daily, later.plus(DAY)), "2026-11-18_00-00-00");
    assert_eq!(folder_name(&[], START), "2026-11-16_00-00-00", "of no crawl we know of");
    assert_eq!(folder_name(&once(), Timestamp(0)), "2026-11-16_03-05-49", "the clock was set back");
}

#[test]
fn crawls_of_one_second_have_folders_of_their_own_that_sort_as_they_began() {
    let at = |ms: u64| START.plus(Duration::from_millis(ms));
    let begun = [0, 120, 999, 1_000].map(|ms| Sitting { started: at(ms), daily: false });
    let names = [50, 500, 999, 5_000].map(|ms| folder_name(&begun, at(ms)));
    let second = "2026-11-16_03-05-49";
    let wanted =
        [second, "2026-11-16_03-05-49_02", "2026-11-16_03-05-49_03", "2026-11-16_03-05-50"];
    assert_eq!(names, wanted);
    assert!(names.is_sorted());
    let midnight = day_of(START);
    let crawl = Sitting { started: midnight.plus(Duration::from_millis(5)), daily: false };
    let run = Sitting { started: midnight.plus(DAY / 2), daily: true };
    assert_eq!(folder_name(&[crawl, run], crawl.started), "2026-11-16_00-00-00_02");
    assert_eq!(folder_name(&[crawl, run], run.started), "2026-11-16_00-00-00");
}

#[test]
fn files_of_a_page_that_are_to_stay_lie_beside_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let directory = Directory::new(temp.path().to_owned(), Vec::new());
    let page = url("http://a.example/");
    for earlier in 0..3 {
        directory.write_beside(&page, START, earlier, format!("{earlier}").as_bytes()).unwrap();
    }
    let read = |folder: &str| fs::read(temp.path().join(folder).join("a.example/index.html"));
    assert_eq!(read("2026-11-16_00-00-00").unwrap(), b"0");
    assert_eq!(read("2026-11-16_00-00-00_visit-0003").unwrap(), b"2");
    assert_eq!(directory.since(START), day_of(START));
}

#[test]
fn a_page_lies_under_its_name_and_a_later_visit_replaces_it_whole() {
    let temp = tempfile::tempdir().unwrap();
    let directory = Directory::new(temp.path().join("directory"), once());
    let page = url("http://a.example/news/today.html");
    directory.write(&page, START, b"first, and longer").unwrap();
    directory.write(&page, START, b"second").unwrap();
    directory.write(&url("http://a.example/news"), START, b"page and folder").unwrap();
    let folder = temp.path().join("directory/2026-11-16_03-05-49/a.example");
    assert_eq!(fs::read(folder.join("news/today.html")).unwrap(), b"second");
    assert_eq!(fs::read(folder.join("news~.html")).unwrap(), b"page and folder");
    assert_eq!(fs::read_dir(folder.join("news")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
#[cfg(unix)]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    let (root, outside) = (temp.path().join("directory"), temp.path().join("outside"));
    fs::create_dir_all(root.join("2026-11-16_03-05-49")).unwrap();
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("2026-11-16_03-05-49/a.example")).unwrap();
    let directory = Directory::new(root.clone(), once());
    let error = directory.write(&url("http://a.example/"), START, b"x").unwrap_err();
    assert!(error.to_string().contains("a.example"), "{error}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    // A link in the place of the file itself is replaced, and what it leads to stays.
    let target = temp.path().join("target");
    fs::write(&target, "mine").unwrap();
    fs::create_dir_all(root.join("2026-11-16_03-05-49/b.example")).unwrap();
    let file = root.join("2026-11-16_03-05-49/b.example/index.html");
    std::os::unix::fs::symlink(&target, &file).unwrap();
    directory.write(&url("http://b.example/"), START, b"theirs").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert_eq!(fs::read(&file).unwrap(), b"theirs");
}

#[test]
fn what_is_forgotten_leaves_every_folder_and_others_stay() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("directory");
    let directory = Directory::new(root.clone(), Vec::new());
    let pages = [
        "http://gone.example/a.html",
        "https://gone.example/a.html",
        "http://gone.example:8080/a.html",
        "http://sub.gone.example/",
        "http://[::1]/",
        "http://stays.example/x/one.html",
        "http://stays.example/x/two.html",
    ];
    for at in [START, START.plus(DAY)] {
        pages.iter().for_each(|page| directory.write(&url(page), at, b"x").unwrap());
    }
    let count = || {
        let files = |folder: &Path| {
            pages.iter().filter(|p| folder.join(file_name(&url(p))).exists()).count()
        };
        fs::read_dir(&root).unwrap().map(|folder| files(&folder.unwrap().path())).sum::<usize>()
    };
    assert_eq!(count(), 14);
    let forget = |target: Target| remove(&root, &Targets::new(vec![target])).unwrap();
    forget(Target::Url("http://stays.example/x/one.html".to_owned()));
    assert_eq!(count(), 12);
    forget(Target::Site("[::1]".to_owned()));
    assert_eq!(count(), 10);
    forget(Target::Site("gone.example:8080".to_owned()));
    assert_eq!(count(), 8);
    forget(Target::Domain("gone.example".to_owned()));
    assert_eq!(count(), 2);
    forget(Target::Site("stays.example".to_owned()));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "no empty folders stay");
}

#[test]
fn a_name_that_began_with_a_dash_is_forgotten_under_both_names() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("directory");
    let directory = Directory::new(root.clone(), once());
    let page = "http://a.example/-x";
    directory.write(&url(page), START, b"now").unwrap();
    let folder = root.join("2026-11-16_03-05-49/a.example");
    let [now] = &fs::read_dir(&folder).unwrap().collect::<Vec<_>>()[..] else { panic!("one file") };
    assert!(now.as_ref().unwrap().file_name().to_string_lossy().starts_with("_-x~"));
    fs::write(folder.join("-x~.html"), "as it was written before").unwrap();
    fs::write(folder.join("other.html"), "stays").unwrap();
    remove(&root, &Targets::new(vec![Target::Url(page.to_owned())])).unwrap();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["other.html"]);
}
