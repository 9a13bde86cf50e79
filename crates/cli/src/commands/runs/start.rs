//! `charter runs start`

use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::schema::SchemaName;
use charter_contract::validate::guess;
use charter_domain::source;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::commands::{parameter, validate};

/// Run an execution plan, a pipeline or a decision tree from a file (JSON or YAML).
///
/// One that writes waits until its plan is confirmed, and again for an approval of each write.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The document; what it is follows from its id.
    file: PathBuf,
    /// A document of the same kind that may take over when a step fails.
    #[arg(long = "fallback", value_name = "FILE")]
    fallbacks: Vec<PathBuf>,
    /// A value for a parameter: NAME=VALUE, JSON where it reads as such.
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, Value)>,
    /// Show what it would do, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Start {
    /// What is sent.
    pub(super) fn body(&self) -> anyhow::Result<Value> {
        let plan = document(&self.file)?;
        let file = self.file.display();
        let Some(field) = guess(&plan).and_then(field) else {
            anyhow::bail!(
                "{file} is no execution plan, pipeline or decision tree: its `id` starts with `plan-`, `pipe-` or `tree-`"
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

/// The field of the request that a document of a kind goes into.
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
    let text = validate::read(file).with_context(|| format!("reading {}", file.display()))?;
    match source::read(&text) {
        Ok(located) => Ok(located.value),
        Err(error) => anyhow::bail!("{}:{}: {error}", file.display(), error.position),
    }
}
