//! How PostgreSQL finds what the engine asks for. The statements are the engine's own: the server writes the
//! plan of each that it carried out into its log, and the log is read. They run as Charter's role, behind
//! row-level security, over tables of twenty thousand rows of forty tenants; once as the server plans
//! them by itself, and once by the plan that serves whatever values come.

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use charter_contract::catalogue::evidence::EvidenceType;
use charter_contract::ids::{
    ApprovalId, KeyId, MemoryId, MissionId, SkillId, TagRequestId, TaskId, TenantId, UserId,
};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::run_status::RunStatus;
use charter_contract::scope::Scope;
use charter_store::StoreError;
use charter_store::agent_skills::AgentSkills;
use charter_store::approval::{ApprovalFilter, ApprovalMove, ApprovalState, Approvals};
use charter_store::evidence::{Evidence, EvidenceFilter};
use charter_store::evidence_log::EvidenceLog;
use charter_store::journal::{After, Append, Claim, EventHash, Journal, RunFilter, Standing, Wait};
use charter_store::key::{KeyHash, Keys};
use charter_store::lease::Leases;
use charter_store::memory::{Memories, Proposals};
use charter_store::mission::{ArtifactFilter, Missions};
use charter_store::outbox::Outbox;
use charter_store::page::PageRequest;
use charter_store::request::{Hold, Requests};
use charter_store::session::{Sessions, Turn};
use charter_store::tag::Tags;
use charter_store::vector::{TextHash, Vectors};
use charter_store_sql::postgres::PostgresStore;
use charter_testkit::postgres_server::{Database, PostgresServer};
use charter_testkit::store_suite::{Outcome, sample};
use serde_json::Value;
use uuid::Uuid;

use crate::database::{options, raw};
use crate::filled::{self, ACME};

/// Rows that one step of a plan may read for a page of [`PAGE`].
const MOST_ROWS: f64 = 300.0;

/// Rows of a table from which on reading all of them is a fault.
const MANY: f32 = 1_000.0;

const PAGE: usize = 50;

/// Every reading of messages begins with it, whoever reads.
const UNNUMBERED: &str = "SELECT EXISTS (SELECT FROM outbox WHERE message_id IS NULL)";

/// Whose rows a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One tenant's: every index is entered by it.
    Tenants,
    /// As before; where the server plans for whatever tenant comes, it reads all that are one's and sorts them.
    TenantsAndSorted,
    /// Those of all, or of whom a key of its own says.
    Everyones,
    /// As before, and all that are in some state are read on purpose.
    EveryonesInAState,
}

use Whose::{Everyones, EveryonesInAState, Tenants, TenantsAndSorted};

/// A server whose log is read, and what was found wrong.
struct Watched {
    server: &'static PostgresServer,
    store: Arc<PostgresStore>,
    /// The rows that things happen to.
    open: u128,
    many: HashSet<String>,
    seen: usize,
    faults: Vec<String>,
}

impl Watched {
    async fn over(database: &Database, server: &'static PostgresServer, open: u128) -> Self {
        let client = raw(database).await;
        let sql = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND reltuples >= $1
                   AND relnamespace = 'public'::regnamespace";
        let many = client.query(sql, &[&MANY]).await.unwrap();
        let store = PostgresStore::connect(&options(database)).await.unwrap();
        Self {
            server,
            store: Arc::new(store),
            open,
            many: many.iter().map(|row| row.get(0)).collect(),
            seen: server.log().len(),
            faults: Vec::new(),
        }
    }

    /// Makes a call and looks at the plans of its statements.
    async fn look<T, E: std::fmt::Debug>(
        &mut self,
        name: &str,
        whose: Whose,
        call: impl Future<Output = Result<T, E>>,
    ) {
        call.await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let log = self.server.log();
        let plans = plans(&log[self.seen..]);
        self.seen = log.len();
        let mut scans = 0;
        for plan in &plans {
            let text = plan["Query Text"].as_str().unwrap();
            let whose = match text == UNNUMBERED {
                true => Everyones,
                false => whose,
            };
            let mut faults = Vec::new();
            scans += self.judge(&plan["Plan"], whose, &mut faults);
            let said = faults
                .iter()
                .map(|fault| format!("{name}: {fault}\n  {text}"));
            self.faults.extend(said);
        }
        assert!(scans > 0, "{name}: no plan of a look-up was logged");
    }

