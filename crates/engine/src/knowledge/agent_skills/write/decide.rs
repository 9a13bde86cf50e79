//! Decides a write on one state: the changes, or the refusal. Pure.

use std::collections::BTreeSet;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::link_graph::AgentSkill;
use charter_contract::scope::Scope;
use charter_contract::validate::Contract;
use charter_contract::violation::{Report, Violation};
use charter_domain::link_graph::{LinkGraph, LinkSteps, SkillNode, SkillsView};
use charter_search::embed::{EmbeddingModel, Vector};
use charter_store::agent_skills::{
    NewSkill, Part, SkillChange, SkillVector, SkillsRevision, VectorOrigin,
};
use serde_json::json;

use super::super::index::{Indexes, NewVector, SkillFiles};
use super::super::load::{BySummary, stored_vector};
use super::{Act, Draft, Force, MAX_SKILLS, NAMED_PARENTS, SkillWritten};
use crate::EngineError;

/// A change in memory.
pub(super) enum Step {
    Put(SkillNode, NewVector, SkillFiles),
    Remove(SkillId),
}

/// The changes of a write on one state.
pub(super) struct WritePlan {
    pub(super) revision: SkillsRevision,
    pub(super) model_is_stored: bool,
    pub(super) steps: Vec<(SkillChange, Step)>,
    pub(super) answers: Vec<Result<SkillWritten, EngineError>>,
}

/// Returns the summaries for which a write has no vectors yet.
pub(super) fn missing_vectors(
    indexes: &Indexes,
    scope: &Scope,
    acts: &[Act],
    known: &BySummary,
    model: Option<&EmbeddingModel>,
) -> BTreeSet<String> {
    let puts = acts.iter().filter_map(|act| match act {
        Act::Put(draft) => Some(draft),
        Act::Delete(..) => None,
    });
    let needed = puts.filter(|draft| {
        model.is_some() && draft.supplied.is_none() && !keeps_vector(indexes, scope, draft)
    });
    let summaries = needed.map(|draft| draft.skill.summary.to_string());
    summaries
        .filter(|summary| !known.contains_key(summary))
        .collect()
}

/// B001-8: an unchanged summary is not embedded again.
fn keeps_vector(indexes: &Indexes, scope: &Scope, draft: &Draft) -> bool {
    let id = &draft.skill.skill_id;
    indexes.scope(scope).is_some_and(|index| {
        let same = index
            .graph
            .get(id)
            .is_some_and(|node| node.summary == draft.skill.summary);
        same && index.facts(id).vector == Some(VectorOrigin::Embedded)
    })
}

pub(super) fn decide(
    indexes: &Indexes,
    scope: &Scope,
    acts: &[Act],
    vectors: &BySummary,
    model: Option<&EmbeddingModel>,
) -> WritePlan {
    let mut decided = WritePlan {
        revision: indexes.revision,
        model_is_stored: indexes.model_is_stored,
        steps: Vec::with_capacity(acts.len()),
        answers: Vec::with_capacity(acts.len()),
    };
    let view = indexes.view_of(scope);
    // Later actions are decided on the result of earlier ones; a single one needs no copy for that.
    let mut scratch: Option<LinkGraph> = (acts.len() > 1).then(|| {
        indexes
            .scope(scope)
            .map(|index| index.graph.clone())
            .unwrap_or_default()
    });
    let mut steps = LinkSteps::default();
    for act in acts {
        let present = match (&scratch, scope) {
            (None, _) => view,
            (Some(graph), Scope::Tenant(_)) => SkillsView {
                own: Some(graph),
                global: view.global,
            },
            (Some(graph), Scope::Global) => SkillsView {
                own: None,
                global: graph,
            },
        };
        let answer = match act {
            Act::Put(draft) => may_be_put(indexes, present, scope, draft, &mut steps)
                .and_then(|()| decide_put(indexes, present, scope, draft, vectors, model)),
            Act::Delete(id, force) => delete(present, scope, id, *force),
        };
        let answer = answer.map(|(step, written)| {
            if let Some(graph) = &mut scratch {
                match &step.1 {
                    Step::Put(node, ..) => drop(graph.insert_or_replace(node.clone())),
                    Step::Remove(id) => drop(graph.remove(id)),
                }
            }
            decided.steps.push(step);
            written
        });
        decided.answers.push(answer);
    }
    decided
}

type Decision = Result<((SkillChange, Step), SkillWritten), EngineError>;

