//! Plans that callers send: execution plans, pipelines and decision trees (seed 003, B003-5 to B003-9), from a document
//! to a run.
//!
//! Such a plan is not registered. A plan that only reads runs at once, like a skill's plan. A plan that writes follows
//! the rules of a supervised playbook: a person approves each write, and confirms the plan first if the approval would
//! not show all writes. The tool, in the version that the run pins, determines whether a step writes.

use charter_contract::agentic::decision_tree::DecisionTree;
use charter_contract::agentic::pipeline_definition::PipelineDefinition;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::ids::{PlanId, RunId, ToolId};
use charter_contract::number::Positive;
use charter_contract::parameter::Parameter;
use charter_contract::plan::ExecutionPlan;
use charter_contract::violation::Report;
use charter_domain::catalogue::View;
use charter_domain::graph::{self, CallableTools, Step, StepGraph};
use charter_domain::parameters;
use charter_domain::run::RunPrerequisites;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{IdempotencyKey, RunStartService, RunStarted, check_depth, derived};
use crate::execution::runs::{NewRun, pins_of_graph};
use crate::{Caller, DryRun, EngineError};

/// A plan, with its possible fallbacks.
#[derive(Debug, Clone, PartialEq)]
pub enum SubmittedPlan {
    /// An execution plan.
    ExecutionPlan {
        /// The plan.
        plan: Box<ExecutionPlan>,
        /// The plans that `fallback_plan_id` may name.
        fallbacks: Vec<ExecutionPlan>,
    },
    /// A pipeline.
    Pipeline {
        /// The pipeline.
        pipeline: Box<PipelineDefinition>,
        /// The pipelines that `fallback_pipeline_id` may name.
        fallbacks: Vec<PipelineDefinition>,
    },
    /// A decision tree.
    DecisionTree(Box<DecisionTree>),
    /// An execution plan of one step that calls a tool with exact arguments.
    Call {
        /// The plan's id.
        plan: PlanId,
        /// The tool.
        tool: ToolId,
        /// The values of its parameters.
        values: Map<String, Value>,
        /// The limit of one attempt, in addition to that of the tool.
        timeout_ms: Option<Positive>,
    },
}

impl SubmittedPlan {
    /// Returns the kind of the plan.
    #[must_use]
    pub const fn kind(&self) -> RunKind {
        match self {
            Self::ExecutionPlan { .. } | Self::Call { .. } => RunKind::ExecutionPlan,
            Self::Pipeline { .. } => RunKind::Pipeline,
            Self::DecisionTree(_) => RunKind::DecisionTree,
        }
    }

    /// Returns its name for errors.
    fn name(&self) -> String {
        match self {
            Self::ExecutionPlan { .. } | Self::Pipeline { .. } | Self::DecisionTree(_) => {
                format!("{} that can be run", self.kind())
            }
            Self::Call { tool, .. } => format!("call of `{tool}`"),
        }
    }

    /// Derives the run's id if the plan carries ids: those of the plan and of its request.
    fn id(&self, caller: &Caller, dry_run: DryRun) -> Option<Uuid> {
        let Self::ExecutionPlan { plan, .. } = self else {
            return None;
        };
        let what = match dry_run {
            DryRun::Yes => "plan/dry",
            DryRun::No => "plan",
        };
        let name = format!("{}/{}", plan.id, plan.request_id);
        Some(derived(caller, what, &name))
    }

