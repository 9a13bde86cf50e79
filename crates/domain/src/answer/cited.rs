//! Checks that a model's text is supported by its citations.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::ANALYSIS_SENTENCES;
use charter_contract::catalogue::skill::Skill;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, FindingId};
use charter_contract::shorten;
use serde_json::{Map, Value};

use super::claims::{Claim, claims};
use super::draft::{AnalysisDraft, AnalysisResult, CitedSentence, DraftedFinding, DraftedSentence};
use super::facts::{Facts, Vocabulary, is_known};
use super::plain::{readable, unmarked};
use super::unfit::Unfit;
use crate::analysis::stated;

/// The maximum length of a quotation in a reason, in bytes.
const QUOTED: usize = 80;

/// The result of a tool, in the form that citations use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitedResult {
    /// A result identified by its evidence.
    Evidence(EvidenceId),
    /// A result without recorded evidence, identified as `run/step`.
    Output(String),
}

impl CitedResult {
    /// Returns the id that cites the result.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Evidence(id) => id.as_str(),
            Self::Output(place) => place,
        }
    }
}

/// The target of a citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationTarget {
    /// The result of a tool.
    Result(CitedResult),
    /// A finding of a rule, with the results that support it.
    Finding(FindingId, Vec<CitedResult>),
    /// The numbers of findings, with the results that were analysed.
    Totals(Vec<CitedResult>),
    /// A passage of a lens, identified by its location.
    Passage(String),
}

/// A source that may be cited.
#[derive(Debug, Clone)]
pub struct CitedSource {
    alias: String,
    cited: CitationTarget,
    facts: Facts,
}

impl CitedSource {
    /// Creates a source with this alias. Its facts come from `shown`, the part of it that the model saw.
    #[must_use]
    pub fn new(alias: String, cited: CitationTarget, shown: &Value) -> Self {
        Self {
            alias,
            cited,
            facts: Facts::from_value(shown),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let id = match &self.cited {
            CitationTarget::Result(result) => Some(result.id()),
            CitationTarget::Finding(id, _) => Some(id.as_str()),
            CitationTarget::Totals(_) => None,
            CitationTarget::Passage(place) => Some(place.as_str()),
        };
        self.alias == name || id == Some(name)
    }

    const fn is_finding(&self) -> bool {
        matches!(self.cited, CitationTarget::Finding(..))
    }
}

/// All citable sources of one answer.
#[derive(Debug, Clone, Default)]
pub struct CitableSources {
    sources: Vec<CitedSource>,
    vocabulary: Vocabulary,
    /// The placeholders of each finding that have no value.
    wanted: BTreeMap<FindingId, BTreeSet<String>>,
}

impl CitableSources {
    /// Creates the set of sources. `vocabulary` holds words that name no resource; `wanted` the placeholders that a
    /// model may fill in.
    #[must_use]
    pub fn new(
        sources: Vec<CitedSource>,
        vocabulary: Vocabulary,
        wanted: BTreeMap<FindingId, BTreeSet<String>>,
    ) -> Self {
        Self {
            sources,
            vocabulary,
            wanted,
        }
    }

