//! Completes a skill's plan with the parameters of its tools. A tool's parameter that a step does not map takes the
//! skill's parameter of the same name. If the skill has none, a required parameter of the tool becomes a parameter of
//! the skill.

use std::borrow::Cow;

use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::Tool;
use charter_contract::parameter::Parameter;
use serde_json::Value;

use crate::catalogue::View;
use crate::parameters::{Misfit, means_the_same};

/// Returns the skill with every parameter mapped. A step keeps its own mappings, including those to `null`.
#[must_use]
pub fn wired<'s>(skill: &'s Skill, view: &View) -> Cow<'s, Skill> {
    let mut wired = Cow::Borrowed(skill);
    for (at, step) in skill.execution_plan.steps.iter().enumerate() {
        let Some(tool) = view.tool(step.tool_id.as_ref()) else {
            continue;
        };
        let unmapped = tool.document().parameters().iter().filter(|parameter| {
            parameter.given_in(&step.parameters).is_none() && can_be_referred_to(parameter)
        });
        for parameter in unmapped {
            let mut declared = wired.parameters.iter();
            let adopted = match declared.find(|known| known.name == parameter.name) {
                Some(known) if passes(known, parameter) => None,
                None if is_needed(parameter) => Some(Parameter {
                    wire_name: None,
                    ..parameter.clone()
                }),
                Some(_) | None => continue,
            };
            let wired = wired.to_mut();
            wired.parameters.extend(adopted);
            if let Some(step) = wired.execution_plan.steps.get_mut(at) {
                let reference = format!("${{user.{}}}", parameter.name);
                step.parameters
                    .insert(parameter.name.to_string(), Value::String(reference));
            }
        }
    }
    wired
}

/// Returns the parameters that the tool of the step at `at` and another tool define differently under one name, and
/// that the skill does not declare.
pub(crate) fn contradicted(skill: &Skill, wired: &Skill, at: usize, tool: &Tool) -> Vec<Misfit> {
    let Some(step) = skill.execution_plan.steps.get(at) else {
        return Vec::new();
    };
    let contradicts = |parameter: &&Parameter| {
        let named = |known: &&Parameter| known.name == parameter.name;
        let own = skill.parameters.iter().find(named);
        let adopted = wired.parameters.iter().find(named);
        let unmapped = own.is_none() && parameter.given_in(&step.parameters).is_none();
        unmapped
            && is_needed(parameter)
            && adopted.is_some_and(|known| !means_the_same(known, parameter))
    };
    let misfit = |parameter: &Parameter| {
        let name = &parameter.name;
        let message = format!(
            "the tools of this skill declare `{name}` differently: map it in the steps, or declare it in the skill"
        );
        (
            format!("/execution_plan/steps/{at}/parameters"),
            "parameter",
            message,
        )
    };
    tool.parameters()
        .iter()
        .filter(contradicts)
        .map(misfit)
        .collect()
}

fn is_needed(parameter: &Parameter) -> bool {
    parameter.required && parameter.default.is_none()
}

/// Returns whether `${user.name}` is valid for the parameter's name: a dot would begin a path.
fn can_be_referred_to(parameter: &Parameter) -> bool {
    !parameter.name.as_str().contains(['.', '{', '}', '['])
}

/// Returns whether the types of two parameters allow a value of one as a value of the other.
fn passes(from: &Parameter, to: &Parameter) -> bool {
    let taken = |kind| to.kind == kind || to.other_types.contains(&kind);
    taken(from.kind) || from.other_types.iter().copied().any(taken)
}

#[cfg(test)]
mod tests {
    use charter_contract::catalogue::{Document, DocumentKind};
    use serde_json::json;

    use super::*;
    use crate::catalogue::tests::view_of;

    fn tool(id: &str, parameters: &Value) -> Document {
        let tool = json!({
            "tool_id": id, "name": "t", "provider": "p", "tool_class": "readonly", "domain": "vault",
            "description": "d", "language": "http", "parameters": parameters,
        });
        Document::from_stored(DocumentKind::Tool, &tool.to_string()).unwrap()
    }

