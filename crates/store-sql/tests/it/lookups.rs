//! The indexes that look-ups in SQLite use.

use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::Outcome;
use rusqlite::Connection;

/// Each look-up, with the index that it must use.
const LOOKUPS: &[(&str, &str)] = &[
    (
        "SELECT * FROM session WHERE tenant_id = 'a' AND session_id = 's' AND expires_at > 1",
        "PRIMARY KEY",
    ),
    (
        "SELECT tenant_id, session_id FROM session WHERE expires_at <= 1 LIMIT 5",
        "session_by_expiry",
    ),
    (
        "SELECT * FROM turn WHERE tenant_id = 'a' AND session_id = 's' ORDER BY position DESC LIMIT 5",
        "turn_by_session",
    ),
    (
        "SELECT * FROM api_key WHERE hash = x'00'",
        "api_key_by_hash",
    ),
    (
        "SELECT * FROM api_key WHERE tenant_id = 'a' AND (created_at, key_id) < (1, 'k')
         ORDER BY created_at DESC, key_id DESC",
        "api_key_by_time",
    ),
    (
        "SELECT * FROM mission_assignment WHERE tenant_id = 'a' AND (offered_at, assignment_id) < (5, 'e') ORDER BY offered_at DESC, assignment_id DESC",
        "mission_assignment_by_time",
    ),
    (
        "SELECT * FROM mission_assignment WHERE tenant_id = 'a' AND (offered_at, assignment_id) < (5, 'e') AND mission_id = 'm' ORDER BY offered_at DESC, assignment_id DESC",
        "mission_assignment_by_mission",
    ),
    (
        "SELECT * FROM notification WHERE state = 'pending' AND due_at <= 1
         ORDER BY due_at, tenant_id, notification_id LIMIT 1",
        "notification_due",
    ),
    (
        "SELECT * FROM notification WHERE tenant_id = 'a' AND message_id = 'm'",
        "notification_by_message",
    ),
    (
        "SELECT * FROM notification WHERE tenant_id = 'a' AND channel = 'c' AND digest = 'd' AND state = 'pending'
         ORDER BY created_at, notification_id",
        "notification_by_digest",
    ),
    (
        "SELECT * FROM notification WHERE tenant_id = 'a' AND (created_at, notification_id) < (1, 'n')
         ORDER BY created_at DESC, notification_id DESC",
        "notification_by_time",
    ),
    (
        "SELECT * FROM notification WHERE settled_at < 1 ORDER BY settled_at",
        "notification_settled",
    ),
    (
        "SELECT * FROM used_signature WHERE expires_at <= 1 ORDER BY expires_at",
        "used_signature_by_expiry",
    ),
    (
        "SELECT * FROM schedule WHERE hook_id = 'h'",
        "schedule_by_hook",
    ),
    (
        "SELECT * FROM schedule WHERE tenant_id = 'a' AND (enabled_at, schedule_id) < (1, 's')
         ORDER BY enabled_at DESC, schedule_id DESC",
        "schedule_by_time",
    ),
    (
        "SELECT * FROM schedule WHERE tenant_id = 'a' AND (enabled_at, schedule_id) < (1, 's') AND user_id = 'u'
         ORDER BY enabled_at DESC, schedule_id DESC",
        "schedule_by_user",
    ),
    (
        "SELECT tenant_id, schedule_id FROM schedule WHERE state = 'active' AND next_at <= 1",
        "schedule_by_next",
    ),
    (
        "SELECT tenant_id, schedule_id FROM schedule_occurrence
         WHERE state IN ('waiting', 'started') AND start_at <= 1",
        "schedule_occurrence_open ",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE tenant_id = 'a' AND schedule_id = 's' AND occurrence = 'o'",
        "PRIMARY KEY (tenant_id=? AND schedule_id=? AND occurrence=?)",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE tenant_id = 'a' AND schedule_id = 's'
           AND (due_at, occurrence) < (1, 'o') ORDER BY due_at DESC, occurrence DESC",
        "schedule_occurrence_by_time",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE tenant_id = 'a' AND schedule_id = 's'
           AND state = 'waiting' ORDER BY due_at, occurrence",
        "schedule_occurrence_waiting",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE tenant_id = 'a' AND schedule_id = 's'
           AND state = 'started' ORDER BY due_at, occurrence",
        "schedule_occurrence_started",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE tenant_id = 'a' AND schedule_id = 's' AND report IS NOT NULL
         ORDER BY due_at DESC, occurrence DESC",
        "schedule_occurrence_reported",
    ),
    (
        "SELECT * FROM schedule_occurrence WHERE state NOT IN ('waiting', 'started') AND updated_at < 1
         ORDER BY updated_at",
        "schedule_occurrence_by_change",
    ),
    (
        "SELECT * FROM connected_account WHERE tenant_id = 'a' AND credential = 'c' AND user_id = 'u'",
        "PRIMARY KEY (tenant_id=? AND user_id=? AND credential=?)",
    ),
    (
        "SELECT * FROM connected_account WHERE tenant_id = 'a' AND user_id = 'u' ORDER BY credential",
        "PRIMARY KEY (tenant_id=? AND user_id=?)",
    ),
    (
        "SELECT * FROM connected_account WHERE tenant_id = 'a' AND credential = 'c'
         AND (connected_at, user_id) < (1, 'u') ORDER BY connected_at DESC, user_id DESC",
        "connected_account_by_time",
    ),
    (
        "SELECT * FROM console_session WHERE hash = x'00'",
        "console_session_by_hash",
    ),
    (
        "SELECT * FROM console_session WHERE tenant_id = 'a' AND hash = x'00'",
        "PRIMARY KEY (tenant_id=? AND hash=?)",
    ),
    (
        "SELECT hash FROM console_session WHERE tenant_id = 'a' AND user_id = 'u'
         ORDER BY created_at DESC, hash DESC LIMIT 1000 OFFSET 20",
        "console_session_by_user",
    ),
    (
        "SELECT tenant_id, hash FROM console_session WHERE ends_at <= 1 LIMIT 1000",
        "console_session_by_end",
    ),
    (
        "SELECT * FROM route_example WHERE tenant_id = 'a' AND CAST(NULL AS text) IS NULL AND CAST(NULL AS text) IS NULL AND (suggested_at, example_id) < (5, 'e') ORDER BY suggested_at DESC, example_id DESC",
        "route_example_by_time",
    ),
    (
        "SELECT * FROM route_example WHERE tenant_id = 'a' AND status = 's' AND CAST(NULL AS text) IS NULL AND (suggested_at, example_id) < (5, 'e') ORDER BY suggested_at DESC, example_id DESC",
        "route_example_by_status",
    ),
    (
        "SELECT * FROM route_example WHERE tenant_id = 'a' AND CAST(NULL AS text) IS NULL AND document = 'd' AND (suggested_at, example_id) < (5, 'e') ORDER BY suggested_at DESC, example_id DESC",
        "route_example_by_document",
    ),
    (
        "SELECT * FROM route_example WHERE status = 'accepted' ORDER BY tenant_id, kind, document, suggested_at, example_id",
        "route_example_in_force",
    ),
    (
        "SELECT text FROM lens_chunk WHERE scope = '' AND generation = 1 ORDER BY ordinal",
        "sqlite_autoindex_lens_chunk_1",
    ),
    (
        "SELECT generation FROM lens_index WHERE scope = '' AND lens_id = 'l'",
        "sqlite_autoindex_lens_index_1",
    ),
    (
        "SELECT * FROM evidence WHERE tenant_id = 'a' AND captured_at > 1 ORDER BY captured_at, evidence_id",
        "evidence_by_capture",
    ),
    (
        "SELECT * FROM evidence WHERE tenant_id = 'a' AND system = 's' AND native_id = 'n'",
        "evidence_by_source",
    ),
    (
        "SELECT * FROM evidence WHERE tenant_id = 'a' AND system = 's' ORDER BY captured_at, evidence_id",
        "evidence_by_system",
    ),
    (
        "SELECT * FROM evidence WHERE tenant_id = 'a' AND evidence_type = 't' ORDER BY captured_at, evidence_id",
        "evidence_by_type",
    ),
    (
        "SELECT evidence_id FROM evidence_attachment WHERE tenant_id = 'a' AND target_kind = 'k' AND target_id = 't'",
        "evidence_attachment_by_target",
    ),
    (
        "SELECT instruction FROM agent_skill_instruction WHERE scope = 'a' AND skill_id = 's'",
        "sqlite_autoindex_agent_skill_instruction_1",
    ),
    (
        "SELECT 1 FROM agent_skill_file WHERE scope = 'a' AND sha256 = x'00'",
        "agent_skill_file_by_content",
    ),
    (
        "SELECT max(leaf_index) FROM evidence_leaf WHERE tenant_id = 'a'",
        "sqlite_autoindex_evidence_leaf_1",
    ),
    (
        "SELECT leaf FROM evidence_leaf WHERE tenant_id = 'a' AND leaf_index >= 5 ORDER BY leaf_index",
        "sqlite_autoindex_evidence_leaf_1",
    ),
    (
        "SELECT leaf FROM evidence_leaf WHERE tenant_id = 'a' AND evidence_id = 'e' ORDER BY leaf_index",
        "evidence_leaf_by_record",
    ),
    (
        "SELECT hash FROM evidence_node WHERE tenant_id = 'a' AND level = 2 AND node_index = 3",
        "PRIMARY KEY",
    ),
    (
        "SELECT tenant_id, evidence_id FROM evidence WHERE payload IS NOT NULL AND captured_at < 1 ORDER BY captured_at",
        "evidence_with_payload",
    ),
    (
        "SELECT * FROM run WHERE tenant_id = 'a' ORDER BY created_at DESC, run_id DESC",
        "run_by_tenant",
    ),
    (
        "SELECT * FROM run WHERE true AND tenant_id = 'a' AND phase <> 'finished' AND (created_at, run_id) < (5, 'r') ORDER BY created_at DESC, run_id DESC",
        "run_unfinished_of_tenant",
    ),
    (
        "SELECT * FROM run WHERE true AND tenant_id = 'a' AND phase <> 'finished' AND status = 's' AND (created_at, run_id) < (5, 'r') ORDER BY created_at DESC, run_id DESC",
        "run_unfinished_of_tenant",
    ),
    (
        "SELECT * FROM run WHERE true AND tenant_id = 'a' AND phase = 'finished' AND status = 's' AND created_at >= 1 AND (created_at, run_id) < (5, 'r') ORDER BY created_at DESC, run_id DESC",
        "run_by_end",
    ),
    (
        "SELECT * FROM run WHERE true AND tenant_id = 'a' AND created_at >= 1 AND created_at < 4 AND (created_at, run_id) < (5, 'r') ORDER BY created_at DESC, run_id DESC",
        "run_by_tenant",
    ),
    (
        "SELECT * FROM run WHERE true AND tenant_id = 'a' AND user_id = 'u' AND (created_at, run_id) < (5, 'r') ORDER BY created_at DESC, run_id DESC",
        "run_by_user",
    ),
    (
        "SELECT * FROM approval WHERE tenant_id = 'a' AND (requested_at, approval_id) < (5, 'a') AND user_id = 'u' ORDER BY requested_at DESC, approval_id DESC",
        "approval_by_user",
    ),
    (
        "SELECT * FROM approval WHERE tenant_id = 'a' AND (requested_at, approval_id) < (5, 'a') AND state = 's' ORDER BY requested_at DESC, approval_id DESC",
        "approval_by_state",
    ),
    (
        "SELECT * FROM outbox WHERE tenant_id = 'a' AND message_id > 5 ORDER BY tenant_id, message_id LIMIT 9",
        "outbox_by_tenant",
    ),
    (
        "SELECT * FROM evidence WHERE true AND tenant_id = 'a' AND user_id = 'u' ORDER BY captured_at, evidence_id",
        "evidence_by_user",
    ),
    (
        "SELECT * FROM colony_missions WHERE tenant_id = 'a' AND (created_at, mission_id) < (5, 'm') AND actor_id = 'u' ORDER BY created_at DESC, mission_id DESC",
        "colony_missions_by_user",
    ),
    (
        "SELECT * FROM request WHERE tenant_id = 'a' AND user_id = 'u' ORDER BY created_at DESC, request_id DESC",
        "request_by_user",
    ),
    (
        "SELECT * FROM request WHERE tenant_id = 'a' AND CAST(NULL AS text) IS NULL AND (created_at, request_id) < (5, 'r') ORDER BY created_at DESC, request_id DESC",
        "request_by_tenant",
    ),
    (
        "SELECT * FROM request WHERE tenant_id = 'a' AND run_id = 'r' AND result IS NULL",
        "request_awaiting (tenant_id=? AND run_id=?)",
    ),
    (
        "SELECT * FROM request WHERE run_id IS NOT NULL AND result IS NULL LIMIT 5",
        "request_awaiting",
    ),
    (
        "SELECT * FROM run WHERE phase = 'runnable' AND tenant_id = 'a' ORDER BY created_at, run_id",
        "run_claimable",
    ),
    (
        "SELECT * FROM run WHERE finished_at < 1 ORDER BY finished_at",
        "run_finished",
    ),
    (
        "SELECT * FROM memory WHERE tenant_id = 'a' AND revision > 5 ORDER BY revision LIMIT 3",
        "sqlite_autoindex_memory_2",
    ),
    (
        "SELECT * FROM memory WHERE tenant_id = 'a' AND (created_at, memory_id) < (5, 'm') AND removed_at IS NULL AND current IS NOT NULL ORDER BY created_at DESC, memory_id DESC",
        "memory_by_time",
    ),
    (
        "SELECT tenant_id, memory_id FROM memory WHERE removed_at IS NULL AND expires_at IS NOT NULL AND expires_at <= 5 LIMIT 9",
        "memory_by_expiry",
    ),
    (
        "SELECT count(*) FROM (SELECT 1 FROM run WHERE tenant_id = 'a' AND phase <> 'finished' LIMIT 9)",
        "run_unfinished_of_tenant",
    ),
    (
        "SELECT count(*) FROM memory WHERE tenant_id = 'a' AND removed_at IS NULL",
        "memory_by_time",
    ),
    (
        "SELECT * FROM colony_missions WHERE tenant_id = 'a' AND (created_at, mission_id) < (5, 'm') ORDER BY created_at DESC, mission_id DESC",
        "colony_missions_by_time",
    ),
    (
        "SELECT * FROM colony_missions WHERE tenant_id = 'a' AND state = 'created' AND (created_at, mission_id) < (5, 'm') ORDER BY created_at DESC, mission_id DESC",
        "colony_missions_by_state",
    ),
    (
        "SELECT * FROM colony_missions WHERE tenant_id = 'a' AND run_id = 'r'",
        "sqlite_autoindex_colony_missions_3",
    ),
    (
        "SELECT * FROM colony_artifacts WHERE tenant_id = 'a' AND mission_id = 'm' AND kind = 'worker_result' AND artifact_id = 'r'",
        "sqlite_autoindex_colony_worker_results_1 (tenant_id=? AND mission_id=? AND result_id=?)",
    ),
    (
        "SELECT * FROM colony_artifacts WHERE tenant_id = 'a' AND mission_id = 'm' AND place > 3",
        "sqlite_autoindex_colony_worker_results_2 (tenant_id=? AND mission_id=? AND place>?)",
    ),
];

/// Each lookup has an index (seed 000 §2.14).
#[tokio::test]
async fn lookups_use_an_index() -> Outcome {
    let dir = tempfile::tempdir()?;
    drop(SqliteStore::open(dir.path(), &SqliteOptions::default())?);
    let connection = Connection::open(dir.path().join("charter.db"))?;
    for (query, index) in LOOKUPS {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}"))?;
        let steps: Result<Vec<String>, _> = statement.query_map([], |row| row.get(3))?.collect();
        let plan = steps?.join("; ");
        assert!(
            plan.contains(index) && !plan.contains("TEMP B-TREE"),
            "{query}: {plan}"
        );
    }
    Ok(())
}
