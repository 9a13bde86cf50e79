//! The schemas of files. A package file contains one document or a list of documents; the folder of the expert graph
//! mixes nodes and edges. A contract without package files has the schema of its document.

use std::slice;

use serde_json::{Map, Value, json};

use crate::canonical;
use crate::schema::{SchemaEntry, SchemaName};

/// The contracts of documents in package files.
const OF_PACKAGES: [SchemaName; 16] = [
    SchemaName::Agent,
    SchemaName::Domain,
    SchemaName::DomainLens,
    SchemaName::GraphEdge,
    SchemaName::GraphNode,
    SchemaName::Guardrail,
    SchemaName::MissionType,
    SchemaName::PackageManifest,
    SchemaName::Playbook,
    SchemaName::Policy,
    SchemaName::PromptTemplate,
    SchemaName::RoutingTest,
    SchemaName::Schedule,
    SchemaName::Skill,
    SchemaName::Template,
    SchemaName::Tool,
];

/// Returns the contracts of documents in package files.
pub fn of_packages() -> impl ExactSizeIterator<Item = &'static SchemaEntry> {
    OF_PACKAGES.into_iter().map(SchemaName::entry)
}

/// The contracts that files of the expert graph may mix.
const GRAPH: [SchemaName; 2] = [SchemaName::GraphNode, SchemaName::GraphEdge];

impl SchemaEntry {
    /// Returns the JSON Schema of a file with documents of the contract: the content of `schemas/<name>.json`, with
    /// which editors validate files.
    #[must_use]
    pub fn of_file(&self) -> Value {
        let held: &[SchemaName] = if GRAPH.contains(&self.name) {
            &GRAPH
        } else if OF_PACKAGES.contains(&self.name) {
            slice::from_ref(&self.name)
        } else {
            return self.generate();
        };
        let mut forms = vec![defined(self.name)];
        let items: Vec<Value> = held.iter().copied().map(defined).collect();
        forms.push(match items.as_slice() {
            [only] => list_of(only),
            several => list_of(&json!({ "anyOf": several })),
        });
        if held == GRAPH {
            let [nodes, edges] = GRAPH.map(|name| list_of(&defined(name)));
            let properties = json!({"nodes": nodes, "edges": edges});
            for list in ["nodes", "edges"] {
                forms.push(json!({"type": "object", "required": [list], "properties": properties}));
            }
        }
        let definitions = held
            .iter()
            .map(|name| (name.to_string(), definition(*name)));
        let definitions: Map<String, Value> = definitions.collect();
        canonical::sorted(json!({
            "$schema": self.generate().get("$schema"),
            "$id": self.id(),
            "title": self.title,
            "anyOf": forms,
            "$defs": definitions,
        }))
    }
}

fn defined(name: SchemaName) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn list_of(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Returns a contract as a part of a schema that has an id and a draft.
fn definition(name: SchemaName) -> Value {
    let mut schema = name.entry().generate();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$id");
        fields.remove("$schema");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(name: SchemaName, file: &Value) -> bool {
        let schema = name.entry().of_file();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        jsonschema::is_valid(&schema, file)
    }

    #[test]
    fn a_file_holds_a_document_or_a_list_of_them() {
        let test = json!({"query": "which orders are late", "expect": "shop.late_orders"});
        let wrong = json!({"query": 7});
        for (file, expected) in [
            (test.clone(), true),
            (json!([test, test]), true),
            (json!([]), true),
            (wrong.clone(), false),
            (json!([test, wrong]), false),
            (json!("which orders are late"), false),
        ] {
            assert_eq!(accepts(SchemaName::RoutingTest, &file), expected, "{file}");
        }
    }

    #[test]
    fn a_file_of_the_graph_holds_nodes_and_edges_together() {
        let node = json!({"id": "cc6_1", "type": "Control", "domain": "security"});
        let edge = json!({"from": "cc6_1", "type": "requires", "to": "cc6_2"});
        let both = json!({"nodes": [node], "edges": [edge]});
        for name in GRAPH {
            assert!(accepts(name, &both), "{name}");
            assert!(accepts(name, &json!([node, edge])), "{name}");
            assert!(!accepts(name, &json!({"nodes": [edge]})), "{name}");
        }
        assert!(accepts(SchemaName::GraphNode, &node));
        assert!(!accepts(SchemaName::GraphNode, &edge));
    }

    /// A sent document is a single document.
    #[test]
    fn kinds_without_package_files_are_not_listed() {
        let entry = SchemaName::AgentRequest.entry();
        assert_eq!(entry.of_file(), entry.generate());
        assert_eq!(of_packages().len(), OF_PACKAGES.len());
    }
}
