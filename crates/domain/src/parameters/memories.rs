//! Finds missing parameters in memories: "Our region is us-east-1". The values are proposed with their source. They
//! take effect when a person accepts them, or when the caller opts in to memories.

use std::fmt;

use charter_contract::ids::{Label, MemoryId};
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read;

/// The text of a memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryText<'m> {
    /// Its id.
    pub id: &'m MemoryId,
    /// Its title.
    pub title: &'m str,
    /// The content.
    pub content: &'m str,
    /// The time of writing, to which "the last week" in the text is relative.
    pub written_at: Timestamp,
}

/// A value that a memory contains for a missing parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedValue {
    /// The parameter.
    pub parameter: Label,
    /// The value, which is valid for the declaration.
    pub value: Value,
    /// The memory.
    pub memory_id: MemoryId,
    /// Its title.
    pub title: String,
    /// The words with the value.
    pub words: String,
}

impl fmt::Display for ProposedValue {
    /// Example: `The memory "Where we are" (mem-…) proposes region = "us-east-2" ("Our region is us-east-2").`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parameter,
            value,
            memory_id,
            title,
            words,
        } = self;
        write!(
            f,
            "The memory \"{title}\" ({memory_id}) proposes {parameter} = {value} (\"{words}\")."
        )
    }
}

/// Returns the values that memories contain for missing parameters, in the order of the memories. A memory must mention
/// a parameter's name to propose its value; each value of a parameter is proposed once.
#[must_use]
pub fn proposed_values(missing: &[&Parameter], memories: &[MemoryText<'_>]) -> Vec<ProposedValue> {
    let declared: Vec<Parameter> = missing
        .iter()
        .map(|parameter| (*parameter).clone())
        .collect();
    let mut proposed: Vec<ProposedValue> = Vec::new();
    for memory in memories {
        for text in [memory.content, memory.title] {
            let stated = read(&declared, text, memory.written_at).stated;
            for (parameter, stated) in stated.into_iter().filter(|(_, stated)| stated.named) {
                let known = proposed
                    .iter()
                    .any(|one| one.parameter == parameter && one.value == stated.value);
                if !known {
                    proposed.push(ProposedValue {
                        parameter,
                        value: stated.value,
                        memory_id: memory.id.clone(),
                        title: memory.title.to_owned(),
                        words: stated.words,
                    });
                }
            }
        }
    }
    proposed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_memory_proposes_what_it_states_by_name() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "region", "type": "string", "example": "eu-west-1"},
            {"name": "profile", "type": "string", "example": "ops_ro"},
            {"name": "days", "type": "integer"},
        ]))
        .unwrap();
        let missing: Vec<&Parameter> = declared.iter().collect();
        let id = |n: u8| {
            MemoryId::parse(&format!("mem-00000000-0000-4000-8000-00000000000{n}")).unwrap()
        };
        let ids = [id(1), id(2), id(3), id(4)];
        let memory = |at: usize, title: &'static str, content: &'static str| MemoryText {
            id: &ids[at],
            title,
            content,
            written_at: Timestamp::parse("2026-06-17T10:30:00Z").unwrap(),
        };
        let memories = [
            memory(0, "Where we are", "Our region is us-east-2."),
            memory(1, "Outage", "Something broke in eu-west-3 on Monday."),
            memory(2, "Our profile is night_ro", "Ask Mo."),
            memory(3, "Regions", "Region: us-east-2, once more."),
        ];
        let proposed = proposed_values(&missing, &memories);
        let told: Vec<_> = proposed
            .iter()
            .map(|one| {
                (
                    one.parameter.as_str(),
                    one.value.clone(),
                    one.title.as_str(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("region", json!("us-east-2"), "Where we are"),
                ("profile", json!("night_ro"), "Our profile is night_ro"),
            ]
        );
        let first = proposed[0].to_string();
        assert!(
            first.starts_with(&format!(
                "The memory \"Where we are\" ({}) proposes region = \"us-east-2\" (\"",
                ids[0]
            )),
            "{first}"
        );
        assert_eq!(proposed_values(&[], &memories), []);
    }
}
