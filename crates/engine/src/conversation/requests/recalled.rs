//! Memories that relate to a request: its answer names them, so that the caller can take them into account. They choose
//! nothing: routing and runs do not depend on them.

use charter_contract::agentic::response::AgentResponse;
use serde_json::json;

use crate::knowledge::memory::RecalledMemory;

/// The metadata field of an answer that lists the memories.
const FIELD: &str = "memories";

/// Adds recalled memories to an answer: to its metadata, and their titles to its text.
pub(super) fn add_to(response: &mut AgentResponse, memories: &[RecalledMemory]) {
    if memories.is_empty() {
        return;
    }
    let named = memories.iter().map(|memory| match &memory.note {
        Some(note) => format!("“{}” ({})", note.title, memory.memory_id),
        None => memory.memory_id.to_string(),
    });
    let named: Vec<String> = named.collect();
    response
        .content
        .push_str(&format!("\n\nRelated memories: {}.", named.join(", ")));
    let metadata = &mut response.metadata.get_or_insert_default().extra;
    metadata.insert(FIELD.to_owned(), json!(memories));
}

#[cfg(test)]
mod tests {
    use charter_contract::agentic::memory::Visibility;
    use charter_contract::ids::{MemoryId, RequestId, ResponseId};
    use charter_contract::time::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::knowledge::memory::RecalledNote;

    #[test]
    fn an_answer_names_memories_and_shows_no_private_content() {
        let at = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
        let id = Uuid::from_u128(1);
        let response = || {
            let (response, request) = (ResponseId::from_uuid(id), RequestId::from_uuid(id));
            AgentResponse::builder(response, request, at, "Done.".to_owned()).build()
        };
        let mut plain = response();
        add_to(&mut plain, &[]);
        assert_eq!(plain, response());
        let memory = |n, note| RecalledMemory {
            memory_id: MemoryId::from_uuid(Uuid::from_u128(n)),
            visibility: Visibility::Shared,
            at,
            note,
        };
        let note = RecalledNote {
            title: "Region".to_owned(),
            content: "We deploy to eu-west-1.".to_owned(),
        };
        let mut answer = response();
        add_to(&mut answer, &[memory(1, Some(note)), memory(2, None)]);
        assert_eq!(
            answer.content,
            "Done.\n\nRelated memories: “Region” (mem-00000000-0000-0000-0000-000000000001), \
             mem-00000000-0000-0000-0000-000000000002."
        );
        let listed = &answer.metadata.unwrap().extra[FIELD];
        assert_eq!(listed[0]["content"], "We deploy to eu-west-1.");
        assert_eq!(listed[1]["title"], serde_json::Value::Null);
    }
}
