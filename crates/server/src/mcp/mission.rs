//! Missions as resources: the status and the results of each.

use charter_contract::ids::{MissionId, RunId};
use charter_contract::mission::ArtifactKind;
use charter_engine::{ArtifactFilter, EngineError, apart};
use rmcp::model::ResourceTemplate;
use serde_json::{Value, json};

use super::call::Call;
use super::question;
use super::work::{MISSION, WorkSubject};

/// The media type of missions and artifacts.
const JSON: &str = "application/json";

/// Artifacts in a page.
const PAGE: usize = 100;

/// The templates of missions' resources.
pub(super) fn templates() -> [ResourceTemplate; 3] {
    let template = |rest: &str, name: &str, title: &str, what: &str| {
        ResourceTemplate::new(format!("{MISSION}{{mission_id}}{rest}"), name)
            .with_title(title)
            .with_description(what)
            .with_mime_type(JSON)
    };
    [
        template(
            "",
            "mission",
            "Mission",
            "A mission: its state, its tasks, its reviewed output, its proposals.",
        ),
        template(
            "/artifacts{?after}",
            "mission artifacts",
            "Artifacts of a mission",
            "The addresses of a mission's artifacts, in the order of writing, 100 per page.",
        ),
        template(
            "/artifacts/{kind}/{artifact_id}",
            "mission artifact",
            "Artifact of a mission",
            "One typed artifact in full: a worker_result, a review_packet, …",
        ),
    ]
}

/// Reads a mission, a page of its artifacts, or one of them.
pub(super) async fn read(call: &Call, uri: &str, place: &str) -> Result<String, EngineError> {
    let (engine, caller) = (call.engine(), &call.caller);
    let absent = || EngineError::not_found("resource", uri);
    let (place, query) = match place.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (place, None),
    };
    let mut parts = place.split('/');
    let id = parts.next().and_then(|id| MissionId::parse(id).ok());
    let id = id.ok_or_else(absent)?;
    let rest: Vec<&str> = parts.collect();
    let read = match (rest.as_slice(), query) {
        ([], None) => json!(engine.mission_views().show(caller, &id).await?),
        (["artifacts"], query) => {
            let after = query.map(|query| query.strip_prefix("after=")?.parse().ok());
            let after = after.map_or(Some(0), |after| after).ok_or_else(absent)?;
            artifacts(call, &id, after).await?
        }
        (["artifacts", kind, artifact], None) => {
            let kind: ArtifactKind = kind.parse().map_err(|_| absent())?;
            json!(
                engine
                    .mission_views()
                    .artifact(caller, &id, kind, artifact)
                    .await?
            )
        }
        _ => return Err(absent()),
    };
    apart(|| serde_json::to_string_pretty(&read))
        .map_err(|error| EngineError::internal("writing a mission", error))
}

async fn artifacts(call: &Call, id: &MissionId, after: u64) -> Result<Value, EngineError> {
    let filter = ArtifactFilter::default();
    let page = call
        .engine()
        .mission_views()
        .artifacts(&call.caller, id, filter, after, PAGE);
    let page = page.await?;
    let entries = page.entries.iter().map(|shown| {
        let (kind, artifact) = (shown.kind, &shown.artifact_id);
        json!({
            "kind": kind, "artifact_id": artifact, "task_id": shown.task_id,
            "uri": format!("{MISSION}{id}/artifacts/{kind}/{artifact}"),
        })
    });
    let next = page
        .next
        .map(|after| format!("{MISSION}{id}/artifacts?after={after}"));
    Ok(json!({"entries": entries.collect::<Vec<_>>(), "next": next}))
}

/// The mission that a run executes.
pub(super) async fn of_run(call: &Call, run: &RunId) -> Result<WorkSubject, EngineError> {
    let shown = call.engine().run_views().show(&call.caller, run).await?;
    let envelope = shown.state.parameters.get("envelope");
    let id = envelope.and_then(|envelope| envelope.get("mission_id")?.as_str());
    let id = id.and_then(|id| MissionId::parse(id).ok());
    id.map(WorkSubject::Mission)
        .ok_or_else(question::foreign_state)
}
