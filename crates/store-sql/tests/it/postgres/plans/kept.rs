//! Evidence, memories, agent skills and missions.

use std::sync::Arc;

use charter_contract::catalogue::evidence::EvidenceType;
use charter_contract::ids::{EvidenceId, MemoryId, MissionId, SkillId, TaskId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::agent_skills::AgentSkills;
use charter_store::assignment::{AssignmentFilter, Assignments};
use charter_store::evidence::{Evidence, EvidenceFilter};
use charter_store::evidence_log::EvidenceLog;
use charter_store::memory::{Memories, Proposals};
use charter_store::mission::{ArtifactFilter, MissionFilter, Missions};
use charter_testkit::store_suite::{Outcome, sample};
use uuid::Uuid;

use super::watched::RowOwner::Tenants;
use super::watched::Watched;
use super::{N, PAGE, acme, page, user};
use crate::postgres::filled::ACME;

pub(super) async fn look_at_evidence(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    let record = sample::evidence(ACME, u32::try_from(N)?, sample::at(0)?)?;
    watched
        .look("evidence", Tenants, store.evidence(&acme, &record.id))
        .await;
    watched
        .look(
            "evidence_user",
            Tenants,
            store.evidence_user(&acme, &record.id),
        )
        .await;
    let all = EvidenceFilter::default();
    for (name, filter) in [
        ("evidence of a tenant", all.clone()),
        (
            "evidence of a finding",
            EvidenceFilter {
                attached_to: Some(sample::finding("f3")?),
                ..all.clone()
            },
        ),
        (
            "evidence of a type",
            EvidenceFilter {
                evidence_type: Some(EvidenceType::CloudtrailEvent),
                ..all.clone()
            },
        ),
        (
            "evidence of a system",
            EvidenceFilter {
                system: Some("s3".to_owned()),
                ..all.clone()
            },
        ),
        (
            "evidence of a time",
            EvidenceFilter {
                captured_from: Some(sample::at(9_000)?),
                ..all.clone()
            },
        ),
        (
            "evidence of a user",
            EvidenceFilter {
                user_id: Some(user("u7")),
                ..all
            },
        ),
    ] {
        watched
            .look(name, Tenants, store.find_evidence(&acme, &filter, &page()))
            .await;
        let name = format!("{name}, listed");
        watched
            .look(&name, Tenants, store.list_evidence(&acme, &filter, &page()))
            .await;
    }
    look_at_evidence_log(watched, &record.id).await
}

async fn look_at_evidence_log(watched: &mut Watched, record: &EvidenceId) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    watched
        .look("log_size", Tenants, store.log_size(&acme))
        .await;
    watched
        .look("log_leaves_of", Tenants, store.log_leaves_of(&acme, record))
        .await;
    watched
        .look("log_leaves", Tenants, store.log_leaves(&acme, 100, PAGE))
        .await;
    watched
        .look(
            "published_checkpoint",
            Tenants,
            store.published_checkpoint(&acme, 9),
        )
        .await;
    Ok(())
}

pub(super) async fn look_at_memories_and_skills(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    let memory = MemoryId::from_uuid(Uuid::from_u128(N));
    let (owner, now) = (sample::user()?, sample::at(0)?);
    watched
        .look("memory", Tenants, store.memory(&acme, &memory, now))
        .await;
    watched
        .look(
            "memory_version",
            Tenants,
            store.memory_version(&acme, &memory, 1),
        )
        .await;
    watched
        .look(
            "memory_versions",
            Tenants,
            store.memory_versions(&acme, &memory, 9),
        )
        .await;
    for proposals in [Proposals::Without, Proposals::Own, Proposals::Shared] {
        let page = page();
        let listed = store.memories(&acme, &owner, proposals, now, &page);
        watched.look("memories", Tenants, listed).await;
    }
    watched
        .look(
            "memory_changes",
            Tenants,
            store.memory_changes(&acme, 9_000, PAGE),
        )
        .await;
    let removed = store.remove_memory(&acme, &memory, &owner, sample::at(1)?);
    // On the second call it is already removed.
    let removed = async { Ok::<_, StoreError>(removed.await.ok()) };
    watched.look("remove_memory", Tenants, removed).await;
    let (scope, skill) = (Scope::Tenant(acme), SkillId::parse(&format!("s{N}"))?);
    watched
        .look(
            "skill_instruction",
            Tenants,
            store.skill_instruction(&scope, &skill),
        )
        .await;
    watched
        .look("skill_files", Tenants, store.skill_files(&scope, &skill))
        .await;
    watched
        .look("skill_file", Tenants, store.skill_file(&scope, &skill, "a"))
        .await;
    let some = [(scope, skill)];
    watched
        .look("skills_of", Tenants, store.skills_of(&some))
        .await;
    watched
        .look(
            "skill_instructions",
            Tenants,
            store.skill_instructions(&some),
        )
        .await;
    Ok(())
}

pub(super) async fn look_at_missions(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, mission) = (acme(), MissionId::parse(&format!("m{}", watched.open))?);
    watched
        .look("mission", Tenants, store.mission(&acme, &mission))
        .await;
    for state in [
        None,
        Some(MissionState::Completed),
        Some(MissionState::Failed),
    ] {
        let filter = MissionFilter {
            state,
            ..MissionFilter::default()
        };
        watched
            .look("missions", Tenants, store.missions(&acme, filter, &page()))
            .await;
    }
    let task = TaskId::parse("task_worker_01")?;
    for filter in [
        ArtifactFilter::default(),
        ArtifactFilter {
            kind: Some(ArtifactKind::WorkerResult),
            task_id: None,
        },
        ArtifactFilter {
            kind: None,
            task_id: Some(&task),
        },
    ] {
        let read = store.artifacts(&acme, &mission, filter, 0, PAGE);
        watched.look("artifacts", Tenants, read).await;
    }
    let kind = ArtifactKind::WorkerResult;
    let read = store.artifact(&acme, &mission, kind, "wrk_001");
    watched.look("artifact", Tenants, read).await;
    for mission in [None, Some(&mission)] {
        let filter = AssignmentFilter {
            mission,
            open_at: None,
        };
        let page = page();
        let read = store.assignments(&acme, filter, &page);
        watched.look("assignments", Tenants, read).await;
    }
    Ok(())
}
