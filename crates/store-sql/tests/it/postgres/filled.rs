//! Tables with twenty thousand rows of forty tenants: the store writes one row of each, and the server copies it with
//! other ids, times and states.

use charter_contract::agentic::memory::{MemoryState, Visibility};
use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::LensId;
use charter_contract::scope::Scope;
use charter_store::Store;
use charter_store::agent_skills::{SkillChange, SkillsWrite};
use charter_store::approval::{ApprovalChange, CallRegistration};
use charter_store::catalogue::NewDocument;
use charter_store::evidence_log::PublishedCheckpoint;
use charter_store::journal::NextPhase;
use charter_store::lens::{LensChunk, NewLensIndex};
use charter_store::route_example::ExampleRoom;
use charter_store::vector::{StoredVector, TextHash};
use charter_testkit::postgres_server::Database;
use charter_testkit::store_suite::connected_account::account;
use charter_testkit::store_suite::console_session::session;
use charter_testkit::store_suite::mission::writer::Writer;
use charter_testkit::store_suite::notification::notification;
use charter_testkit::store_suite::schedule::{enabled, occurrence};
use charter_testkit::store_suite::tool_content::content;
use charter_testkit::store_suite::{Outcome, assignment, sample};
use tokio_postgres::Client;

use crate::postgres::database::{raw, store};
use crate::postgres::records;

/// The tenant of the queries: every fourth row belongs to it.
pub(crate) const ACME: &str = "acme";

/// Copies of each row; for artifacts, a fifth of that.
const ROWS: u32 = 20_000;

const TENANT: &str = "CASE WHEN n % 4 = 0 THEN 'acme' ELSE 'tenant-' || n % 40 END";
/// The ids that end in a UUID.
const RUN: &str = "left(run_id, -12) || lpad(to_hex(n), 12, '0')";

/// Fifty users, each with rows of every tenant.
const USER: &str = "'u' || (n / 20) % 50";

/// A column, with its value in the `n`th copy.
type Other = (&'static str, &'static str);

