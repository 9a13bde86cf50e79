//! The data that a model analyses: results, findings, their totals, passages of lenses and memories, each with an alias
//! for citing it. A sentence may use only the part of a source that the model received. Writes no instructions.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{ANALYSIS_FINDINGS, FILLED_TOGETHER};
use charter_contract::catalogue::skill::{AnalysisDuty, Skill};
use charter_contract::catalogue::tool::Tool;
use charter_contract::filling::FillBudget;
use charter_contract::finding::Finding;
use charter_contract::ids::{FindingId, StepId};
use charter_contract::json::text_length;
use charter_domain::answer::{
    CitableSources, CitationTarget, CitedResult, CitedSource, Vocabulary,
};
use charter_domain::guardrail::RequestTags;
use charter_domain::run::{Run, RunEvent};
use charter_domain::template::{RenderError, Structure};
use serde_json::{Map, Value, json};

use super::AnalysisService;
use super::extract::extract;
use crate::execution::findings::{FindingService, values};
use crate::execution::runs::{AnalysisWork, ExaminedRun, HistoryEvent, LoadedRun};
use crate::knowledge::lenses::{LensFilter, PassageView};
use crate::knowledge::memory::RecalledMemory;
use crate::{EngineError, Tier};

/// Maximum passages of lenses for a model.
const PASSAGES: usize = 3;
/// Minimum probability that a passage is relevant to the question, for a model to receive it.
const RELATED: f32 = 0.25;
/// Names that a template fills in without a value from a rule or a model.
const OWN_NAMES: [&str; 7] = [
    "finding_id",
    "rule_id",
    "skill_id",
    "severity",
    "resource_type",
    "resource_id",
    "evidence_id",
];

/// The results of one skill.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) skill: Skill,
    pinned: LoadedRun,
    run: Run,
    examined: ExaminedRun,
    /// The arguments of each step's call.
    called: BTreeMap<StepId, Map<String, Value>>,
}

impl Case {
    /// Returns whether the model may contribute this to the skill's part of the answer.
    pub(super) fn may(&self, duty: AnalysisDuty) -> bool {
        self.skill.model().is_some_and(|model| model.may(duty))
    }

    /// Returns the tags of its run's request.
    fn tags(&self) -> &RequestTags {
        &self.pinned.workspace.tags
    }

    fn tool_of(&self, step: &StepId) -> Option<&Tool> {
        let tool = self.run.graph().step(step)?.tool()?;
        let tool = self.pinned.workspace.tools.get(tool)?;
        Some(&tool.entry.document)
    }

    /// Returns the results of tools, each with its step: by its evidence, else by its position. The output of an
    /// analysis is not one.
    fn results(&self) -> Vec<(&StepId, CitedResult)> {
        let outputs = self.run.outputs().keys();
        let results = outputs.filter_map(|step| {
            self.tool_of(step).filter(|tool| !tool.is_internal())?;
            Some((step, self.result_of(step)))
        });
        results.collect()
    }

    fn result_of(&self, step: &StepId) -> CitedResult {
        match self.examined.evidence.get(step) {
            Some(id) => CitedResult::Evidence(id.clone()),
            None => CitedResult::Output(format!("{}/{step}", self.run.id())),
        }
    }
}

/// Texts beside the results.
#[derive(Debug)]
pub(super) struct ReferenceTexts {
    passages: Vec<PassageView>,
    memories: Vec<RecalledMemory>,
}

/// The data for a model, and the sources that it may cite.
#[derive(Debug)]
pub(super) struct Material {
    pub(super) context: Value,
    pub(super) citable: CitableSources,
    /// Placeholders of findings that need values.
    pub(super) wanted: BTreeSet<String>,
    /// Placeholders of the findings that the model states itself.
    pub(super) stated: BTreeSet<String>,
    /// Findings that it may rank.
    ranked: BTreeSet<FindingId>,
}

impl Material {
    /// Collects the material of these cases, in at most this many bytes of JSON.
    pub(super) fn gather(
        findings: &FindingService,
        work: &AnalysisWork,
        cases: &[Case],
        reference: &ReferenceTexts,
        most: usize,
    ) -> Self {
        let mut gathering = Gathering::new(most);
        for case in cases {
            gathering.take_case(findings, work, case);
        }
        gathering.take_passages(&reference.passages);
        gathering.take_memories(&reference.memories);
        let stated = super::stating(cases).map(|case| stated_names(findings, work, case));
        let vocabulary = Vocabulary::from_texts(cases.iter().flat_map(words_of));
        Self {
            context: gathering.context(work, cases),
            citable: CitableSources::new(gathering.sources, vocabulary, gathering.wanted.clone()),
            wanted: gathering.wanted.into_values().flatten().collect(),
            stated: stated.unwrap_or_default(),
            ranked: gathering.ranked,
        }
    }

