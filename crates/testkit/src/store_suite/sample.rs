//! Sample records for the cases: small, complete and distinct.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::ids::{
    BundleId, FindingId, PackageName, RequestId, RunId, SessionId, TenantId, UserId,
};
use charter_contract::run_status::RunStatus;
use charter_contract::scope::Scope;
use charter_contract::time::{TimeError, Timestamp};
use charter_store::catalogue::{CatalogueRevision, Change, ContentHash, NewDocument, Registration};
use charter_store::journal::{
    Append, EventHash, GENESIS, NewEvent, NextPhase, RunPhase, RunRecord,
};
use charter_store::lease::Fence;
use charter_store::outbox::NewMessage;
use serde_json::json;
use uuid::Uuid;

/// The result of making a sample.
pub type Made<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Returns the time `seconds` after the start of the samples' day.
///
/// # Errors
/// Beyond the year 9999.
pub fn at(seconds: i64) -> Result<Timestamp, TimeError> {
    const START: i64 = 1_776_168_000;
    Timestamp::from_micros((START + seconds) * 1_000_000)
}

/// Returns a tenant id.
///
/// # Errors
/// If the name is not a valid id.
pub fn tenant(name: &str) -> Made<TenantId> {
    Ok(TenantId::parse(name)?)
}

/// Returns the user of every sample.
///
/// # Errors
/// None in practice.
pub fn user() -> Made<UserId> {
    Ok(UserId::parse("user_456")?)
}

/// Returns the id of the `n`th request.
#[must_use]
pub fn request(n: u128) -> RequestId {
    RequestId::from_uuid(Uuid::from_u128(n))
}

/// Returns the id of the `n`th session.
#[must_use]
pub fn session(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(n))
}

/// Returns the id of the `n`th run.
#[must_use]
pub fn run(n: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(n))
}

/// Returns a skill with its own body.
#[must_use]
pub fn skill(id: &str, body: &str) -> NewDocument {
    let body = json!({ "skill_id": id, "description": body }).to_string();
    let mut hash = [0; 32];
    for (place, byte) in body.bytes().enumerate() {
        hash[place % 32] ^= byte.rotate_left(u32::try_from(place % 7).unwrap_or(0));
    }
    NewDocument {
        kind: DocumentKind::Skill,
        id: id.to_owned(),
        content_hash: ContentHash(hash),
        body: Arc::from(body),
    }
}

/// Returns a registration of one package; its file contains its version.
///
/// # Errors
/// If the name is not a valid id.
pub fn registration(
    scope: &Scope,
    package: &str,
    version: &str,
    expected: u64,
    documents: Vec<NewDocument>,
) -> Made<Registration> {
    let seconds = i64::try_from(expected)?;
    Ok(Registration {
        scope: scope.clone(),
        package: PackageName::parse(package)?,
        version: version.to_owned(),
        content_hash: ContentHash([u8::try_from(version.len())?; 32]),
        change: Change::Registered,
        files: BTreeMap::from([("package.yaml".to_owned(), format!("version: {version}\n"))]),
        documents,
        lenses: Vec::new(),
        expected: CatalogueRevision(expected),
        actor: user()?,
        at: at(seconds)?,
    })
}

/// Returns tags of the `n`th request, as in the seed (000 §2.10).
///
/// # Errors
/// If the seed's record does not parse.
pub fn tags(tenant: &str, n: u32, expires_at: Timestamp) -> Made<TagRecord> {
    Ok(serde_json::from_value(json!({
        "request_id": format!("req_abc{n}"),
        "tenant_id": tenant,
        "session_id": "sess_xyz789",
        "user_id": "user_456",
        "expires_at": expires_at.to_string(),
        "tier": "advanced",
        "flow": "skill",
        "skill_id": "security.detect_public_ingress",
        "domain": "security",
        "persona": "devops",
        "output_type": "finding",
        "execution_location": "client",
        "owner_agent_id": "domain.security.exposure",
    }))?)
}

