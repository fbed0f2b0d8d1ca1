//! Where a value comes from. The later layer wins: default, file, spider, environment, flag.

use std::{fmt, path::PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The settings of the spider of this name.
    Spider(String),
    /// Name of the variable.
    Environment(String),
    /// With its dashes.
    Flag(String),
}

impl Origin {
    /// How high it stands among the layers.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File { .. } => 1,
            Origin::Spider(_) => 2,
            Origin::Environment(_) => 3,
            Origin::Flag(_) => 4,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{} line {line}", path.display()),
            Origin::Spider(name) => write!(f, "spider {name}"),
            Origin::Environment(variable) => write!(f, "variable {variable}"),
            Origin::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}
