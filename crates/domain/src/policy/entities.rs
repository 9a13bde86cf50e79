//! The entities of a request: the caller, the tool and the run, with the attributes that the schema declares.

use std::collections::HashSet;

use cedar_policy::{Entity, EntityUid, RestrictedExpression};
use charter_contract::catalogue::policy::MissionFacts;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Role;

use super::decision::PolicyQuestion;
use super::error_text::described;
use super::names::{Names, entity};
use super::values;

fn made(
    uid: EntityUid,
    attributes: impl IntoIterator<Item = (&'static str, RestrictedExpression)>,
    parents: HashSet<EntityUid>,
    tags: impl IntoIterator<Item = (String, RestrictedExpression)>,
) -> Result<Entity, String> {
    let attributes = attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Entity::new_with_tags(uid, attributes, parents, tags).map_err(|error| described(&error))
}

pub(super) fn caller(names: &Names, question: &PolicyQuestion<'_>) -> Result<Entity, String> {
    let principal = question.principal;
    let id = format!("{}/{}", principal.tenant, principal.user);
    let held = Role::ALL.iter().filter(|role| **role <= principal.role);
    let attributes = [
        ("tenant", values::text(principal.tenant.as_ref())),
        ("user", values::text(principal.user.as_ref())),
        (
            "role",
            reference(entity(&names.role, principal.role.as_str())),
        ),
    ];
    let parents = held
        .map(|role| entity(&names.role, role.as_str()))
        .collect();
    made(entity(&names.caller, &id), attributes, parents, [])
}

pub(super) fn tool(names: &Names, tool: &Tool) -> Result<Entity, String> {
    let level = entity(&names.permission_level, tool.permission_level.as_str());
    let service = tool.service.as_ref();
    let attributes = [
        ("id", values::text(tool.tool_id.as_ref())),
        ("name", values::text(tool.name.as_ref())),
        (
            "class",
            reference(entity(&names.tool_class, tool.tool_class.as_str())),
        ),
        ("provider", values::text(tool.provider.as_ref())),
        ("domain", values::text(tool.domain.as_ref())),
        ("permission_level", reference(level)),
    ];
    let service = service.map(|service| ("service", values::text(service.as_ref())));
    let uid = entity(&names.tool, tool.tool_id.as_ref());
    made(
        uid,
        attributes.into_iter().chain(service),
        HashSet::new(),
        [],
    )
}

pub(super) fn run(names: &Names, question: &PolicyQuestion<'_>) -> Result<Entity, String> {
    let run = question.run;
    let begun = run
        .calls
        .values()
        .fold(0_u64, |sum, count| sum.saturating_add(*count));
    let approvers = run.approvers.iter().map(AsRef::as_ref);
    let attributes = [
        (
            "kind",
            reference(entity(&names.run_kind, run.kind.as_str())),
        ),
        ("subject", values::text(&run.subject)),
        (
            "approved",
            RestrictedExpression::new_bool(!run.approvers.is_empty()),
        ),
        ("approvers", values::texts(approvers)),
        ("approvals", values::count(run.approvals)),
        ("calls", values::count(begun)),
    ];
    let calls = run.calls.iter();
    let tags = calls.map(|(tool, count)| (tool.to_string(), values::count(*count)));
    let mission = run.mission.as_ref();
    let mission = mission
        .map(|facts| Ok::<_, String>(("mission", mission_of(names, facts)?)))
        .transpose()?;
    made(
        entity(&names.run, "this"),
        attributes.into_iter().chain(mission),
        HashSet::new(),
        tags,
    )
}

fn mission_of(names: &Names, facts: &MissionFacts) -> Result<RestrictedExpression, String> {
    let risk = entity(&names.risk_level, facts.risk_level.as_str());
    values::record([
        ("risk_level".to_owned(), reference(risk)),
        (
            "sensitivity_class".to_owned(),
            values::text(facts.sensitivity_class.as_ref()),
        ),
    ])
}

fn reference(uid: EntityUid) -> RestrictedExpression {
    RestrictedExpression::new_entity_uid(uid)
}
