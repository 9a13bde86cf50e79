//! The operations of the OpenAPI document, and calls of them that are generated from it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::estate::KnownIds;
use super::examples;
use crate::home::{Answer, Api, project};

/// One operation.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Whether the document marks the operation as public.
    pub(crate) public: bool,
    query: Vec<Query>,
    body: Option<Value>,
}

/// A query parameter.
struct Query {
    name: String,
    schema: Value,
    required: bool,
}

/// A call of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

/// The document, with references resolved.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(project().join("schemas/openapi.json")).unwrap();
        Self(serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn operations(&self) -> Vec<Operation> {
        let mut found = Vec::new();
        for (path, operations) in self.0["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                found.push(operation_of(path, method, operation));
            }
        }
        found
    }

    /// The calls of an operation with ids from a table: every path that the ids make, alone and with each query
    /// parameter and each body with a known field.
    pub(crate) fn calls(&self, operation: &Operation, known: &KnownIds) -> Vec<Call> {
        let paths = paths(operation, known);
        let bodies = self.bodies(operation, known);
        let call = |path: &str, body: &Option<Value>| Call {
            method: operation.method.to_uppercase(),
            path: path.to_owned(),
            body: body.clone(),
        };
        let mut calls = Vec::new();
        for query in self.queries(operation, known) {
            for path in &paths {
                let path = format!("{path}{query}");
                calls.extend(bodies.iter().map(|body| call(&path, body)));
            }
        }
        calls
    }

    /// The query with the required parameters, and one for each known parameter in addition.
    fn queries(&self, operation: &Operation, known: &KnownIds) -> Vec<String> {
        let made = Made {
            document: self,
            known,
        };
        let text = |query: &Query| match made.value(&query.name, &query.schema) {
            Value::String(text) => format!("{}={}", query.name, escaped(&text)),
            other => format!("{}={other}", query.name),
        };
        let (required, optional): (Vec<_>, Vec<_>) =
            operation.query.iter().partition(|query| query.required);
        let base: Vec<String> = required.into_iter().map(text).collect();
        let with = |more: Option<String>| {
            let all: Vec<String> = base.iter().cloned().chain(more).collect();
            if all.is_empty() {
                String::new()
            } else {
                format!("?{}", all.join("&"))
            }
        };
        let mut found = vec![with(None)];
        for query in optional
            .into_iter()
            .filter(|query| query.schema["type"] == "string")
        {
            let ids = known.get(query.name.as_str()).into_iter().flatten();
            found.extend(ids.map(|id| with(Some(format!("{}={}", query.name, escaped(id))))));
        }
        found
    }

    /// Examples for a separate document; else bodies with the required fields, with each known field, and with all.
    pub(crate) fn bodies(&self, operation: &Operation, known: &KnownIds) -> Vec<Option<Value>> {
        let Some(schema) = &operation.body else {
            return vec![None];
        };
        let known = words(operation, known);
        let mut bodies: Vec<Option<Value>> = examples::of(&operation.id, &known);
        for schema in self.variants(schema) {
            let made = Made {
                document: self,
                known: &known,
            };
            for body in made.objects(&schema) {
                if !bodies.contains(&Some(body.clone())) {
                    bodies.push(Some(body));
                }
            }
        }
        bodies
    }

    fn variants(&self, schema: &Value) -> Vec<Value> {
        let schema = self.target(schema);
        let either = ["oneOf", "anyOf"]
            .iter()
            .find_map(|name| schema[name].as_array());
        match either {
            Some(variants) if schema.get("properties").is_none() => variants.clone(),
            Some(_) | None => vec![schema.clone()],
        }
    }

    fn target<'d>(&'d self, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.0.pointer(&reference[1..]).unwrap(),
            None => schema,
        }
    }
}

impl Operation {
    /// The names of its query parameters.
    pub(crate) fn query_names(&self) -> impl Iterator<Item = &str> {
        self.query.iter().map(|query| query.name.as_str())
    }
}

fn operation_of(path: &str, method: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"].as_array();
    let parameters = parameters.map(Vec::as_slice).unwrap_or_default().iter();
    let query = parameters.filter(|parameter| parameter["in"] == "query");
    Operation {
        id: operation["operationId"].as_str().unwrap().to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        public: operation["security"] == json!([{}]),
        query: query.map(query_of).collect(),
        body: operation["requestBody"]["content"]["application/json"]
            .get("schema")
            .cloned(),
    }
}

