//! The schemas that constrain a provider. A schema names the tools, resources and permitted proposals of the context,
//! and aliases of the sources. A provider that keeps to it returns no other name. It also expresses every rule that a
//! schema can express. Everything is checked again afterwards, with the mission; a schema only avoids repairs.

mod roles;

use std::collections::BTreeSet;

use charter_contract::agentic::tool_definition::{definitions, parameters_to_schema};
use charter_contract::catalogue::mission_type::WriteBack;
use charter_contract::catalogue::tool::Tool;
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::mission::task_graph::MAX_PLANNED;
use charter_contract::mission::worker_result::CitationKind;
use charter_contract::text::Text;
use charter_domain::mission::admit::Inventory;
use serde_json::{Map, Value, json};

use super::{MAX_CALLS, MAX_PROPOSALS};

pub(in crate::missions) use roles::{package, pass, research};

/// Maximum names that a schema lists, since providers bound its enumerations. If there are more, any text is accepted.
const MOST_SPELT_OUT: usize = 200;

/// Maximum values of a document's own schema that is embedded in one of these.
const MOST_EMBEDDED: usize = 500;

/// Keywords that name or refer to parts of a schema. Inside another schema these would be other parts, or their work
/// would multiply.
const STAYING_OUT: [&str; 10] = [
    "$ref",
    "$id",
    "$anchor",
    "$schema",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// A schema and its name.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::missions) struct DraftSchema {
    pub(in crate::missions) name: &'static str,
    pub(in crate::missions) schema: Value,
}

/// Sources that may be cited. A schema reaches a model like instructions do, and the names of sources are links from
/// the web and words of other models. So the schema lists aliases, and the names are in the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::missions) struct Sources(Vec<Source>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    alias: String,
    name: String,
    kinds: Vec<CitationKind>,
}

impl Sources {
    /// Collects the strings of a context that name a source of the mission.
    pub(in crate::missions) fn in_view(inventory: &Inventory, context: &Value) -> Self {
        let mut named = BTreeSet::new();
        look(inventory, context, &mut named);
        let sources = named.into_iter().map(|name| {
            let kinds = inventory.citable(name).collect();
            (name.to_owned(), kinds)
        });
        Self::from_names(sources.collect())
    }

    /// Builds sources from names, with the kinds of citation of each.
    pub(in crate::missions) fn from_names(named: Vec<(String, Vec<CitationKind>)>) -> Self {
        let names: BTreeSet<String> = named.iter().map(|(name, _)| name.clone()).collect();
        let aliases = (1..).map(|number| format!("s{number}"));
        let mut aliases = aliases.filter(|alias| !names.contains(alias));
        let sources = named.into_iter().map_while(|(name, kinds)| {
            let alias = aliases.next()?;
            Some(Source { alias, name, kinds })
        });
        Self(sources.collect())
    }

    /// Returns a context with the names of the aliases.
    pub(in crate::missions) fn shown_in(&self, mut context: Value) -> Value {
        let sources = self.0.iter();
        let sources: Map<String, Value> = sources
            .map(|source| (source.alias.clone(), json!(source.name)))
            .collect();
        if let Value::Object(fields) = &mut context {
            fields.insert("sources".to_owned(), Value::Object(sources));
        }
        context
    }

    /// Lists the names with their kinds of citation.
    pub(in crate::missions) fn listed(&self) -> Vec<Value> {
        let sources = self.0.iter();
        let listed = sources.map(|source| json!({"ref": source.name, "kinds": source.kinds}));
        listed.collect()
    }

    /// Resolves an alias to its name; returns any other reference unchanged.
    pub(in crate::missions) fn meant(&self, reference: Text) -> Text {
        let found = self.0.iter();
        let mut found = found.filter(|source| source.alias == reference.as_str());
        let name = found.next().map(|source| Text::parse(&source.name));
        name.and_then(Result::ok).unwrap_or(reference)
    }

    /// Returns the aliases with this kind of citation, or all.
    fn aliases(&self, kind: Option<CitationKind>) -> Vec<&str> {
        let cited = self.0.iter();
        let cited = cited.filter(|source| kind.is_none_or(|kind| source.kinds.contains(&kind)));
        cited.map(|source| source.alias.as_str()).collect()
    }
}

