//! Parts of a request that its answer omits: a question beside a change, a rule beside a question, the skill of an
//! agent that conflicts with a better one's. The answer names them, so that the user can ask for each separately.

use charter_contract::agentic::response::AgentResponse;
use charter_contract::intent::Intent;
use charter_domain::catalogue::View;
use charter_domain::intent::AskedClause;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::course::ConflictingSkill;

/// The metadata field of an answer that lists the omitted parts.
const FIELD: &str = "left_out";

/// A requested part that is not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// The words of the request, or the title of the skill.
    text: String,
    /// The skill that would answer, if one was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skill_id: Option<String>,
    /// The reason, as text.
    reason: String,
}

impl LeftOut {
    /// Builds the entry of a question of another kind than the answered one.
    pub(super) fn question(clause: &AskedClause) -> Self {
        let reason = match clause.intent {
            Intent::Knowledge => "it asks for a rule or an explanation",
            Intent::Read | Intent::Change | Intent::None => "it asks for the current state",
        };
        Self {
            text: clause.text.clone(),
            skill_id: None,
            reason: reason.to_owned(),
        }
    }

    /// Builds the entry of a skill whose agent conflicts with the agent of a better one.
    pub(super) fn conflicting(view: &View, one: &ConflictingSkill) -> Self {
        let ConflictingSkill { skill, better } = one;
        let title = view
            .skill(skill.as_ref())
            .map(|found| found.document().display_name.to_string());
        Self {
            text: title.unwrap_or_else(|| skill.to_string()),
            skill_id: Some(skill.to_string()),
            reason: format!("its agent conflicts with the agent of `{better}`"),
        }
    }

    fn line(&self) -> String {
        let Self { text, reason, .. } = self;
        format!("Left out: “{text}”, because {reason}. Ask for it separately.")
    }
}

/// Adds the omitted parts to an answer: to its metadata, and to its text.
pub(super) fn add_to(response: &mut AgentResponse, left_out: &[LeftOut]) {
    if left_out.is_empty() {
        return;
    }
    for one in left_out {
        response.content.push_str("\n\n");
        response.content.push_str(&one.line());
    }
    let metadata = &mut response.metadata.get_or_insert_default().extra;
    metadata.insert(FIELD.to_owned(), json!(left_out));
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{RequestId, ResponseId};
    use charter_contract::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_answer_names_what_it_leaves_out() {
        let id = Uuid::from_u128(1);
        let mut response = AgentResponse::builder(
            ResponseId::from_uuid(id),
            RequestId::from_uuid(id),
            Timestamp::from_micros(0).unwrap(),
            "The plan.",
        )
        .build();
        let unchanged = response.clone();
        add_to(&mut response, &[]);
        assert_eq!(response, unchanged);
        let clause = AskedClause {
            text: "which tanks are full".to_owned(),
            intent: Intent::Read,
        };
        add_to(&mut response, &[LeftOut::question(&clause)]);
        assert_eq!(
            response.content,
            "The plan.\n\nLeft out: “which tanks are full”, because it asks for the current state. Ask for it \
             separately."
        );
        assert_eq!(
            response.metadata.unwrap().extra[FIELD],
            json!([{"text": "which tanks are full", "reason": "it asks for the current state"}])
        );
    }
}
