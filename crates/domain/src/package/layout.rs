//! The meaning of a package's folders.

use charter_contract::catalogue::DocumentKind;
use serde_json::Value;

/// The role of a file, by its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The manifest.
    Manifest,
    /// Documents of one kind.
    Documents(DocumentKind),
    /// Expert graph nodes and edges together.
    Graph,
    /// Routing tests.
    Tests,
    /// A script, a lens's text, or another file that documents refer to.
    Opaque,
    /// A YAML or JSON file in an unknown folder.
    Stray,
}

const FOLDERS: [(&str, DocumentKind); 12] = [
    ("agents", DocumentKind::Agent),
    ("skills", DocumentKind::Skill),
    ("tools", DocumentKind::Tool),
    ("guardrails", DocumentKind::Guardrail),
    ("templates", DocumentKind::Template),
    ("playbooks", DocumentKind::Playbook),
    ("lenses", DocumentKind::DomainLens),
    ("domains", DocumentKind::Domain),
    ("policies", DocumentKind::Policy),
    ("missions", DocumentKind::MissionType),
    ("prompts", DocumentKind::PromptTemplate),
    ("schedules", DocumentKind::Schedule),
];

/// Folders whose files are not parsed.
const OPAQUE: [&str; 3] = ["scripts", "sources", "docs"];

pub(super) fn role(path: &str) -> Role {
    let data = path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
    let Some((folder, _)) = path.split_once('/') else {
        return match path {
            super::MANIFEST => Role::Manifest,
            _ if data => Role::Stray,
            _ => Role::Opaque,
        };
    };
    if OPAQUE.contains(&folder) || !data || path == super::MCP_SNAPSHOT {
        return Role::Opaque;
    }
    match folder {
        "expert_graph" => Role::Graph,
        "tests" => Role::Tests,
        other => FOLDERS
            .iter()
            .find(|(name, _)| *name == other)
            .map_or(Role::Stray, |(_, kind)| Role::Documents(*kind)),
    }
}

/// Returns the names of all known folders, for a message.
pub(super) fn known_folders() -> String {
    let kinds = FOLDERS.iter().map(|(name, _)| *name);
    let all: Vec<&str> = kinds
        .chain(["expert_graph", "tests"])
        .chain(OPAQUE)
        .collect();
    all.join(", ")
}

/// Returns the kind of a document in the graph's folder: an edge has a source or a target, anything else is a node.
pub(super) fn graph_kind(value: &Value) -> DocumentKind {
    if value.get("from").is_some() || value.get("to").is_some() {
        DocumentKind::GraphEdge
    } else {
        DocumentKind::GraphNode
    }
}