    /// Returns whether there is a citable result, or a finding in one.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.sources.iter().any(|source| match source.cited {
            CitationTarget::Result(_) | CitationTarget::Finding(..) | CitationTarget::Totals(_) => {
                true
            }
            CitationTarget::Passage(_) => false,
        })
    }

    /// Returns a drafted sentence with its resolved citations, without emphasis marks.
    ///
    /// # Errors
    /// The reason why it is dropped.
    pub fn sentence(&self, draft: &DraftedSentence) -> Result<CitedSentence, Unfit> {
        let text = readable(&draft.text)?;
        let cited = self.cited(&draft.cites)?;
        // Code marks delimit claims, so claims are checked before the marks are removed.
        self.supported(&text, &cited)?;
        let mut sentence = CitedSentence {
            text: unmarked(&text)?,
            evidence_ids: Vec::new(),
            finding_ids: Vec::new(),
            outputs: Vec::new(),
            passages: Vec::new(),
        };
        for source in cited {
            sentence.rest_on(&source.cited);
        }
        Ok(sentence)
    }

    /// Returns the accepted part of a draft, and the reasons for dropping the rest. `stating` is the skill for which
    /// the model may state findings.
    #[must_use]
    pub fn accepted(
        &self,
        draft: &AnalysisDraft,
        stating: Option<&Skill>,
    ) -> (AnalysisResult, Vec<String>) {
        let mut kept = Acceptance::default();
        let mut order = SentenceOrder::default();
        for drafted in draft.sentences.iter().take(ANALYSIS_SENTENCES) {
            let sentence = self.sentence(drafted);
            let sentence = sentence.and_then(|sentence| order.admit(sentence));
            if let Some(sentence) = kept.note(&drafted.text, sentence) {
                kept.drafted.sentences.push(sentence);
            }
        }
        for drafted in &draft.values {
            let found = self.value(&drafted.finding, &drafted.name, &drafted.value);
            if let Some((finding, value)) = kept.note(&drafted.value, found) {
                let of = kept.drafted.values.entry(finding).or_default();
                of.insert(drafted.name.clone(), value);
            }
        }
        for finding in &draft.findings {
            let made = stating.ok_or(Unfit::Unreadable("the findings are those of the rules"));
            let made = made.and_then(|skill| self.finding(skill, finding));
            if let Some(made) = kept.note(&finding.resource_id, made) {
                kept.drafted.findings.push(made);
            }
        }
        for name in &draft.ranking {
            let ranked = self.named(name).map(|source| source.cited.clone());
            if let Some(CitationTarget::Finding(id, _)) = kept.note(name, ranked)
                && !kept.drafted.ranking.contains(&id)
            {
                kept.drafted.ranking.push(id);
            }
        }
        (kept.drafted, kept.wrong)
    }

    /// Returns a placeholder's value, if its finding and the results that support the finding contain it.
    fn value(&self, finding: &str, name: &str, value: &str) -> Result<(FindingId, String), Unfit> {
        let value = readable(value)?;
        let source = self.named(finding)?;
        let CitationTarget::Finding(id, results) = &source.cited else {
            return Err(Unfit::Unresolved(shortened(finding)));
        };
        if !self
            .wanted
            .get(id)
            .is_some_and(|names| names.contains(name))
        {
            return Err(Unfit::Unresolved(shortened(name)));
        }
        let proof = results
            .iter()
            .filter_map(|result| self.named(result.id()).ok());
        let cited: Vec<&CitedSource> = std::iter::once(source).chain(proof).collect();
        self.supported(&value, &cited)?;
        Ok((id.clone(), unmarked(&value)?))
    }

    /// Returns a finding of a skill without rules. The cited results must contain its resource and every value. A
    /// result without evidence supports values, but proves nothing.
    fn finding(&self, skill: &Skill, draft: &DraftedFinding) -> Result<Finding, Unfit> {
        let cited = self.cited(&draft.cites)?;
        let mut evidence = Vec::new();
        for source in &cited {
            match &source.cited {
                CitationTarget::Result(CitedResult::Evidence(id)) => evidence.push(id.clone()),
                CitationTarget::Result(CitedResult::Output(_)) => {}
                CitationTarget::Finding(..)
                | CitationTarget::Totals(_)
                | CitationTarget::Passage(_) => {
                    return Err(Unfit::Unresolved(source.alias.clone()));
                }
            }
        }
        let resource = readable(&draft.resource_id)?;
        self.occurs(&Claim::Literal(super::claims::lowered(&resource)), &cited)?;
        let mut fields = Map::new();
        for (name, value) in &draft.values {
            let value = readable(value)?;
            self.supported(&value, &cited)?;
            fields.insert(name.clone(), Value::String(unmarked(&value)?));
        }
        let made = stated(
            skill,
            draft.severity,
            &draft.resource_type,
            &resource,
            fields,
        );
        let mut made = made.map_err(|_| Unfit::Unreadable("it is not a finding"))?;
        made.evidence_ids = evidence;
        Ok(made)
    }

    fn named(&self, name: &str) -> Result<&CitedSource, Unfit> {
        let found = self.sources.iter().find(|source| source.is_called(name));
        found.ok_or_else(|| Unfit::Unresolved(shortened(name)))
    }

    /// Returns the sources with these names, without duplicates.
    fn cited(&self, names: &[String]) -> Result<Vec<&CitedSource>, Unfit> {
        let mut cited: Vec<&CitedSource> = Vec::with_capacity(names.len());
        for name in names {
            let source = self.named(name)?;
            if !cited.iter().any(|known| known.alias == source.alias) {
                cited.push(source);
            }
        }
        if cited.is_empty() {
            return Err(Unfit::Uncited);
        }
        Ok(cited)
    }

    fn supported(&self, text: &str, cited: &[&CitedSource]) -> Result<(), Unfit> {
        let claims = claims(text);
        claims
            .iter()
            .try_for_each(|claim| self.occurs(claim, cited))
    }

    /// Checks that a claim occurs in one of these sources. Where findings are cited, their number is a fact too.
    fn occurs(&self, claim: &Claim, cited: &[&CitedSource]) -> Result<(), Unfit> {
        let any = |is: &dyn Fn(&Facts) -> bool| cited.iter().any(|source| is(&source.facts));
        match claim {
            Claim::Number(number) => {
                let findings = cited.iter().filter(|source| source.is_finding()).count();
                let counted = findings > 0 && findings.to_string() == *number;
                let occurs = counted || any(&|facts| facts.has_number(number));
                if occurs {
                    Ok(())
                } else {
                    Err(unsupported(number))
                }
            }
            Claim::Literal(text) => {
                let occurs = any(&|facts| facts.has_literal(text));
                if occurs {
                    Ok(())
                } else {
                    Err(unsupported(text))
                }
            }
            Claim::Name { parts, or_common } => {
                let unknown = parts.iter().find(|part| {
                    !is_known(part, &self.vocabulary, *or_common)
                        && !any(&|facts| facts.has_word(part))
                });
                unknown.map_or(Ok(()), |part| Err(unsupported(part)))
            }
        }
    }
}

