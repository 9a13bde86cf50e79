//! Histories of what is kept for people and agents: approvals, missions, memories, skills, sessions, keys.

use charter_contract::agentic::memory::{MemoryState, Visibility};
use charter_contract::ids::{ApprovalId, MemoryId, MissionId, SkillId, TenantId, UserId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::Store;
use charter_store::agent_skills::{
    SkillChange, SkillVector, SkillsModel, SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalMove, ApprovalRecord, ApprovalState,
};
use charter_store::journal::{After, Append, GENESIS, Wait};
use charter_store::key::Revocation;
use charter_store::memory::{MemoryDecision, MemoryVector, MemoryVerdict, Proposals};
use charter_store::mission::ArtifactFilter;
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use charter_store::vector::TextHash;
use charter_testkit::store_suite::mission::writer::Writer;
use charter_testkit::store_suite::sample;
use proptest::prelude::*;

use super::{Done, at, few, flag, hold, scope, some, tenant, time, told};
use crate::records;

/// More memories than any history but a long one has.
const MOST_MEMORIES: u64 = 4;

#[derive(Debug, Clone)]
enum Call {
    BeginMission {
        tenant: bool,
        run: u8,
    },
    AddArtifact {
        tenant: bool,
        run: u8,
        place: u8,
        state: Option<u8>,
    },
    EndMission {
        tenant: bool,
        run: u8,
    },
    Missions {
        tenant: bool,
        state: Option<u8>,
        after: Option<u8>,
    },
    Artifacts {
        tenant: bool,
        run: u8,
        kind: bool,
        after: u8,
    },
    Ask {
        tenant: bool,
        run: u8,
        approval: u8,
    },
    Move {
        tenant: bool,
        run: u8,
        approval: u8,
        from: u8,
        to: u8,
    },
    Decide {
        tenant: bool,
        approval: u8,
        from: u8,
        to: u8,
    },
    Approvals {
        tenant: bool,
        state: Option<u8>,
        run: Option<u8>,
        after: Option<u8>,
    },
    AddMemory {
        tenant: bool,
        memory: u8,
        proposed: bool,
        shared: bool,
    },
    AddVersion {
        tenant: bool,
        memory: u8,
        expected: Option<u8>,
        at: u8,
        proposed: bool,
    },
    DecideMemory {
        tenant: bool,
        memory: u8,
        version: u8,
        accept: bool,
        lasts: Option<u8>,
    },
    RemoveMemory {
        tenant: bool,
        memory: u8,
    },
    Memories {
        tenant: bool,
        owner: bool,
        which: u8,
        now: u8,
        after: Option<u8>,
    },
    Versions {
        tenant: bool,
        memory: u8,
        now: u8,
    },
    MemoryChanges {
        tenant: bool,
        after: u8,
    },
    MemoryVectors {
        tenant: bool,
        memory: u8,
        version: u8,
        model: bool,
    },
    SweepMemories {
        now: u8,
    },
    Skills {
        global: bool,
        expected: u8,
        put: Option<u8>,
        skill: u8,
        folder: bool,
    },
    IndexSkills {
        expected: u8,
        global: bool,
        skill: u8,
        model: bool,
    },
    Skill {
        global: bool,
        skill: u8,
    },
    OpenSession {
        tenant: bool,
        session: u8,
        until: u8,
    },
    AppendTurn {
        tenant: bool,
        session: u8,
        turn: u8,
        at: u8,
        keep: u8,
    },
    Turns {
        tenant: bool,
        session: u8,
        now: u8,
        limit: u8,
    },
    SweepSessions {
        now: u8,
    },
    CreateKey {
        tenant: bool,
        key: u8,
        until: Option<u8>,
    },
    RotateKey {
        tenant: bool,
        old: u8,
        new: u8,
        end: u8,
    },
    RevokeKey {
        tenant: bool,
        key: u8,
        at: u8,
    },
    UseKey {
        tenant: bool,
        key: u8,
        at: u8,
    },
    Keys {
        tenant: bool,
        after: Option<u8>,
        now: u8,
        hash: u8,
    },
}

fn maybe<T: std::fmt::Debug + Clone>(
    of: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(of)
}

fn mission_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (flag(), few()).prop_map(|(tenant, run)| Call::BeginMission { tenant, run }),
        (flag(), few(), 0..13u8, maybe(some())).prop_map(|(tenant, run, place, state)| {
            Call::AddArtifact {
                tenant,
                run,
                place,
                state,
            }
        }),
        (flag(), few()).prop_map(|(tenant, run)| Call::EndMission { tenant, run }),
        (flag(), maybe(some()), maybe(few())).prop_map(|(tenant, state, after)| Call::Missions {
            tenant,
            state,
            after
        }),
        (flag(), few(), flag(), some()).prop_map(|(tenant, run, kind, after)| Call::Artifacts {
            tenant,
            run,
            kind,
            after
        }),
    ]
}