/// Returns evidence as in the seed (000 §2.14), captured at `captured_at` and attached to a finding.
///
/// # Errors
/// If the seed's record does not parse.
pub fn evidence(tenant: &str, n: u32, captured_at: Timestamp) -> Made<EvidenceRecord> {
    Ok(serde_json::from_value(json!({
        "id": format!("ev_01HX{n:022}"),
        "schema_version": 1,
        "created_at": captured_at.to_string(),
        "type": "cloudtrail_event",
        "captured_at": captured_at.to_string(),
        "estate_view_id": "ev_42",
        "source": {
            "system": "aws.cloudtrail",
            "region": "us-east-1",
            "account_id": "123456789012",
            "native_id": "e-1234-5678-90ab",
            "api_call": "lookup-events",
        },
        "console_links": [{
            "label": "View event in CloudTrail",
            "href": "https://us-east-1.console.aws.amazon.com/cloudtrail/home?region=us-east-1#/events/e-1234-5678-90ab",
        }],
        "payload": { "EventId": "e-1234-5678-90ab", "EventName": "UpdateAccessKey" },
        "summary": "IAM user 'bot-deploy' rotated its access key at 09:13 UTC.",
        "attached_to": [{ "finding_id": "fnd_1" }],
        "tenant_id": tenant,
        "redaction_class": "standard",
    }))?)
}

/// Returns an attachment to a finding.
///
/// # Errors
/// If the name is not a valid id.
pub fn finding(id: &str) -> Made<Attachment> {
    Ok(Attachment {
        finding_id: Some(FindingId::parse(id)?),
        ..Attachment::default()
    })
}

/// Returns an attachment to a bundle.
///
/// # Errors
/// If the name is not a valid id.
pub fn bundle(id: &str) -> Made<Attachment> {
    Ok(Attachment {
        bundle_id: Some(BundleId::parse(id)?),
        ..Attachment::default()
    })
}

/// Returns a message about a tenant.
///
/// # Errors
/// Beyond the year 9999.
pub fn message(topic: &str, seconds: i64) -> Made<NewMessage> {
    Ok(NewMessage {
        topic: topic.to_owned(),
        tenant: Some("acme".to_owned()),
        user_id: None,
        payload: json!({ "topic": topic }).to_string(),
        at: at(seconds)?,
    })
}

/// Returns events with these payloads, one second apart, chained from `previous` at `version`.
///
/// # Errors
/// Beyond the year 9999.
pub fn events(previous: EventHash, version: u64, payloads: &[&str]) -> Made<Vec<NewEvent>> {
    let mut last = previous;
    let mut events = Vec::new();
    for (sequence, payload) in (version + 1..).zip(payloads) {
        last = last.chain(sequence, payload);
        events.push(NewEvent {
            payload: (*payload).to_owned(),
            hash: last,
            at: at(i64::try_from(sequence)?)?,
        });
    }
    Ok(events)
}

/// Returns a runnable run and its first event, created `seconds` after the start.
///
/// # Errors
/// If the tenant is not a valid id.
pub fn new_run(tenant_id: &str, n: u128, seconds: i64) -> Made<(RunRecord, Vec<NewEvent>)> {
    let record = RunRecord {
        run_id: run(n),
        tenant_id: tenant(tenant_id)?,
        user_id: Some(user()?),
        title: "skill security.detect_public_ingress".to_owned(),
        phase: RunPhase::Runnable,
        status: RunStatus::Working,
        wake_at: None,
        version: 1,
        created_at: at(seconds)?,
        updated_at: at(seconds)?,
    };
    Ok((record, events(GENESIS, 0, &[r#"{"started":true}"#])?))
}

/// Returns an append of `payloads` after the one event of [`new_run`], by a caller without a lease.
///
/// # Errors
/// None in practice.
pub fn second_append(n: u128, then: NextPhase, payloads: &[&str]) -> Made<Append> {
    let (record, first) = new_run("acme", n, 0)?;
    Ok(Append {
        tenant_id: record.tenant_id,
        run_id: record.run_id,
        expected: 1,
        fence: Fence(0),
        events: events(first[0].hash, 1, payloads)?,
        then,
        status: RunStatus::Working,
        approvals: vec![],
        artifacts: vec![],
        mission_state: None,
        release: false,
        messages: vec![message("run.step_succeeded", 2)?],
    })
}
