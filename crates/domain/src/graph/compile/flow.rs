//! The common parts of execution plans and pipelines (B003-5 to B003-8): steps that call tools, depend on each other,
//! have conditions and retries, and a fallback plan that replaces a failed one.
//!
//! A step requires the success of the steps that it depends on or whose output it refers to, the result that its
//! condition requires of another step, and the end of every step that its expression names.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::for_each::ForEach;
use charter_contract::ids::StepId;
use charter_contract::parameter::Parameter;
use charter_contract::placeholder::ITEM;
use charter_contract::plan::OnStepFailure;
use charter_contract::violation::Report;
use serde_json::{Map, Value};

use super::numbers;
use super::tools::{Call, Calls};
use crate::expression::Condition;
use crate::graph::size::Size;
use crate::graph::{
    AfterFailure, Edge, EdgeCondition, Entry, GraphError, GraphParts, Join, PlanSource, Retry,
    Step, StepGraph,
};

/// The maximum number of retries of one step: each is an event in the journal.
const MAX_RETRIES: u64 = 100;
/// The maximum length of a chain of fallback plans.
const MAX_FALLBACKS: usize = 8;

/// One plan or pipeline.
pub(super) struct Flow<'d> {
    pub(super) source: PlanSource,
    /// The JSON pointer to the flow in the request.
    pub(super) here: String,
    /// Its field that lists the steps.
    pub(super) list: &'static str,
    pub(super) steps: Vec<PlanStepSource<'d>>,
    /// The ids of its steps.
    pub(super) ids: BTreeSet<&'d str>,
    pub(super) on_failure: OnStepFailure,
    /// The id of its fallback, and the field that names it.
    pub(super) fallback: (Option<&'d str>, &'static str),
}

/// A step as written in the document.
pub(super) struct PlanStepSource<'d> {
    pub(super) id: StepId,
    pub(super) tool: &'d str,
    pub(super) parameters: &'d Map<String, Value>,
    pub(super) for_each: Option<ForEach>,
    pub(super) dependencies: Vec<StepId>,
    pub(super) condition: Option<Claim<'d>>,
    pub(super) retries: u64,
    pub(super) delay_ms: u64,
    pub(super) timeout_ms: u64,
}

/// The condition of a step.
pub(super) enum Claim<'d> {
    /// The required result of another step.
    Of(StepId, EdgeCondition),
    /// An expression that must be true.
    Expression(&'d str),
}

