//! Makes the files of packages from the operations of an API. Texts of the API's author become data: titles,
//! descriptions and examples, shortened and on one line.
//!
//! Must not know the formats of descriptions, or files that were made before.

mod names;
mod routing_tests;
#[cfg(test)]
pub(crate) mod sample;
mod split;
mod task;
mod tool;
mod undo;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::json::{Profile, extent_of, text_length};
use serde_json::{Map, Value, json};

use crate::api::Api;
use names::NamedOperation;
use split::DocumentSize;

/// The manifest of a package.
pub(crate) const MANIFEST: &str = "package.yaml";
/// The page of what an import grants.
pub(crate) const GRANTS: &str = "docs/grants.md";
/// The version of a new package.
pub(crate) const FIRST_VERSION: &str = "0.1.0";
/// The step of a skill or playbook, which has only one.
const STEP: &str = "call";
/// Questions to try a package with.
const MAX_QUESTIONS: usize = 3;
/// Capabilities that an agent lists.
const MAX_CAPABILITIES: usize = 20;
/// Values of a skill or playbook without its parameters, and of each parameter, estimated.
const TASK_VALUES: (usize, usize) = (60, 14);
/// Bytes of a skill or playbook without its parameters, and of each parameter, estimated.
const TASK_BYTES: (usize, usize) = (3_000, 500);

/// A package made from an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedPackage {
    /// Name of the package.
    pub name: String,
    /// Folder of the package below the folder of the import; none if it is the only one.
    pub folder: Option<String>,
    /// Files by path, without the record of the import.
    pub files: BTreeMap<String, String>,
    /// Pointers to the operations in the API's document.
    pub operations: Vec<String>,
    /// Notes on the package.
    pub notes: Vec<String>,
    /// Questions to try the package with.
    pub questions: Vec<SampleQuestion>,
}

/// A question in the words of an operation that reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleQuestion {
    /// The question.
    pub text: String,
    /// Id of the tool that answers it.
    pub tool: String,
}

/// The ids of a package's documents.
#[derive(Debug, Clone)]
struct PackageIds {
    prefix: String,
    domain: String,
}

impl PackageIds {
    /// Returns the id of an operation's tool.
    fn tool(&self, named: &NamedOperation<'_>) -> String {
        format!("{}.api.{}", self.prefix, named.name)
    }

    /// Returns the id of an operation's skill or playbook.
    fn task(&self, named: &NamedOperation<'_>) -> String {
        format!("{}.{}", self.prefix, named.name)
    }

    fn agent(&self, group: &str) -> String {
        format!("domain.{}.{group}", self.prefix)
    }

    fn context_type(&self, group: &str) -> String {
        format!("{}.{group}", self.prefix)
    }
}

/// Returns the prefix of ids and variables of the import of a package.
#[must_use]
pub fn prefix(package: &str) -> String {
    names::prefix(package)
}