    /// Judges a plan's steps; returns how many read a table or an index.
    fn judge(&self, step: &Value, whose: Whose, faults: &mut Vec<String>) -> usize {
        let kind = step["Node Type"].as_str().unwrap();
        let number = |name: &str| step[name].as_f64().unwrap_or(0.0);
        let read = number("Actual Rows")
            + number("Rows Removed by Filter")
            + number("Rows Removed by Index Recheck");
        let read = read * number("Actual Loops");
        let table = step["Relation Name"].as_str().unwrap_or("");
        let many = self.many.contains(table);
        if many && kind == "Seq Scan" && read > 1.0 {
            faults.push(format!("all of {table} is read, {read} rows"));
        } else if many && read > MOST_ROWS && matches!(whose, Tenants | Everyones) {
            faults.push(format!("{kind} reads {read} rows of {table}"));
        }
        let condition = step["Index Cond"].as_str().unwrap_or("");
        let by_index = kind.contains("Index");
        let of_tenant = matches!(whose, Tenants | TenantsAndSorted);
        let named = condition.contains("tenant_id") || condition.contains("scope");
        if by_index && of_tenant && !named && (many || table.is_empty()) {
            faults.push(format!(
                "{} is entered by `{condition}`",
                step["Index Name"]
            ));
        }
        let steps = step["Plans"].as_array().into_iter().flatten();
        let below: usize = steps.map(|step| self.judge(step, whose, faults)).sum();
        below + usize::from(by_index || !table.is_empty())
    }
}

/// The plans in a piece of the log: JSON, each line of it after a tab.
fn plans(log: &str) -> Vec<Value> {
    let pieces = log.split(" plan:\n").skip(1);
    let plans = pieces.map(|piece| {
        let lines = piece.lines().take_while(|line| line.starts_with('\t'));
        let plan: String = lines.map(|line| format!("{}\n", &line[1..])).collect();
        serde_json::from_str(&plan).unwrap_or_else(|error| panic!("{error}: {plan}"))
    });
    plans.collect()
}

fn page() -> PageRequest {
    PageRequest::new(None, PAGE)
}

