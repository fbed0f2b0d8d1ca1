//! The words in which the border of a crawl is said.

/// The border of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The seeds' sites.
    #[default]
    Site,
    /// Their registrable domains.
    Domain,
    /// What lies in a seed's folder: its path up to the last slash.
    Prefix,
    /// The seeds themselves, and what they redirect to.
    Listed,
    Any,
}

impl Scope {
    pub const ALL: [Scope; 5] =
        [Scope::Site, Scope::Domain, Scope::Prefix, Scope::Listed, Scope::Any];

    pub fn word(self) -> &'static str {
        match self {
            Scope::Site => "site",
            Scope::Domain => "domain",
            Scope::Prefix => "prefix",
            Scope::Listed => "listed",
            Scope::Any => "any",
        }
    }

    pub fn from_word(word: &str) -> Option<Scope> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// What becomes of a link to another site inside the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExternalPolicy {
    Ignore,
    /// That site's home page stands for it.
    Home,
    /// The link itself.
    #[default]
    Deep,
    /// Both.
    Combined,
}

impl ExternalPolicy {
    pub const ALL: [ExternalPolicy; 4] = [
        ExternalPolicy::Ignore,
        ExternalPolicy::Home,
        ExternalPolicy::Deep,
        ExternalPolicy::Combined,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ExternalPolicy::Ignore => "ignore",
            ExternalPolicy::Home => "home",
            ExternalPolicy::Deep => "deep",
            ExternalPolicy::Combined => "combined",
        }
    }

    pub fn from_word(word: &str) -> Option<ExternalPolicy> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }
}

/// What becomes of sites that no seed names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Expansion {
    /// Visited when no seeded site has a page due.
    After,
    /// Visited like all others.
    #[default]
    Mixed,
    /// Not taken, whatever scope and rules say.
    Off,
}

impl Expansion {
    pub const ALL: [Expansion; 3] = [Expansion::After, Expansion::Mixed, Expansion::Off];

    pub fn word(self) -> &'static str {
        match self {
            Expansion::After => "after",
            Expansion::Mixed => "mixed",
            Expansion::Off => "off",
        }
    }

    pub fn from_word(word: &str) -> Option<Expansion> {
        Self::ALL.into_iter().find(|expansion| expansion.word() == word)
    }
}
