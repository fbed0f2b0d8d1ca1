//! What was forgotten leaves the directory store as well: whole folders of sites, single files of pages.

use std::{
    collections::HashSet,
    fs, io, iter,
    path::{Path, PathBuf},
};

use model::{SiteKey, StoreError};

use super::names::{file_name, former_name, host_text};
use crate::forget::{Target, Targets};

/// Can be done again; what is not there is no trouble.
pub(crate) fn remove(root: &Path, targets: &Targets) -> Result<(), StoreError> {
    let odd: HashSet<String> = targets.list().iter().filter_map(folder_of_site).collect();
    let names = |url| iter::once(file_name(&url)).chain(former_name(&url));
    let pages: Vec<PathBuf> = targets.pages().flat_map(names).collect();
    for crawl in folders(root)? {
        for site in folders(&crawl)? {
            let name = site.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let host = name.split(',').next().unwrap_or_default();
            if targets.covers_site(&key_of(&name)) || odd.contains(host) {
                gone(fs::remove_dir_all(&site)).map_err(|e| StoreError::io("remove", &site, e))?;
            }
        }
        for page in &pages {
            remove_page(&crawl, page)?;
        }
        // Only when nothing is left in it.
        let _ = fs::remove_dir(&crawl);
    }
    Ok(())
}

fn remove_page(crawl: &Path, page: &Path) -> Result<(), StoreError> {
    let path = crawl.join(page);
    let leads_out = path.ancestors().skip(1).take_while(|folder| *folder != crawl).any(is_link);
    if leads_out {
        return Ok(());
    }
    gone(fs::remove_file(&path)).map_err(|e| StoreError::io("remove", &path, e))?;
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != crawl) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// `host` or `host:port`, as in the database.
fn key_of(folder: &str) -> String {
    let mut parts = folder.split(',');
    let host = parts.next().unwrap_or_default();
    match parts.find(|part| *part != "https") {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Of a host whose name had to be mended; the others are known by their names.
fn folder_of_site(target: &Target) -> Option<String> {
    let Target::Site(site) = target else { return None };
    let key = SiteKey::stored(site);
    let text = host_text(key.host());
    (text != key.host()).then_some(text)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| StoreError::io("read", path, e))?,
    };
    let paths = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
    Ok(paths.map(|entry| entry.path()).collect())
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        // A folder of another page has the name's place, or a file one of its folders': not this page.
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Ok(()),
        other => other,
    }
}
