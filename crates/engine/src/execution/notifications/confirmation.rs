//! The message about a plan that waits for a person's confirmation: its writes, with the arguments that are known
//! before it starts. The console shows the whole plan, and there a person confirms it.

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::FillBudget;
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;
use charter_domain::graph::{Step, StepAction};
use charter_domain::run::Run;
use charter_effects::channel::MessageContent;
use charter_store::journal::RunRecord;
use serde_json::{Value, json};

/// Writes that a message names.
const NAMED_WRITES: usize = 20;

/// Returns the content of the message about a run that waits for a confirmation.
pub(super) fn about_confirmation(
    record: &RunRecord,
    run: &Run,
    at: Timestamp,
    link: Option<String>,
) -> MessageContent {
    let writes = run.graph().steps().iter();
    let writes = writes.filter(|step| step.writes() && step.reverses.is_none());
    let writes: Vec<&Step> = writes.collect();
    let mut filling = FillBudget::with_limit(JSON_MEMORY);
    let named = writes.iter().take(NAMED_WRITES);
    let calls = named.filter_map(|step| planned_call(run, step, &mut filling));
    let calls: Vec<Value> = calls.collect();
    let omitted = writes.len().saturating_sub(calls.len());
    let title = format!("Confirmation requested: {}", record.title);
    let mut facts = vec![
        ("Run", record.run_id.to_string()),
        ("Writes", writes.len().to_string()),
    ];
    if let Some(user) = &record.user_id {
        facts.push(("Requested by", user.to_string()));
    }
    let paragraphs = (omitted > 0).then(|| format!("{omitted} more writes are not listed here."));
    MessageContent {
        topic: NotificationTopic::ConfirmationRequested.as_str().to_owned(),
        at,
        paragraphs: paragraphs.into_iter().collect(),
        facts,
        call: (!calls.is_empty()).then(|| shown_calls(&calls)),
        decision: None,
        data: json!({
            "run_id": record.run_id, "run_title": record.title, "requested_by": record.user_id,
            "requested_at": record.created_at, "plan_digest": run.plan_digest(), "calls": calls,
            "omitted": omitted, "parameters": run.parameters(), "summary": title, "link": link,
        }),
        title,
        link,
    }
}

/// Returns the call of a step. Arguments that depend on earlier steps are shown as the plan has them.
fn planned_call(run: &Run, step: &Step, filling: &mut FillBudget) -> Option<Value> {
    let StepAction::Call {
        tool, arguments, ..
    } = step.action.each()
    else {
        return None;
    };
    let known = arguments.resolve(run.bindings_of(step), filling).ok();
    let parameters = known.as_ref().unwrap_or_else(|| arguments.written());
    Some(json!({"tool": tool, "parameters": parameters, "for_each": step.repeats()}))
}

fn shown_calls(calls: &[Value]) -> String {
    let lines = calls.iter().map(|call| {
        let tool = call["tool"].as_str().unwrap_or_default();
        let each = if call["for_each"] == true {
            " for each item of a list"
        } else {
            ""
        };
        format!("{tool} {}{each}", call["parameters"])
    });
    lines.collect::<Vec<_>>().join("\n")
}