    pub(super) fn may_be_ranked(&self, finding: &FindingId) -> bool {
        self.ranked.contains(finding)
    }

    /// Returns whether there is more than one finding to rank.
    pub(super) fn has_ranking(&self) -> bool {
        self.ranked.len() > 1
    }
}

/// Material under construction.
struct Gathering {
    evidence: Vec<Value>,
    findings: Vec<Value>,
    totals: Vec<Value>,
    passages: Vec<Value>,
    memories: Vec<Value>,
    sources: Vec<CitedSource>,
    wanted: BTreeMap<FindingId, BTreeSet<String>>,
    ranked: BTreeSet<FindingId>,
    /// Bytes that are left.
    left: usize,
}

impl Gathering {
    fn new(most: usize) -> Self {
        Self {
            evidence: Vec::new(),
            findings: Vec::new(),
            totals: Vec::new(),
            passages: Vec::new(),
            memories: Vec::new(),
            sources: Vec::new(),
            wanted: BTreeMap::new(),
            ranked: BTreeSet::new(),
            left: most,
        }
    }

    fn take_case(&mut self, findings: &FindingService, work: &AnalysisWork, case: &Case) {
        let aliases = self.take_findings(findings, work, case);
        let results = case.results();
        if case.skill.has_rules() {
            self.take_totals(case, &results);
        }
        // Results share the rest equally after the findings.
        let share = self.left / results.len().max(1);
        for (step, result) in results {
            let Some(output) = case.run.outputs().get(step) else {
                continue;
            };
            let mut shown = extract(output, share);
            if let Some(tool) = case.tool_of(step) {
                shown.insert("tool".to_owned(), json!(tool.tool_id));
            }
            shown.insert("parameters".to_owned(), json!(case.called.get(step)));
            let supports: Vec<&String> = aliases
                .iter()
                .filter(|(_, found_in)| *found_in == Some(step))
                .map(|(alias, _)| alias)
                .collect();
            let mark = match &result {
                CitedResult::Evidence(_) => 'e',
                CitedResult::Output(_) => 'o',
            };
            let alias = format!("{mark}{}", self.evidence.len() + 1);
            let mut source = self.cite(&alias, CitationTarget::Result(result), shown);
            if !supports.is_empty() {
                source.insert("findings".to_owned(), json!(supports));
            }
            self.evidence.push(Value::Object(source));
        }
    }