/// Compiles the first flow and its chain of fallbacks, with the declared parameters.
///
/// # Errors
/// All problems of the flows.
pub(super) fn compile(
    flows: &[Flow<'_>],
    declared: &[Parameter],
    calls: &Calls<'_>,
) -> Result<StepGraph, Report> {
    let mut report = Report::new();
    let chain = chain(flows, &mut report);
    let mut size = Size::of_plan();
    for flow in &chain {
        if let Err(error) = size.add_steps(flow.steps.len()) {
            refuse(&format!("{}{}", flow.here, flow.list), &error, &mut report);
            return Err(report);
        }
    }
    let source = flows.first().map(|flow| flow.source.clone());
    let mut graph: Option<Box<StepGraph>> = None;
    // Compiles the chain from last to first, because each graph contains its fallback.
    for flow in chain.into_iter().rev() {
        let mut steps = Vec::with_capacity(flow.steps.len());
        for (at, step) in flow.steps.iter().enumerate() {
            let Some(step) = compile_step(flow, at, step, calls, &mut report) else {
                continue;
            };
            if let Err(error) = size.add_edges(step.entry.edges.len()) {
                refuse(
                    &format!("{}{}/{at}", flow.here, flow.list),
                    &error,
                    &mut report,
                );
                return Err(report);
            }
            steps.push(step);
        }
        // Steps that failed to compile would be reported as missing.
        if steps.len() < flow.steps.len() {
            continue;
        }
        // `read` compiled the conditions, and reported each problem at its location.
        let made = StepGraph::linked(GraphParts {
            steps,
            numbers: numbers(declared),
            fallback: graph.take(),
            source: source.clone(),
            ..GraphParts::default()
        });
        match made {
            Ok(made) => graph = Some(Box::new(made)),
            Err(error) => refuse(&format!("{}{}", flow.here, flow.list), &error, &mut report),
        }
    }
    match graph {
        Some(graph) if report.violations.is_empty() => Ok(*graph),
        Some(_) | None => Err(report),
    }
}

/// Reports why steps do not form a valid graph.
pub(super) fn refuse(pointer: &str, error: &GraphError, report: &mut Report) {
    let keyword = match error {
        GraphError::Cycle(_) => "cycle",
        GraphError::TooLarge { .. } => "maxItems",
        GraphError::Empty
        | GraphError::Name(_)
        | GraphError::Duplicate(_)
        | GraphError::Unknown { .. }
        | GraphError::Reversal(_)
        | GraphError::Reference { .. }
        | GraphError::Expression { .. }
        | GraphError::Incomplete { .. } => "dependency",
    };
    report.meaning(pointer, keyword, error.to_string());
}

/// Returns the plan, its fallback, the fallback's fallback and so on (B003-8).
fn chain<'f, 'd>(flows: &'f [Flow<'d>], report: &mut Report) -> Vec<&'f Flow<'d>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, flow) in flows.iter().enumerate() {
        if places.insert(flow.source.id(), at).is_some() {
            let message = format!("`{}` is duplicated", flow.source.id());
            report.meaning(format!("{}/id", flow.here), "unique", message);
        }
    }
    if flows.len() > 1 + MAX_FALLBACKS {
        let message = format!("at most {MAX_FALLBACKS} fallbacks");
        report.meaning("/fallbacks", "maxItems", message);
        return Vec::new();
    }
    let mut taken = BTreeSet::new();
    let mut chain = Vec::new();
    let mut next = flows.first();
    while let Some(flow) = next {
        taken.insert(flow.source.id());
        chain.push(flow);
        let (fallback, field) = flow.fallback;
        let wanted = fallback.filter(|_| flow.on_failure == OnStepFailure::ExecuteFallback);
        next = wanted.and_then(|id| {
            let pointer = format!("{}/error_handling/{field}", flow.here);
            if taken.contains(id) {
                let message = format!("`{id}` falls back to itself");
                report.meaning(pointer, "cycle", message);
                return None;
            }
            let found = places.get(id).map(|at| &flows[*at]);
            if found.is_none() {
                let message = format!("`{id}` is not one of the request's fallbacks");
                report.meaning(pointer, "dependency", message);
            }
            found
        });
    }
    for flow in flows
        .iter()
        .filter(|flow| !taken.contains(flow.source.id()))
    {
        let message = format!("the fallback `{}` is not used", flow.source.id());
        report.meaning(&*flow.here, "unused", message);
    }
    chain
}

fn compile_step(
    flow: &Flow<'_>,
    at: usize,
    step: &PlanStepSource<'_>,
    calls: &Calls<'_>,
    report: &mut Report,
) -> Option<Step> {
    let here = format!("{}{}/{at}", flow.here, flow.list);
    let call = calls.call(step.tool, step.parameters, &here, report);
    let entry = entry(flow, &here, step, calls, report);
    let call = call?;
    Some(Step {
        entry,
        retry: retry(&here, step, &call, report),
        timeout_ms: step.timeout_ms,
        ..Step::new(
            step.id.clone(),
            call.action.repeated(step.for_each.as_ref()),
            match flow.on_failure {
                OnStepFailure::AbortPlan | OnStepFailure::ExecuteFallback => AfterFailure::Abort,
                OnStepFailure::ContinuePlan => AfterFailure::Continue,
            },
        )
    })
}

