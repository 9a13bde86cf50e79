//! Resources: evidence records, missions and the content of runs, read by exact id, and the files of agent skills.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{EvidenceId, SkillId};
use charter_contract::page::PageRequest;
use charter_engine::{EngineError, EvidenceQuery, apart};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};

use super::call::Call;
use super::content::{self, CONTENT};
use super::failure::protocol_error;
use super::skills::SKILL;
use super::work::{EVIDENCE, MISSION};
use super::{mission, offered, skills};
use crate::operations;

/// The media type of evidence.
const JSON: &str = "application/json";

/// Resources in a page.
const PAGE: usize = 100;

/// A page: first the files of skills that the caller reaches, by skill, then the evidence that is visible to the
/// caller, by capture time, then the resources of MCP servers.
pub(super) async fn list(
    call: &Call,
    after: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let listed = async {
        match after.as_deref().map(place).transpose()? {
            None => skills_page(call, None).await,
            Some(ResourceCursor::Skill(id)) => skills_page(call, Some(&id)).await,
            Some(ResourceCursor::Evidence(after)) => {
                evidence_page(call, Some(after), Vec::new()).await
            }
            Some(ResourceCursor::Offered(start)) => Ok(offered_page(call, start, Vec::new())),
        }
    };
    listed.await.map_err(|error| protocol_error(&error))
}

/// The position at which a page starts.
enum ResourceCursor {
    Skill(SkillId),
    Evidence(String),
    Offered(usize),
}

/// The prefixes of the cursors of this server's own resources.
const SKILLS_AFTER: &str = "skills ";
const EVIDENCE_AFTER: &str = "evidence ";

fn place(cursor: &str) -> Result<ResourceCursor, EngineError> {
    let skill = cursor.strip_prefix(SKILLS_AFTER);
    let skill = skill.and_then(|id| SkillId::parse(id).ok().map(ResourceCursor::Skill));
    let evidence = cursor.strip_prefix(EVIDENCE_AFTER);
    let evidence = evidence.map(|after| ResourceCursor::Evidence(after.to_owned()));
    let offered = offered::start_of(cursor).map(ResourceCursor::Offered);
    let place = skill.or(evidence).or(offered);
    place.ok_or_else(|| {
        let message = "invalid cursor: pass the one from the previous page";
        EngineError::new(ErrorCode::InvalidRequest, message)
    })
}

async fn skills_page(
    call: &Call,
    after: Option<&SkillId>,
) -> Result<ListResourcesResult, EngineError> {
    let page = call
        .engine()
        .agent_skills()
        .skill_manifests(&call.caller, after, skills::PAGE);
    let page = page.await?;
    let entries = page.entries.iter().flat_map(skills::resources).collect();
    match page.next {
        None => evidence_page(call, None, entries).await,
        Some(next) => {
            let mut listed = ListResourcesResult::with_all_items(entries);
            listed.next_cursor = Some(format!("{SKILLS_AFTER}{next}"));
            Ok(listed)
        }
    }
}

async fn evidence_page(
    call: &Call,
    after: Option<String>,
    mut entries: Vec<Resource>,
) -> Result<ListResourcesResult, EngineError> {
    let page = PageRequest::new(after, PAGE);
    let query = EvidenceQuery::default();
    let found = call
        .engine()
        .evidence()
        .list(&call.caller, query, &page)
        .await?;
    entries.extend(found.entries.iter().map(|record| {
        let id = record.id.as_ref();
        Resource::new(format!("{EVIDENCE}{id}"), id)
            .with_description(record.summary.to_string())
            .with_mime_type(JSON)
    }));
    match found.next {
        None => Ok(offered_page(call, 0, entries)),
        Some(next) => {
            let mut listed = ListResourcesResult::with_all_items(entries);
            listed.next_cursor = Some(format!("{EVIDENCE_AFTER}{next}"));
            Ok(listed)
        }
    }
}

fn offered_page(call: &Call, start: usize, mut entries: Vec<Resource>) -> ListResourcesResult {
    let page = offered::resources(call, start, PAGE);
    entries.extend(page.entries);
    let mut listed = ListResourcesResult::with_all_items(entries);
    listed.next_cursor = page.next;
    listed
}

/// The templates of resources that are readable but not listed.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let evidence = ResourceTemplate::new(format!("{EVIDENCE}{{evidence_id}}"), "evidence")
        .with_title("Evidence")
        .with_description("The immutable record of one tool result, which findings rest on.")
        .with_mime_type(JSON);
    let mut templates = vec![evidence, skills::template()];
    templates.extend(mission::templates());
    ListResourceTemplatesResult::with_all_items(templates)
}

/// The prefixes of this server's own resources.
const OWN: [&str; 3] = [EVIDENCE, MISSION, SKILL];

/// Reads one resource.
pub(super) async fn read(call: &Call, uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let is_own = OWN.iter().any(|scheme| uri.starts_with(scheme));
    if !is_own
        && let Some(read) = offered::resource(call, uri)
            .await
            .map_err(|error| with_uri(error, uri))?
    {
        return Ok(read);
    }
    let json = |text: String| ResourceContents::text(text, uri).with_mime_type(JSON);
    let contents = async {
        let admit = |of: &str| operations::admit(&format!("mcp:resources/read {of}"), &call.caller);
        if let Some(place) = uri.strip_prefix(CONTENT) {
            admit("content")?;
            return content::read(call, uri, place).await;
        }
        match (uri.strip_prefix(EVIDENCE), uri.strip_prefix(MISSION)) {
            (Some(id), _) => {
                admit("evidence")?;
                evidence(call, uri, id).await.map(json)
            }
            (None, Some(place)) => {
                admit("mission")?;
                mission::read(call, uri, place).await.map(json)
            }
            (None, None) => {
                admit("skill")?;
                skills::read(call, uri).await
            }
        }
    };
    let contents = contents.await;
    let contents = contents.map_err(|error| with_uri(protocol_error(&error), uri))?;
    Ok(ReadResourceResult::new(vec![contents]).into())
}

async fn evidence(call: &Call, uri: &str, id: &str) -> Result<String, EngineError> {
    let absent = |_| EngineError::not_found("resource", uri);
    let id = EvidenceId::parse(id).map_err(absent)?;
    let record = call.engine().evidence().get(&call.caller, &id).await?;
    apart(|| serde_json::to_string_pretty(&record))
        .map_err(|error| EngineError::internal("writing an evidence record", error))
}

/// Adds the requested URI, which the protocol requires in a refusal.
fn with_uri(mut error: ErrorData, uri: &str) -> ErrorData {
    if let Some(serde_json::Value::Object(data)) = &mut error.data {
        data.insert("uri".to_owned(), uri.into());
    }
    error
}
