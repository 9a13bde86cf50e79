//! The schemas of the roles that ask a model only where their mission type says so: the prompt master, the librarian and
//! the researcher.

use charter_contract::catalogue::tool::Tool;
use serde_json::{Value, json};

use super::{DraftSchema, calls, calls_or_answer, list, object, one_of, text};

/// Maximum characters of a task prompt.
const TASK_PROMPT: usize = 8_000;
/// Maximum examples of a prompt.
const EXAMPLES: usize = 3;
/// Maximum queries, resource families and previews of a pass, and results of a search.
const CHOSEN: usize = 20;

/// Builds the schema of a prompt master's draft.
pub(in crate::missions) fn package(examples: &[&str]) -> DraftSchema {
    let examples = one_of(examples).map(|name| list(&name, 0, EXAMPLES));
    DraftSchema {
        name: "package",
        schema: object(
            [
                ("task_prompt", Some(text(TASK_PROMPT))),
                ("examples", examples),
            ],
            &["task_prompt"],
        ),
    }
}

/// Builds the schema of a librarian's draft.
pub(in crate::missions) fn pass(families: &[&str], tools: &[&str], previews: usize) -> DraftSchema {
    let query = one_of(tools).map(|tool| {
        let fields = [("tool", Some(tool)), ("query", Some(text(1_000)))];
        list(&object(fields, &["tool", "query"]), 0, CHOSEN)
    });
    let families = one_of(families).map(|name| list(&name, 0, CHOSEN));
    let schema = object(
        [
            ("allowed_resource_families", families),
            ("recommended_queries", query),
            ("previews", numbers(previews)),
        ],
        &["allowed_resource_families"],
    );
    DraftSchema {
        name: "pass",
        schema,
    }
}

/// Builds the schema of a researcher's turn: calls while there are tools, or the chosen results.
pub(in crate::missions) fn research<'t>(
    tools: impl Iterator<Item = &'t Tool>,
    found: usize,
) -> DraftSchema {
    let result = number(found).map(|number| {
        let confidence = json!({"type": "number", "minimum": 0, "maximum": 1});
        let fields = [("number", Some(number)), ("confidence", Some(confidence))];
        list(&object(fields, &["number", "confidence"]), 0, CHOSEN)
    });
    let answer = object([("results", result)], &["results"]);
    DraftSchema {
        name: "research",
        schema: calls_or_answer(calls(tools), answer),
    }
}

/// Returns the schema of a number from 1 to `last`; `None` if there is none.
fn number(last: usize) -> Option<Value> {
    (last > 0).then(|| json!({"type": "integer", "minimum": 1, "maximum": last}))
}

fn numbers(last: usize) -> Option<Value> {
    number(last).map(|number| list(&number, 0, CHOSEN))
}
