//! Finds nodes that a text names, and renders nodes as text.

use charter_contract::catalogue::graph::{GraphNode, NodeType};

/// The minimum length of an id with one part. A shorter one is an ordinary word, and names no node.
const MIN_SINGLE: usize = 8;

/// Returns whether a text names a node: it contains the parts of the node's id in sequence, with any separators.
#[must_use]
pub fn is_named(node: &GraphNode, text: &str) -> bool {
    let id = parts(node.id.as_ref());
    if id.len() == 1 && id.iter().all(|part| part.chars().count() < MIN_SINGLE) {
        return false;
    }
    let said = parts(text);
    said.windows(id.len().max(1))
        .any(|window| window == id.as_slice())
}

/// Runs of letters and digits in lower case.
fn parts(text: &str) -> Vec<String> {
    let parts = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// Renders a node as text.
#[must_use]
pub fn text_of(node: &GraphNode) -> String {
    let id = || parts(node.id.as_ref()).join(" ");
    let own = match node.node_type {
        NodeType::Control => node.title.as_ref(),
        NodeType::Requirement => node.description.as_ref(),
        NodeType::Remediation => node.approach.as_ref(),
        NodeType::EvidenceType | NodeType::ResourceType | NodeType::Risk => None,
    };
    own.map_or_else(id, ToString::to_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(id: &str) -> GraphNode {
        serde_json::from_value(json!({
            "id": id, "type": "Requirement", "domain": "s", "description": "Doors are locked",
        }))
        .unwrap()
    }

    #[test]
    fn a_node_is_named_by_the_parts_of_its_id_in_their_order() {
        for (id, text, named) in [
            ("iso.a9.1", "what does ISO A9.1 ask for", true),
            ("iso.a9.1", "what does ISO ask of A9.1", false),
            ("locked_doors", "are locked doors a requirement?", true),
            ("locked_doors", "doors that are locked", false),
            ("doors", "open the doors", false),
            ("accountability", "who has accountability", true),
        ] {
            assert_eq!(is_named(&node(id), text), named, "{id}: {text}");
        }
        assert_eq!(text_of(&node("doors")), "Doors are locked");
    }
}
