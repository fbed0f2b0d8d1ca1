//! Which of several equal sites is the original. To the paper it is arbitrary; to people it is not.

/// What speaks for a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub site: i64,
    pub key: String,
    /// A seed names it.
    pub seeded: bool,
    /// Pages known of it: what links have led to.
    pub known: u64,
}

/// The one that seeds name, else the one of which more is known, else the one with the shorter name (so without
/// `www.`), else the first by name.
pub fn choose_original(sites: &[Standing]) -> Option<&Standing> {
    sites.iter().min_by_key(|site| {
        let known = std::cmp::Reverse(site.known);
        (!site.seeded, known, site.key.len(), site.key.as_str())
    })
}
