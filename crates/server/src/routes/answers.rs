//! The schemas of answers, for the OpenAPI document, with all their parts. A part with a contract refers to that
//! contract.

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::Tool;
use charter_contract::registry;
use charter_engine::{
    AccountPage, AgentSkillPage, AnnouncedEvent, Approval, ApprovalEntry, ApprovalPage,
    ApprovalPreview, ArtifactView, AssignmentPage, AssignmentView, BulkWritten, CallerView,
    CatalogueView, ChannelTest, ChannelView, ConnectionStart, ConsoleSessionView, CredentialView,
    DocumentDependencies, DocumentView, EventPage, EvidencePage, EvidenceProof, GraphAnswer,
    InForce, KeyPage, KeyView, LeaseRenewal, LensSearchResult, LensView, LogCheckpoint,
    LogConsistency, LogKey, MemoryHit, MemoryPage, MemoryView, MissionArtifactPage,
    MissionEventPage, MissionPage, MissionReplay, MissionView, NewKey, NewSchedule,
    NotificationPage, OccurrencePage, OccurrenceView, PackageDiff, PackageReport,
    PackageVersionDiff, PackageView, ProgressEvent, PublishedSkillIndex, RegistrationReport,
    RelatedMemory, Replayed, RequestConfirmationResult, RequestPage, RequestView,
    ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate, RouteExampleListing, RouteExampleShown,
    RunAt, RunEventPage, RunPage, RunView, SchedulePage, ScheduleView, SessionView, SignInOptions,
    SignInStart, SignedOut, SkillInScope, SkillInstruction, SkillWritten, SkillsImported,
    SlackDecision, ToolRegistered, VerdictView, WebhookReceipt,
};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{COMPONENTS, agent_skill_files, agent_skills, catalogue, gate, missions, schemas};

/// The path under which the generator puts definitions.
const DEFINITIONS: &str = "/components/schemas";

type Describe = fn(&mut SchemaGenerator) -> Schema;

