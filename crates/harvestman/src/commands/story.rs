//! A page that somebody asks about: found under the name the collection has for it, with everything that
//! reading its versions takes; or why it is not there, and what may have been meant.

use model::CrawlUrl;
use seeder::parse_seed;
use store::{
    census::{Census, PageStory},
    collection::Collection,
};

use super::{Context, known_as};
use collection::archived::Archived;
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

    pub fn archived(&self) -> Result<Archived<'_>, Failure> {
        Ok(Archived::new(&self.collection, &self.census, self.bytes_max)?)
    }
}

/// A failure that names what may have been meant.
pub(super) fn unknown(census: &Census, url: &CrawlUrl) -> Result<Failure, Failure> {
    Ok(collection::page::unknown(census, url)?.into())
}