/// Collects the strings of a value that name a source of the mission.
fn look<'v>(inventory: &Inventory, shown: &'v Value, named: &mut BTreeSet<&'v str>) {
    match shown {
        Value::String(text) => {
            if inventory.citable(text).next().is_some() {
                named.insert(text);
            }
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| look(inventory, value, named)),
        Value::Object(fields) => fields
            .values()
            .for_each(|value| look(inventory, value, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Builds the schema of a planner's draft, from the names that it may use.
pub(in crate::missions) fn plan<'a>(
    tools: impl Iterator<Item = &'a str>,
    scopes: impl Iterator<Item = &'a str>,
    skills: impl Iterator<Item = &'a str>,
) -> DraftSchema {
    let some_of = |names: Vec<&str>, most| one_of(&names).map(|name| list(&name, 0, most));
    let task = object(
        [
            (
                "task_id",
                Some(json!({"type": "string", "pattern": "^[a-z][a-z0-9_]{0,60}$"})),
            ),
            ("role_type", Some(json!({"enum": ["researcher", "worker"]}))),
            ("objective", Some(text(1_000))),
            ("depends_on", Some(list(&json!({"type": "string"}), 0, 50))),
            ("required_capabilities", some_of(skills.collect(), 10)),
            ("allowed_tools", some_of(tools.collect(), 20)),
            ("required_data_scopes", some_of(scopes.collect(), 20)),
            ("success_criteria", Some(list(&text(300), 0, 5))),
        ],
        &["task_id", "role_type", "objective"],
    );
    let tasks = list(&task, 1, MAX_PLANNED);
    DraftSchema {
        name: "plan",
        schema: object([("tasks", Some(tasks))], &["tasks"]),
    }
}

/// Whether a worker's answer must cite its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::missions) enum Citations {
    /// At least one.
    Required,
    /// Any number.
    Optional,
}

/// Builds the schema of a worker's final answer.
pub(in crate::missions) fn answer(
    sources: &Sources,
    citations: Citations,
    structured: Option<&ForeignSchema>,
) -> DraftSchema {
    DraftSchema {
        name: "answer",
        schema: answer_object(sources, citations, structured),
    }
}

/// Builds the schema of a worker's turn while it may still call tools: calls, or the final answer.
pub(in crate::missions) fn turn<'t>(
    tools: impl Iterator<Item = &'t Tool>,
    sources: &Sources,
    citations: Citations,
    structured: Option<&ForeignSchema>,
) -> DraftSchema {
    let calls = calls(tools);
    let last = answer_object(sources, citations, structured);
    DraftSchema {
        name: "turn",
        schema: calls_or_answer(calls, last),
    }
}

/// Builds the schema of requested calls; `None` without tools.
fn calls<'t>(tools: impl Iterator<Item = &'t Tool>) -> Option<Value> {
    let calls = tools.map(|tool| {
        let mut parameters = definitions(tool.parameters());
        for parameter in parameters.values_mut() {
            // Some providers do not support some patterns.
            parameter.extra.remove("pattern");
            let mut left = MOST_EMBEDDED;
            if !parameter.extra.iter().all(|field| fits(field, &mut left)) {
                parameter.extra.clear();
            }
        }
        let fields = [
            ("tool", one_of(&[tool.tool_id.as_str()])),
            ("parameters", Some(parameters_to_schema(&parameters))),
        ];
        object(fields, &["tool", "parameters"])
    });
    any_of(calls.collect()).map(|call| list(&call, 1, MAX_CALLS))
}

/// Builds the schema of a turn: calls, or an answer.
fn calls_or_answer(calls: Option<Value>, answer: Value) -> Value {
    let ways = [("calls", calls), ("answer", Some(answer))];
    let ways = ways.map(|(name, way)| way.map(|way| object([(name, Some(way))], &[name])));
    let mut schema = any_of(ways.into_iter().flatten().collect()).unwrap_or_default();
    // A provider that gets the schema as a tool's parameters needs an object at the top.
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("type".to_owned(), "object".into());
    }
    schema
}

fn answer_object(
    sources: &Sources,
    citations: Citations,
    structured: Option<&ForeignSchema>,
) -> Value {
    let least = match citations {
        Citations::Required => 1,
        Citations::Optional => 0,
    };
    let citation = |kind: CitationKind| {
        let aliases = sources.aliases(Some(kind));
        let fields = [
            ("kind", one_of(&[kind.as_str()])),
            ("ref", one_of(&aliases)),
        ];
        (!aliases.is_empty()).then(|| object(fields, &["kind", "ref"]))
    };
    let citations = [CitationKind::Internal, CitationKind::External].map(citation);
    let citations = any_of(citations.into_iter().flatten().collect())
        .map(|citation| list(&citation, least, 50));
    let structured_output = match structured {
        Some(schema) => embedded(schema),
        None => json!({"type": "object"}),
    };
    let wanted: &[&str] = match structured {
        Some(_) => &[
            "output_text",
            "structured_output",
            "citations",
            "confidence",
        ],
        None => &["output_text", "citations", "confidence"],
    };
    let confidence = json!({"type": "number", "minimum": 0, "maximum": 1});
    object(
        [
            ("output_text", Some(text(8_000))),
            ("structured_output", Some(structured_output)),
            ("citations", citations),
            ("confidence", Some(confidence)),
        ],
        wanted,
    )
}