/// Each table with the number of its copies and their changed columns.
const TABLES: &[(&str, u32, &[Other])] = &[
    (
        "run_tenant",
        ROWS,
        &[("tenant_id", TENANT), ("run_id", RUN)],
    ),
    (
        "run",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("run_id", RUN),
            ("user_id", USER),
            ("created_at", "created_at + n * 1000"),
            ("updated_at", "updated_at + n * 1000"),
            ("version", "1"),
            (
                "last_hash",
                "(SELECT hash FROM journal_event WHERE sequence = 1 LIMIT 1)",
            ),
            (
                "phase",
                "CASE (n / 40) % 20 WHEN 0 THEN 'runnable' WHEN 1 THEN 'waiting' ELSE 'finished' END",
            ),
            (
                "wake_at",
                "CASE (n / 40) % 20 WHEN 1 THEN created_at + n * 1000000 END",
            ),
        ],
    ),
    (
        "journal_event",
        ROWS,
        &[("tenant_id", TENANT), ("run_id", RUN)],
    ),
    (
        "lease",
        ROWS,
        &[
            (
                "resource",
                "left(resource, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("fence", "0"),
        ],
    ),
    (
        "approval",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("run_id", RUN),
            (
                "approval_id",
                "left(approval_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("user_id", USER),
            ("requested_at", "requested_at + n * 1000"),
            (
                "state",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'pending' ELSE 'consumed' END",
            ),
        ],
    ),
    (
        "request",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "request_id",
                "left(request_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("user_id", USER),
            ("created_at", "created_at + n * 1000"),
            ("updated_at", "updated_at + n * 1000"),
            ("answer", "CASE WHEN (n / 40) % 20 <> 0 THEN '{}' END"),
            ("verdict", "CASE WHEN (n / 40) % 20 <> 0 THEN '{}' END"),
            (
                "holder",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'worker ' || n % 100 END",
            ),
        ],
    ),
    (
        "session",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "session_id",
                "left(session_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("expires_at", "expires_at + n * 1000"),
        ],
    ),
    (
        "turn",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "session_id",
                "left(session_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
        ],
    ),
    (
        "tag",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("request_id", "'req_' || n"),
            ("expires_at", "expires_at + n * 1000"),
        ],
    ),
    (
        "tool_content",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("digest", "'sha256:' || lpad(to_hex(n), 64, '0')"),
            ("kept_at", "kept_at + n * 1000"),
        ],
    ),
    (
        "notification",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "notification_id",
                "left(notification_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("created_at", "created_at + n * 1000"),
            ("due_at", "due_at + n * 1000"),
            (
                "state",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'pending' ELSE 'delivered' END",
            ),
            (
                "settled_at",
                "CASE WHEN (n / 40) % 20 <> 0 THEN created_at + n * 1000 END",
            ),
            (
                "message_id",
                "CASE WHEN (n / 40) % 20 <> 0 THEN 'msg ' || n END",
            ),
        ],
    ),
    (
        "used_signature",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("signature", "'v0=' || n"),
            ("expires_at", "expires_at + n * 1000"),
        ],
    ),
    (
        "schedule",
        ROWS / 5,
        &[
            ("tenant_id", TENANT),
            ("schedule_id", "'s' || n"),
            ("user_id", USER),
            ("enabled_at", "enabled_at + n * 1000"),
            ("next_at", "next_at + n * 1000"),
        ],
    ),
    (
        "schedule_occurrence",
        ROWS / 5,
        &[
            ("tenant_id", TENANT),
            ("schedule_id", "'s' || (n / 20) % 50"),
            ("occurrence", "'o' || n"),
            ("due_at", "due_at + n * 1000"),
            ("start_at", "start_at + n * 1000"),
            ("updated_at", "updated_at + n * 1000"),
            (
                "state",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'waiting' ELSE 'ended' END",
            ),
            ("report", "CASE WHEN (n / 40) % 20 <> 0 THEN '{}' END"),
        ],
    ),
    (
        "console_session",
        ROWS / 5,
        &[
            ("tenant_id", TENANT),
            ("hash", "decode(lpad(to_hex(n), 64, '0'), 'hex')"),
            ("user_id", USER),
            ("created_at", "created_at + n * 1000"),
            ("ends_at", "ends_at + n * 1000"),
            ("expires_at", "expires_at + n * 1000"),
        ],
    ),
    (
        "outbox",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("message_id", "100 + n"),
            ("at", "at + n * 1000"),
        ],
    ),
    ("evidence_log", 40, &[("tenant_id", "'tenant-' || n")]),
    (
        "evidence",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("evidence_id", "'ev_01HX' || lpad(n::text, 22, '0')"),
            ("user_id", USER),
            ("captured_at", "captured_at + n * 1000"),
            ("system", "'s' || (n / 20) % 10"),
            (
                "evidence_type",
                "CASE (n / 20) % 4 WHEN 0 THEN 'cloudtrail_event' ELSE 'log_line' END",
            ),
        ],
    ),
    (
        "evidence_attachment",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("evidence_id", "'ev_01HX' || lpad(n::text, 22, '0')"),
            ("target_id", "'f' || (n / 20) % 50"),
        ],
    ),
    (
        "evidence_leaf",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("leaf_index", "1000 + n"),
            ("evidence_id", "'ev_01HX' || lpad(n::text, 22, '0')"),
        ],
    ),
    (
        "evidence_node",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("level", "0"),
            ("node_index", "1000 + n"),
        ],
    ),
    ("memory_tenant", 40, &[("tenant_id", "'tenant-' || n")]),
    (
        "memory",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "memory_id",
                "left(memory_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("revision", "100 + n"),
            ("created_at", "created_at + n * 1000"),
            ("expires_at", "expires_at + n * 1000"),
            ("proposed", "CASE WHEN (n / 40) % 20 = 0 THEN 1 END"),
            ("current", "CASE WHEN (n / 40) % 20 <> 0 THEN 1 END"),
        ],
    ),
    (
        "memory_version",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "memory_id",
                "left(memory_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            (
                "state",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'proposed' ELSE 'accepted' END",
            ),
        ],
    ),
    (
        "memory_vector",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "memory_id",
                "left(memory_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
        ],
    ),
    (
        "api_key",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("key_id", "left(key_id, -12) || lpad(to_hex(n), 12, '0')"),
            ("hash", "decode(lpad(to_hex(n), 64, '0'), 'hex')"),
            ("created_at", "created_at + n * 1000"),
            ("revoked_at", "created_at"),
            ("revoked_by", "created_by"),
        ],
    ),
    (
        "route_example",
        ROWS,
        &[
            ("tenant_id", TENANT),
            (
                "example_id",
                "left(example_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("document", "'d' || (n / 20) % 50"),
            ("words", "'w' || n"),
            ("suggested_at", "suggested_at + n * 1000"),
            (
                "status",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'suggested' WHEN n % 400 = 80 THEN 'accepted' ELSE 'rejected' END",
            ),
            (
                "decided_at",
                "CASE WHEN (n / 40) % 20 <> 0 THEN suggested_at END",
            ),
            ("decided_by", "CASE WHEN (n / 40) % 20 <> 0 THEN 'boss' END"),
        ],
    ),
    (
        "agent_skill",
        ROWS,
        &[("scope", TENANT), ("skill_id", "'s' || n")],
    ),
    (
        "agent_skill_instruction",
        ROWS,
        &[("scope", TENANT), ("skill_id", "'s' || n")],
    ),
    (
        "agent_skill_vector",
        ROWS,
        &[("scope", TENANT), ("skill_id", "'s' || n")],
    ),
    ("agent_skill_content", 39, &[("scope", "'tenant-' || n")]),
    (
        "agent_skill_file",
        ROWS,
        &[("scope", TENANT), ("skill_id", "'s' || n")],
    ),
    (
        "embedding",
        ROWS,
        &[("text_hash", "decode(lpad(to_hex(n), 64, '0'), 'hex')")],
    ),
    (
        "colony_missions",
        ROWS,
        &[
            ("tenant_id", TENANT),
            ("mission_id", "'m' || n"),
            ("run_id", RUN),
            ("created_at", "created_at + n * 1000"),
            (
                "state",
                "CASE WHEN (n / 40) % 20 = 0 THEN 'failed' ELSE 'completed' END",
            ),
            ("payload", PAYLOAD),
        ],
    ),
    ("colony_task_graphs", ROWS / 5, OF_MISSION),
    (
        "colony_tasks",
        ROWS / 5,
        &[("tenant_id", TENANT), ("mission_id", "'m' || n")],
    ),
    ("colony_prompt_packages", ROWS / 5, OF_MISSION),
    ("colony_research_artifacts", ROWS / 5, OF_MISSION),
    ("colony_worker_results", ROWS / 5, OF_MISSION),
    ("colony_policy_decisions", ROWS / 5, OF_MISSION),
    (
        "mission_assignment",
        ROWS / 5,
        &[
            ("tenant_id", TENANT),
            (
                "assignment_id",
                "left(assignment_id, -12) || lpad(to_hex(n), 12, '0')",
            ),
            ("mission_id", "'m' || n"),
            ("offered_at", "offered_at + n * 1000"),
        ],
    ),
];