/// Each answer by the name that operations refer to.
const ANSWERS: [(&str, Describe); 97] = [
    ("account_page", schema_of::<AccountPage>),
    (
        "agent_manifest_in_force",
        schema_of::<InForce<AgentManifest>>,
    ),
    ("agent_skill_files", schema_of::<agent_skill_files::Files>),
    ("agent_skill_hits", schema_of::<agent_skills::Hits>),
    ("agent_skill_in_scope", schema_of::<SkillInScope>),
    ("agent_skill_instruction", schema_of::<SkillInstruction>),
    ("agent_skill_page", schema_of::<AgentSkillPage>),
    ("agent_skill_write_result", schema_of::<SkillWritten>),
    ("agent_skill_import_result", schema_of::<SkillsImported>),
    ("agent_skill_bulk_result", schema_of::<BulkWritten>),
    ("announced_event", schema_of::<AnnouncedEvent>),
    ("approval", schema_of::<Approval>),
    ("approval_entry", schema_of::<ApprovalEntry>),
    ("approval_page", schema_of::<ApprovalPage>),
    ("approval_preview", schema_of::<ApprovalPreview>),
    ("caller", schema_of::<CallerView>),
    ("catalogue", schema_of::<CatalogueView>),
    ("channel_list", schema_of::<Vec<ChannelView>>),
    ("channel_test", schema_of::<ChannelTest>),
    ("connection_start", schema_of::<ConnectionStart>),
    ("console_session", schema_of::<ConsoleSessionView>),
    ("credential", schema_of::<CredentialView>),
    ("credential_list", schema_of::<Vec<CredentialView>>),
    ("document", schema_of::<DocumentView>),
    ("document_dependencies", schema_of::<DocumentDependencies>),
    ("document_page", schema_of::<catalogue::Listing>),
    ("enabled_schedule", schema_of::<ScheduleView>),
    ("event_page", schema_of::<EventPage>),
    ("evidence_log_checkpoint", schema_of::<LogCheckpoint>),
    ("evidence_log_consistency", schema_of::<LogConsistency>),
    ("evidence_log_key", schema_of::<LogKey>),
    ("evidence_page", schema_of::<EvidencePage>),
    ("evidence_proof", schema_of::<EvidenceProof>),
    ("gate_explanation", schema_of::<gate::GateExplanation>),
    ("graph_answer", schema_of::<GraphAnswer>),
    ("key", schema_of::<KeyView>),
    ("key_page", schema_of::<KeyPage>),
    ("lease_renewal", schema_of::<LeaseRenewal>),
    ("lens", schema_of::<LensView>),
    ("lens_search_result", schema_of::<LensSearchResult>),
    ("lens_list", schema_of::<Vec<LensView>>),
    ("link_findings", schema_of::<agent_skills::Findings>),
    ("memory", schema_of::<MemoryView>),
    ("memory_hits", schema_of::<Vec<MemoryHit>>),
    ("memory_page", schema_of::<MemoryPage>),
    ("memory_versions", schema_of::<Vec<MemoryView>>),
    ("mission", schema_of::<MissionView>),
    ("mission_artifact", schema_of::<ArtifactView>),
    ("mission_artifact_page", schema_of::<MissionArtifactPage>),
    ("mission_assignment", schema_of::<AssignmentView>),
    ("mission_assignment_page", schema_of::<AssignmentPage>),
    ("mission_diff", schema_of::<missions::MissionComparison>),
    ("mission_event_page", schema_of::<MissionEventPage>),
    ("mission_page", schema_of::<MissionPage>),
    ("mission_replay", schema_of::<MissionReplay>),
    ("mission_type_in_force", schema_of::<InForce<MissionType>>),
    ("new_key", schema_of::<NewKey>),
    ("new_schedule", schema_of::<NewSchedule>),
    ("notification_page", schema_of::<NotificationPage>),
    ("package_diff", schema_of::<PackageDiff>),
    ("package_list", schema_of::<Vec<PackageView>>),
    ("package_report", schema_of::<PackageReport>),
    ("playbook_in_force", schema_of::<InForce<Playbook>>),
    (
        "prompt_template_in_force",
        schema_of::<InForce<PromptTemplate>>,
    ),
    ("progress_event", schema_of::<ProgressEvent>),
    ("published_skill_index", schema_of::<PublishedSkillIndex>),
    ("registration_report", schema_of::<RegistrationReport>),
    ("related_memories", schema_of::<Vec<RelatedMemory>>),
    ("request", schema_of::<RequestView>),
    (
        "request_confirmation_result",
        schema_of::<RequestConfirmationResult>,
    ),
    ("request_page", schema_of::<RequestPage>),
    ("resolved_guardrails", schema_of::<Vec<ResolvedGuardrail>>),
    ("resolved_policies", schema_of::<Vec<ResolvedPolicy>>),
    ("resolved_template", schema_of::<ResolvedTemplate>),
    ("route_example", schema_of::<RouteExampleShown>),
    ("route_example_page", schema_of::<RouteExampleListing>),
    ("run", schema_of::<RunView>),
    ("run_at", schema_of::<RunAt>),
    ("run_event_page", schema_of::<RunEventPage>),
    ("run_page", schema_of::<RunPage>),
    ("run_replay", schema_of::<Replayed>),
    ("schedule_occurrence", schema_of::<OccurrenceView>),
    ("schedule_occurrence_page", schema_of::<OccurrencePage>),
    ("schedule_page", schema_of::<SchedulePage>),
    ("schema_list", schema_of::<Vec<schemas::Summary>>),
    ("session_view", schema_of::<SessionView>),
    ("sign_in_options", schema_of::<SignInOptions>),
    ("sign_in_start", schema_of::<SignInStart>),
    ("signed_out", schema_of::<SignedOut>),
    ("skill_in_force", schema_of::<InForce<Skill>>),
    ("slack_decision", schema_of::<SlackDecision>),
    ("tool_in_force", schema_of::<InForce<Tool>>),
    ("tool_registration", schema_of::<ToolRegistered>),
    ("tools_in_force", schema_of::<Vec<InForce<Tool>>>),
    ("verdict", schema_of::<VerdictView>),
    ("webhook_receipt", schema_of::<WebhookReceipt>),
    ("package_version_diff", schema_of::<PackageVersionDiff>),
];