/// Makes the packages of an API: one, or several by tag if one would exceed its limits. `grants` writes the page of
/// what a package grants, from the pointers of its operations.
#[must_use]
pub fn generate(
    api: &Api,
    package: &str,
    grants: impl Fn(&str, &[String]) -> String,
) -> Vec<GeneratedPackage> {
    let prefix = names::prefix(package);
    let named = names::named(&api.operations);
    let whole = PackageIds {
        domain: prefix.clone(),
        prefix,
    };
    let tools: Vec<Value> = named
        .iter()
        .map(|named| tool::tool(api, &whole, named))
        .collect();
    let sizes: Vec<(&str, DocumentSize)> = named
        .iter()
        .zip(&tools)
        .map(|(named, tool)| (named.group.as_str(), size_of(named, tool)))
        .collect();
    let parts = split::packages(&sizes);
    let is_single = parts.len() == 1;
    let mut used = BTreeSet::new();
    let mut packages = Vec::new();
    for part in parts {
        let operations: Vec<NamedOperation<'_>> =
            part.iter().map(|at| named[*at].clone()).collect();
        let suffix = match operations.first() {
            Some(first) if !is_single => Some(free_name(&first.group, &mut used)),
            Some(_) | None => None,
        };
        let (name, domain) = match &suffix {
            Some(suffix) => (
                format!("{package}-{suffix}"),
                format!("{}_{suffix}", whole.prefix),
            ),
            None => (package.to_owned(), whole.prefix.clone()),
        };
        let ids = PackageIds {
            prefix: whole.prefix.clone(),
            domain,
        };
        let tools = part.iter().map(|at| &tools[*at]);
        let mut files = files(api, &ids, &name, &operations, tools);
        let tests = routing_tests::routing_tests(&ids, &operations);
        if !tests.tests.is_empty() {
            let path = "tests/routing.yaml".to_owned();
            files.insert(path, yaml::document(&Value::Array(tests.tests)));
        }
        let notes: Vec<String> = tests.note.into_iter().collect();
        let pointers = operations
            .iter()
            .map(|named| named.operation.pointer.clone());
        let pointers: Vec<String> = pointers.collect();
        let mut page = grants(&name, &pointers);
        for note in &notes {
            page += &format!("{note}.\n");
        }
        files.insert(GRANTS.to_owned(), page);
        packages.push(GeneratedPackage {
            name,
            folder: suffix,
            files,
            operations: pointers,
            notes,
            questions: questions(&ids, &operations),
        });
    }
    packages
}

/// Returns questions of a package, those without required values first.
fn questions(ids: &PackageIds, operations: &[NamedOperation<'_>]) -> Vec<SampleQuestion> {
    let reads = operations
        .iter()
        .filter(|named| named.operation.is_readonly() && !named.operation.deprecated);
    let mut reads: Vec<&NamedOperation<'_>> = reads.collect();
    reads.sort_by_key(|named| {
        let arguments = named.operation.arguments.iter();
        arguments.filter(|argument| argument.required).count()
    });
    let asked = reads.into_iter().take(MAX_QUESTIONS);
    asked
        .map(|named| SampleQuestion {
            text: named.title.clone(),
            tool: ids.tool(named),
        })
        .collect()
}

fn free_name(group: &str, used: &mut BTreeSet<String>) -> String {
    let mut name = group.to_owned();
    let mut number = 2;
    while !used.insert(name.clone()) {
        name = format!("{group}_{number}");
        number += 1;
    }
    name
}

/// Estimates the documents of an operation: its tool, and its skill or playbook.
fn size_of(named: &NamedOperation<'_>, tool: &Value) -> DocumentSize {
    let values = extent_of(tool, Profile::OPERATOR).map_or(usize::MAX / 4, |extent| extent.values);
    let schema_parts = ["input_schema", "output_schema"].into_iter().map(|field| {
        let schema = tool.get(field).and_then(Value::as_object).cloned();
        let parts = schema.map(|schema| ForeignSchema::from(schema).parts());
        parts.and_then(Result::ok).unwrap_or_default()
    });
    let arguments = named.operation.arguments.len();
    let (task, parameter) = TASK_VALUES;
    let (task_bytes, parameter_bytes) = TASK_BYTES;
    DocumentSize {
        // The indentation of a document takes about as much as its text.
        bytes: 2 * text_length(tool) + task_bytes + parameter_bytes * arguments,
        values: values + task + parameter * arguments,
        schema_parts: schema_parts.sum(),
        files: 2,
    }
}

/// Returns the files of one package.
fn files<'t>(
    api: &Api,
    ids: &PackageIds,
    name: &str,
    operations: &[NamedOperation<'_>],
    tools: impl Iterator<Item = &'t Value>,
) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut add = |path: String, document: &Value| {
        files.insert(path, yaml::document(document));
    };
    add(MANIFEST.to_owned(), &manifest(api, name));
    add(format!("domains/{}.yaml", ids.domain), &domain(api, ids));
    add(
        format!("guardrails/{}.writes_need_approval.yaml", ids.domain),
        &guardrail(ids),
    );
    for (named, tool) in operations.iter().zip(tools) {
        let mut tool = tool.clone();
        tool["domain"] = ids.domain.as_str().into();
        add(format!("tools/{}.yaml", named.name), &tool);
    }
    let reversals = undo::reversals(ids, operations);
    for (at, named) in operations.iter().enumerate() {
        if named.operation.is_readonly() {
            add(
                format!("skills/{}.yaml", named.name),
                &task::skill(ids, named),
            );
        } else {
            let playbook = task::playbook(ids, named, reversals.get(&at));
            add(format!("playbooks/{}.yaml", named.name), &playbook);
        }
    }
    for (group, members) in by_group(operations) {
        add(
            format!("agents/{group}.yaml"),
            &agent(api, ids, group, &members),
        );
    }
    files
}

