//! The course of a routed request: which candidates are used, and how far.
//!
//! A change is started only if the sentence requests it now and one playbook clearly does it; else it is offered, which
//! starts nothing. The decision uses only the verdict and the form of the sentence.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::tags::Flow;
use charter_contract::ids::{DomainId, SkillId};
use charter_contract::intent::Intent;
use charter_domain::catalogue::View;
use charter_domain::intent::{AnswerSource, ChangeTiming, Language};
use charter_domain::profile;
use charter_search::VerdictKind;
use serde::{Deserialize, Serialize};

use crate::registry::routing::{RoutedCandidate, RoutedVerdict, RoutingResult};

/// The course of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Run skills.
    Run,
    /// Open a playbook's run.
    Open,
    /// Set parameters of a run that an earlier request of the session opened, or cancel or show it.
    Resume,
    /// Offer playbooks, without opening a run.
    Offer,
    /// Quote the closest passages, as the request's flow demands.
    Quote,
    /// Explain a rule, with quotations of the reference library or of a document.
    Explain,
    /// Ask one question back: which of several meanings is right.
    AskBack,
    /// Decline: the request asks for nothing that the catalogue covers.
    Decline,
    /// Search for a candidate.
    Generate,
}

impl Course {
    /// Returns the course of a request that was recorded without one.
    pub(super) fn of_flow(flow: Flow) -> Self {
        match flow {
            Flow::Skill | Flow::ReadBroad => Self::Run,
            Flow::Write => Self::Open,
            Flow::RagSearch | Flow::Knowledge => Self::Quote,
            Flow::CodeGenRead | Flow::CodeGenWrite | Flow::CodeGenDirect => Self::Generate,
        }
    }
}

/// A course, with the reason as text if nothing is started.
pub(super) type Reasoned = (Course, Option<String>);

/// Decides the course of a request from its routing. `few` is the number of skills that answer together.
pub(super) fn decided(view: &View, routed: &RoutingResult, few: usize) -> Reasoned {
    match routed.source {
        AnswerSource::Skills => match are_different(view, routed, few) {
            true => (Course::AskBack, None),
            false => (Course::Run, None),
        },
        AnswerSource::Playbooks => change(&routed.verdict, routed.start),
        AnswerSource::Passages
        | AnswerSource::SkillText
        | AnswerSource::PlaybookText
        | AnswerSource::Description => (Course::Explain, None),
        AnswerSource::Agents | AnswerSource::NoMatch => (Course::Generate, None),
        AnswerSource::Nothing => (Course::Decline, Some(because_nothing(routed))),
    }
}

/// Returns why a request asks for nothing that the catalogue covers.
fn because_nothing(routed: &RoutingResult) -> String {
    match (routed.language, routed.remark) {
        (Language::Other(name), _) => format!("it is written in {name}"),
        (Language::English, Some(remark)) => remark.reason().to_owned(),
        (Language::English, None) => {
            let reason = routed.verdict.intent_reason.as_deref();
            reason.unwrap_or("it asks for nothing").to_owned()
        }
    }
}

/// Opens a change that is requested now, if one playbook clears the narrow threshold.
fn change(verdict: &RoutedVerdict, start: ChangeTiming) -> Reasoned {
    let narrow = verdict.thresholds.narrow;
    let clears = verdict
        .candidates
        .first()
        .is_some_and(|best| best.score >= narrow);
    match (start, verdict.kind) {
        (ChangeTiming::Offer(doubt), _) => (Course::Offer, Some(doubt.reason().to_owned())),
        (ChangeTiming::Now | ChangeTiming::DryRun, VerdictKind::Narrow) if clears => {
            (Course::Open, None)
        }
        (ChangeTiming::Now | ChangeTiming::DryRun, VerdictKind::Broad) if clears => {
            (Course::AskBack, None)
        }
        (
            ChangeTiming::Now | ChangeTiming::DryRun,
            VerdictKind::Narrow | VerdictKind::Broad | VerdictKind::Miss,
        ) => {
            let reason = format!("no playbook clears the narrow threshold {narrow}");
            (Course::Offer, Some(reason))
        }
    }
}

/// Returns whether the skills of a broad verdict answer different questions, of which one was asked. Skills of one
/// domain count as parts of one answer, and so do those of a request with several parts.
fn are_different(view: &View, routed: &RoutingResult, few: usize) -> bool {
    let verdict = &routed.verdict;
    if verdict.kind != VerdictKind::Broad || routed.parts > 1 {
        return false;
    }
    let Some(best) = verdict.candidates.first() else {
        return false;
    };
    let rivals = verdict.chosen(few).into_iter().skip(1);
    let mut rivals = rivals.filter(|rival| best.fused - rival.fused < verdict.thresholds.margin);
    let domain = |candidate: &RoutedCandidate| domain_of_candidate(view, candidate);
    let of_best = domain(best);
    rivals.any(|rival| domain(rival) != of_best)
}