fn approval_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (flag(), few()).prop_map(|(tenant, run)| Call::BeginMission { tenant, run }),
        (flag(), few(), some()).prop_map(|(tenant, run, approval)| Call::Ask {
            tenant,
            run,
            approval
        }),
        (flag(), few(), some(), some(), some()).prop_map(|(tenant, run, approval, from, to)| {
            Call::Move {
                tenant,
                run,
                approval,
                from,
                to,
            }
        }),
        (flag(), some(), Just(0), some()).prop_map(|(tenant, approval, from, to)| Call::Decide {
            tenant,
            approval,
            from,
            to
        }),
        (flag(), maybe(some()), maybe(few()), maybe(few())).prop_map(
            |(tenant, state, run, after)| Call::Approvals {
                tenant,
                state,
                run,
                after
            }
        ),
    ]
}

fn memory_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (flag(), some(), flag(), flag()).prop_map(|(tenant, memory, proposed, shared)| {
            Call::AddMemory {
                tenant,
                memory,
                proposed,
                shared,
            }
        }),
        (flag(), some(), maybe(some()), time(), flag()).prop_map(
            |(tenant, memory, expected, at, proposed)| Call::AddVersion {
                tenant,
                memory,
                expected,
                at,
                proposed
            }
        ),
        (flag(), some(), 1..4u8, flag(), maybe(time())).prop_map(
            |(tenant, memory, version, accept, lasts)| Call::DecideMemory {
                tenant,
                memory,
                version,
                accept,
                lasts
            }
        ),
        (flag(), some()).prop_map(|(tenant, memory)| Call::RemoveMemory { tenant, memory }),
        (flag(), flag(), few(), time(), maybe(few())).prop_map(
            |(tenant, owner, which, now, after)| {
                Call::Memories {
                    tenant,
                    owner,
                    which,
                    now,
                    after,
                }
            }
        ),
        (flag(), some(), time()).prop_map(|(tenant, memory, now)| Call::Versions {
            tenant,
            memory,
            now
        }),
        (flag(), some()).prop_map(|(tenant, after)| Call::MemoryChanges { tenant, after }),
        (flag(), some(), 1..4u8, flag()).prop_map(|(tenant, memory, version, model)| {
            Call::MemoryVectors {
                tenant,
                memory,
                version,
                model,
            }
        }),
        time().prop_map(|now| Call::SweepMemories { now }),
    ]
}

fn other_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (flag(), 0..9u8, maybe(few()), few(), flag()).prop_map(
            |(global, expected, put, skill, folder)| {
                Call::Skills {
                    global,
                    expected,
                    put,
                    skill,
                    folder,
                }
            }
        ),
        (0..9u8, flag(), few(), flag()).prop_map(|(expected, global, skill, model)| {
            Call::IndexSkills {
                expected,
                global,
                skill,
                model,
            }
        }),
        (flag(), few()).prop_map(|(global, skill)| Call::Skill { global, skill }),
        (flag(), few(), time()).prop_map(|(tenant, session, until)| Call::OpenSession {
            tenant,
            session,
            until
        }),
        (flag(), few(), some(), time(), 1..3u8).prop_map(|(tenant, session, turn, at, keep)| {
            Call::AppendTurn {
                tenant,
                session,
                turn,
                at,
                keep,
            }
        }),
        (flag(), few(), time(), 1..4u8).prop_map(|(tenant, session, now, limit)| Call::Turns {
            tenant,
            session,
            now,
            limit
        }),
        time().prop_map(|now| Call::SweepSessions { now }),
        (flag(), some(), maybe(time())).prop_map(|(tenant, key, until)| Call::CreateKey {
            tenant,
            key,
            until
        }),
        (flag(), some(), some(), time()).prop_map(|(tenant, old, new, end)| Call::RotateKey {
            tenant,
            old,
            new,
            end
        }),
        (flag(), some(), time()).prop_map(|(tenant, key, at)| Call::RevokeKey { tenant, key, at }),
        (flag(), some(), time()).prop_map(|(tenant, key, at)| Call::UseKey { tenant, key, at }),
        (flag(), maybe(few()), time(), some()).prop_map(|(tenant, after, now, hash)| Call::Keys {
            tenant,
            after,
            now,
            hash
        }),
    ]
}