fn by_group<'n, 'a>(
    operations: &'n [NamedOperation<'a>],
) -> BTreeMap<&'n str, Vec<&'n NamedOperation<'a>>> {
    let mut groups: BTreeMap<&str, Vec<&NamedOperation<'a>>> = BTreeMap::new();
    for named in operations {
        groups.entry(named.group.as_str()).or_default().push(named);
    }
    groups
}

/// Returns the title of the API, or the name of the package.
fn title<'a>(api: &'a Api, name: &'a str) -> &'a str {
    match api.title.as_str() {
        "" => name,
        title => title,
    }
}

fn manifest(api: &Api, name: &str) -> Value {
    json!({
        "name": name,
        "version": FIRST_VERSION,
        "title": title(api, name),
        "description": format!("Imported from the description of the API {} ({}).", title(api, name), api.format),
        "scope": "tenant",
    })
}

fn domain(api: &Api, ids: &PackageIds) -> Value {
    json!({
        "domain_id": ids.domain,
        "display_name": title(api, &ids.domain),
        "description": api.description,
        "domain_type": "domain",
        "status": "active",
    })
}

fn guardrail(ids: &PackageIds) -> Value {
    json!({
        "guardrail_id": format!("{}.writes_need_approval", ids.domain),
        "domain": ids.domain,
        "scope": "domain",
        "applies_to": [format!("{}.*", ids.domain)],
        "rule": "A person approves each call that changes something.",
        "when": "tool.tool_class == \"write\"",
        "enforcement": "require_approval",
        "message": "This call changes data of an imported API. Review its arguments before approving it.",
        "exceptions": [{ "condition": "dry_run == true", "allow": true }],
    })
}

fn agent(api: &Api, ids: &PackageIds, group: &str, members: &[&NamedOperation<'_>]) -> Value {
    let skills: Vec<String> = members
        .iter()
        .filter(|named| named.operation.is_readonly())
        .map(|named| ids.task(named))
        .collect();
    let capabilities: Vec<&str> = members
        .iter()
        .take(MAX_CAPABILITIES)
        .map(|named| named.title.as_str())
        .collect();
    let tag = members.first().map(|named| named.operation.group());
    let described = tag
        .and_then(|tag| api.tags.get(tag))
        .filter(|text| !text.is_empty());
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| {
        document.insert(name.to_owned(), value);
    };
    put("agent_id", ids.agent(group).into());
    put("name", group.into());
    put(
        "display_name",
        format!("{}: {}", title(api, &ids.prefix), tag.unwrap_or(group)).into(),
    );
    put("agent_type", "domain".into());
    put("domain", ids.domain.as_str().into());
    put("tier_support", json!(["basic"]));
    put("status", "active".into());
    let listed = described
        .map(String::as_str)
        .into_iter()
        .chain(capabilities);
    put("capabilities", listed.collect::<Vec<_>>().into());
    if !skills.is_empty() {
        put("supported_context_types", json!([ids.context_type(group)]));
        put("skill_refs", skills.into());
    }
    Value::Object(document)
}

#[cfg(test)]
mod tests;