/// A skill that is left out, because its agent conflicts with that of a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConflictingSkill {
    pub(super) skill: SkillId,
    pub(super) better: SkillId,
}

/// Returns the skills that answer a verdict together, and separately those whose agent conflicts with the agent of a
/// better one (000 §2.11).
pub(super) fn skills_of(
    view: &View,
    verdict: &RoutedVerdict,
    few: usize,
) -> (Vec<SkillId>, Vec<ConflictingSkill>) {
    let mut chosen: Vec<SkillId> = Vec::new();
    let mut conflicting = Vec::new();
    for candidate in verdict.chosen(few) {
        let Some(skill) = SkillId::parse(&candidate.id)
            .ok()
            .filter(|_| candidate.kind == DocumentKind::Skill)
        else {
            continue;
        };
        let conflicts = |other: &SkillId| {
            let owners = (view.owner_of(skill.as_ref()), view.owner_of(other.as_ref()));
            matches!(owners, (Some(one), Some(other)) if profile::conflict(one.document(), other.document()))
        };
        let better = chosen.iter().find(|other| conflicts(other)).cloned();
        match better {
            Some(better) => conflicting.push(ConflictingSkill { skill, better }),
            None => chosen.push(skill),
        }
    }
    (chosen, conflicting)
}

/// Returns whether one candidate answers: it is clear, or there is no other.
fn is_one(verdict: &RoutedVerdict) -> bool {
    verdict.kind == VerdictKind::Narrow || verdict.candidates.len() == 1
}

/// Returns the flow of a course (seed 000 §2.10).
pub(super) fn flow_of(course: Course, verdict: &RoutedVerdict, skills: usize) -> Flow {
    let first = verdict.candidates.first().map(|first| first.kind);
    match course {
        Course::Run if skills == 1 && is_one(verdict) => Flow::Skill,
        Course::Run => Flow::ReadBroad,
        Course::AskBack if first == Some(DocumentKind::Playbook) => Flow::Write,
        Course::AskBack => Flow::ReadBroad,
        Course::Open | Course::Resume | Course::Offer => Flow::Write,
        Course::Explain if first == Some(DocumentKind::DomainLens) => Flow::RagSearch,
        Course::Quote | Course::Explain | Course::Decline => Flow::Knowledge,
        // Code is generated for a missed question on current state, or a missed change.
        Course::Generate if verdict.intent == Some(Intent::Knowledge) => Flow::Knowledge,
        Course::Generate if verdict.intent == Some(Intent::Change) => Flow::CodeGenWrite,
        Course::Generate => Flow::CodeGenRead,
    }
}

/// Returns the domain of a candidate's document.
pub(super) fn domain_of_candidate(view: &View, candidate: &RoutedCandidate) -> Option<DomainId> {
    let id = &candidate.id;
    match candidate.kind {
        DocumentKind::Skill => view.skill(id).map(|found| found.document().domain.clone()),
        DocumentKind::Playbook => view
            .playbook(id)
            .map(|found| found.document().domain.clone()),
        DocumentKind::DomainLens => view.lens(id).map(|found| found.document().domain.clone()),
        DocumentKind::GraphNode => view
            .node(id)
            .and_then(|found| found.document().domain.clone()),
        DocumentKind::Tool => view.tool(id).map(|found| found.document().domain.clone()),
        DocumentKind::Agent => view.agent(id).map(|found| found.document().domain.clone()),
        DocumentKind::MissionType => view
            .mission_type(id)
            .map(|found| found.document().domain.clone()),
        DocumentKind::Guardrail
        | DocumentKind::Template
        | DocumentKind::GraphEdge
        | DocumentKind::Domain
        | DocumentKind::Policy
        | DocumentKind::PromptTemplate
        | DocumentKind::Schedule
        | DocumentKind::TagRecord
        | DocumentKind::Evidence => None,
    }
}

#[cfg(test)]
mod tests {
    use charter_domain::intent::{Doubt, Remark};
    use charter_search::{Scope, Thresholds};

    use super::*;