/// Builds the schema of an aggregator's draft.
pub(in crate::missions) fn packet(sources: &Sources) -> DraftSchema {
    let claims = one_of(&sources.aliases(None)).map(|name| {
        let fields = [
            ("claim", Some(text(1_000))),
            ("support_refs", Some(list(&name, 1, 20))),
        ];
        list(&object(fields, &["claim", "support_refs"]), 0, 200)
    });
    let schema = object(
        [
            ("summary", Some(text(8_000))),
            ("evidence_matrix", claims),
            ("contradictions", Some(list(&text(1_000), 0, 50))),
            ("coverage_gaps", Some(list(&text(1_000), 0, 50))),
            ("recommended_output", Some(json!({"type": "object"}))),
        ],
        &["summary", "evidence_matrix"],
    );
    DraftSchema {
        name: "packet",
        schema,
    }
}

/// Builds the schema of a reviewer's draft: an approved review has its output, and an edited one lists its edits.
pub(in crate::missions) fn review(write_backs: &[WriteBack]) -> DraftSchema {
    let fields = [
        (
            "severity",
            Some(json!({"enum": ["critical", "high", "medium", "low", "info"]})),
        ),
        ("message", Some(text(1_000))),
    ];
    let issues = list(&object(fields, &["severity", "message"]), 0, 50);
    let edits = |least| list(&text(1_000), least, 50);
    let output = json!({
        "type": "object", "properties": {"summary": text(8_000)}, "required": ["summary"],
    });
    let proposals = any_of(write_backs.iter().map(proposal).collect())
        .map(|proposal| list(&proposal, 0, MAX_PROPOSALS));
    let way = |status: &str, edits: Value, approved: bool| {
        let fields = [
            ("review_status", one_of(&[status])),
            ("issues", Some(issues.clone())),
            ("required_edits", Some(edits)),
            ("approved_output", approved.then(|| output.clone())),
            ("proposals", proposals.clone().filter(|_| approved)),
        ];
        let wanted = match status {
            "approved_with_edits" => &["review_status", "required_edits", "approved_output"][..],
            _ => &["review_status", "approved_output"],
        };
        object(fields, wanted)
    };
    let schema = json!({"type": "object", "anyOf": [
        way("approved", edits(0), true),
        way("approved_with_edits", edits(1), true),
        way("rejected", edits(0), false),
    ]});
    DraftSchema {
        name: "review",
        schema,
    }
}

fn proposal(write_back: &WriteBack) -> Value {
    let payload = write_back.payload_schema.as_ref().map(embedded);
    object(
        [
            ("action_type", one_of(&[write_back.action_type.as_str()])),
            (
                "target_entity_type",
                one_of(&[write_back.target_entity_type.as_str()]),
            ),
            ("target_entity_id", Some(text(200))),
            (
                "payload",
                Some(payload.unwrap_or_else(|| json!({"type": "object"}))),
            ),
        ],
        &[
            "action_type",
            "target_entity_type",
            "target_entity_id",
            "payload",
        ],
    )
}

/// Builds an object schema with these fields and no others. A field without a schema is left out, even if required.
fn object<const N: usize>(fields: [(&str, Option<Value>); N], wanted: &[&str]) -> Value {
    let fields = fields.into_iter();
    let fields = fields.filter_map(|(name, schema)| Some((name.to_owned(), schema?)));
    let properties: Map<String, Value> = fields.collect();
    let required: Vec<&str> = wanted
        .iter()
        .filter(|name| properties.contains_key(**name))
        .copied()
        .collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

/// Returns a schema for one of the names, or for any text if there are too many; `None` if there are none.
fn one_of(names: &[impl AsRef<str>]) -> Option<Value> {
    match names.len() {
        0 => None,
        1..=MOST_SPELT_OUT => {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            Some(json!({"type": "string", "enum": names}))
        }
        _ => Some(text(500)),
    }
}

fn any_of(mut ways: Vec<Value>) -> Option<Value> {
    match ways.len() {
        0 | 1 => ways.pop(),
        _ => Some(json!({"anyOf": ways})),
    }
}

fn text(longest: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": longest})
}

fn list(items: &Value, least: usize, most: usize) -> Value {
    let mut list = json!({"type": "array", "items": items, "maxItems": most});
    if least > 0 {
        list["minItems"] = least.into();
    }
    list
}

/// Embeds a document's own schema. If it is large, or would mean something else inside another schema, accepts any
/// object instead.
fn embedded(schema: &ForeignSchema) -> Value {
    let mut left = MOST_EMBEDDED;
    if schema.json().iter().all(|field| fits(field, &mut left)) {
        Value::Object(schema.json().clone())
    } else {
        json!({"type": "object"})
    }
}

fn fits((name, value): (&String, &Value), left: &mut usize) -> bool {
    !STAYING_OUT.contains(&name.as_str()) && fits_as_value(value, left)
}

fn fits_as_value(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Object(fields) => fields.iter().all(|field| fits(field, left)),
        Value::Array(values) => values.iter().all(|value| fits_as_value(value, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
