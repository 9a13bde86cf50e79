//! The analysis of results, as a step of a run: its input and its result.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::bounds::ANALYSIS_TIME;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_domain::answer::AnalysisResult;
use charter_domain::approval::ExactCall;
use charter_domain::run::{ErrorKind, Run, StepFailure, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Workspace, failure};
use crate::execution::runs::progress::Progress;
use crate::{AccessScopes, Caller, CatalogueRole, CredentialId, EngineError, SkillGrants, Tier};

/// The arguments of the step: everything else is read from the runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AnalysisOrder {
    /// The request's words.
    pub(crate) question: String,
    /// The tier that it is answered on.
    #[serde(default)]
    pub(crate) tier: Tier,
    /// The runs whose results are analysed; the step's own where it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) runs: Vec<RunId>,
}

impl AnalysisOrder {
    /// For a question, over the results of these runs.
    pub(crate) fn new(question: String, tier: Tier, runs: Vec<RunId>) -> Self {
        Self {
            question,
            tier,
            runs,
        }
    }

    /// As arguments of a step.
    ///
    /// # Errors
    /// `internal`, for none that there is.
    pub(crate) fn arguments(&self) -> Result<Map<String, Value>, EngineError> {
        let doing = "ordering an analysis";
        match serde_json::to_value(self) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err(EngineError::internal(doing, "it is not an object")),
            Err(error) => Err(EngineError::internal(doing, error)),
        }
    }
}

/// An analysis that is about to be carried out.
#[derive(Debug)]
pub(crate) struct AnalysisWork {
    pub(crate) caller: Caller,
    pub(crate) order: AnalysisOrder,
    /// The rules of the guardrails that bear on the run, by id.
    pub(crate) guardrails: BTreeMap<String, String>,
    pub(crate) timeout: Duration,
    /// The same for every attempt.
    pub(crate) key: String,
    pub(crate) progress: Progress,
}

impl AnalysisWork {
    /// The input of a run's analysis when it starts.
    pub(crate) fn new(
        workspace: &Workspace,
        run: &Run,
        call: &ExactCall,
        timeout: Duration,
    ) -> Result<Self, StepFailure> {
        let arguments = Value::Object(call.parameters.clone());
        let mut order = AnalysisOrder::deserialize(arguments).map_err(|error| {
            let message = format!("the analysis cannot be read: {error}");
            failure(ErrorKind::InputError, ErrorCode::InvalidParameters, message)
        })?;
        if order.runs.is_empty() {
            order.runs.push(run.id().clone());
        }
        let guardrails = workspace.guardrails.iter().map(|resolved| {
            let document = resolved.found.document();
            (document.guardrail_id.to_string(), document.rule.to_string())
        });
        Ok(Self {
            caller: Caller {
                tenant: workspace.tenant.clone(),
                user: run.by().clone(),
                role: run.role(),
                tier: order.tier,
                catalogue: CatalogueRole::default_for(run.role()),
                agent_skills: SkillGrants::default(),
                scopes: AccessScopes::All,
                credential: CredentialId::Local,
                makers: run.requesters().all(),
                // Access was checked when the analysed runs started.
                profile: None,
            },
            guardrails: guardrails.collect(),
            timeout: timeout.min(Duration::from_millis(ANALYSIS_TIME as u64)),
            key: run.idempotency_key(&call.step),
            progress: Progress::silent(),
            order,
        })
    }

    /// Reports each kept sentence to this progress.
    pub(crate) fn report_progress_to(&mut self, progress: &Progress) {
        self.progress = progress.clone();
    }
}

/// The result of an analysis.
#[derive(Debug)]
pub(crate) struct AnalysisDone {
    pub(crate) result: AnalysisResult,
    pub(crate) tokens: TokenUsage,
}
