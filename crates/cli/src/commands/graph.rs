//! `charter graph …`

use clap::Subcommand;
use serde_json::{Value, json};

use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};

/// Query the expert graph: neighbours, paths, risks and coverage.
#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Run a query.
    #[command(subcommand)]
    Query(GraphQuery),
}

/// The query.
#[derive(Debug, Subcommand)]
pub(crate) enum GraphQuery {
    /// List the neighbours of a node.
    Neighbours {
        /// The node's id.
        node: String,
        /// `out` or `in`; both if absent.
        #[arg(long)]
        direction: Option<String>,
        /// Only edges of this type; may be repeated.
        #[arg(long = "edge", value_name = "TYPE")]
        edges: Vec<String>,
        /// The largest number of edges between the node and a neighbour.
        #[arg(long, default_value_t = 1)]
        depth: u8,
    },
    /// List the paths from a node, by default from a control to resource types.
    Paths {
        /// The node's id.
        from: String,
        /// Only paths to this node.
        #[arg(long, value_name = "NODE", conflicts_with = "to_type")]
        to: Option<String>,
        /// Only paths to nodes of this type.
        #[arg(long, value_name = "TYPE")]
        to_type: Option<String>,
        /// `out` or `in`.
        #[arg(long, default_value = "out")]
        direction: String,
        /// The largest number of edges of a path.
        #[arg(long)]
        depth: Option<u8>,
        /// The largest number of paths.
        #[arg(long)]
        limit: Option<usize>,
    },
    /// List risks that nothing addresses.
    Unremediated {
        /// Only risks of this domain.
        #[arg(long)]
        domain: Option<String>,
    },
    /// Show which controls of a framework are covered by registered skills and playbooks.
    Coverage {
        /// The framework, e.g. SOC2.
        framework: String,
    },
}

pub(crate) async fn run(command: &Graph, config: &Config, format: Format) -> anyhow::Result<u8> {
    let Graph::Query(query) = command;
    let client = Client::connect(config).await?;
    let found = client.post("/v1/graph/query", Some(&body(query))).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, |found| match query {
        GraphQuery::Neighbours { .. } => output::rows(
            &found["found"],
            &[
                "distance",
                "direction",
                "edge",
                "from",
                "node.id",
                "node.type",
                "layer",
            ],
        ),
        GraphQuery::Paths { .. } => paths(&found["found"]),
        GraphQuery::Unremediated { .. } => {
            output::rows(&found["found"], &["id", "severity", "domain", "categories"])
        }
        GraphQuery::Coverage { .. } => output::rows(
            &coverage(&found["controls"]),
            &["control", "status", "resource_type", "covered_by"],
        ),
    })?;
    if format == Format::Table && found["truncated"] == true {
        messages::note("the answer is truncated; narrow the question, or reduce the depth");
    }
    Ok(EXIT_OK)
}

/// The body of the request, with only the arguments that are present.
fn body(query: &GraphQuery) -> Value {
    let mut body = match query {
        GraphQuery::Neighbours {
            node,
            direction,
            edges,
            depth,
        } => json!({"query": "neighbours", "node": node, "direction": direction, "edges": edges,
            "depth": depth}),
        GraphQuery::Paths {
            from,
            to,
            to_type,
            direction,
            depth,
            limit,
        } => {
            let to = match (to, to_type) {
                (Some(node), _) => json!({ "node": node }),
                (None, Some(of_type)) => json!({ "type": of_type }),
                (None, None) => Value::Null,
            };
            json!({"query": "paths", "from": from, "to": to, "direction": direction,
                "depth": depth, "limit": limit})
        }
        GraphQuery::Unremediated { domain } => json!({"query": "unremediated", "domain": domain}),
        GraphQuery::Coverage { framework } => {
            json!({"query": "coverage", "framework": framework})
        }
    };
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    body
}

/// One line for each path: `a -requires-> b`.
fn paths(found: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = found.as_array().into_iter().flatten().map(|path| {
        let mut nodes = path["nodes"].as_array().into_iter().flatten();
        let mut line = nodes.next().map(text).unwrap_or_default();
        for (edge, node) in path["edges"].as_array().into_iter().flatten().zip(nodes) {
            line.push_str(&format!(" -{}-> {}", text(edge), text(node)));
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// One row for each resource type of each control; one row for a control without any.
fn coverage(controls: &Value) -> Value {
    let rows = controls
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|control| {
            let row = |resource: &Value, covered_by: String| {
                json!({"control": control["control"], "status": control["status"],
                "resource_type": resource, "covered_by": covered_by})
            };
            let resources = control["resource_types"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if resources.is_empty() {
                return vec![row(&Value::Null, String::new())];
            }
            let rows = resources.iter().map(|resource| {
                let actions = resource["covered_by"].as_array().into_iter().flatten();
                let ids: Vec<&str> = actions.filter_map(|action| action["id"].as_str()).collect();
                row(&resource["resource_type"], ids.join(", "))
            });
            rows.collect()
        });
    Value::Array(rows.collect())
}
