//! Skills that lack parameters while others of the same request answered: the answer asks for the missing ones.

use charter_contract::agentic::response::AgentResponseBuilder;
use charter_contract::ids::SkillId;
use charter_domain::catalogue::View;
use serde::Serialize;
use serde_json::{Value, json};

use crate::EngineError;

/// The skills of a request that wait for parameters.
#[derive(Debug)]
pub(super) struct UnansweredSkills(Vec<UnansweredSkill>);

impl UnansweredSkills {
    /// Collects the skills, each with its failure (`missing_parameters`).
    pub(super) fn new(view: &View, lacking: Vec<(SkillId, EngineError)>) -> Self {
        let lacking = lacking.into_iter();
        Self(
            lacking
                .map(|(skill, failure)| UnansweredSkill::new(view, skill, &failure))
                .collect(),
        )
    }

    /// Adds the questions for parameters to the text of an answer.
    pub(super) fn add_to(&self, content: &mut String) {
        for one in &self.0 {
            content.push_str("\n\n");
            content.push_str(&one.line());
        }
    }

    /// Adds the missing parameters to the metadata of an answer, if there are any.
    pub(super) fn described(&self, builder: AgentResponseBuilder) -> AgentResponseBuilder {
        if self.0.is_empty() {
            return builder;
        }
        builder
            .metadata("missing_parameters", json!(self.missing()))
            .metadata("unanswered", json!(self.0))
    }

    /// Returns the missing parameters, each once.
    fn missing(&self) -> Vec<&str> {
        let mut missing: Vec<&str> = Vec::new();
        for name in self.0.iter().flat_map(|one| &one.missing_parameters) {
            if !missing.contains(&name.as_str()) {
                missing.push(name);
            }
        }
        missing
    }
}

/// A skill that waits for parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct UnansweredSkill {
    skill_id: SkillId,
    title: String,
    missing_parameters: Vec<String>,
    /// Values that memories hold for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposals: Option<Value>,
}

impl UnansweredSkill {
    fn new(view: &View, skill_id: SkillId, failure: &EngineError) -> Self {
        let title = view
            .skill(skill_id.as_ref())
            .map(|found| found.document().display_name.to_string());
        let detail = |name: &str| failure.details.as_ref()?.get(name);
        let missing = detail("missing").and_then(Value::as_array);
        let missing = missing.into_iter().flatten().filter_map(Value::as_str);
        Self {
            title: title.unwrap_or_else(|| skill_id.to_string()),
            missing_parameters: missing.map(str::to_owned).collect(),
            proposals: detail("proposals").cloned(),
            skill_id,
        }
    }

    /// Formats the question for the parameters, and how to give them.
    fn line(&self) -> String {
        let Self {
            skill_id,
            title,
            missing_parameters,
            ..
        } = self;
        let values: String = missing_parameters
            .iter()
            .map(|name| format!(" -p {name}=…"))
            .collect();
        format!(
            "{title} needs {}. Ask for it separately: charter ask \"…\" --skill {skill_id}{values}",
            missing_parameters.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::error_code::ErrorCode;

    use super::*;

    #[test]
    fn a_skill_that_lacks_parameters_asks_for_them() {
        let failure = EngineError::new(ErrorCode::MissingParameters, "`site` is missing")
            .with_details(json!({"missing": ["site", "day"]}));
        let skill = SkillId::parse("tanks.levels").unwrap();
        let one = UnansweredSkill::new(&View::default(), skill, &failure);
        let both = UnansweredSkills(vec![one.clone(), one.clone()]);
        assert_eq!(both.missing(), ["site", "day"]);
        assert_eq!(
            one.line(),
            "tanks.levels needs site, day. Ask for it separately: charter ask \"…\" --skill tanks.levels -p site=… \
             -p day=…"
        );
        assert_eq!(
            json!(one),
            json!({"skill_id": "tanks.levels", "title": "tanks.levels", "missing_parameters": ["site", "day"]})
        );
    }
}
