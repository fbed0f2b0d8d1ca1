//! `seed`: more places to begin, from arguments, lists, zone files, sitemaps, OPML or another collection.
//! A running crawl takes them up within seconds; otherwise the next one does.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use seeder::{Seed, SeedError, SeedKind, read_seeds, unpacked};
use store::{census::Census, collection::Collection, spiders::SpiderRow};

use super::Context;
use crate::{
    cli::{SeedArgs, SeedSource},
    seeding::Seeding,
};
use config::{
    amounts::some,
    failure::{Exit, Failure, cannot_read},
    setup,
};

/// Read at once from a file.
const BUFFER_BYTES: usize = 1 << 16;
/// Sites asked for in one short read of another collection.
const HOMES_AT_ONCE: u32 = 10_000;

pub fn run(context: &Context, args: &SeedArgs) -> Result<Exit, Failure> {
    let args = &args.with_files();
    let mut seeding = seeding(context, args.spider.as_deref())?;
    // What was typed wrong ends the command before anything is taken; so does a file that is not there.
    let mut typed = Vec::new();
    for text in args.urls.iter().filter(|text| *text != "-") {
        typed.push(Seed::parse(text).map_err(|why| Failure::bad_url(text, &why))?);
    }
    for path in &args.file {
        path.metadata().map_err(|error| cannot_read(&path.display().to_string(), &error))?;
    }
    for seed in &typed {
        seeding.offer(seed)?;
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

/// Seeds are judged by the rules of the spider they are for.
fn seeding<'a>(context: &'a Context, spider: Option<&str>) -> Result<Seeding<'a>, Failure> {
    let base = context.config(Vec::new())?;
    let (rows, forgotten) = match Collection::open(&context.folder) {
        Ok(collection) => {
            let census = Census::open(&collection)?;
            (census.spiders()?, census.tombstones()?)
        }
        Err(_) => (vec![SpiderRow::default()], None),
    };
    let row = super::spider::find(rows, spider.unwrap_or("default"))?;
    let config = base.for_spider(&row.name, &row.settings)?.config;
    let rules = setup::rules(&config, &context.folder)?;
    // Refused here, before it is written into the database.
    setup::keep_out_forgotten(&rules.blocks, forgotten);
    let seeding = Seeding::new(context, rules);
    Ok(match spider {
        Some(name) => seeding.of_spider(name),
        None => seeding,
    })
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
            Ok(seed) => seeding.offer(&seed)?,
            Err(SeedError::Io { line, source }) => {
                let taken = seeding.deliver()?;
                let what = format!(
                    "cannot read {name} after line {line}: {source}; taken before it: {}",
                    some(taken, "seed")
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
        for home in homes {
            seeding.offer(&Seed::from(home))?;
        }
        after = last;
    }
    Ok(())
}