/// Returns the retries of a step. A write may be retried only if its tool declares repeats harmless, because an
/// approval is for one call.
fn retry(here: &str, step: &PlanStepSource<'_>, call: &Call, report: &mut Report) -> Retry {
    let tool = &call.tool.document;
    if step.retries > MAX_RETRIES {
        let message = format!("at most {MAX_RETRIES} retries");
        report.meaning(format!("{here}/retry/max_attempts"), "maximum", message);
    }
    let writes = matches!(
        call.action,
        crate::graph::StepAction::Call { writes: true, .. }
    );
    if step.retries > 0 && writes && !tool.idempotent {
        let message = format!(
            "`{}` writes and is not declared idempotent, so it cannot be retried",
            tool.tool_id
        );
        report.meaning(format!("{here}/retry"), "retry", message);
    }
    Retry {
        retries: u32::try_from(step.retries).unwrap_or(u32::MAX),
        delay_ms: step.delay_ms,
    }
}

/// Returns the conditions for starting the step.
fn entry(
    flow: &Flow<'_>,
    here: &str,
    step: &PlanStepSource<'_>,
    calls: &Calls<'_>,
    report: &mut Report,
) -> Entry {
    let mut claims: BTreeMap<StepId, EdgeCondition> = BTreeMap::new();
    claims.extend(
        step.dependencies
            .iter()
            .map(|id| (id.clone(), EdgeCondition::Success)),
    );
    // The condition on a step is stricter than the dependency on its success.
    if let Some(Claim::Of(target, on)) = &step.condition {
        claims.insert(target.clone(), *on);
    }
    let parameters = format!("{here}/parameters");
    let mut referred = calls.referred(step.parameters, &parameters, report);
    if let Some(for_each) = &step.for_each {
        referred.retain(|(source, _)| source.as_str() != ITEM);
        let items = Map::from_iter([("items".to_owned(), for_each.items.clone())]);
        referred.extend(calls.referred(&items, &format!("{here}/for_each"), report));
    }
    for (source, pointer) in referred {
        if !is_known(flow, &source, &pointer, report) {
            continue;
        }
        if claims.get(&source) == Some(&EdgeCondition::Failure) {
            let message = format!("`{source}` has no output when it fails");
            report.meaning(&*pointer, "reference", message);
            continue;
        }
        claims.insert(source, EdgeCondition::Success);
    }
    let mut when = None;
    if let Some(Claim::Expression(expression)) = &step.condition {
        let pointer = format!("{here}/condition/expression");
        for source in read(expression, &pointer, calls, report) {
            if is_known(flow, &source, &pointer, report) {
                claims.entry(source).or_insert(EdgeCondition::Settled);
            }
        }
        when = Some((*expression).to_owned());
    }
    let edge = |(from, on)| Edge { from, on };
    Entry {
        edges: claims.into_iter().map(edge).collect(),
        join: Join::All,
        when,
    }
}

fn is_known(flow: &Flow<'_>, step: &StepId, pointer: &str, report: &mut Report) -> bool {
    let known = flow.ids.contains(step.as_ref() as &str);
    if !known {
        let message = format!("there is no step `{step}`");
        report.meaning(pointer, "reference", message);
    }
    known
}

/// Returns the steps that an expression reads.
pub(super) fn read(
    expression: &str,
    pointer: &str,
    calls: &Calls<'_>,
    report: &mut Report,
) -> Vec<StepId> {
    let condition = match Condition::of_plan(expression) {
        Ok(condition) => condition,
        Err(error) => {
            report.meaning(pointer, "expression", error.to_string());
            return Vec::new();
        }
    };
    let reads = condition.reads();
    for name in &reads.parameters {
        calls.needs(name, pointer, report);
    }
    let mut steps = Vec::with_capacity(reads.steps.len());
    for name in &reads.steps {
        match StepId::parse(name) {
            Ok(id) => steps.push(id),
            Err(error) => report.meaning(pointer, "reference", error.to_string()),
        }
    }
    steps
}
