//! How far a block reaches, in words: a URL is easily taken for everything below it.

use model::CrawlUrl;

use crate::Block;

impl Block {
    /// Of a block that holds less than somebody may mean: what it is, and what to type for more.
    pub fn narrowness(&self) -> Option<String> {
        let Block::Url(text) = self else { return None };
        let full = match text.strip_prefix("//") {
            Some(rest) => format!("http://{rest}"),
            None => text.to_string(),
        };
        let url = CrawlUrl::parse(&full).ok()?;
        let (what, wider) = match url.path_and_query() {
            "/" => ("the whole host", url.site().as_str().to_owned()),
            path if path.ends_with('/') => ("everything below it", format!("'{self}*'")),
            _ => ("everything that begins so", format!("'{self}*'")),
        };
        Some(format!("{self} is that URL alone; to block {what}: harvestman block {wider}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_that_it_is_one_and_how_to_block_more() {
        let said = |text: &str| Block::parse(text).unwrap().narrowness();
        assert_eq!(
            said("http://h.example/dir/").unwrap(),
            "http://h.example/dir/ is that URL alone; to block everything below it: \
             harvestman block 'http://h.example/dir/*'"
        );
        assert!(
            said("h.example/a").unwrap().ends_with("begins so: harvestman block 'h.example/a*'")
        );
        assert!(said("https://h.example/").unwrap().ends_with("host: harvestman block h.example"));
        for enough in ["http://h.example/dir/*", "h.example", ".h.example", "192.0.2.0/24"] {
            assert_eq!(said(enough), None, "{enough}");
        }
    }
}
