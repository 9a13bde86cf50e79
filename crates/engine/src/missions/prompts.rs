//! The built-in prompt templates, for mission roles without a template in the mission's type. They are documents like
//! any other, and part of the binary.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use charter_contract::bounds::PROMPT_BYTES;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::filling::{FillBudget, FillBudgetExceeded};
use charter_contract::mission::task_graph::Role;
use charter_contract::placeholder::{Placeholder, Segment, segments};
use charter_contract::text::Text;
use charter_contract::validate;
use serde_json::{Value, json};

/// Returns the built-in template of a mission role.
pub(super) fn built_in(role: Role) -> &'static PromptTemplate {
    static TEMPLATES: OnceLock<BTreeMap<Role, PromptTemplate>> = OnceLock::new();
    let templates = TEMPLATES.get_or_init(|| {
        let all = Role::ALL.iter().map(|role| (*role, read(*role)));
        all.collect()
    });
    &templates[&role]
}

/// Reads a built-in document; a test reads all of them.
#[allow(clippy::expect_used, reason = "a constant of the program, and tested")]
fn read(role: Role) -> PromptTemplate {
    let (template, _) = validate::read_value(&document(role)).expect("a built-in template");
    template
}

fn document(role: Role) -> Value {
    let (system, task) = match role {
        Role::Planner => (
            "You plan missions. Break the goal into the fewest tasks that reach it. A worker looks at \
             internal data with the tools that its task allows; a researcher searches outside. Use only \
             the tools, resource families and task outlines of the context. Later tasks name the earlier \
             ones that they need in depends_on.",
            "Plan a mission of the kind ${mission_type}. Its goal: ${goal}",
        ),
        Role::Worker => (
            "You are a careful analyst. Use only what the context holds. Every statement rests on a \
             source of the context, and you cite it by its key in `sources`. Say how sure you are, from 0 to 1. If a \
             tool of the context would tell you what you lack, ask for the call first.",
            "Your task: ${objective} It is done when: ${success_criteria}. The mission's goal, for \
             orientation: ${goal}",
        ),
        Role::Aggregator => (
            "You bring the results of several analysts together. Keep every claim that matters with the \
             keys in `sources` of what supports it, say where sources contradict each other, and what is not covered.",
            "Bring the results together for this goal: ${goal}",
        ),
        Role::Reviewer => (
            "You review a draft, once. Approve it as it is, approve it with edits and apply them yourself, \
             or reject it. Check that every claim is supported and that contradictions and gaps are said. \
             Propose a change only where the context offers its action and the draft supports it.",
            "Review the draft for this goal: ${goal}",
        ),
        Role::PromptMaster => (
            "You write the task prompt of another agent. The data has the task, its tools, the registered template and \
             its examples. Keep to what the template asks for, and state what a good result has. Write no facts that \
             the data does not have.",
            "Write the task prompt for ${objective}. The mission's goal, for orientation: ${goal}",
        ),
        Role::Researcher => (
            "You search external sources for one question. If a tool of the context would find what you lack, ask for \
             the call first. Then choose the results that answer the question, by their numbers, and say how sure you \
             are of each, from 0 to 1.",
            "Your question: ${objective}",
        ),
        Role::Librarian => (
            "You grant one agent access to the data that its task needs, and to no more. Choose among the resource \
             families, the tools and the previews of the context.",
            "Grant access for ${objective}. The mission's goal, for orientation: ${goal}",
        ),
    };
    json!({
        "prompt_id": format!("charter.{role}"),
        "domain": "platform",
        "title": format!("Built-in prompt of the {role}"),
        "role_type": role,
        "version": "1.0.0",
        "system_prompt": system,
        "task_prompt": task,
        "model_route": "tier_high_reasoning",
    })
}

/// Values of a prompt's variables: words of the caller and of registered documents. A planned task has a model's words,
/// so a prompt names their place in the data instead ([`Variables::of_planned`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct Variables<'a> {
    pub(super) mission_type: &'a str,
    pub(super) goal: &'a str,
    pub(super) objective: &'a str,
    pub(super) success_criteria: &'a str,
}

impl<'a> Variables<'a> {
    /// Builds the variables of a task that a model planned.
    pub(super) fn of_planned(mission_type: &'a str, goal: &'a str) -> Self {
        Self {
            mission_type,
            goal,
            objective: "the \"objective\" of the data",
            success_criteria: "the \"success_criteria\" of the data",
        }
    }
}

impl Variables<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "mission_type" => Some(self.mission_type),
            "goal" => Some(self.goal),
            "objective" => Some(self.objective),
            "success_criteria" => Some(self.success_criteria),
            _ => None,
        }
    }
}

/// Fills the variables into a prompt, with `after` appended. A value is never scanned for variables again. Unknown
/// variables were refused when the template was registered, and stay unchanged.
///
/// # Errors
/// More than [`PROMPT_BYTES`].
pub(super) fn filled(
    prompt: &Text,
    variables: &Variables<'_>,
    after: &str,
) -> Result<String, FillBudgetExceeded> {
    let mut filling = FillBudget::with_limit(PROMPT_BYTES);
    let mut text = String::new();
    let parts = segments(prompt.as_str());
    let parts = parts.unwrap_or_else(|_| vec![Segment::Text(prompt.as_str())]);
    for part in parts {
        let part = match part {
            Segment::Text(plain) => plain,
            Segment::Placeholder(Placeholder::Step { step, path: "" }) => {
                variables.value(step).unwrap_or_default()
            }
            Segment::Placeholder(Placeholder::Step { .. } | Placeholder::User(_)) => "",
        };
        filling.write(&mut text, part)?;
    }
    filling.write(&mut text, after)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_a_built_in_template_for_itself() {
        for role in Role::ALL {
            assert_eq!(built_in(*role).role_type, *role);
        }
    }

    /// The value of a variable is data: `${…}` in it stays unchanged.
    #[test]
    fn values_are_not_read_again() {
        let prompt = Text::parse("Do ${objective} for ${goal}.").unwrap();
        let variables = Variables {
            mission_type: "brief",
            goal: "${objective}",
            objective: "a thing",
            success_criteria: "",
        };
        let expected = "Do a thing for ${objective}. Go on.".to_owned();
        assert_eq!(filled(&prompt, &variables, " Go on."), Ok(expected));
        let escaped = Text::parse("Write $${goal} as ${goal}.").unwrap();
        let expected = "Write ${goal} as ${objective}.".to_owned();
        assert_eq!(filled(&escaped, &variables, ""), Ok(expected));
    }

    /// A thousand variables in a prompt and a goal of a kilobyte are each small, and their product is refused.
    #[test]
    fn a_filled_prompt_is_bounded() {
        let goal = "x".repeat(1_024);
        let variables = Variables {
            mission_type: "brief",
            goal: &goal,
            objective: "",
            success_criteria: "",
        };
        let of = |times: usize| Text::parse(&"${goal}".repeat(times)).unwrap();
        let whole = filled(&of(1_024), &variables, "").map(|text| text.len());
        assert_eq!(whole, Ok(PROMPT_BYTES));
        let over = Err(FillBudgetExceeded::Size(PROMPT_BYTES));
        assert_eq!(filled(&of(1_025), &variables, ""), over);
        assert_eq!(filled(&of(1_024), &variables, "x"), over);
    }
}