fn schema_of<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schemas of all answers, and of their parts, by name.
pub(crate) fn schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|settings| settings.definitions_path = DEFINITIONS.into());
    let mut generator = settings.into_generator();
    let answers = ANSWERS.map(|(name, describe)| (name, describe(&mut generator).to_value()));
    let parts = generator.take_definitions(true).into_iter();
    let parts = parts.filter(|(title, _)| contract_of(title).is_none());
    let parts = parts.map(|(title, schema)| (component(&title), schema));
    // A list has no definition of its own.
    let lists = answers
        .into_iter()
        .filter(|(_, schema)| schema.get("$ref").is_none())
        .map(|(name, schema)| (name.to_owned(), schema));
    let mut found: Map<String, Value> = parts.chain(lists).collect();
    found.values_mut().for_each(settle);
    within_reach(found)
}

/// The parts of answers, without contracts, which have their own parts.
fn within_reach(mut found: Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut next: Vec<String> = ANSWERS.map(|(name, _)| name.to_owned()).into();
    while let Some(name) = next.pop() {
        if let Some(schema) = found.remove(&name) {
            named_by(&schema, &mut next);
            kept.insert(name, schema);
        }
    }
    kept
}

fn named_by(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            names.extend(
                reference
                    .and_then(|to| to.strip_prefix(COMPONENTS))
                    .map(str::to_owned),
            );
            fields.values().for_each(|field| named_by(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| named_by(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The name of the component that describes a type: the contract's, or the type's own in the spelling of contracts.
fn component(title: &str) -> String {
    if let Some(contract) = contract_of(title) {
        return contract.to_owned();
    }
    let mut name = String::with_capacity(title.len() + 4);
    for letter in title.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn contract_of(title: &str) -> Option<&'static str> {
    let entry = registry::all().find(|entry| entry.title == title)?;
    Some(entry.name.as_str())
}

/// Adapts a schema to readers of OpenAPI documents: components by name, only descriptions beside a reference, and no
/// `null` for omitted values.
fn settle(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(settle);
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some(title) = reference.strip_prefix(COMPONENTS)
            {
                *reference = format!("{COMPONENTS}{}", component(title));
            }
            if fields.contains_key("properties") {
                if let Some(reference) = fields.remove("$ref") {
                    fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
                }
                never_null_if_absent(fields);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An optional field is omitted if it has no value.
fn never_null_if_absent(object: &mut Map<String, Value>) {
    let always: Vec<String> = match object.get("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    for (_, property) in properties
        .iter_mut()
        .filter(|(name, _)| !always.contains(name))
    {
        without_null(property);
    }
}

fn without_null(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            fields.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(options)) = fields.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
        if let [Value::Object(one)] = options.as_slice() {
            let one = one.clone();
            fields.remove("anyOf");
            for (keyword, value) in one {
                fields.entry(keyword).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations name an answer by text, which must be the name of its type.
    #[test]
    fn an_answer_schema_is_named_after_its_type() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut generator = settings.into_generator();
        for (name, describe) in ANSWERS {
            let schema = describe(&mut generator).to_value();
            if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
                let title = reference.rsplit('/').next().unwrap();
                assert_eq!(component(title), name);
            }
        }
    }

    /// The generator would distinguish two types of one name by a number.
    #[test]
    fn schema_names_of_answers_are_unique() {
        let numbered = schemas().into_iter().map(|(name, _)| name);
        let numbered: Vec<_> = numbered
            .filter(|name| name.ends_with(|end: char| end.is_ascii_digit()))
            .collect();
        assert_eq!(numbered, Vec::<String>::new());
    }
}
