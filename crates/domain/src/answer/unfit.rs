//! Why a text of a model is dropped.

use std::fmt;

use super::draft::DroppedCounts;

/// Why a text is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It cites nothing.
    Uncited,
    /// It cites this, which is not there.
    Unresolved(String),
    /// This does not occur in what it cites.
    Unsupported(String),
    /// It cites reference texts alone, and no sentence before it cites a result.
    ReferenceFirst,
    /// It is no plain sentence.
    Unreadable(&'static str),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncited => f.write_str("it cites nothing"),
            Self::Unresolved(name) => write!(f, "it cites `{name}`, which does not exist"),
            Self::Unsupported(what) => write!(f, "`{what}` does not occur in what it cites"),
            Self::ReferenceFirst => {
                f.write_str("it cites a passage but no result: begin with the results")
            }
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

impl DroppedCounts {
    /// Counts what was dropped.
    pub fn count(&mut self, why: &Unfit) {
        let counter = match why {
            Unfit::Uncited | Unfit::ReferenceFirst => &mut self.uncited,
            Unfit::Unresolved(_) => &mut self.unresolved,
            Unfit::Unsupported(_) => &mut self.unsupported,
            Unfit::Unreadable(_) => &mut self.unreadable,
        };
        *counter = counter.saturating_add(1);
    }
}