const PAYLOAD: &str = "(payload::jsonb || jsonb_build_object('mission_id', 'm' || n, 'tenant_id',
    CASE WHEN n % 4 = 0 THEN 'acme' ELSE 'tenant-' || n % 40 END))::text";

const OF_MISSION: &[Other] = &[
    ("tenant_id", TENANT),
    ("mission_id", "'m' || n"),
    ("payload", PAYLOAD),
];

/// Fills an empty database.
pub(crate) async fn fill(database: &Database) -> Outcome {
    let store = store(database).await;
    first_rows(&store, ACME, 1).await?;
    store.close();
    let client = raw(database).await;
    // The copies bypass triggers, and refer to each other as their originals do.
    client
        .batch_execute("SET session_replication_role = replica")
        .await?;
    for (table, rows, others) in TABLES {
        copy(&client, table, *rows, others).await?;
    }
    for sql in [
        "UPDATE outbox_numbers SET last = 90000",
        "UPDATE api_key SET revoked_at = created_at, revoked_by = created_by",
        "VACUUM ANALYZE",
    ] {
        client.batch_execute(sql).await?;
    }
    Ok(())
}

/// Writes a row of each table through the store, in records with the number `n` and runs from it on.
pub(crate) async fn first_rows(store: &dyn Store, tenant_id: &str, n: u8) -> Outcome {
    let tenant = sample::tenant(tenant_id)?;
    let mut writer = Writer::new(tenant_id, n.into())?;
    writer.whole(store).await?;
    store
        .offer_assignment(&assignment::offer(&writer, n.into())?)
        .await?;
    first_approval(store, tenant_id, n).await?;
    let record = sample::evidence(tenant_id, n.into(), sample::at(0)?)?;
    store
        .put_evidence(&tenant, std::slice::from_ref(&record))
        .await?;
    let finding = sample::finding("f")?;
    store
        .attach_evidence(&tenant, &record.id, &finding, sample::at(1)?)
        .await?;
    let checkpoint = PublishedCheckpoint {
        size: 2,
        key_id: "a".to_owned(),
        at: sample::at(1)?,
        note: "signed".to_owned(),
    };
    store.publish_checkpoint(&tenant, &checkpoint).await?;
    first_conversation(store, tenant_id, n).await?;
    first_schedule(store, tenant_id, n).await?;
    let content = [content('a', "x")?];
    store
        .put_tool_contents(&tenant, &content, sample::at(10)?)
        .await?;
    let position = store.notification_position().await?;
    let told = vec![notification(tenant_id, n)?];
    store
        .put_notifications(position, position.unwrap_or(0) + 1, told)
        .await?;
    store
        .use_signature(&tenant, &format!("v0={tenant_id}"), sample::at(10)?)
        .await?;
    store
        .create_key(&records::key(tenant_id, n, None)?, vec![])
        .await?;
    store
        .connect_account(&account(tenant_id, "u1", n)?, vec![])
        .await?;
    let room = ExampleRoom {
        document: 1,
        tenant: 1,
    };
    store
        .suggest_example(&records::route_example(tenant_id, n, n)?, room)
        .await?;
    let mut memory = records::memory(tenant_id, n, MemoryState::Accepted)?;
    memory.visibility = Visibility::Private;
    store.add_memory(&memory, 9).await?;
    let vector = StoredVector {
        text: TextHash([n; 32]),
        bytes: vec![0; 4],
    };
    store.put_vectors("test/f32", vec![vector]).await?;
    first_catalogue(store, tenant_id, n).await
}

