//! Compares the table with the code that runs tools, and with the page that describes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use charter_contract::agentic::environment_access::EnvironmentAccess;
use charter_contract::agentic::file_system_operation::FileSystemOperation;
use charter_contract::agentic::network_request::NetworkRequest;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::validate::Contract;
use serde_json::Map;

use super::super::{command, parameters as read, visualise, web_search};
use super::parameter::Need;
use super::*;
use crate::call::ToolCall;

/// Returns the examples of all parameters together, or of the required ones.
fn example(builtin: Builtin, only: Option<Need>) -> Map<std::string::String, Value> {
    parameters(builtin)
        .iter()
        .filter(|parameter| only.is_none_or(|only| parameter.need == only))
        .map(|parameter| (parameter.name.to_owned(), parameter.example_value()))
        .collect()
}

fn accepts(
    builtin: Builtin,
    given: &Map<std::string::String, Value>,
) -> Result<(), std::string::String> {
    fn document<T: Contract>(
        builtin: Builtin,
        given: &Map<std::string::String, Value>,
        fixed: &[(&str, Value)],
    ) -> Result<(), std::string::String> {
        let read = read::document::<T>(builtin, given, fixed);
        read.map(|_| ()).map_err(|failure| failure.message)
    }
    let uuid = "01930000-0000-7000-8000-000000000001";
    let name = builtin.as_str();
    let id = |prefix: &str| ("id", Value::from(format!("{prefix}-{uuid}")));
    if let Some(operation) = name.strip_prefix("fs.") {
        let fixed = [id("fso"), ("operation", operation.into())];
        return document::<FileSystemOperation>(builtin, given, &fixed);
    }
    match builtin {
        Builtin::EnvGet => {
            let fixed = [id("env"), ("operation", "get".into())];
            document::<EnvironmentAccess>(builtin, given, &fixed)
        }
        Builtin::NetGet if !given.contains_key("method") => {
            document::<NetworkRequest>(builtin, given, &[id("net"), ("method", "GET".into())])
        }
        Builtin::NetGet | Builtin::NetRequest => {
            document::<NetworkRequest>(builtin, given, &[id("net")])
        }
        Builtin::WebSearch => {
            let parsed = web_search::parse(given);
            parsed.map(|_| ()).map_err(|failure| failure.message)
        }
        Builtin::CommandRun => {
            let grants = crate::BuiltinGrants {
                roots: BTreeMap::from([(
                    "work".to_owned(),
                    crate::Root {
                        path: "/".into(),
                        access: crate::RootAccess::Read,
                    },
                )]),
                commands: BTreeMap::from([(
                    "git".to_owned(),
                    crate::CommandGrant {
                        program: "/bin/git".into(),
                        arguments: Vec::new(),
                    },
                )]),
                ..crate::BuiltinGrants::default()
            };
            let call = ToolCall {
                parameters: given.clone(),
                ..super::super::command::tests::call()
            };
            let parsed = command::Command::parse(&call, &grants);
            parsed.map(|_| ()).map_err(|failure| failure.message)
        }
        Builtin::Visualise => {
            let built = visualise::build(given);
            built.map(|_| ()).map_err(|failure| failure.message)
        }
        other => Err(format!("{other} is not read by this test")),
    }
}

#[test]
fn b003_every_tool_accepts_its_documented_parameters() {
    for builtin in Builtin::ALL {
        assert_eq!(
            accepts(*builtin, &example(*builtin, None)),
            Ok(()),
            "{builtin}"
        );
        let least = example(*builtin, Some(Need::Required));
        assert_eq!(accepts(*builtin, &least), Ok(()), "{builtin}");
        for parameter in parameters(*builtin)
            .iter()
            .filter(|p| p.need == Need::Required)
        {
            let mut without = least.clone();
            without.remove(parameter.name);
            assert!(
                accepts(*builtin, &without).is_err(),
                "{builtin}: {}",
                parameter.name
            );
        }
        let mut unknown = least.clone();
        unknown.insert("id".to_owned(), "x".into());
        let message = format!("`{builtin}` has no parameter `id`");
        assert_eq!(accepts(*builtin, &unknown), Err(message));
    }
}

#[test]
fn b003_the_tool_documents_are_valid_and_match_their_names() {
    let documents = documents().unwrap();
    assert_eq!(documents.len(), Builtin::ALL.len());
    for (document, builtin) in documents.iter().zip(Builtin::ALL) {
        assert_eq!(document.tool_id, builtin.tool_id());
        assert_eq!(document.tool_class, builtin.tool_class());
        assert_eq!(document.parameters().len(), parameters(*builtin).len());
        let asks = document.requires_approval;
        assert!(
            !asks || document.tool_class == ToolClass::Write,
            "{builtin}"
        );
    }
}

/// The table of `docs/reference/builtin-tools.md`.
fn page() -> std::string::String {
    let mut text = std::string::String::from(
        "| Tool | Class | Permission | Takes | Does |\n|---|---|---|---|---|\n",
    );
    for tool in documents().unwrap() {
        let takes: Vec<std::string::String> = tool
            .parameters()
            .iter()
            .map(|parameter| match parameter.required {
                true => format!("**`{}`**", parameter.name),
                false => format!("`{}`", parameter.name),
            })
            .collect();
        let approval = if tool.requires_approval {
            ", approval"
        } else {
            ""
        };
        writeln!(
            text,
            "| `{}` | {} | {}{approval} | {} | {} |",
            tool.tool_id,
            tool.tool_class,
            tool.permission_level,
            takes.join(", "),
            tool.description
        )
        .unwrap();
    }
    text
}

#[test]
fn the_page_lists_every_tool() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/builtin-tools.md");
    let written = std::fs::read_to_string(file).unwrap();
    assert!(
        written.contains(&page()),
        "docs/reference/builtin-tools.md should hold:\n{}",
        page()
    );
}
