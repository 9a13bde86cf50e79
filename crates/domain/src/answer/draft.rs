//! A model's draft of an answer, and the accepted part of it. The model adapter makes the schema for drafts; the types
//! here define what is parsed and what is journaled.

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
    /// Sentences, in reading order.
    pub sentences: Vec<DraftedSentence>,
    /// Values of placeholders that no rule filled in.
    pub values: Vec<DraftedValue>,
    /// Findings of a skill without rules.
    pub findings: Vec<DraftedFinding>,
    /// Findings, in descending order of importance.
    pub ranking: Vec<String>,
}

/// A sentence, with the sources that it cites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftedSentence {
    /// The sentence.
    pub text: String,
    /// Sources, by alias or id.
    #[serde(default)]
    pub cites: Vec<String>,
}

/// A value of a placeholder of one finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DraftedValue {
    /// The finding, by alias or id.
    pub finding: String,
    /// The placeholder.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A finding that a model stated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DraftedFinding {
    /// The severity.
    pub severity: Severity,
    /// The type of the resource.
    pub resource_type: String,
    /// The resource's own id.
    pub resource_id: String,
    /// Values of the template's other placeholders.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Evidence, by alias or id.
    #[serde(default)]
    pub cites: Vec<String>,
}

/// A sentence that its citations support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitedSentence {
    /// The sentence.
    pub text: String,
    /// The evidence that supports the sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_ids: Vec<EvidenceId>,
    /// The findings that support the sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finding_ids: Vec<FindingId>,
    /// The results without evidence that support the sentence, each as `run/step`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The passages of lenses that support the sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<String>,
}

/// The number of dropped parts of a draft, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCounts {
    /// Parts that cite nothing, or that cite no result where an answer must open with one.
    pub uncited: u32,
    /// Parts with a citation that does not resolve.
    pub unresolved: u32,
    /// Parts with a number, an id or a name that their sources do not contain.
    pub unsupported: u32,
    /// Parts that are not plain sentences.
    pub unreadable: u32,
}

impl DroppedCounts {
    /// Adds the counts of another draft.
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

    /// Returns the sum of all counts.
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

/// The accepted parts of a model's drafts, as journaled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnalysisResult {
    /// Sentences, each with its citations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sentences: Vec<CitedSentence>,
    /// Values of placeholders that no rule filled in, by finding.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<FindingId, BTreeMap<String, String>>,
    /// Findings of a skill without rules, each with its evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Findings, in descending order of importance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<FindingId>,
    /// The number of dropped parts in all drafts.
    pub dropped: DroppedCounts,
    /// The model that answered, as `provider/model`; absent if no model was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl AnalysisResult {
    /// Returns whether the model contributed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
            && self.values.is_empty()
            && self.findings.is_empty()
            && self.ranking.is_empty()
    }
}