/// Writes a run that waits for an approval, with its registered call.
async fn first_approval(store: &dyn Store, tenant_id: &str, n: u8) -> Outcome {
    let tenant = sample::tenant(tenant_id)?;
    let (run, events) = sample::new_run(tenant_id, u128::from(n) + 1, 0)?;
    store.create_run(&run, events, vec![], vec![]).await?;
    let pending = records::pending(tenant_id, n, n + 1)?;
    let registration = CallRegistration {
        run_id: run.run_id,
        approval_id: pending.approval_id.clone(),
        calls: vec!["sha256:a".to_owned()],
        may_wait: true,
    };
    store.register_calls(&tenant, registration).await?;
    let mut asking = sample::second_append(u128::from(n) + 1, NextPhase::Ends, &["{}"])?;
    asking.tenant_id = run.tenant_id;
    asking.approvals = vec![ApprovalChange::Ask(pending)];
    for message in &mut asking.messages {
        message.tenant = Some(tenant_id.to_owned());
    }
    store.append(asking).await?;
    Ok(())
}

/// Writes a schedule with an occurrence, and a console session.
async fn first_schedule(store: &dyn Store, tenant_id: &str, n: u8) -> Outcome {
    let schedule = enabled(tenant_id, "nightly")?;
    store.put_schedule(&schedule, None, 9, vec![]).await?;
    let first = occurrence(tenant_id, "nightly", 10)?;
    store.add_occurrence(&first, 9, vec![]).await?;
    let opened = session(tenant_id, "u1", n)?;
    store.open_console_session(&opened, 9).await?;
    Ok(())
}

