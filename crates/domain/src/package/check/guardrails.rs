//! Counts the guardrails that would apply to one call: the gate denies a call with more guardrails than it evaluates.

use charter_contract::bounds::GUARDRAILS_PER_CALL;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::vocabulary::Status;

use super::super::{Package, Problem};
use super::Against;
use crate::catalogue::View;
use crate::guardrail::{self, GuardrailSubject};

/// Returns the first skill or playbook whose calls would all be denied, if the package contains guardrails.
pub(super) fn crowded(package: &Package, against: &Against<'_>) -> Option<Problem> {
    let mut documents = package.documents.iter();
    let brings = documents.any(|document| matches!(document.value, Document::Guardrail(_)));
    let after = against.after;
    if !brings || in_force(after) <= GUARDRAILS_PER_CALL {
        return None;
    }
    let skills = after.skills().map(|skill| {
        let skill = skill.document();
        (skill.skill_id.to_string(), skill.domain.to_string())
    });
    let playbooks = after.playbooks().map(|playbook| {
        let playbook = playbook.document();
        (
            playbook.playbook_id.to_string(),
            playbook.domain.to_string(),
        )
    });
    let (id, count) = skills.chain(playbooks).find_map(|(id, domain)| {
        let count = bearing(after, &id, &domain);
        (count > GUARDRAILS_PER_CALL).then_some((id, count))
    })?;
    let message = format!(
        "{count} guardrails would apply to `{id}`; the limit is {GUARDRAILS_PER_CALL} (GUARDRAILS_PER_CALL): each \
         call would be denied"
    );
    let problem = Problem::at(&package.manifest.place, "/name", "guardrails", message);
    Some(problem.suggest("narrow their `applies_to`, or merge them"))
}

fn in_force(view: &View) -> usize {
    let layers = [&view.tenant, &view.global].into_iter();
    let guardrails = layers.flat_map(|layer| layer.guardrails.values());
    guardrails
        .filter(|entry| entry.document.status == Status::Active)
        .count()
}

fn bearing(view: &View, id: &str, domain: &str) -> usize {
    let owner = view.owner_of(id);
    let agent = owner
        .as_ref()
        .map(|owner| owner.document().agent_id.as_ref());
    let subject = GuardrailSubject {
        skill: Some(id),
        agent,
        domain: Some(domain),
        persona: None,
    };
    guardrail::resolve(view, subject).len()
}