/// The mission and the run of a number, those of each tenant apart.
fn number(first: bool, run: u8) -> u128 {
    u128::from(run) + if first { 0 } else { 10 }
}

/// Where a mission's writer stands, by what its run's journal says.
async fn writer(store: &dyn Store, first: bool, run: u8) -> Done<Writer> {
    let mut writer = Writer::new(tenant(first), number(first, run))?;
    let events = store.events(&sample::run(writer.run), 0, 100).await?;
    writer.version = events.last().map_or(0, |event| event.sequence);
    writer.head = events.last().map_or(GENESIS, |event| event.hash);
    Ok(writer)
}

fn state(n: u8) -> MissionState {
    let known = [
        MissionState::Created,
        MissionState::Planned,
        MissionState::Running,
        MissionState::Completed,
        MissionState::Failed,
    ];
    known[usize::from(n) % known.len()]
}

/// What is told of a tenant's change.
fn messages(first: bool) -> Done<Vec<NewMessage>> {
    let mut message = sample::message("changed", 1)?;
    message.tenant = Some(tenant(first).to_owned());
    Ok(vec![message])
}

fn approval_state(n: u8) -> ApprovalState {
    ApprovalState::WORDS[usize::from(n) % ApprovalState::WORDS.len()].0
}

fn page(after: Option<u8>, id: &str) -> Done<PageRequest> {
    let after = after.map(|n| at(n).map(|at| format!("{}.{id}", at.as_micros())));
    Ok(PageRequest::new(after.transpose()?, 2))
}

async fn of_missions(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::BeginMission { tenant, run } => {
            let writer = Writer::new(self::tenant(tenant), number(tenant, run))?;
            told(store.create_held_run(writer.first(run.into())?).await)
        }
        Call::AddArtifact {
            tenant,
            run,
            place,
            state: next,
        } => {
            let writer = writer(store, tenant, run).await?;
            let place = usize::from(place) % writer.texts.len();
            let append = Append {
                mission_state: next.map(state),
                ..writer.append(vec![writer.record(place)?])?
            };
            told(store.append(append).await)
        }
        Call::EndMission { tenant, run } => {
            let writer = writer(store, tenant, run).await?;
            let append = Append {
                then: After::Ends,
                mission_state: Some(MissionState::Completed),
                ..writer.append(vec![])?
            };
            told(store.append(append).await)
        }
        Call::Missions {
            tenant,
            state: which,
            after,
        } => {
            let tenant = sample::tenant(self::tenant(tenant))?;
            // Missions are made when their example says, and told apart by their ids.
            let after = after.map(|n| format!("{}.m{n}", i64::MAX));
            let page = PageRequest::new(after, 2);
            told(store.missions(&tenant, which.map(state), &page).await)
        }
        Call::Artifacts {
            tenant,
            run,
            kind,
            after,
        } => {
            let mission = MissionId::parse(&format!("m{}", number(tenant, run)))?;
            let tenant = sample::tenant(self::tenant(tenant))?;
            let filter = ArtifactFilter {
                kind: kind.then_some(ArtifactKind::WorkerResult),
                task_id: None,
            };
            let read = store.artifacts(&tenant, &mission, filter, after.into(), 3);
            let read = told(read.await);
            let kind = ArtifactKind::WorkerResult;
            let one = told(store.artifact(&tenant, &mission, kind, "wrk_001").await);
            read + &one + &told(store.mission(&tenant, &mission).await)
        }
        _ => return Ok(None),
    }))
}