/// Writes a request, a session with a turn, and tags.
async fn first_conversation(store: &dyn Store, tenant_id: &str, n: u8) -> Outcome {
    let tenant = sample::tenant(tenant_id)?;
    let (request, hold) = records::request(tenant_id, n)?;
    store.open_request(&request, &hold).await?;
    store
        .open_session(&records::session(tenant_id, n, 10)?)
        .await?;
    let turn = records::turn(n, n)?;
    store
        .append_turn(
            &tenant,
            &sample::session(n.into()),
            &turn,
            sample::at(10)?,
            9,
        )
        .await?;
    store
        .put_tags(&sample::tags(tenant_id, n.into(), sample::at(10)?)?)
        .await?;
    Ok(())
}

/// Writes a skill of the link graph, and a package with a lens.
async fn first_catalogue(store: &dyn Store, tenant_id: &str, n: u8) -> Outcome {
    let scope = Scope::Tenant(sample::tenant(tenant_id)?);
    let write = SkillsWrite {
        scope: scope.clone(),
        expected: store.skills_revision().await?,
        changes: vec![SkillChange::Put(Box::new(records::skill("net.a", n)?))],
        at: sample::at(0)?,
    };
    store.change_skills(write).await?;
    let expected = store.revision().await?.0;
    let lens = LensId::parse("l")?;
    let document = NewDocument {
        kind: DocumentKind::DomainLens,
        ..sample::skill(lens.as_str(), "a lens")
    };
    let mut registration = sample::registration(&scope, "p", "1.0.0", expected, vec![document])?;
    registration.lenses = vec![NewLensIndex {
        lens_id: lens,
        body: "{}".to_owned(),
        chunks: vec![LensChunk {
            text: "a text".to_owned(),
            place: "{}".to_owned(),
            vectors: vec![vec![0, 0, 128, 63]],
        }],
    }];
    store.register(registration).await?;
    Ok(())
}

/// Copies a table's rows of one tenant; of a table with many rows per kind, the first.
async fn copy(client: &Client, table: &str, rows: u32, others: &[Other]) -> Outcome {
    let sql = "SELECT column_name::text FROM information_schema.columns
               WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'
                 AND is_identity = 'NO'";
    let columns = client.query(sql, &[&table]).await?;
    let columns: Vec<String> = columns.iter().map(|row| row.get(0)).collect();
    let values = columns.iter().map(|column| {
        let other = others.iter().find(|(name, _)| name == column);
        other.map_or(column.as_str(), |(_, value)| *value)
    });
    let values: Vec<&str> = values.collect();
    // For a mission all artifacts, otherwise one row.
    let first = match table.starts_with("colony") {
        true => "",
        false => "LIMIT 1",
    };
    let sql = format!(
        "INSERT INTO {table} ({}) SELECT {} FROM (SELECT * FROM {table} {first}) AS first,
         generate_series(3::bigint, {rows}) AS n",
        columns.join(", "),
        values.join(", ")
    );
    let copied = client.execute(&sql, &[]).await;
    copied.map_err(|error| format!("{table}: {error:?}"))?;
    Ok(())
}
