//! A page that somebody asks about: found under the name the collection has for it, with everything that
//! reading its versions takes; or why it is not there, and what may have been meant.

use model::{CrawlUrl, Exchange};
use seeder::parse_seed;
use store::{
    census::{Census, PageStory},
    collection::Collection,
};

use super::{Context, known_as};
use collection::{
    archived::{Archived, Kept},
    versions::{Picked, Versions},
};
use config::{failure::Failure, setup};

pub struct Story {
    pub url: CrawlUrl,
    pub census: Census,
    pub story: PageStory,
    collection: Collection,
    bytes_max: u64,
}

impl Story {
    pub fn find(context: &Context, typed: &str) -> Result<Story, Failure> {
        let url = parse_seed(typed).map_err(|why| Failure::no_url(typed, &why))?;
        let collection = Collection::open(&context.folder)?;
        let census = Census::open(&collection)?;
        let (config, _) = context.config_to_read();
        let (url, story) = known_as(&census, &setup::form(&config)?, url)?;
        let Some(story) = story else { return Err(unknown(&census, &url)?) };
        let bytes_max = match story.page.requisite {
            true => config.fetch.requisite_bytes_max,
            false => config.fetch.body_bytes_max,
        };
        Ok(Story { url, census, story, collection, bytes_max })
    }

    pub fn archived(&self) -> Archived<'_> {
        Archived::new(&self.collection, &self.census, self.bytes_max)
    }

    pub fn versions(&self) -> Versions<'_> {
        Versions::new(&self.story.visits)
    }

    pub fn never_fetched(&self) -> Failure {
        let url = &self.url;
        Failure::usage(
            format!("{url} is known but has no content"),
            format!("see why with: harvestman explain {url}"),
        )
    }

    /// Whether there is anything of a version to be read; says so where it is not all.
    pub fn is_kept(
        &self,
        context: &Context,
        picked: &Picked<'_>,
        exchange: &Exchange,
    ) -> Result<(), Failure> {
        let (url, number, kept) = (&self.url, picked.number, Kept::of(exchange));
        let Some(words) = kept.words() else { return Ok(()) };
        let sentence = format!("version {number} of {url}: {words}");
        if !matches!(kept, Kept::Nothing(_)) {
            context.say(&sentence);
            return Ok(());
        }
        Err(Failure::usage(
            sentence,
            format!("its head is had with: harvestman show {url} --version {number} --headers"),
        ))
    }

    /// Whether the page asks not to be shown from an archive: in its newest version, or in the one asked for.
    pub fn is_noarchive(&self, version: bool) -> bool {
        version || self.story.facts.as_ref().is_some_and(|facts| facts.noarchive)
    }

    /// What the page asks for is about giving it to others: whoever runs the collection may read it, and must know.
    pub fn remark_noarchive(&self, context: &Context) {
        context.say(&format!(
            "the page says noarchive: {} is shown to you and left out of exports",
            self.url
        ));
    }
}

/// A failure that names what may have been meant.
pub(super) fn unknown(census: &Census, url: &CrawlUrl) -> Result<Failure, Failure> {
    Ok(collection::page::unknown(census, url)?.into())
}