    fn view() -> View {
        let tools = [
            tool(
                "vault.list",
                &json!([
                    {"name": "region", "type": "string", "required": true},
                    {"name": "limit", "type": "integer"},
                    {"name": "shelf", "type": "string", "required": true},
                ]),
            ),
            tool(
                "vault.count",
                &json!([{"name": "shelf", "type": "integer", "required": true}]),
            ),
        ];
        view_of(tools)
    }

    fn skill(parameters: &Value, steps: &Value) -> Skill {
        serde_json::from_value(json!({
            "skill_id": "vault.look", "name": "look", "display_name": "Look", "domain": "vault",
            "description": "d", "purpose": "p", "output_type": "finding",
            "context": {"supported_context_types": ["vault_inventory"]},
            "parameters": parameters, "execution_plan": {"steps": steps},
        }))
        .unwrap()
    }

    fn step(id: &str, tool: &str, parameters: &Value) -> Value {
        json!({"step_id": id, "type": "read", "tool_id": tool, "parameters": parameters})
    }

    fn arguments(skill: &Skill) -> Vec<Value> {
        let steps = skill.execution_plan.steps.iter();
        steps
            .map(|step| Value::Object(step.parameters.clone()))
            .collect()
    }

    fn names(skill: &Skill) -> Vec<&str> {
        skill
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect()
    }

    #[test]
    fn a_step_has_the_skills_parameters_by_name() {
        let own = json!([{"name": "region", "type": "string"}, {"name": "limit", "type": "integer"}, {"name": "shelf", "type": "string"}]);
        let skill = skill(
            &own,
            &json!([
                step("a", "vault.list", &json!({"region": "eu-1"})),
                step("b", "vault.list", &json!({"limit": null}))
            ]),
        );
        let wired = wired(&skill, &view());
        assert_eq!(
            arguments(&wired),
            [
                json!({"region": "eu-1", "limit": "${user.limit}", "shelf": "${user.shelf}"}),
                json!({"region": "${user.region}", "limit": null, "shelf": "${user.shelf}"}),
            ]
        );
        assert_eq!(names(&wired), ["region", "limit", "shelf"]);
    }

    /// A skill without parameters inherits those that its tools require.
    #[test]
    fn a_skill_takes_over_what_its_tools_need() {
        let skill = skill(&json!([]), &json!([step("a", "vault.list", &json!({}))]));
        let wired = wired(&skill, &view());
        assert_eq!(
            arguments(&wired),
            [json!({"region": "${user.region}", "shelf": "${user.shelf}"})]
        );
        assert_eq!(names(&wired), ["region", "shelf"]);
        assert!(wired.parameters.iter().all(|parameter| parameter.required));
    }

    #[test]
    fn what_is_mapped_or_of_another_type_stays_as_it_is() {
        let own = json!([{"name": "shelf", "type": "string"}]);
        let mapped = skill(&own, &json!([step("b", "vault.count", &json!({}))]));
        assert_eq!(wired(&mapped, &view()), Cow::Borrowed(&mapped));
        let full = skill(
            &json!([]),
            &json!([step("b", "vault.count", &json!({"shelf": 1}))]),
        );
        assert!(matches!(wired(&full, &view()), Cow::Borrowed(_)));
    }

    #[test]
    fn tools_that_use_one_name_differently_are_reported() {
        let skill = skill(
            &json!([]),
            &json!([
                step("a", "vault.list", &json!({})),
                step("b", "vault.count", &json!({}))
            ]),
        );
        let view = view();
        let wired = wired(&skill, &view);
        let told = |at: usize, id: &str| {
            let tool = view.tool(id).unwrap();
            let misfits = contradicted(&skill, &wired, at, tool.document());
            misfits
                .into_iter()
                .map(|(pointer, _, message)| format!("{pointer}: {message}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(0, "vault.list"), Vec::<String>::new());
        assert_eq!(
            told(1, "vault.count"),
            [
                "/execution_plan/steps/1/parameters: the tools of this skill declare `shelf` differently: map it in \
                 the steps, or declare it in the skill"
            ]
        );
    }
}