    /// Compiles its steps, and returns its declared parameters; an execution plan declares none.
    fn compiled(
        &self,
        view: &View,
        given: &Map<String, Value>,
    ) -> Result<(StepGraph, Option<Vec<Parameter>>), Report> {
        let tools = CallableTools::new(view);
        match self {
            Self::ExecutionPlan { plan, fallbacks } => {
                let graph = graph::from_plan(plan, fallbacks, given, &tools)?;
                Ok((graph, None))
            }
            Self::Pipeline {
                pipeline,
                fallbacks,
            } => {
                let (graph, inputs) = graph::from_pipeline(pipeline, fallbacks, &tools)?;
                Ok((graph, Some(inputs)))
            }
            Self::DecisionTree(tree) => {
                let graph = graph::from_tree(tree, &tools)?;
                Ok((graph, Some(tree.inputs.clone())))
            }
            Self::Call {
                plan,
                tool,
                values,
                timeout_ms,
            } => {
                let timeout_ms = timeout_ms.map_or(0, Positive::get);
                let graph = graph::from_call(plan, tool, values, timeout_ms, &tools)?;
                Ok((graph, None))
            }
        }
    }
}

impl RunStartService {
    /// Starts a run of a plan that the caller sent. A repeat finds that run: an execution plan with the same ids, or
    /// any plan with the same key. A dry run is a separate run.
    ///
    /// # Errors
    /// `invalid_document` for a plan that cannot be run, with every violation; `missing_parameters` and
    /// `invalid_parameters` for invalid values; `rate_limited` if the tenant has reached its run quota;
    /// `already_exists` if other content was sent under the same name. In these cases no run starts.
    pub async fn start_plan(
        &self,
        caller: &Caller,
        sent: &SubmittedPlan,
        given: Map<String, Value>,
        dry_run: DryRun,
        key: Option<&IdempotencyKey>,
    ) -> Result<RunStarted, EngineError> {
        let named = sent.id(caller, dry_run);
        let named = named.or_else(|| key.map(|key| key.id(caller, "start_run")));
        let ordered = self.ordered(caller, named).await?;
        let new = self.plan_run(caller, sent, given, dry_run, ordered.run_id.clone())?;
        self.start_once(caller, ordered, new).await
    }

    fn plan_run(
        &self,
        caller: &Caller,
        sent: &SubmittedPlan,
        mut given: Map<String, Value>,
        dry_run: DryRun,
        run_id: RunId,
    ) -> Result<NewRun, EngineError> {
        check_depth(&given)?;
        let view = self.catalogue.live().view(&caller.tenant);
        let (graph, declared) = sent
            .compiled(&view, &given)
            .map_err(|report| EngineError::violations(&sent.name(), &report.violations))?;
        self.must_reach(caller, &graph)?;
        let values = match declared {
            Some(declared) => parameters::bind(&declared, &given)
                .map_err(|faults| EngineError::parameters("the plan's inputs", &faults))?,
            None => {
                // `null` counts as absent.
                given.retain(|_, value| !value.is_null());
                given
            }
        };
        // Each write of an unregistered plan needs an approval. If that is a decision on all writes, a confirmation
        // before it would be a second one.
        let writes = graph.all_steps().any(Step::writes);
        let is_decided_once = graph.has_only_known_writes() || graph.lists_writes_first();
        let confirm = writes && dry_run == DryRun::No && !is_decided_once;
        let title = graph
            .source()
            .map(|source| format!("{} {}", source.noun(), source.id()));
        Ok(NewRun {
            run_id,
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            askers: caller.makers.clone(),
            owner: caller.user.clone(),
            role: caller.role,
            title: title.unwrap_or_default(),
            pins: pins_of_graph(&view, &graph)?,
            graph,
            parameters: values,
            dry_run: dry_run == DryRun::Yes,
            opening: RunPrerequisites {
                confirm,
                ..RunPrerequisites::default()
            },
            tags: self.tags.of_request(caller, None, None)?,
            artifacts: Vec::new(),
        })
    }

    /// Refuses a plan that calls a script of an agent skill out of the caller's reach.
    fn must_reach(&self, caller: &Caller, graph: &StepGraph) -> Result<(), EngineError> {
        let mut tools = graph.all_steps().filter_map(Step::tool);
        match tools.find(|tool| !self.documents.reaches_tool(caller, tool.as_str())) {
            None => Ok(()),
            Some(tool) => Err(EngineError::not_found("tool", tool)),
        }
    }
}