fn decide_put(
    indexes: &Indexes,
    view: SkillsView<'_>,
    scope: &Scope,
    draft: &Draft,
    vectors: &BySummary,
    model: Option<&EmbeddingModel>,
) -> Decision {
    let skill = &draft.skill;
    let own = written_to(view, scope);
    let (stored, indexed) = vector(indexes, scope, draft, vectors, model)?;
    let written = SkillWritten {
        skill_id: skill.skill_id.clone(),
        created: own.is_none_or(|own| own.slot(&skill.skill_id).is_none()),
        embedded: matches!(indexed, NewVector::This(_, VectorOrigin::Embedded)),
        warnings: warnings(skill),
    };
    let has_files = draft.files.as_ref().is_some_and(|files| !files.is_empty());
    let node = SkillNode {
        id: skill.skill_id.clone(),
        summary: skill.summary.clone(),
        is_folder: skill.is_folder,
        children: skill.sub_skills.clone().into(),
    };
    let change = SkillChange::Put(Box::new(NewSkill {
        id: skill.skill_id.clone(),
        summary: skill.summary.to_string(),
        is_folder: skill.is_folder,
        sub_skills: skill.sub_skills.clone(),
        instruction: skill.instruction.clone(),
        vector: stored,
        files: draft.files.clone().map_or(Part::Keep, Part::Replace),
    }));
    Ok((
        (change, Step::Put(node, indexed, has_files.into())),
        written,
    ))
}

/// Returns the skills of the scope itself, without the global ones visible through it.
fn written_to<'g>(view: SkillsView<'g>, scope: &Scope) -> Option<&'g LinkGraph> {
    match scope {
        Scope::Tenant(_) => view.own,
        Scope::Global => Some(view.global),
    }
}

fn may_be_put(
    indexes: &Indexes,
    view: SkillsView<'_>,
    scope: &Scope,
    draft: &Draft,
    steps: &mut LinkSteps,
) -> Result<(), EngineError> {
    let skill = &draft.skill;
    let facts = indexes
        .scope(scope)
        .map(|index| index.facts(&skill.skill_id));
    if facts.is_some_and(|facts| facts.files == SkillFiles::Present) && draft.files.is_none() {
        let message = format!(
            "`{}` was imported with files, which a document would contradict; import it again, or delete it first",
            skill.skill_id
        );
        return Err(EngineError::new(ErrorCode::IllegalTransition, message));
    }
    if written_to(view, scope).is_some_and(|own| own.len() >= MAX_SKILLS) {
        let message =
            format!("skill limit reached: {MAX_SKILLS} skills (MAX_SKILLS); delete some first");
        return Err(EngineError::new(ErrorCode::TooLarge, message));
    }
    let cycle = view.cycle(&skill.skill_id, &skill.sub_skills, steps);
    let cycle = cycle.map_err(|error| {
        let message = format!("`{}`: {error}: write fewer skills at once", skill.skill_id);
        EngineError::new(ErrorCode::TooLarge, message)
    })?;
    if let Some(path) = cycle {
        let mut report = Report::new();
        report.meaning("/sub_skills", "cycle", format!("cycle: {path}"));
        let name = AgentSkill::NAME.as_str();
        return Err(EngineError::violations(name, &report.violations));
    }
    Ok(())
}

/// Returns the vector of a written skill, for storage and for memory.
fn vector(
    indexes: &Indexes,
    scope: &Scope,
    draft: &Draft,
    vectors: &BySummary,
    model: Option<&EmbeddingModel>,
) -> Result<(Part<Option<SkillVector>>, NewVector), EngineError> {
    let summary = draft.skill.summary.as_str();
    let this = |vector: &Vector, origin| {
        let stored = stored_vector(summary, vector, origin);
        let indexed = NewVector::This(vector.clone(), origin);
        (Part::Replace(Some(stored)), indexed)
    };
    if model.is_none() {
        return Ok((Part::Replace(None), NewVector::None));
    }
    match (&draft.supplied, vectors.get(summary)) {
        (Some(vector), _) => Ok(this(vector, VectorOrigin::Supplied)),
        (None, _) if keeps_vector(indexes, scope, draft) => Ok((Part::Keep, NewVector::Same)),
        (None, Some(vector)) => Ok(this(vector, VectorOrigin::Embedded)),
        (None, None) => {
            let cause = "a summary was not embedded";
            Err(EngineError::internal("writing a skill", cause))
        }
    }
}

fn warnings(skill: &AgentSkill) -> Vec<Violation> {
    let mut report = Report::new();
    skill.check(&mut report);
    report.warnings
}

fn delete(view: SkillsView<'_>, scope: &Scope, id: &SkillId, force: Force) -> Decision {
    let own = written_to(view, scope);
    if own.and_then(|own| own.slot(id)).is_none() {
        return Err(EngineError::not_found("skill", id));
    }
    // Deleting a tenant's skill reveals the global one of the same id: no link dangles.
    let remains = scope.tenant().is_some() && view.global.slot(id).is_some();
    let parents: Vec<&SkillId> = view.parents(id).map(|(_, parent)| &parent.id).collect();
    if force == Force::No && !remains && !parents.is_empty() {
        let named: Vec<&str> = parents
            .iter()
            .take(NAMED_PARENTS)
            .map(|id| id.as_str())
            .collect();
        let message = format!(
            "`{id}` is referenced by {} skill(s): {}",
            parents.len(),
            named.join(", ")
        );
        let error = EngineError::new(ErrorCode::StillReferenced, message);
        return Err(error.with_details(json!({"parents": named})));
    }
    let written = SkillWritten {
        skill_id: id.clone(),
        created: false,
        embedded: false,
        warnings: Vec::new(),
    };
    let step = (SkillChange::Delete(id.clone()), Step::Remove(id.clone()));
    Ok((step, written))
}