    /// Adds the findings of a case, up to half of the remaining bytes. Returns their aliases, each with the step whose
    /// result has the finding.
    fn take_findings<'c>(
        &mut self,
        findings: &FindingService,
        work: &AnalysisWork,
        case: &'c Case,
    ) -> Vec<(String, Option<&'c StepId>)> {
        let tenant = &work.caller.tenant;
        let template = findings.template(tenant, case.tags(), &case.skill);
        let structure = template.map(|found| Value::Object(found.document().structure.clone()));
        let structure = structure.filter(|_| case.may(AnalysisDuty::Impact));
        let mut aliases = Vec::new();
        let mut room = self.left / 2;
        for finding in &case.examined.findings {
            if self.findings.len() >= ANALYSIS_FINDINGS {
                break;
            }
            let shown = shown_finding(finding);
            let Some(rest) = room.checked_sub(length(&shown)) else {
                break;
            };
            room = rest;
            let alias = format!("f{}", self.findings.len() + 1);
            let id = finding.finding_id.clone();
            let found_in = case.examined.found_in.get(&id);
            let results = found_in.map(|step| case.result_of(step));
            let target = CitationTarget::Finding(id.clone(), results.into_iter().collect());
            let mut shown = self.cite(&alias, target, shown);
            let wanted = structure
                .as_ref()
                .map(|structure| missing(structure, &values(finding, Some(""), None)))
                .unwrap_or_default();
            if !wanted.is_empty() {
                shown.insert("wanted".to_owned(), json!(wanted));
                self.wanted.insert(id.clone(), wanted);
            }
            if case.may(AnalysisDuty::Ranking) {
                self.ranked.insert(id);
            }
            aliases.push((alias, found_in));
            self.findings.push(Value::Object(shown));
        }
        aliases
    }

    fn take_totals(&mut self, case: &Case, results: &[(&StepId, CitedResult)]) {
        let mut by_severity: BTreeMap<&str, usize> = BTreeMap::new();
        let mut by_resource_type: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &case.examined.findings {
            *by_severity.entry(finding.severity.as_str()).or_default() += 1;
            let of_type = by_resource_type.entry(finding.resource_type.as_str());
            *of_type.or_default() += 1;
        }
        let shown = fields(json!({
            "skill": case.skill.skill_id, "findings": case.examined.findings.len(),
            "by_severity": by_severity, "by_resource_type": by_resource_type,
        }));
        let alias = format!("t{}", self.totals.len() + 1);
        let results = results.iter().map(|(_, result)| result.clone()).collect();
        let shown = self.cite(&alias, CitationTarget::Totals(results), shown);
        self.totals.push(Value::Object(shown));
    }

    fn take_passages(&mut self, passages: &[PassageView]) {
        for (at, passage) in passages.iter().take(PASSAGES).enumerate() {
            let shown = fields(json!({"title": passage.title, "text": passage.text}));
            if length(&shown) > self.left {
                continue;
            }
            let place = format!(
                "{} ({}, passage {})",
                passage.title,
                passage.lens_id,
                at + 1
            );
            let alias = format!("p{}", self.passages.len() + 1);
            let shown = self.cite(&alias, CitationTarget::Passage(place), shown);
            self.passages.push(Value::Object(shown));
        }
    }

    /// Takes the memories whose content may be part of an answer.
    fn take_memories(&mut self, memories: &[RecalledMemory]) {
        for memory in memories {
            let Some(note) = &memory.note else { continue };
            let shown = json!({"title": note.title, "text": note.content, "written_at": memory.at});
            let shown = fields(shown);
            if length(&shown) > self.left {
                continue;
            }
            let place = format!("{} (memory {})", note.title, memory.memory_id);
            let alias = format!("m{}", self.memories.len() + 1);
            let shown = self.cite(&alias, CitationTarget::Passage(place), shown);
            self.memories.push(Value::Object(shown));
        }
    }

    /// Registers the shown fields as a source, and returns them with its alias.
    fn cite(
        &mut self,
        alias: &str,
        target: CitationTarget,
        shown: Map<String, Value>,
    ) -> Map<String, Value> {
        self.left = self.left.saturating_sub(length(&shown));
        let said = Value::Object(shown);
        self.sources
            .push(CitedSource::new(alias.to_owned(), target, &said));
        let mut with_alias = fields(json!({"id": alias}));
        with_alias.extend(fields(said));
        with_alias
    }

    fn context(&self, work: &AnalysisWork, cases: &[Case]) -> Value {
        let skills = cases.iter().map(|case| {
            json!({
                "skill": case.skill.skill_id, "name": case.skill.display_name, "purpose": case.skill.purpose,
                "parameters": case.run.parameters(),
            })
        });
        let mut context = json!({
            "question": work.order.question, "skills": skills.collect::<Vec<_>>(),
            "findings": self.findings, "totals": self.totals, "evidence": self.evidence,
            "passages": self.passages,
        });
        if !self.memories.is_empty() {
            context["memories"] = json!(self.memories);
        }
        context
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn length(fields: &Map<String, Value>) -> usize {
    let each = fields.iter();
    each.fold(2, |all, (name, value)| {
        all.saturating_add(name.len() + text_length(value) + 4)
    })
}

fn shown_finding(finding: &Finding) -> Map<String, Value> {
    fields(json!({
        "skill": finding.skill_id, "severity": finding.severity, "resource_type": finding.resource_type,
        "resource_id": finding.resource_id, "fields": finding.fields,
    }))
}

/// Returns the placeholders of a structure that these values leave open. A structure with expressions is left to its
/// author.
fn missing(structure: &Value, values: &Map<String, Value>) -> BTreeSet<String> {
    let Ok(Structure::Plain(plain)) = Structure::read(structure) else {
        return BTreeSet::new();
    };
    match plain.fill(values, &mut FillBudget::with_limit(FILLED_TOGETHER)) {
        Err(RenderError::Missing(names)) => {
            let plain = names.into_iter().filter(|name| !name.contains('.'));
            plain.collect()
        }
        Ok(_) | Err(_) => BTreeSet::new(),
    }
}

/// Returns the placeholders of a finding that a model states.
fn stated_names(findings: &FindingService, work: &AnalysisWork, case: &Case) -> BTreeSet<String> {
    let template = findings.template(&work.caller.tenant, case.tags(), &case.skill);
    let Some(template) = template else {
        return BTreeSet::new();
    };
    let structure = Value::Object(template.document().structure.clone());
    let own = OWN_NAMES.iter().map(|name| ((*name).to_owned(), json!("")));
    missing(&structure, &own.collect())
}

/// Returns the texts of registered documents that contribute to an answer.
fn words_of(case: &Case) -> Vec<&str> {
    let skill = &case.skill;
    let mut words = vec![
        skill.display_name.as_str(),
        skill.description.as_str(),
        skill.purpose.as_str(),
        skill.domain.as_str(),
        skill.name.as_str(),
    ];
    let texts = skill.capabilities.iter().chain(&skill.approach_hints);
    words.extend(texts.map(|text| text.as_str()));
    let rules = skill
        .analysis
        .iter()
        .flat_map(|analysis| &analysis.findings);
    words.extend(rules.map(|rule| rule.description.as_str()));
    for tool in case.pinned.workspace.tools.values() {
        let tool = &tool.entry.document;
        words.extend([
            tool.description.as_str(),
            tool.name.as_str(),
            tool.provider.as_str(),
        ]);
        words.extend(tool.service.iter().map(|service| service.as_str()));
    }
    words
}

impl AnalysisService {
    /// Returns the results to analyse, with the findings of rules in them.
    pub(super) async fn cases(&self, work: &AnalysisWork) -> Result<Vec<Case>, EngineError> {
        let tenant = &work.caller.tenant;
        let mut cases = Vec::with_capacity(work.order.runs.len());
        for run in &work.order.runs {
            let run = self.journals.fold(tenant, run).await?.run;
            let pinned = self.pinned_documents.load(tenant, &run).await?;
            let history = self.journals.history(tenant, run.id()).await?;
            // Recorded before the model's sentences cite the evidence.
            let examined = self.run_evidence.examine(&pinned, &run, &history).await?;
            cases.push(Case {
                skill: pinned.skill()?,
                called: called(&history),
                examined,
                pinned,
                run,
            });
        }
        Ok(cases)
    }

    /// Returns passages and memories near the question. If there are none, or a search fails, the analysis continues
    /// without them.
    pub(super) async fn reference_for(
        &self,
        work: &AnalysisWork,
        cases: &[Case],
    ) -> ReferenceTexts {
        let question = work.order.question.as_str();
        ReferenceTexts {
            passages: self.passages_for(work, cases).await,
            memories: self
                .memories
                .recall_if_possible(&work.caller, question)
                .await,
        }
    }

    /// Returns passages near the question, from lenses of the skills' domain.
    async fn passages_for(&self, work: &AnalysisWork, cases: &[Case]) -> Vec<PassageView> {
        let Some(domain) = cases.first().map(|case| &case.skill.domain) else {
            return Vec::new();
        };
        let view = self.catalogue.live().view(&work.caller.tenant);
        let has_lens = view
            .lenses()
            .any(|found| found.document().domain == *domain);
        if work.order.tier < Tier::Advanced || !has_lens {
            return Vec::new();
        }
        let filter = LensFilter {
            domain: Some(domain.clone()),
            top_k: Some(PASSAGES),
            ..LensFilter::default()
        };
        let answer = self
            .lenses
            .ask_lenses(&work.caller, &work.order.question, &filter);
        match answer.await {
            Ok(answer) => {
                let passages = answer.passages.into_iter();
                passages
                    .filter(|passage| passage.score >= RELATED)
                    .collect()
            }
            Err(error) => {
                tracing::debug!(error = %error, "an analysis continues without lenses");
                Vec::new()
            }
        }
    }
}

/// Returns the arguments of each step's last call.
fn called(history: &[HistoryEvent]) -> BTreeMap<StepId, Map<String, Value>> {
    let begun = history.iter().filter_map(|entry| match &entry.event {
        RunEvent::StepBegun(begun) => Some((begun.step.clone(), begun.parameters.clone())),
        _ => None,
    });
    begun.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_without_a_value_are_wanted() {
        let structure = json!({"title": "{{resource_id}} in {{region}}", "impact": "{{impact}}", "x": "{{a.b}}"});
        let values = fields(json!({"resource_id": "r", "region": "eu"}));
        let names = missing(&structure, &values);
        assert_eq!(names, BTreeSet::from(["impact".to_owned()]));
        let program = json!({"title": "{% if x %}{{ y }}{% endif %}"});
        assert_eq!(missing(&program, &values), BTreeSet::new());
    }
}