/// The approval of a number, those of each tenant apart: on SQLite an id is taken once for all tenants.
fn approval_id(first: bool, approval: u8) -> ApprovalId {
    records::approval_id(number(first, approval))
}

fn step(approval_id: ApprovalId, from: u8, to: u8) -> ApprovalMove {
    let to = approval_state(to);
    ApprovalMove {
        approval_id,
        from: approval_state(from),
        to,
        body: format!("{{\"state\":\"{}\"}}", to.as_str()),
    }
}

async fn of_approvals(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Ask {
            tenant,
            run,
            approval,
        } => {
            let record = ApprovalRecord {
                approval_id: approval_id(tenant, approval),
                run_id: sample::run(number(tenant, run)),
                ..records::pending(self::tenant(tenant), approval, run)?
            };
            let wait = Wait {
                until: None,
                approvals: vec![record.approval_id.clone()],
            };
            let append = Append {
                then: After::Waits(wait),
                approvals: vec![ApprovalChange::Ask(record)],
                ..writer(store, tenant, run).await?.append(vec![])?
            };
            told(store.append(append).await)
        }
        Call::Move {
            tenant,
            run,
            approval,
            from,
            to,
        } => {
            let append = Append {
                approvals: vec![ApprovalChange::Move(step(
                    approval_id(tenant, approval),
                    from,
                    to,
                ))],
                ..writer(store, tenant, run).await?.append(vec![])?
            };
            told(store.append(append).await)
        }
        Call::Decide {
            tenant,
            approval,
            from,
            to,
        } => {
            let id = approval_id(tenant, approval);
            let (told_of, tenant) = (messages(tenant)?, sample::tenant(self::tenant(tenant))?);
            let decided = store.decide_approval(&tenant, step(id.clone(), from, to), told_of);
            let decided = told(decided.await);
            decided + &told(store.approval(&tenant, &id).await)
        }
        _ => return of_approvals_read(store, call).await,
    }))
}

async fn of_approvals_read(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Approvals {
            tenant,
            state,
            run,
            after,
        } => {
            let run = run.map(|run| sample::run(number(tenant, run)));
            let filter = ApprovalFilter {
                state: state.map(approval_state),
                run_id: run.as_ref(),
            };
            let tenant = sample::tenant(self::tenant(tenant))?;
            let page = page(after, "zzz")?;
            let runs = told(store.runs(&tenant, &PageRequest::new(None, 9)).await);
            runs + &told(store.approvals(&tenant, filter, &page).await)
        }
        _ => return Ok(None),
    }))
}

fn memory_of(first: bool, memory: u8) -> Done<(TenantId, MemoryId)> {
    Ok((sample::tenant(tenant(first))?, records::memory_id(memory)))
}

fn accepted(proposed: bool) -> MemoryState {
    match proposed {
        true => MemoryState::Proposed,
        false => MemoryState::Accepted,
    }
}

async fn of_memories(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::AddMemory {
            tenant,
            memory,
            proposed,
            shared,
        } => {
            let mut new = records::memory(self::tenant(tenant), memory, accepted(proposed))?;
            if !shared {
                new.visibility = Visibility::Private;
            }
            told(store.add_memory(&new, MOST_MEMORIES).await)
        }
        Call::AddVersion {
            tenant,
            memory,
            expected,
            at,
            proposed,
        } => {
            let new = records::version(memory, at, accepted(proposed))?;
            let (tenant, id) = memory_of(tenant, memory)?;
            let expected = expected.map(u64::from);
            told(store.add_memory_version(&tenant, &id, expected, &new).await)
        }
        Call::DecideMemory {
            tenant,
            memory,
            version,
            accept,
            lasts,
        } => {
            let verdict = match accept {
                true => MemoryVerdict::Accept {
                    expires_at: lasts.map(at).transpose()?,
                },
                false => MemoryVerdict::Reject,
            };
            let decision = MemoryDecision {
                version: version.into(),
                verdict,
                by: UserId::parse("owner")?,
                at: at(5)?,
            };
            let (tenant, id) = memory_of(tenant, memory)?;
            told(store.decide_memory(&tenant, &id, &decision).await)
        }
        Call::RemoveMemory { tenant, memory } => {
            let (tenant, id) = memory_of(tenant, memory)?;
            told(
                store
                    .remove_memory(&tenant, &id, &sample::user()?, at(6)?)
                    .await,
            )
        }
        Call::SweepMemories { now } => told(store.sweep_memories(at(now)?).await),
        _ => return of_memories_read(store, call).await,
    }))
}