fn query_of(parameter: &Value) -> Query {
    Query {
        name: parameter["name"].as_str().unwrap().to_owned(),
        schema: parameter["schema"].clone(),
        required: parameter["required"] == true,
    }
}

/// The table for an operation: one field name may have two meanings.
fn words(operation: &Operation, known: &KnownIds) -> KnownIds {
    let mut known = known.clone();
    let digest = if operation.path.starts_with("/v1/approvals") {
        "approval_digest"
    } else {
        "plan_digest"
    };
    let also = [
        ("digest", digest),
        ("tools", "tool"),
        ("skill_ids", "skill_id"),
    ];
    for (name, like) in also {
        let values = known.get(like).cloned().unwrap_or_default();
        known.insert(name, values);
    }
    let of_its_own = [
        ("promote_candidate", "run_id", "candidate_run"),
        ("put_agent_skill", "skill_id", "agent-skills"),
        ("start_playbook_run", "request_id", "requests"),
    ];
    for (operation_id, name, like) in of_its_own {
        if operation.id == operation_id {
            let values = known.get(like).cloned().unwrap_or_default();
            known.insert(name, values);
        }
    }
    known
}

/// The table entry for a path parameter: the word before it, or its own name after another parameter.
pub(crate) fn places(path: &str) -> Vec<(String, String)> {
    let segments: Vec<&str> = path.split('/').collect();
    let mut found = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let Some(name) = segment
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        else {
            continue;
        };
        let before = segments[at - 1];
        let place = if before.starts_with('{') {
            name
        } else {
            before
        };
        found.push((format!("{{{name}}}"), place.to_owned()));
    }
    found
}

/// The paths of an operation with every id in turn.
fn paths(operation: &Operation, known: &KnownIds) -> Vec<String> {
    let mut found = vec![operation.path.clone()];
    for (parameter, place) in places(&operation.path) {
        let ids = known.get(place.as_str());
        let ids = ids.unwrap_or_else(|| {
            panic!(
                "{} {}: teach the estate an id for `{place}`",
                operation.method, operation.path
            )
        });
        let verbs: &[&str] = if operation.id == "a2a_act_on_task" {
            &[":cancel", ":subscribe"]
        } else {
            &[""]
        };
        let filled = found.iter().flat_map(|path| {
            let each = ids
                .iter()
                .flat_map(|id| verbs.iter().map(move |verb| (id, verb)));
            let parameter = &parameter;
            each.map(move |(id, verb)| {
                path.replace(
                    parameter,
                    &format!("{}{verb}", segment(id, place_is_rest(path))),
                )
            })
        });
        found = filled.collect();
    }
    found
}

/// File names include their directories.
fn place_is_rest(path: &str) -> bool {
    path.contains("/files/")
}

fn segment(id: &str, rest: bool) -> String {
    if rest { id.to_owned() } else { escaped(id) }
}

fn escaped(text: &str) -> String {
    escaped_bytes(text.as_bytes())
}

/// Bytes escaped for a path or a query.
pub(crate) fn escaped_bytes(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let bytes = bytes.iter().copied().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    bytes.collect()
}

/// Values made from schemas.
struct Made<'d> {
    document: &'d Document,
    known: &'d KnownIds,
}

