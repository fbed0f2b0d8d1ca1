//! `seed`: more places to begin, from arguments, lists, zone files, sitemaps, OPML or another collection.
//! A running crawl takes them up within seconds; otherwise the next one does.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use seeder::{SeedError, SeedKind, parse_seed, read_seeds, unpacked};
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{
    cli::{SeedArgs, SeedSource},
    exit::{Exit, Failure, io_advice},
    seeding::Seeding,
    setup,
};

/// Read at once from a file.
const BUFFER_BYTES: usize = 1 << 16;
/// Sites asked for in one short read of another collection.
const HOMES_AT_ONCE: u32 = 10_000;

pub fn run(context: &Context, args: &SeedArgs) -> Result<Exit, Failure> {
    let rules = setup::rules(&context.config(Vec::new())?, &context.folder)?;
    // Refused here, before it is written into the database.
    if let Ok(collection) = Collection::open(&context.folder) {
        setup::keep_out_forgotten(&rules, Census::open(&collection)?.tombstones()?);
    }
    let mut seeding = Seeding::new(context, rules);
    // What was typed wrong ends the command before anything is taken; so does a file that is not there.
    let mut typed = Vec::new();
    for text in args.urls.iter().filter(|text| *text != "-") {
        typed.push(parse_seed(text).map_err(|why| Failure::bad_url(text, &why))?);
    }
    for path in &args.file {
        path.metadata().map_err(|error| cannot_read(&path.display().to_string(), &error))?;
    }
    for url in &typed {
        seeding.offer(url)?;
    }
    if args.urls.iter().any(|text| text == "-") {
        read(&mut seeding, args.from, "standard input", io::stdin().lock())?;
    }
    for path in &args.file {
        let is_folder = path.is_dir();
        match args.from {
            Some(SeedSource::Collection) => read_collection(&mut seeding, context, path)?,
            None if is_folder => read_collection(&mut seeding, context, path)?,
            from => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
                read(&mut seeding, from, &name, BufReader::with_capacity(BUFFER_BYTES, file))?;
            }
        }
    }
    seeding.finish()
}

fn read(
    seeding: &mut Seeding<'_>,
    from: Option<SeedSource>,
    name: &str,
    packed: impl BufRead,
) -> Result<(), Failure> {
    let trouble = |error: io::Error| cannot_read(name, &error);
    let mut reader = unpacked(packed).map_err(trouble)?;
    let kind = match from {
        Some(SeedSource::Urls) => SeedKind::Urls,
        Some(SeedSource::Hosts) => SeedKind::Hosts,
        Some(SeedSource::Zone) => SeedKind::Zone,
        Some(SeedSource::Sitemap) => SeedKind::Sitemap,
        Some(SeedSource::Opml) => SeedKind::Opml,
        Some(SeedSource::Collection) => {
            return Err(Failure::usage(
                "a collection is a folder and cannot come from standard input",
                "name it with --file",
            ));
        }
        None => SeedKind::detect(name, reader.fill_buf().map_err(trouble)?),
    };
    for seed in read_seeds(kind, name, reader) {
        match seed {
            Ok(url) => seeding.offer(&url)?,
            Err(SeedError::Io { line, source }) => {
                let taken = seeding.deliver()?;
                let what = format!(
                    "cannot read {name} after line {line}: {source}; {taken} seeds before it are taken"
                );
                return Err(Failure::usage(what, "mend the file and give the same command again"));
            }
            Err(error) => seeding.pass_over(name, &error),
        }
    }
    Ok(())
}

/// The home pages of another collection's sites (VN began its next crawl with those of the last).
fn read_collection(
    seeding: &mut Seeding<'_>,
    context: &Context,
    folder: &Path,
) -> Result<(), Failure> {
    if let (Ok(here), Ok(there)) = (context.folder.canonicalize(), folder.canonicalize())
        && here == there
    {
        return Err(Failure::usage(
            format!("{} is the collection itself", folder.display()),
            "name another collection with --file, or the one to fill with -C",
        ));
    }
    let census = Census::open(&Collection::open(folder)?)?;
    let mut after = 0;
    while let (homes, Some(last)) = census.homes_after(after, HOMES_AT_ONCE)? {
        for home in &homes {
            seeding.offer(home)?;
        }
        after = last;
    }
    Ok(())
}

fn cannot_read(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read {name}: {error}"), io_advice(error.kind()))
}