/// The `n`th row of every table is one of `acme`.
const N: u128 = 4_000;
/// Others, one for each way of planning, in a state in which things happen to them.
const OPEN: [u128; 2] = [3_200, 2_400];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_look_up_enters_an_index_by_its_tenant() -> Outcome {
    let server = PostgresServer::mortal();
    let database = server.database();
    filled::fill(&database).await?;
    let superuser = raw(&database).await;
    let mut faults = Vec::new();
    for (mode, open) in ["auto", "force_generic_plan"].into_iter().zip(OPEN) {
        let name = database.name();
        let settings = format!(
            "ALTER DATABASE {name} SET session_preload_libraries = 'auto_explain';
             ALTER DATABASE {name} SET auto_explain.log_min_duration = 0;
             ALTER DATABASE {name} SET auto_explain.log_format = json;
             ALTER DATABASE {name} SET auto_explain.log_analyze = on;
             ALTER DATABASE {name} SET auto_explain.log_nested_statements = on;
             ALTER DATABASE {name} SET auto_explain.log_parameter_max_length = 0;
             ALTER DATABASE {name} SET plan_cache_mode = {mode}"
        );
        superuser.batch_execute(&settings).await?;
        let mut watched = Watched::over(&database, server, open).await;
        assert!(watched.many.len() > 20, "{:?}", watched.many);
        look_at_requests(&mut watched).await?;
        look_at_runs(&mut watched).await?;
        look_at_approvals_and_keys(&mut watched).await?;
        look_at_evidence(&mut watched).await?;
        look_at_memories_and_skills(&mut watched).await?;
        look_at_missions(&mut watched).await?;
        look_at_what_is_everyones(&mut watched).await?;
        faults.extend(
            watched
                .faults
                .into_iter()
                .map(|fault| format!("[{mode}] {fault}")),
        );
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    Ok(())
}

fn acme() -> TenantId {
    TenantId::parse(ACME).unwrap()
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

async fn look_at_requests(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, one) = (acme(), sample::request(N));
    let (session, tagged) = (
        sample::session(N),
        TagRequestId::parse(&format!("req_{N}"))?,
    );
    let hold = Hold {
        holder: "another".to_owned(),
        until: sample::at(90_000)?,
    };
    let open = sample::request(watched.open);
    watched
        .look("request", Tenants, store.request(&acme, &one))
        .await;
    let asker = user("u3");
    watched
        .look(
            "requests_of",
            Tenants,
            store.requests_of(&acme, &asker, &page()),
        )
        .await;
    let now = sample::at(80_000)?;
    watched
        .look(
            "hold_request",
            Tenants,
            store.hold_request(&acme, &open, now, &hold),
        )
        .await;
    let verdict = store.record_verdict(&acme, &open, "{}", now);
    watched.look("record_verdict", Tenants, verdict).await;
    let closed = store.close_request(&acme, &open, "{}", now);
    watched.look("close_request", Tenants, closed).await;
    watched
        .look(
            "session",
            Tenants,
            store.session(&acme, &session, sample::at(0)?),
        )
        .await;
    watched
        .look("turns", Tenants, store.turns(&acme, &session, 20))
        .await;
    let turn = Turn {
        request_id: open,
        input: "?".to_owned(),
        output: None,
        at: sample::at(1)?,
    };
    let appended = store.append_turn(&acme, &session, &turn, sample::at(9)?, 20);
    watched.look("append_turn", Tenants, appended).await;
    watched
        .look("tags", Tenants, store.tags(&acme, &tagged, sample::at(0)?))
        .await;
    Ok(())
}

async fn look_at_lists_of_runs(watched: &mut Watched) -> Outcome {
    let (store, acme) = (Arc::clone(&watched.store), acme());
    let all = RunFilter::default();
    let first = store.runs(&acme, &all, &page()).await?;
    let (working, completed) = (RunStatus::Working, RunStatus::Completed);
    for (name, whose, standing) in [
        ("runs", Tenants, None),
        ("runs that have not ended", Tenants, Some(Standing::Open)),
        // Of those that have not ended, which are few.
        (
            "runs that stand somewhere",
            TenantsAndSorted,
            Some(Standing::At(working)),
        ),
        ("runs that have ended", Tenants, Some(Standing::Ended)),
        ("runs that ended so", Tenants, Some(Standing::At(completed))),
    ] {
        let filter = RunFilter {
            standing,
            ..all.clone()
        };
        watched
            .look(name, whose, store.runs(&acme, &filter, &page()))
            .await;
    }
    let of_a_time = RunFilter {
        created_from: Some(sample::at(0)?),
        created_until: Some(sample::at(1)?),
        title: Some("ingress".to_owned()),
        ..all.clone()
    };
    watched
        .look(
            "runs of a time with a text in their title",
            Tenants,
            store.runs(&acme, &of_a_time, &page()),
        )
        .await;
    let second = PageRequest::new(first.next, PAGE);
    watched
        .look(
            "runs, second page",
            Tenants,
            store.runs(&acme, &all, &second),
        )
        .await;
    Ok(())
}

async fn look_at_runs(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, run) = (acme(), sample::run(N));
    watched.look("run", Tenants, store.run(&acme, &run)).await;
    look_at_lists_of_runs(watched).await?;
    watched
        .look(
            "count_unfinished_runs",
            Tenants,
            store.count_unfinished_runs(&acme, 50),
        )
        .await;
    watched
        .look("events", Everyones, store.events(&run, 0, PAGE))
        .await;
    let open = sample::run(watched.open);
    let last = store.events(&open, 0, PAGE).await?;
    let last = last.last().ok_or("no event")?;
    let append = appended(watched.open, last.sequence, last.hash)?;
    watched
        .look("append", Everyones, store.append(append))
        .await;
    let (now, until) = (sample::at(80_000)?, sample::at(90_000)?);
    let key = open.to_string();
    watched
        .look("acquire", Everyones, store.acquire(&key, "me", now, until))
        .await;
    let held = [key];
    watched
        .look("renew", Everyones, store.renew("me", &held, until))
        .await;
    Ok(())
}

/// An append to the open run, with its approval.
fn appended(run: u128, version: u64, head: EventHash) -> sample::Made<Append> {
    Ok(Append {
        run_id: sample::run(run),
        expected: version,
        events: sample::events(head, version, &["{}"])?,
        then: After::Waits(Wait {
            until: None,
            approvals: vec![approval(run)],
        }),
        messages: vec![sample::message("appended", 3)?],
        ..sample::second_append(run, After::Runs, &["{}"])?
    })
}

fn approval(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(Uuid::from_u128(n))
}