    fn verdict(kind: VerdictKind, score: f32) -> RoutedVerdict {
        let candidate = RoutedCandidate {
            kind: DocumentKind::Playbook,
            id: "ops.close_gate".to_owned(),
            scope: Scope::Global,
            score,
            fused: score,
            lexical: 1.0,
            coverage: Some(score),
            cosine: None,
            name_match: None,
        };
        RoutedVerdict {
            kind,
            candidates: vec![candidate],
            thresholds: Thresholds {
                floor: 0.1,
                narrow: 0.5,
                margin: 0.05,
            },
            ..RoutedVerdict::named("close the gate", Intent::Change, "ops.close_gate")
        }
    }

    #[test]
    fn b000_20_a_change_is_opened_only_when_it_is_asked_for_now_and_clear() {
        let doubt = ChangeTiming::Offer(Doubt::Condition);
        for (start, kind, score, course) in [
            (ChangeTiming::Now, VerdictKind::Narrow, 0.8, Course::Open),
            (ChangeTiming::DryRun, VerdictKind::Narrow, 0.8, Course::Open),
            (ChangeTiming::Now, VerdictKind::Broad, 0.8, Course::AskBack),
            // Being the only candidate does not make it clear.
            (ChangeTiming::Now, VerdictKind::Broad, 0.4, Course::Offer),
            (ChangeTiming::DryRun, VerdictKind::Broad, 0.4, Course::Offer),
            (doubt, VerdictKind::Narrow, 0.9, Course::Offer),
            (doubt, VerdictKind::Broad, 0.9, Course::Offer),
        ] {
            let (decided, because) = change(&verdict(kind, score), start);
            assert_eq!(decided, course, "{start:?}, {kind:?}, {score}");
            assert_eq!(because.is_some(), course == Course::Offer);
        }
    }

    #[test]
    fn every_course_has_a_flow() {
        let playbook = verdict(VerdictKind::Narrow, 0.8);
        for (course, flow) in [
            (Course::Open, Flow::Write),
            (Course::Offer, Flow::Write),
            (Course::AskBack, Flow::Write),
            (Course::Explain, Flow::Knowledge),
            (Course::Decline, Flow::Knowledge),
            (Course::Generate, Flow::CodeGenWrite),
        ] {
            assert_eq!(flow_of(course, &playbook, 0), flow, "{course:?}");
        }
        let mut skills = playbook;
        skills.intent = Some(Intent::Read);
        if let Some(first) = skills.candidates.first_mut() {
            first.kind = DocumentKind::Skill;
        }
        assert_eq!(flow_of(Course::Run, &skills, 1), Flow::Skill);
        skills.kind = VerdictKind::Broad;
        assert_eq!(flow_of(Course::Run, &skills, 1), Flow::Skill);
        skills.candidates.extend(skills.candidates.clone());
        assert_eq!(flow_of(Course::Run, &skills, 1), Flow::ReadBroad);
        assert_eq!(flow_of(Course::AskBack, &skills, 0), Flow::ReadBroad);
        assert_eq!(flow_of(Course::Generate, &skills, 0), Flow::CodeGenRead);
        skills.intent = Some(Intent::Knowledge);
        assert_eq!(flow_of(Course::Generate, &skills, 0), Flow::Knowledge);
    }

    fn routed(source: AnswerSource, intent: Intent, remark: Option<Remark>) -> RoutingResult {
        let mut verdict = RoutedVerdict::named("two plus two", intent, "ops.none");
        verdict.kind = VerdictKind::Miss;
        verdict.intent_reason = Some("the model of the route `gateway` reads it so".to_owned());
        RoutingResult {
            verdict,
            dropped: Vec::new(),
            source,
            start: ChangeTiming::Now,
            remark,
            parts: 0,
            left_out: Vec::new(),
            language: Language::English,
        }
    }

    /// A request that asks for nothing gets the possible questions, with or without a remark. A question or a change
    /// without a match is a miss.
    #[test]
    fn b000_20_none_is_declined_and_a_miss_is_looked_after() {
        let view = View::default();
        let course = |source: AnswerSource, intent: Intent, remark: Option<Remark>| {
            decided(&view, &routed(source, intent, remark), 3)
        };
        assert_eq!(
            course(AnswerSource::Nothing, Intent::None, Some(Remark::Joke)),
            (Course::Decline, Some(Remark::Joke.reason().to_owned()))
        );
        let because = "the model of the route `gateway` reads it so".to_owned();
        assert_eq!(
            course(AnswerSource::Nothing, Intent::None, None),
            (Course::Decline, Some(because))
        );
        for (source, intent) in [
            (AnswerSource::NoMatch, Intent::None),
            (AnswerSource::NoMatch, Intent::Knowledge),
            (AnswerSource::Agents, Intent::Change),
        ] {
            assert_eq!(course(source, intent, None), (Course::Generate, None));
        }
    }
}