/// The accepted part of a draft so far, and the reasons for dropping the rest.
#[derive(Default)]
struct Acceptance {
    drafted: AnalysisResult,
    wrong: Vec<String>,
}

impl Acceptance {
    fn note<T>(&mut self, text: &str, found: Result<T, Unfit>) -> Option<T> {
        match found {
            Ok(found) => Some(found),
            Err(why) => {
                self.drafted.dropped.count(&why);
                self.wrong.push(format!("“{}”: {why}", shortened(text)));
                None
            }
        }
    }
}

/// The order of sentences in an answer about results: the first one cites a result; reference texts come later.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentenceOrder {
    has_results: bool,
}

impl SentenceOrder {
    /// Returns the sentence, if it may come next.
    ///
    /// # Errors
    /// [`Unfit::ReferenceFirst`] if it cites only reference texts, and no earlier sentence cites a result.
    pub fn admit(&mut self, sentence: CitedSentence) -> Result<CitedSentence, Unfit> {
        self.has_results |= !sentence.is_reference();
        match self.has_results {
            true => Ok(sentence),
            false => Err(Unfit::ReferenceFirst),
        }
    }
}

impl CitedSentence {
    /// Returns whether the sentence cites only reference texts.
    fn is_reference(&self) -> bool {
        let has_results = !self.evidence_ids.is_empty()
            || !self.finding_ids.is_empty()
            || !self.outputs.is_empty();
        !self.passages.is_empty() && !has_results
    }

    fn rest_on(&mut self, cited: &CitationTarget) {
        let results: &[CitedResult] = match cited {
            CitationTarget::Result(result) => std::slice::from_ref(result),
            CitationTarget::Totals(results) => results,
            CitationTarget::Finding(id, results) => {
                self.finding_ids.push(id.clone());
                results
            }
            CitationTarget::Passage(place) => {
                self.passages.push(place.clone());
                &[]
            }
        };
        for result in results {
            match result {
                CitedResult::Evidence(id) if !self.evidence_ids.contains(id) => {
                    self.evidence_ids.push(id.clone());
                }
                CitedResult::Output(place) if !self.outputs.contains(place) => {
                    self.outputs.push(place.clone());
                }
                CitedResult::Evidence(_) | CitedResult::Output(_) => {}
            }
        }
    }
}

fn unsupported(what: &str) -> Unfit {
    Unfit::Unsupported(shortened(what))
}

fn shortened(text: &str) -> String {
    shorten::to_bytes(text, QUOTED).into_owned()
}
