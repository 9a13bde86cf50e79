//! The offline provider: answers from the context, without a model and without a network. It is deterministic and
//! extractive: it plans from outlines and registered skills, requests the calls that those recommend, and combines the
//! findings of rules with sentences of the context. Its artifacts name it as the producer. Knows no package and no
//! mission type.

mod aggregate;
mod contradictions;
mod plan;
mod review;
mod subjects;
mod text;
mod work;

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_contract::mission::task_graph::Role;
use charter_effects::{
    ModelAnswer, ModelFailure, ModelFault, ModelRequest, ModelRoute, ModelStage, Models, Usage,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The model name of the offline provider.
const NAME: &str = "offline/extractive";

/// Answers without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl Models for Offline {
    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        let context = &request.context;
        let draft = match request.stage {
            // A repair would return the same draft, so it is refused.
            _ if !request.earlier.is_empty() => None,
            ModelStage::Role(Role::Planner) => Some(plan::draft(context)),
            ModelStage::Role(Role::Worker) => Some(work::draft(context)),
            ModelStage::Role(Role::Aggregator) => Some(aggregate::draft(context)),
            ModelStage::Role(Role::Reviewer) => Some(reviewed(context.clone()).await?),
            ModelStage::Role(Role::PromptMaster | Role::Researcher | Role::Librarian)
            | ModelStage::CodeAgent
            | ModelStage::AnalysisAgent
            | ModelStage::Parameters
            | ModelStage::Gateway
            | ModelStage::Probe => None,
        };
        let refused = || {
            let stage = request.stage.as_str();
            let wrong: Vec<&str> = request
                .earlier
                .iter()
                .flat_map(|turn| turn.wrong.iter().map(String::as_str))
                .collect();
            let message = format!(
                "the offline provider has no other answer for the {stage}: {}",
                wrong.join("; ")
            );
            ModelFailure::new(ModelFault::Refused, message)
        };
        Ok(ModelAnswer {
            draft: draft.ok_or_else(refused)?,
            model: NAME.to_owned(),
            usage: Usage::default(),
            attempts: 1,
            repairs: 0,
            duration_ms: 0,
        })
    }

    fn routes(&self, _: &TenantId) -> BTreeMap<Label, ModelRoute> {
        BTreeMap::new()
    }
}

/// Payloads are checked against the schemas of their write-backs, which may take long.
async fn reviewed(context: Value) -> Result<Value, ModelFailure> {
    let drafting = tokio::task::spawn_blocking(move || review::draft(&context));
    drafting
        .await
        .map_err(|error| ModelFailure::new(ModelFault::System, error.to_string()))
}

#[cfg(test)]
mod tests;