async fn of_memories_read(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Memories {
            tenant,
            owner,
            which,
            now,
            after,
        } => {
            let known = [Proposals::Without, Proposals::Own, Proposals::Shared];
            let which = known[usize::from(which)];
            let reader = match owner {
                true => sample::user()?,
                false => UserId::parse("somebody")?,
            };
            let tenant = sample::tenant(self::tenant(tenant))?;
            let page = page(after, "zzz")?;
            told(
                store
                    .memories(&tenant, &reader, which, at(now)?, &page)
                    .await,
            )
        }
        Call::Versions {
            tenant,
            memory,
            now,
        } => {
            let (tenant, id) = memory_of(tenant, memory)?;
            let one = told(store.memory(&tenant, &id, at(now)?).await);
            let second = told(store.memory_version(&tenant, &id, 2).await);
            one + &second + &told(store.memory_versions(&tenant, &id, 3).await)
        }
        Call::MemoryChanges { tenant, after } => {
            let tenant = sample::tenant(self::tenant(tenant))?;
            told(store.memory_changes(&tenant, after.into(), 3).await)
        }
        Call::MemoryVectors {
            tenant,
            memory,
            version,
            model,
        } => {
            let model = if model { "test/f32" } else { "other/f32" };
            // In the order of each engine's own.
            let without = store.memories_without_vector(model, 50).await?;
            let mut without: Vec<String> =
                without.iter().map(|found| format!("{found:?}")).collect();
            without.sort();
            let vector = MemoryVector {
                model: model.to_owned(),
                bytes: vec![0; 4],
            };
            let tenant = sample::tenant(self::tenant(tenant))?;
            let vectors = [(tenant, records::memory_id(memory), version.into(), vector)];
            format!("{without:?}") + &told(store.put_memory_vectors(&vectors).await)
        }
        _ => return Ok(None),
    }))
}

async fn of_skills(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    let id = |n: u8| SkillId::parse(["net", "net.a", "net.b"][usize::from(n)]);
    Ok(Some(match *call {
        Call::Skills {
            global,
            expected,
            put,
            skill,
            folder,
        } => {
            let change = match put {
                Some(n) => {
                    let mut new = records::skill(id(skill)?.as_str(), n)?;
                    new.is_folder = folder;
                    if folder {
                        new.sub_skills = vec![id(1)?, id(2)?];
                    }
                    SkillChange::Put(Box::new(new))
                }
                None => SkillChange::Delete(id(skill)?),
            };
            let write = SkillsWrite {
                scope: scope(global)?,
                expected: SkillsRevision(expected.into()),
                changes: vec![change],
                at: at(1)?,
            };
            told(store.change_skills(write).await) + &told(store.load_skills().await)
        }
        Call::IndexSkills {
            expected,
            global,
            skill,
            model,
        } => {
            let model = SkillsModel {
                name: if model { "one" } else { "two" }.to_owned(),
                dims: 1,
            };
            let vector = SkillVector {
                origin: VectorOrigin::Embedded,
                summary: TextHash([skill; 32]),
                bytes: vec![skill; 4],
            };
            let vectors = vec![(scope(global)?, id(skill)?, vector)];
            let expected = SkillsRevision(expected.into());
            told(store.index_skills(&model, expected, vectors, at(2)?).await)
        }
        Call::Skill { global, skill } => {
            let (scope, id) = (super::scope(global)?, id(skill)?);
            let mut read = told(store.skills_revision().await);
            read += &told(store.skill_instruction(&scope, &id).await);
            read += &told(store.skill_files(&scope, &id).await);
            read += &told(store.all_skill_files(&scope).await);
            read += &told(store.skill_file(&scope, &id, "a").await);
            read + &told(store.skills_of(&[(scope, id)]).await)
        }
        _ => return Ok(None),
    }))
}

