//! Records for the cases of this directory: small, complete, and distinguished by their numbers.

use charter_contract::agentic::memory::MemoryState;
use charter_contract::agentic::memory::Visibility;
use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole, Rights};
use charter_contract::ids::{
    ApprovalId, DocumentId, KeyId, MemoryId, RouteExampleId, SkillId, UserId,
};
use charter_contract::link_graph::SkillGrants;
use charter_contract::route_example::{ExampleSource, ExampleStatus, RoutedKind};
use charter_contract::text::ShortText;
use charter_domain::skill_folder::SkillFile;
use charter_store::agent_skills::{NewSkill, Part, SkillVector, VectorOrigin};
use charter_store::approval::{ApprovalRecord, ApprovalState};
use charter_store::key::{KeyHash, KeyRecord};
use charter_store::memory::{MemoryVector, NewMemory, NewVersion};
use charter_store::request::{RequestLease, RequestRecord};
use charter_store::route_example::RouteExampleRecord;
use charter_store::session::{SessionRecord, Turn};
use charter_store::vector::TextHash;
use charter_testkit::store_suite::sample::{self, Made, at, tenant, user};
use serde_json::json;
use uuid::Uuid;

pub(crate) fn approval_id(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(Uuid::from_u128(n))
}

pub(crate) fn pending(tenant_id: &str, n: u8, run: u8) -> Made<ApprovalRecord> {
    Ok(ApprovalRecord {
        approval_id: approval_id(n.into()),
        tenant_id: tenant(tenant_id)?,
        run_id: sample::run(run.into()),
        state: ApprovalState::Pending,
        requested_at: at(n.into())?,
        expires_at: at(3_600)?,
        body: format!("{{\"n\":{n}}}"),
    })
}

pub(crate) fn request(tenant_id: &str, n: u8) -> Made<(RequestRecord, RequestLease)> {
    let record = RequestRecord {
        request_id: sample::request(n.into()),
        tenant_id: tenant(tenant_id)?,
        user_id: user()?,
        asked: "{}".to_owned(),
        verdict: None,
        answer: None,
        run_id: None,
        result: None,
        created_at: at(n.into())?,
        updated_at: at(n.into())?,
    };
    let hold = RequestLease {
        holder: "a".to_owned(),
        until: at(0)?,
    };
    Ok((record, hold))
}

pub(crate) fn session(tenant_id: &str, n: u8, until: u8) -> Made<SessionRecord> {
    Ok(SessionRecord {
        session_id: sample::session(n.into()),
        tenant_id: tenant(tenant_id)?,
        user_id: user()?,
        created_at: at(0)?,
        expires_at: at(until.into())?,
    })
}

pub(crate) fn turn(n: u8, seconds: u8) -> Made<Turn> {
    Ok(Turn {
        request_id: sample::request(n.into()),
        input: format!("question {n}"),
        output: n.is_multiple_of(2).then(|| format!("answer at {seconds}")),
        at: at(seconds.into())?,
    })
}

pub(crate) fn key_id(n: u8) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(n.into()))
}

/// Returns a hash that differs between tenants.
pub(crate) fn key_hash(tenant_id: &str, n: u8) -> KeyHash {
    let mut hash = [n; 32];
    hash[0] = u8::try_from(tenant_id.len()).unwrap_or(0);
    KeyHash(hash)
}

pub(crate) fn key(tenant_id: &str, n: u8, until: Option<u8>) -> Made<KeyRecord> {
    Ok(KeyRecord {
        key_id: key_id(n),
        tenant_id: tenant(tenant_id)?,
        name: ShortText::parse(&format!("key {n}"))?,
        hash: key_hash(tenant_id, n),
        user_id: UserId::parse("robot")?,
        rights: Rights {
            role: "operator".parse()?,
            tier: "advanced".parse()?,
            catalogue: CatalogueRole::Viewer,
            agent_skills: SkillGrants::try_from(vec!["net".to_owned()])?,
            scopes: AccessScopes::Only([AccessScope::RunsRead].into()),
            profile: None,
        },
        created_by: user()?,
        makers: [user()?].into(),
        created_at: at(n.into())?,
        expires_at: until.map(|until| at(until.into())).transpose()?,
        last_used_at: None,
        revoked: None,
        rotated_from: None,
    })
}

pub(crate) fn example_id(n: u8) -> RouteExampleId {
    RouteExampleId::from_uuid(Uuid::from_u128(n.into()))
}

/// Returns a suggested example of the `of`th document.
pub(crate) fn route_example(tenant_id: &str, n: u8, of: u8) -> Made<RouteExampleRecord> {
    Ok(RouteExampleRecord {
        example_id: example_id(n),
        tenant_id: tenant(tenant_id)?,
        kind: RoutedKind::Skill,
        document: DocumentId::parse(&format!("d{of}"))?,
        text: format!("Which copies failed, {n}?"),
        words: format!("which copies failed {}", n / 6),
        source: ExampleSource::Thumb,
        request_id: Some(sample::request(n.into())),
        status: ExampleStatus::Suggested,
        suggested_at: at(n.into())?,
        decided: None,
    })
}

pub(crate) fn memory_id(n: u8) -> MemoryId {
    MemoryId::from_uuid(Uuid::from_u128(n.into()))
}

pub(crate) fn version(n: u8, seconds: u8, state: MemoryState) -> Made<NewVersion> {
    let content = format!("said at {seconds}");
    Ok(NewVersion {
        state,
        at: at(seconds.into())?,
        author: user()?,
        agent: None,
        entry: serde_json::from_value(json!({
            "id": memory_id(n), "title": "Region", "content": content, "tags": ["region"],
            "created_at": at(0)?, "updated_at": at(seconds.into())?,
            "metadata": {"source": "user_statement", "importance": 7},
        }))?,
        vector: seconds.is_multiple_of(2).then(|| MemoryVector {
            model: "test/f32".to_owned(),
            bytes: f32::from(seconds).to_le_bytes().to_vec(),
        }),
        expires_at: Some(at(1_000)?),
    })
}

pub(crate) fn memory(tenant_id: &str, n: u8, state: MemoryState) -> Made<NewMemory> {
    Ok(NewMemory {
        tenant_id: tenant(tenant_id)?,
        user_id: user()?,
        visibility: Visibility::Shared,
        first: version(n, 0, state)?,
    })
}

pub(crate) fn skill(id: &str, n: u8) -> Made<NewSkill> {
    Ok(NewSkill {
        id: SkillId::parse(id)?,
        summary: format!("summary {n}"),
        is_folder: false,
        sub_skills: Vec::new(),
        instruction: format!("instruction {n}"),
        vector: Part::Replace(Some(SkillVector {
            origin: VectorOrigin::Supplied,
            summary: TextHash([n; 32]),
            bytes: f32::from(n).to_le_bytes().to_vec(),
        })),
        files: Part::Replace(vec![SkillFile {
            path: "a".to_owned(),
            content: vec![n].into(),
            executable: false,
        }]),
    })
}