async fn look_at_approvals_and_keys(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    watched
        .look("approval", Tenants, store.approval(&acme, &approval(N)))
        .await;
    let run = sample::run(N);
    for (name, filter) in [
        ("approvals", ApprovalFilter::default()),
        (
            "approvals that are pending",
            ApprovalFilter {
                state: Some(ApprovalState::Pending),
                run_id: None,
            },
        ),
        (
            "approvals of a run",
            ApprovalFilter {
                state: None,
                run_id: Some(&run),
            },
        ),
        (
            "approvals of a run in a state",
            ApprovalFilter {
                state: Some(ApprovalState::Consumed),
                run_id: Some(&run),
            },
        ),
    ] {
        watched
            .look(name, Tenants, store.approvals(&acme, filter, &page()))
            .await;
    }
    let decision = ApprovalMove {
        approval_id: approval(watched.open),
        from: ApprovalState::Pending,
        to: ApprovalState::Approved,
        body: "{}".to_owned(),
    };
    // The second time it is refused, which is looked up in the same way.
    let decided =
        async { Ok::<_, StoreError>(store.decide_approval(&acme, decision, vec![]).await.ok()) };
    watched.look("decide_approval", Tenants, decided).await;
    let key = KeyId::from_uuid(Uuid::from_u128(N));
    watched.look("key", Tenants, store.key(&acme, &key)).await;
    watched
        .look("keys", Tenants, store.keys(&acme, &page()))
        .await;
    let (at, before) = (sample::at(5)?, sample::at(4)?);
    watched
        .look(
            "note_key_use",
            Tenants,
            store.note_key_use(&acme, &key, at, before),
        )
        .await;
    let mut hash = [0; 32];
    hash[16..].copy_from_slice(&N.to_be_bytes());
    watched
        .look("key_of_hash", Everyones, store.key_of_hash(&KeyHash(hash)))
        .await;
    watched
        .look("keys_kept", Everyones, store.keys_kept(sample::at(90_000)?))
        .await;
    Ok(())
}

async fn look_at_evidence(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    let record = sample::evidence(ACME, u32::try_from(N)?, sample::at(0)?)?;
    watched
        .look("evidence", Tenants, store.evidence(&acme, &record.id))
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
    watched
        .look("log_size", Tenants, store.log_size(&acme))
        .await;
    watched
        .look(
            "log_leaves_of",
            Tenants,
            store.log_leaves_of(&acme, &record.id),
        )
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

async fn look_at_memories_and_skills(watched: &mut Watched) -> Outcome {
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
    // The second time it is gone already.
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
    Ok(())
}

async fn look_at_missions(watched: &mut Watched) -> Outcome {
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
        watched
            .look("missions", Tenants, store.missions(&acme, state, &page()))
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
    Ok(())
}

async fn look_at_what_is_everyones(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    store.publish(vec![sample::message("m", 1)?]).await?;
    watched
        .look("messages", Everyones, store.messages(19_000, PAGE))
        .await;
    watched
        .look(
            "messages_of",
            TenantsAndSorted,
            store.messages_of(&acme, 9_000, PAGE),
        )
        .await;
    watched
        .look("last_message", Everyones, async {
            store.publish(vec![sample::message("m", 1)?]).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(store.last_message().await?)
        })
        .await;
    let claim = Claim {
        holder: "worker".to_owned(),
        now: sample::at(0)?,
        until: sample::at(1)?,
        limit: 5,
        except: Vec::new(),
    };
    // One run in twenty may be claimed; of every tenant no more are read than could be taken.
    watched
        .look("claim_runs", Everyones, store.claim_runs(&claim))
        .await;
    watched
        .look(
            "unfinished_runs",
            EveryonesInAState,
            store.unfinished_runs(None, PAGE),
        )
        .await;
    let hold = Hold {
        holder: "me".to_owned(),
        until: sample::at(1)?,
    };
    watched
        .look(
            "take_requests",
            Everyones,
            store.take_requests(sample::at(0)?, &hold, 10),
        )
        .await;
    watched
        .look("renew_requests", Everyones, store.renew_requests(&hold))
        .await;
    let hash = [TextHash([0; 32])];
    watched
        .look("vectors", Everyones, store.vectors("test/f32", &hash))
        .await;
    let without = store.memories_without_vector("test/f32", 0);
    watched
        .look("memories_without_vector", EveryonesInAState, without)
        .await;
    look_at_sweeps(watched).await
}

async fn look_at_sweeps(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let early = sample::at(-90_000)?;
    watched
        .look("sweep_runs", Everyones, store.sweep_runs(early, 100))
        .await;
    watched
        .look("sweep_messages", Everyones, store.sweep_messages(early))
        .await;
    watched
        .look("sweep_requests", Everyones, store.sweep_requests(early))
        .await;
    watched
        .look("sweep_sessions", Everyones, store.sweep_sessions(early))
        .await;
    watched
        .look("sweep_tags", Everyones, store.sweep_tags(early))
        .await;
    watched
        .look("sweep_memories", Everyones, store.sweep_memories(early))
        .await;
    watched
        .look(
            "remove_payloads",
            Everyones,
            store.remove_payloads(early, early, 100),
        )
        .await;
    let late = sample::at(15)?;
    watched
        .look(
            "sweep_runs, something",
            Everyones,
            store.sweep_runs(late, 5),
        )
        .await;
    Ok(())
}
