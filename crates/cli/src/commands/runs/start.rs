//! `charter runs start`

use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::schema::SchemaName;
use charter_contract::validate::guess;
use charter_domain::source;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::commands::package::validate;
use crate::commands::parameter;

/// Run an execution plan, a pipeline or a decision tree from a file (JSON or YAML).
///
/// A plan that writes waits for a confirmation of the plan, and for an approval of each write.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The document; its id determines its kind.
    file: PathBuf,
    /// A document of the same kind that may take over when a step fails.
    #[arg(long = "fallback", value_name = "FILE")]
    fallbacks: Vec<PathBuf>,
    /// A value for a parameter: NAME=VALUE, as JSON if it is valid JSON.
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, Value)>,
    /// Show what it would do, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Start {
    /// The body of the request.
    pub(super) fn body(&self) -> anyhow::Result<Value> {
        let plan = document(&self.file)?;
        let file = self.file.display();
        let Some(field) = guess(&plan).and_then(field) else {
            anyhow::bail!(
                "{file} is not an execution plan, pipeline or decision tree: its `id` must start with `plan-`, \
                 `pipe-` or `tree-`"
            );
        };
        let fallbacks: Vec<Value> = self
            .fallbacks
            .iter()
            .map(|file| document(file))
            .collect::<anyhow::Result<_>>()?;
        let parameters: Map<String, Value> = self.parameters.iter().cloned().collect();
        Ok(json!({
            field: plan, "fallbacks": fallbacks, "parameters": parameters, "dry_run": self.dry_run,
        }))
    }
}

/// The field of the request that holds a document of this kind.
fn field(name: SchemaName) -> Option<&'static str> {
    let fields = [
        (SchemaName::ExecutionPlan, "execution_plan"),
        (SchemaName::PipelineDefinition, "pipeline"),
        (SchemaName::DecisionTree, "decision_tree"),
    ];
    let found = fields.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, field)| field)
}

pub(in crate::commands) fn document(file: &Path) -> anyhow::Result<Value> {
    let name = file.display();
    let text = validate::read(file).with_context(|| format!("reading {name}"))?;
    match source::read_file(&name.to_string(), &text) {
        Ok(located) => Ok(located.value),
        Err(error) => {
            let advice = error.suggestion.iter().map(|advice| format!("; {advice}"));
            let advice: String = advice.collect();
            anyhow::bail!("{name}:{}: {error}{advice}", error.position)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan is accepted as `json.dumps` writes it and as editors save it.
    #[test]
    fn a_plan_is_read_however_it_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, bytes: &[u8]| {
            let file = folder.path().join(name);
            std::fs::write(&file, bytes).unwrap();
            document(&file).map_err(|error| format!("{error:#}"))
        };
        let text = r#"{"id": "plan-1", "note": "\ud83e\udd80"}"#;
        let wanted = json!({"id": "plan-1", "note": "\u{1f980}"});
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (name, bytes) in [
            ("a.json", text.as_bytes().to_vec()),
            ("a.json", format!("\u{feff}{text}\r\n").into_bytes()),
            ("a.json", [&b"\xff\xfe"[..], &wide].concat()),
            ("a.yaml", text.as_bytes().to_vec()),
            ("a.yaml", b"id: plan-1\rnote: \"\\ud83e\\udd80\"\r".to_vec()),
        ] {
            assert_eq!(read(name, &bytes), Ok(wanted.clone()), "{name}");
        }
        for (name, bytes, said) in [
            (
                "a.json",
                &b"{\"id\": \"\\ud83e\"}"[..],
                "a.json:1:9: `\\ud83e` is an unpaired surrogate",
            ),
            (
                "a.json",
                b"{\"id\": 1,\n \"id\": 2}",
                "a.json:2:2: the key `id` is duplicated",
            ),
            (
                "a.json",
                b"{\"id\": 1,}",
                "a.json:1:10: not valid JSON: trailing comma; it is YAML",
            ),
            ("a.yaml", b"id: \xe9", "a.yaml: line 1: byte 4 is not UTF-8"),
            (
                "a.yaml",
                b"id: 1\0",
                "a.yaml:1:6: NUL (U+0000) is not allowed",
            ),
        ] {
            let refused = read(name, bytes).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
