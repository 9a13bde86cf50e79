//! What a model drafts for an answer, and what is kept of it. The schema that a draft is held to is made where models
//! are asked; the types here are what is read and what is journaled.

use std::collections::BTreeMap;

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, FindingId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model's draft.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct AnalysisDraft {
    /// Sentences, in the order in which they are to be read.
    pub sentences: Vec<DraftedSentence>,
    /// Values of placeholders that no rule gave.
    pub values: Vec<DraftedValue>,
    /// Findings of a skill without rules.
    pub findings: Vec<DraftedFinding>,
    /// Findings, the most important first.
    pub ranking: Vec<String>,
}

/// A sentence, with the sources that it cites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftedSentence {
    /// The sentence.
    pub text: String,
    /// Sources by their aliases or ids.
    #[serde(default)]
    pub cites: Vec<String>,
}

/// A value of a placeholder of one finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DraftedValue {
    /// The finding by its alias or id.
    pub finding: String,
    /// The placeholder.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A finding that a model made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DraftedFinding {
    /// How bad it is.
    pub severity: Severity,
    /// The type of the resource.
    pub resource_type: String,
    /// The resource's own id.
    pub resource_id: String,
    /// Values of the template's other placeholders.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Evidence by its alias or id.
    #[serde(default)]
    pub cites: Vec<String>,
}

/// A sentence that its citations support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitedSentence {
    /// The sentence.
    pub text: String,
    /// The evidence that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_ids: Vec<EvidenceId>,
    /// The findings that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finding_ids: Vec<FindingId>,
    /// The results without evidence that it rests on, each as `run/step`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The passages of lenses that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<String>,
}

/// How much of a draft was dropped, by why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCounts {
    /// It cites nothing, or no result where an answer opens with one.
    pub uncited: u32,
    /// What it cites is not there.
    pub unresolved: u32,
    /// It holds a number, an id or a name that does not occur in what it cites.
    pub unsupported: u32,
    /// It is no plain sentence.
    pub unreadable: u32,
}

impl DroppedCounts {
    /// Counts what another draft had dropped.
    pub fn include(&mut self, more: &Self) {
        for (count, more) in [
            (&mut self.uncited, more.uncited),
            (&mut self.unresolved, more.unresolved),
            (&mut self.unsupported, more.unsupported),
            (&mut self.unreadable, more.unreadable),
        ] {
            *count = count.saturating_add(more);
        }
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u32 {
        let all = [
            self.uncited,
            self.unresolved,
            self.unsupported,
            self.unreadable,
        ];
        all.into_iter().fold(0, u32::saturating_add)
    }
}

/// What is kept of a model's drafts, as the journal has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnalysisResult {
    /// Sentences, each with what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sentences: Vec<CitedSentence>,
    /// Values of placeholders that no rule gave, by finding.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<FindingId, BTreeMap<String, String>>,
    /// Findings of a skill without rules, each with its evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Findings, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<FindingId>,
    /// What was dropped, of all drafts.
    pub dropped: DroppedCounts,
    /// Which model answered, as `provider/model`; absent where none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl AnalysisResult {
    /// Whether the model contributed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
            && self.values.is_empty()
            && self.findings.is_empty()
            && self.ranking.is_empty()
    }
}
