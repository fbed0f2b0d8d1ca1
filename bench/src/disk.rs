//! What a collection takes on disk, by kind.

use std::{fs, path::Path};

#[derive(Debug, Default)]
pub struct Disk {
    volumes: u64,
    database: u64,
    links: u64,
}

impl Disk {
    pub fn of(collection: &Path) -> anyhow::Result<Disk> {
        let mut disk = Disk::default();
        for entry in fs::read_dir(collection)? {
            let entry = entry?;
            let bytes = bytes_below(&entry.path())?;
            match entry.file_name().to_string_lossy() {
                name if name == "volumes" => disk.volumes += bytes,
                name if name == "links" => disk.links += bytes,
                _ => disk.database += bytes,
            }
        }
        Ok(disk)
    }

    pub fn text(&self, pages: usize) -> String {
        let each =
            |bytes: u64| format!("{} MB ({} bytes a page)", bytes >> 20, bytes / pages as u64);
        let (volumes, database) = (each(self.volumes), each(self.database));
        format!("volumes {volumes}, database {database}, links {}.", each(self.links))
    }
}

fn bytes_below(path: &Path) -> anyhow::Result<u64> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    let below = fs::read_dir(path)?;
    below.map(|entry| bytes_below(&entry?.path())).sum()
}