impl Made<'_> {
    fn objects(&self, schema: &Value) -> Vec<Value> {
        let schema = self.document.target(schema);
        let required = self.fields(schema, |name| is_required(schema, name));
        let Value::Object(base) = required else {
            return vec![required];
        };
        let optional = self.known_fields(schema);
        let with = |fields: &BTreeMap<String, Value>| {
            let mut body = base.clone();
            body.extend(fields.clone());
            Value::Object(body)
        };
        let mut bodies = vec![Value::Object(base.clone())];
        bodies.extend(
            optional
                .iter()
                .map(|(name, value)| with(&BTreeMap::from([(name.clone(), value.clone())]))),
        );
        bodies.push(with(&optional));
        bodies
    }

    /// Optional fields with an id, at any depth.
    fn known_fields(&self, schema: &Value) -> BTreeMap<String, Value> {
        let properties = schema["properties"].as_object();
        let optional = properties
            .into_iter()
            .flatten()
            .filter(|(name, _)| !is_required(schema, name));
        let held = optional.filter(|(name, schema)| self.holds(name, schema, 0));
        held.map(|(name, schema)| (name.clone(), self.value(name, schema)))
            .collect()
    }

    fn holds(&self, name: &str, schema: &Value, depth: usize) -> bool {
        let schema = self.document.target(schema);
        let inside = schema["properties"].as_object().into_iter().flatten();
        self.known.contains_key(name)
            || (depth < 4
                && inside
                    .into_iter()
                    .any(|(name, schema)| self.holds(name, schema, depth + 1)))
    }

    fn fields(&self, schema: &Value, wanted: impl Fn(&str) -> bool) -> Value {
        let properties = schema["properties"].as_object();
        let Some(properties) = properties else {
            return self.value("", schema);
        };
        let wanted = properties.iter().filter(|(name, _)| wanted(name));
        Value::Object(
            wanted
                .map(|(name, schema)| (name.clone(), self.value(name, schema)))
                .collect(),
        )
    }

    fn value(&self, name: &str, schema: &Value) -> Value {
        let schema = self.document.target(schema);
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
            return first.clone();
        }
        let either = ["oneOf", "anyOf", "allOf"]
            .iter()
            .find_map(|name| schema[name].as_array());
        if let Some(variants) = either {
            let variant = variants.iter().find(|variant| variant["type"] != "null");
            return self.value(name, variant.unwrap());
        }
        let kind = schema["type"].as_str().or_else(|| {
            schema["type"]
                .as_array()
                .and_then(|kinds| kinds[0].as_str())
        });
        match kind {
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(false),
            Some("array") => json!([self.value(name, &schema["items"])]),
            Some("object") if schema.get("properties").is_some() => {
                let mut made = self.fields(schema, |name| is_required(schema, name));
                made.as_object_mut()
                    .unwrap()
                    .extend(self.known_fields(schema));
                made
            }
            Some("object") => Value::Object(Map::new()),
            Some("string") | None => self.text(name, schema),
            Some(_) => Value::Null,
        }
    }

    fn text(&self, name: &str, schema: &Value) -> Value {
        if schema["format"] == "date-time" {
            return json!("2026-04-14T12:00:00Z");
        }
        if let Some(id) = self.known.get(name).and_then(|ids| ids.first()) {
            return json!(id);
        }
        match schema["pattern"].as_str() {
            Some(pattern) if pattern.contains("plan-") => {
                json!("plan-01930000-0000-7000-8000-000000000009")
            }
            _ => json!("stale_backups"),
        }
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|all| all.iter().any(|one| one == name))
}

impl Call {
    /// All its text.
    pub(crate) fn text(&self) -> String {
        let body = self.body.as_ref().map(Value::to_string);
        format!("{} {}", self.path, body.unwrap_or_default())
    }

    /// Sends the call. The version header is for A2A; the others ignore it.
    pub(crate) fn send(&self, api: &Api) -> Answer {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
        api.call_plainly(&self.method, &self.path, &headers, body.into_bytes())
    }
}

/// Arguments that conform to a schema, with ids from a table: the required ones, each known field in addition, and for
/// `id`, or `kind` and `id`, every id, as every kind.
pub(crate) fn schema_calls(schema: &Value, known: &KnownIds) -> Vec<Value> {
    let document = Document(schema.clone());
    let made = Made {
        document: &document,
        known,
    };
    let objects = made.objects(schema);
    let properties = &schema["properties"];
    if properties.get("id").is_none() {
        return objects;
    }
    let kinds = document.target(&properties["kind"]);
    let kinds = kinds["enum"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![Value::Null]);
    let mut all = Vec::new();
    for id in known
        .iter()
        .filter(|(place, _)| !super::is_shared(place))
        .flat_map(|(_, ids)| ids)
    {
        for kind in &kinds {
            let mut body = json!({"id": id});
            if !kind.is_null() {
                body["kind"] = kind.clone();
            }
            all.push(body);
        }
    }
    all
}
