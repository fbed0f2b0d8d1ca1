//! Which URLs count as made by a program on demand (WIRE's `seeder/ext/download/dynamic`): they have a
//! depth of their own, and rules and scripts can ask for them.

use std::sync::Arc;

use model::CrawlUrl;

#[derive(Clone, Debug, Default)]
pub struct Marking {
    /// Extensions of programs, lower case; `None`: those that [`CrawlUrl::is_dynamic`] knows.
    scripts: Option<Arc<[String]>>,
}

impl Marking {
    pub const SHIPPED: Marking = Marking { scripts: None };

    /// `extensions` with or without the dot, in any case.
    pub fn new<S: AsRef<str>>(extensions: &[S]) -> Marking {
        let bare = |text: &S| {
            let text = text.as_ref();
            text.strip_prefix('.').unwrap_or(text).to_ascii_lowercase()
        };
        Marking { scripts: Some(extensions.iter().map(bare).collect()) }
    }

    /// It has a query, lies in `cgi-bin`, or has the extension of a program.
    pub fn is_dynamic(&self, url: &CrawlUrl) -> bool {
        match &self.scripts {
            None => url.is_dynamic(),
            Some(scripts) => url.is_dynamic_by(|extension| {
                scripts.iter().any(|script| extension.eq_ignore_ascii_case(script))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_made_on_demand_can_be_said() {
        let marking = Marking::new(&[".XYZ", "do"]);
        for (text, shipped, own) in [
            ("http://a.org/x.php", true, false),
            ("http://a.org/x.xyz", false, true),
            ("http://a.org/x.DO", true, true),
            ("http://a.org/x?y", true, true),
            ("http://a.org/cgi-bin/x", true, true),
            ("http://a.org/x.html", false, false),
        ] {
            let url = CrawlUrl::parse(text).expect("a URL");
            assert_eq!(Marking::SHIPPED.is_dynamic(&url), shipped, "{text}");
            assert_eq!(marking.is_dynamic(&url), own, "{text}");
        }
    }
}
