//! Prompts: the playbooks of the caller's tenant, with their parameters as arguments, and the prompts of MCP servers.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::PlaybookId;
use charter_contract::parameter::Parameter;
use charter_engine::{DocumentFilter, EngineError, InForce};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptResponse, GetPromptResult,
    JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::Value;

use super::call::Call;
use super::failure::{invalid_cursor, invalid_params};
use super::offered;

/// Prompts in a page.
const PAGE: usize = 100;

/// The most prompts that an unknown name is compared with: each is resolved for the caller.
const MAX_COMPARED: usize = 1_000;

/// A page of prompts: playbooks by id, then the prompts of MCP servers.
pub(super) fn list(call: &Call, after: Option<String>) -> Result<ListPromptsResult, ErrorData> {
    let after = after.unwrap_or_default();
    if let Some(start) = offered::start_of(&after) {
        return Ok(offered_page(call, start, Vec::new()));
    }
    if !after.is_empty() && PlaybookId::parse(&after).is_err() {
        return Err(invalid_cursor());
    }
    let kind = DocumentKind::Playbook;
    let mut found = call.engine().documents().list_documents(
        &call.caller,
        kind,
        &DocumentFilter::default(),
        &after,
        PAGE + 1,
    );
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found.last().filter(|_| more).map(|last| last.id.clone());
    let prompts = found
        .iter()
        .filter_map(|listed| Some(prompt(&active_playbook(call, &listed.id)?)));
    let prompts: Vec<Prompt> = prompts.collect();
    if next.is_none() {
        return Ok(offered_page(call, 0, prompts));
    }
    let mut listed = ListPromptsResult::with_all_items(prompts);
    listed.next_cursor = next;
    Ok(listed)
}

fn offered_page(call: &Call, start: usize, mut prompts: Vec<Prompt>) -> ListPromptsResult {
    let is_taken = |name: &str| active_playbook(call, name).is_some();
    let page = offered::prompts(call, start, PAGE, is_taken);
    prompts.extend(page.entries);
    let mut listed = ListPromptsResult::with_all_items(prompts);
    listed.next_cursor = page.next;
    listed
}

/// One prompt with its arguments filled in.
pub(super) async fn get(
    call: &Call,
    name: &str,
    arguments: JsonObject,
) -> Result<GetPromptResponse, ErrorData> {
    let Some(playbook) = active_playbook(call, name) else {
        let offered = offered::prompt(call, name, arguments).await?;
        return offered.ok_or_else(|| prompt_not_found(call, name));
    };
    let missing = playbook.mandatory_parameters.iter();
    let missing = missing.filter(|parameter| !arguments.contains_key(parameter.name.as_ref()));
    let missing: Vec<&str> = missing.map(|parameter| parameter.name.as_ref()).collect();
    if !missing.is_empty() {
        let message = format!("`{name}` needs {}", missing.join(", "));
        return Err(ErrorData::invalid_params(message, None));
    }
    let text = text(&playbook, &arguments);
    let messages = vec![PromptMessage::new_text(Role::User, text)];
    let prompt = GetPromptResult::new(messages);
    Ok(prompt.with_description(playbook.name.to_string()).into())
}

/// Values of a prompt's parameter that begin with the typed text.
pub(super) fn complete(
    call: &Call,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let Reference::Prompt(prompt) = &request.r#ref else {
        return Ok(CompleteResult::default());
    };
    let typed = &request.argument.value;
    let Some(playbook) = active_playbook(call, &prompt.name) else {
        // The values of a server's prompt are not known here.
        let is_offered = offered::has_prompt(call, &prompt.name);
        let none = is_offered.then(CompleteResult::default);
        return none.ok_or_else(|| prompt_not_found(call, &prompt.name));
    };
    let mut parameters = parameters(&playbook);
    let parameter =
        parameters.find(|(parameter, _)| parameter.name.as_ref() == request.argument.name);
    let allowed = parameter.map(|(parameter, _)| possible_values(parameter));
    let fitting = allowed
        .into_iter()
        .flatten()
        .filter(|value| value.starts_with(typed.as_str()));
    let values = fitting.take(CompletionInfo::MAX_VALUES).collect();
    let completion = CompletionInfo::with_all_values(values)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(completion))
}

/// The error for a missing prompt. The protocol requires plain invalid parameters, because it is not a resource.
fn prompt_not_found(call: &Call, name: &str) -> ErrorData {
    let active = DocumentFilter {
        status: Some(Status::Active),
        ..DocumentFilter::default()
    };
    let kind = DocumentKind::Playbook;
    let found =
        call.engine()
            .documents()
            .list_documents(&call.caller, kind, &active, "", MAX_COMPARED);
    let ids = found.iter().map(|listed| listed.id.as_str());
    let seen = ids.filter(|id| active_playbook(call, id).is_some());
    let error = EngineError::not_found("prompt", name);
    invalid_params(&error.or_nearest(name, seen))
}

/// An active playbook; `None` for a candidate that is not accepted.
fn active_playbook(call: &Call, id: &str) -> Option<Playbook> {
    let found: InForce<Playbook> = call
        .engine()
        .documents()
        .resolve_playbook(&call.caller, id)
        .ok()?;
    let playbook = found.document();
    (playbook.status == Status::Active && !playbook.is_candidate).then(|| playbook.clone())
}

fn parameters(playbook: &Playbook) -> impl Iterator<Item = (&Parameter, bool)> {
    let mandatory = playbook
        .mandatory_parameters
        .iter()
        .map(|parameter| (parameter, true));
    mandatory.chain(
        playbook
            .optional_parameters
            .iter()
            .map(|parameter| (parameter, false)),
    )
}

fn possible_values(parameter: &Parameter) -> Vec<String> {
    let allowed = parameter.allowed.iter().flatten();
    let known = allowed
        .chain(parameter.default.iter())
        .chain(parameter.example.iter());
    let mut texts: Vec<String> = known.map(value_text).collect();
    texts.dedup();
    texts
}

fn value_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn prompt(playbook: &Playbook) -> Prompt {
    let arguments = parameters(playbook).map(|(parameter, required)| {
        PromptArgument::new(parameter.name.as_ref())
            .with_description(parameter.description.clone())
            .with_required(required)
    });
    let conditions: Vec<&str> = playbook
        .trigger_conditions
        .iter()
        .map(|text| text.as_str())
        .collect();
    let description = conditions.join("; ");
    Prompt::new(
        playbook.playbook_id.as_ref(),
        Some(description),
        Some(arguments.collect()),
    )
    .with_title(playbook.name.to_string())
}

fn text(playbook: &Playbook, arguments: &JsonObject) -> String {
    let id = &playbook.playbook_id;
    let given: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("- {name}: {}", value_text(value)))
        .collect();
    let steps: Vec<String> = playbook
        .steps
        .iter()
        .map(|step| {
            format!(
                "- {} ({})",
                step.name
                    .as_ref()
                    .map_or(step.step_id.as_ref(), |name| name.as_str()),
                step.tool_id
            )
        })
        .collect();
    format!(
        "Run the playbook `{id}` ({}) with Charter's tool `run`: pass it as playbook_id, with these \
         parameters:\n{}\n\nIts steps:\n{}\n\nIts changes wait for a person; do not answer for them.",
        playbook.name,
        if given.is_empty() {
            "- none".to_owned()
        } else {
            given.join("\n")
        },
        steps.join("\n"),
    )
}
