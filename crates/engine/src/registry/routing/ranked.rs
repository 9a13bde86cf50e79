//! A request as routing looks at it, and what each kind of document comes to for it.

use charter_domain::intent::{self, Fit, IntentReading};
use charter_search::EmbeddedQuery;

use super::{ComparableQuery, RoutedCandidate, RoutedVerdict};

/// A request as routing looks at it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(super) text: String,
    pub(super) reading: IntentReading,
    /// The compared candidates.
    pub(super) subject: String,
    pub(super) compared: ComparableQuery,
}

impl Question {
    /// The likeness from which something is worth citing in an answer to it.
    pub(crate) fn cited_from(&self) -> f32 {
        intent::cited_from(self.query().everyday())
    }

    pub(super) fn query(&self) -> &EmbeddedQuery {
        &self.compared.query
    }
}

/// The verdict of each kind alone.
pub(super) struct Ranked {
    pub(super) skills: WeighedVerdict,
    pub(super) playbooks: WeighedVerdict,
    /// A document of another kind that is named.
    pub(super) other: Option<RoutedCandidate>,
}

/// A verdict, and what is below the floor.
pub(super) struct WeighedVerdict {
    pub(super) verdict: RoutedVerdict,
    pub(super) dropped: Vec<RoutedCandidate>,
}

impl WeighedVerdict {
    pub(super) fn best(&self) -> Option<&RoutedCandidate> {
        let found = self.verdict.candidates.iter().chain(&self.dropped);
        found.max_by(|a, b| a.score.total_cmp(&b.score))
    }

    pub(super) fn fit(&self) -> Fit {
        self.best().map_or_else(Fit::default, |best| Fit {
            score: best.score,
            likeness: best.cosine.unwrap_or(best.score),
        })
    }
}
