//! The request of a mission role to a model: prompts, data and the schema of its draft.

use std::sync::Arc;

use charter_contract::ids::Label;
use charter_contract::mission::task_graph::Role;
use charter_domain::run::StepFailure;
use charter_effects::{ModelRequest, ModelStage, Models, NamedSchema, NullListener};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::draft::schema::DraftSchema;
use super::failures::unfit;
use super::offline::Offline;
use super::stage::StageExecution;
use crate::execution::asking::{DeclaredPart, ValidatedDraft, drafted};
use crate::execution::runs::StageFailure;

/// Tokens of one answer, if the mission has that many left.
const MAX_OUTPUT_TOKENS: u64 = 8_192;

/// The request of a mission role.
pub(super) struct RoleQuestion<'a> {
    pub(super) role: Role,
    pub(super) route: &'a Label,
    pub(super) system: &'a str,
    pub(super) task: &'a str,
    pub(super) context: Value,
    /// The schema of the answer.
    pub(super) wanted: DraftSchema,
}

impl MissionStageService {
    /// Returns the models that answer for a role of a mission.
    fn models_for(&self, work: &StageExecution, role: Role) -> Arc<dyn Models> {
        if work.desk.is_offline(role) {
            Arc::new(Offline)
        } else {
            Arc::clone(&self.models)
        }
    }

    /// Requests a draft and converts it. `make` returns the defects of an unusable draft, in words for the model.
    /// `declared` names the parts that have schemas of their own.
    pub(super) async fn drafted<D: DeserializeOwned, T>(
        &self,
        work: &StageExecution,
        asking: RoleQuestion<'_>,
        make: impl FnMut(D) -> Result<T, Vec<String>>,
        declared: impl Fn(&T) -> Vec<DeclaredPart>,
        cancel: &CancellationToken,
    ) -> Result<ValidatedDraft<T>, StageFailure> {
        let models = self.models_for(work, asking.role);
        let request = request(work, asking)?;
        let drafted = drafted(&*models, request, &NullListener, make, declared, cancel);
        drafted.await.map_err(|none| StageFailure {
            failure: none.failure(),
            tokens: none.tokens,
        })
    }
}

fn request(work: &StageExecution, asking: RoleQuestion<'_>) -> Result<ModelRequest, StepFailure> {
    let Value::Object(schema) = asking.wanted.schema else {
        return Err(unfit("the schema of a draft is not an object"));
    };
    let left = work.tokens_left.unwrap_or(u64::MAX).min(MAX_OUTPUT_TOKENS);
    Ok(ModelRequest {
        route: asking.route.clone(),
        stage: ModelStage::Role(asking.role),
        system: asking.system.to_owned(),
        task: asking.task.to_owned(),
        context: asking.context,
        earlier: Vec::new(),
        schema: NamedSchema {
            name: Label::parse(asking.wanted.name).map_err(|error| unfit(error.to_string()))?,
            schema: schema.into(),
        },
        max_output_tokens: u32::try_from(left).unwrap_or(u32::MAX),
        temperature: 0.0,
        tenant: work.caller.tenant.clone(),
        idempotency_key: work.key.clone(),
        timeout: work.timeout,
    })
}