async fn of_sessions(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::OpenSession {
            tenant,
            session,
            until,
        } => {
            let session = records::session(self::tenant(tenant), session, until)?;
            told(store.open_session(&session).await)
        }
        Call::AppendTurn {
            tenant,
            session,
            turn,
            at: when,
            keep,
        } => {
            let (id, turn) = (sample::session(session.into()), records::turn(turn, when)?);
            let tenant = sample::tenant(self::tenant(tenant))?;
            let appended = store.append_turn(&tenant, &id, &turn, at(when + 2)?, keep.into());
            told(appended.await)
        }
        Call::Turns {
            tenant,
            session,
            now,
            limit,
        } => {
            let (tenant, id) = (
                sample::tenant(self::tenant(tenant))?,
                sample::session(session.into()),
            );
            let found = told(store.session(&tenant, &id, at(now)?).await);
            found + &told(store.turns(&tenant, &id, limit.into()).await)
        }
        Call::SweepSessions { now } => told(store.sweep_sessions(at(now)?).await),
        _ => return Ok(None),
    }))
}

async fn of_keys(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::CreateKey { tenant, key, until } => {
            let key = records::key(self::tenant(tenant), key, until)?;
            told(store.create_key(&key, messages(tenant)?).await)
        }
        Call::RotateKey {
            tenant,
            old,
            new,
            end,
        } => {
            let mut key = records::key(self::tenant(tenant), new, None)?;
            key.rotated_from = Some(records::key_id(old));
            told(store.rotate_key(&key, at(end)?, messages(tenant)?).await)
        }
        Call::RevokeKey {
            tenant,
            key,
            at: when,
        } => {
            let revocation = Revocation {
                at: at(when)?,
                by: UserId::parse("boss")?,
            };
            let told_of = messages(tenant)?;
            let (tenant, id) = (sample::tenant(self::tenant(tenant))?, records::key_id(key));
            let revoked = store.revoke_key(&tenant, &id, &revocation, told_of);
            told(revoked.await)
        }
        Call::UseKey {
            tenant,
            key,
            at: when,
        } => {
            let (tenant, id) = (sample::tenant(self::tenant(tenant))?, records::key_id(key));
            told(
                store
                    .note_key_use(&tenant, &id, at(when)?, at(when / 2)?)
                    .await,
            )
        }
        Call::Keys {
            tenant,
            after,
            now,
            hash,
        } => {
            let tenant = sample::tenant(self::tenant(tenant))?;
            let mut read = told(store.keys(&tenant, &page(after, "zzz")?).await);
            read += &told(store.key(&tenant, &records::key_id(hash)).await);
            read += &told(
                store
                    .key_of_hash(&records::key_hash(tenant.as_str(), hash))
                    .await,
            );
            read += &told(store.last_message().await);
            read + &told(store.keys_kept(at(now)?).await)
        }
        _ => return Ok(None),
    }))
}

/// What one engine answers. Each of these knows the calls of its noun and leaves the others.
async fn answer(store: &dyn Store, call: &Call) -> Done<String> {
    let told = [
        of_missions(store, call).await?,
        of_approvals(store, call).await?,
        of_memories(store, call).await?,
        of_skills(store, call).await?,
        of_sessions(store, call).await?,
        of_keys(store, call).await?,
    ];
    Ok(told.into_iter().flatten().collect())
}

#[test]
fn missions_and_approvals_have_the_same_history_on_both_engines() {
    hold(prop_oneof![mission_call(), approval_call()], &answer);
}

#[test]
fn memories_have_the_same_history_on_both_engines() {
    hold(memory_call(), &answer);
}

#[test]
fn skills_sessions_and_keys_have_the_same_history_on_both_engines() {
    hold(other_call(), &answer);
}
