//! The contract suite of `charter-store`: one named test for every guarantee of its traits. Every engine runs the
//! whole suite on real storage:
//!
//! ```ignore
//! charter_testkit::store_suite!(fresh_store);
//!
//! async fn fresh_store() -> charter_testkit::store_suite::Fixture { … }
//! ```
//!
//! It knows no engine. Guarantees about concurrency are tested with concurrent calls.

pub mod agent_skills;
pub mod approval;
pub mod approval_call;
pub mod assignment;
pub mod calibration;
pub mod catalogue;
pub mod connected_account;
pub mod console_session;
pub mod evidence;
pub mod evidence_log;
pub mod journal;
pub mod key;
pub mod lease;
pub mod lens;
pub mod memory;
pub mod mission;
pub mod notification;
pub mod outbox;
pub mod request;
pub mod route_example;
pub mod run_listing;
pub mod sample;
pub mod schedule;
pub mod session;
pub mod tag;
pub mod tool_content;
pub mod vector;

use std::any::Any;
use std::error::Error;

use charter_store::{SharedStore, StoreError};

/// The outcome of a case: a failed expectation panics, a failed call returns its error.
pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// A fresh, empty store, and resources with the same lifetime, e.g. its directory.
pub struct Fixture {
    /// The store under test.
    pub store: SharedStore,
    /// Dropped after the store.
    pub keep: Box<dyn Any + Send>,
}

/// Asserts that a call is refused with an error that matches `pattern`.
#[macro_export]
macro_rules! assert_refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {{
        let result = $result;
        assert!(
            matches!(&result, Err($pattern) $(if $guard)?),
            "expected {}, got {result:?}",
            stringify!($pattern)
        );
    }};
}

/// Asserts that exactly one of several calls succeeded, and that all others lost a race.
fn assert_one_winner<T>(results: &[Result<T, StoreError>]) {
    let won = results.iter().filter(|result| result.is_ok()).count();
    let lost = results
        .iter()
        .filter(|result| matches!(result, Err(StoreError::VersionConflict { .. })))
        .count();
    assert_eq!((won, lost), (1, results.len() - 1));
}

/// Creates a `#[tokio::test]` for every case, in the module `contract`. `$factory` is a path to an
/// `async fn() -> Fixture`; the crate needs tokio with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! store_suite {
    ($factory:path) => {
        $crate::store_suite! { @cases $factory;
            agent_skills:
                b001_3_a_skill_reads_back_without_its_instruction,
                b001_1_a_put_writes_over,
                b001_7_a_write_on_a_stale_revision_writes_nothing,
                scopes_are_separate,
                b001_9_files_read_back_byte_for_byte,
                b001_2_an_index_has_one_model,
                every_change_of_skills_is_published_with_it;
            approval:
                ruling_28_an_approval_is_made_with_its_event,
                ruling_28_one_decision_is_recorded,
                ruling_28_an_escalation_leaves_the_approval_pending,
                ruling_28_an_escalation_replaces_only_the_body_that_was_read,
                ruling_28_an_approval_is_used_once,
                approvals_are_listed_newest_first,
                an_approval_belongs_to_the_user_of_its_run,
                b000_19_a_decision_is_recorded_with_its_evidence,
                a_parked_run_is_resumed_at_its_time,
                an_append_may_release_the_lease,
                ruling_28_a_decision_that_crosses_with_the_wait_is_not_lost;
            approval_call:
                a_later_run_waits_for_the_first_one,
                of_two_registrations_at_once_one_waits,
                a_refused_approval_is_not_waited_for,
                a_refused_run_waits_for_a_run_that_waited_for_it,
                a_run_waits_for_no_other_tenant_and_not_for_itself,
                no_runs_wait_in_a_circle,
                a_requested_call_is_no_reason_to_wait_later,
                runs_wait_in_the_order_of_their_registration,
                the_end_of_a_run_wakes_those_that_wait_for_it;
            assignment:
                every_field_of_an_assignment_is_stored,
                an_assignment_belongs_to_a_mission,
                an_assignment_is_claimed_once,
                a_lease_ends_with_the_pass,
                a_released_assignment_is_offered_again,
                a_refused_result_is_submitted_again,
                the_lease_continues_in_the_next_turn,
                assignments_are_closed_with_their_mission,
                assignments_are_listed_newest_first,
                tenants_are_isolated;
            calibration: a_calibration_replaces_the_previous_one;
            catalogue:
                register_puts_documents_in_force,
                register_publishes_to_the_outbox,
                register_replaces_the_documents_of_the_package,
                register_keeps_the_times_of_unchanged_documents,
                register_on_a_stale_revision_writes_nothing,
                register_of_a_foreign_document_writes_nothing,
                register_refuses_a_document_twice,
                register_refuses_to_unregister,
                register_at_the_same_time_has_one_winner,
                register_again_replaces_the_files_of_the_version,
                scopes_are_separate,
                unregister_removes_documents_and_keeps_history,
                unregister_of_a_package_not_in_force_is_refused,
                a_returning_document_keeps_its_first_time,
                rollback_is_recorded_in_the_history,
                load_is_ordered,
                packages_are_ordered_by_name;
            connected_account:
                every_field_of_an_account_is_stored,
                an_account_is_connected_again_in_place,
                an_account_belongs_to_one_user_of_one_tenant,
                a_renewal_replaces_the_version_that_it_read,
                a_disconnected_account_is_gone,
                accounts_are_listed_newest_first,
                accounts_under_other_keys_are_found;
            console_session:
                every_field_of_a_console_session_is_stored,
                a_user_has_a_bounded_number_of_console_sessions,
                a_renewal_replaces_the_secret_that_it_read,
                a_used_console_session_ends_later,
                an_ended_console_session_is_gone,
                ended_console_sessions_are_swept;
            evidence:
                every_field_of_a_record_is_stored,
                a_submitted_record_belongs_to_its_submitter,
                a_duplicate_writes_nothing_of_its_batch,
                tenants_are_isolated,
                a_record_of_another_tenant_is_refused,
                an_unclear_attachment_is_refused,
                attachments_are_added_once,
                attaching_unknown_evidence_is_refused,
                lookup_by_attachment,
                lookup_by_type_system_and_time,
                pages_give_every_record_once,
                an_invalid_cursor_is_refused;
            evidence_log:
                b000_19_every_record_and_later_attachment_is_a_leaf,
                b000_19_a_failed_batch_leaves_no_leaf,
                b000_19_heads_and_proofs_come_from_stored_nodes,
                b000_19_logs_of_tenants_are_separate,
                b000_19_writers_at_the_same_time_get_places_of_their_own,
                b000_19_a_published_checkpoint_is_stored_unchanged,
                b000_19_a_removed_payload_still_proves;
            journal:
                every_field_of_a_run_is_stored,
                a_duplicate_run_writes_nothing,
                create_checks_version_and_chain,
                a_run_can_be_created_with_a_lease,
                a_run_is_not_created_under_anothers_lease,
                appended_events_are_gapless_and_published,
                append_on_a_stale_version_writes_nothing,
                append_to_an_unknown_run_is_refused,
                append_to_a_finished_run_is_refused,
                append_without_events_is_refused,
                append_off_the_chain_writes_nothing,
                append_after_a_takeover_is_fenced_off,
                appends_at_the_same_time_have_one_winner,
                appends_to_many_runs_all_succeed,
                events_are_read_in_portions,
                large_events_are_read_page_by_page,
                a_stored_chain_verifies_and_shows_tampering,
                runs_are_listed_newest_first,
                an_invalid_cursor_is_refused,
                claimable_runs_are_runnable_and_free,
                a_claim_skips_excluded_runs,
                claims_take_turns_among_tenants,
                unfinished_runs_are_counted_by_tenant,
                sweep_deletes_only_finished_runs;
            key:
                every_field_of_a_key_is_stored,
                a_key_keeps_its_makers,
                a_duplicate_key_is_refused,
                tenants_are_isolated,
                keys_are_listed_newest_first,
                a_key_is_revoked_once,
                a_key_expires,
                a_rotated_key_expires,
                an_expired_or_revoked_key_is_not_rotated,
                rotations_at_the_same_time_have_one_winner,
                the_last_use_is_noted;
            lease:
                a_free_resource_is_taken,
                a_live_lease_excludes_other_holders,
                the_holder_extends_under_the_same_fence,
                an_expired_lease_can_be_taken_over_with_a_new_fence,
                renew_extends_also_after_expiry,
                renew_after_a_takeover_is_refused,
                release_frees_at_once_and_the_fence_grows,
                release_after_a_takeover_does_nothing,
                acquiring_at_the_same_time_has_one_winner;
            lens:
                b000_16_an_index_is_registered_with_its_lens,
                b000_16_a_refused_registration_leaves_the_index,
                b000_16_an_index_is_replaced_whole,
                replacing_another_index_is_refused,
                an_index_without_a_lens_is_refused,
                b000_16_an_index_is_deleted_with_its_lens,
                a_note_leaves_the_chunks,
                b000_1_passages_are_read_within_a_tenant,
                b000_16_the_nearest_passages_are_those_of_the_indexes_named;
            memory:
                b003_10_every_field_of_a_memory_is_stored,
                a_duplicate_and_one_too_many_are_refused,
                b003_10_a_version_is_superseded_and_never_overwritten,
                b003_10_a_proposal_takes_effect_when_a_person_approves_it,
                b003_10_removal_deletes_the_content_and_keeps_the_record,
                expired_memories_are_absent_and_swept,
                tenants_are_isolated,
                listings_show_only_visible_memories,
                changes_come_in_order_and_once,
                ruling_4_embeddings_of_another_model_are_replaced,
                decisions_at_the_same_time_have_one_winner;
            mission:
                a_mission_is_created_with_its_run,
                a_mission_begins_with_its_envelope,
                b002_18_artifacts_read_back_byte_for_byte,
                artifacts_are_found_by_kind_task_place_and_id,
                a_refused_append_leaves_no_artifact,
                b002_3_an_artifact_is_of_its_runs_mission,
                b002_5_an_artifact_names_a_task_of_its_mission,
                b002_11_a_mission_has_at_most_one_review,
                b002_15_a_repeat_is_accepted_and_a_different_payload_is_refused,
                b002_1_an_older_version_is_not_written,
                b002_1_an_older_version_is_read_as_the_current_version,
                b002_12_the_state_comes_with_the_events,
                tenants_are_isolated,
                missions_are_listed_newest_first,
                missions_are_listed_of_a_user,
                an_invalid_cursor_is_refused,
                appends_at_the_same_time_have_one_winner,
                sweep_deletes_a_mission_with_its_run,
                an_exported_mission_is_imported_completely,
                an_import_is_repeated_or_refused,
                an_import_with_a_large_journal_is_repeated_or_refused,
                an_import_is_checked,
                an_imported_mission_is_read_only;
            notification:
                every_field_of_a_notification_is_stored,
                notifications_of_a_message_are_written_once,
                a_message_is_claimed_by_one_holder,
                claims_at_the_same_time_get_different_messages,
                a_claim_leaves_out_busy_channels,
                a_digest_is_one_message,
                notifications_are_listed_newest_first,
                sweep_deletes_settled_notifications,
                a_signature_is_used_once;
            outbox:
                messages_are_read_in_order_and_kept,
                messages_are_listed_by_tenant,
                a_message_keeps_its_user,
                the_last_message_survives_a_sweep,
                sweep_deletes_only_older_messages;
            request:
                b000_3_every_field_of_a_request_is_stored,
                nothing_is_recorded_twice,
                recording_for_an_unknown_request_is_refused,
                tenants_are_isolated,
                open_requests_are_those_without_an_answer,
                a_leased_request_is_skipped_by_others,
                requests_of_a_user_or_a_tenant_are_listed_newest_first,
                sweep_deletes_older_answered_requests,
                a_result_is_recorded_once,
                a_request_without_a_run_accepts_no_result,
                requests_of_ended_runs_are_found_until_they_have_results,
                sweep_keeps_requests_with_unfinished_runs;
            route_example:
                every_field_of_an_example_is_stored,
                the_same_words_are_kept_once_for_a_document,
                suggestions_are_bounded_in_number,
                concurrent_suggestions_are_bounded_in_number,
                tenants_are_isolated,
                examples_are_listed_newest_first,
                a_move_raises_the_revision_where_routing_changes,
                an_example_is_decided_once,
                accepted_examples_are_those_in_force;
            run_listing: only_matching_runs_are_listed, a_run_keeps_its_user;
            schedule:
                every_field_of_a_schedule_is_stored,
                schedules_are_bounded_in_number,
                an_occurrence_is_recorded_by_one_replica,
                a_paused_schedule_does_not_advance,
                due_schedules_are_found,
                an_event_is_recorded_once,
                an_occurrence_changes_from_its_state,
                a_schedule_is_replaced_in_the_expected_version,
                occurrences_by_time_are_bounded_in_number,
                an_occurrence_changes_under_its_schedule,
                a_listing_of_occurrences_is_bounded,
                tenants_are_isolated,
                sweep_keeps_the_latest_report;
            session:
                every_field_of_a_session_is_stored,
                a_duplicate_session_is_refused,
                tenants_are_isolated,
                an_expired_session_is_absent,
                turns_are_bounded_and_in_order,
                a_turn_extends_and_never_shortens,
                an_answer_replaces_its_turn,
                a_turn_without_a_live_session_is_refused,
                sweep_deletes_expired_sessions_with_their_turns;
            tag:
                b000_15_every_field_of_tags_is_stored,
                b000_15_a_second_write_is_refused,
                b000_15_an_expired_record_reads_as_absent,
                tags_without_expiry_are_refused,
                tenants_are_isolated,
                sweep_deletes_expired_records;
            tool_content:
                content_reads_back_by_its_digest,
                tenants_are_isolated,
                content_that_is_written_again_is_kept_longer;
            vector:
                vectors_read_back,
                a_key_keeps_its_first_vector,
                vectors_of_models_are_separate,
                retain_deletes_all_other_vectors;
        }
    };
    (@cases $factory:path; $( $noun:ident: $( $case:ident ),+; )+) => {
        mod contract {
            $( mod $noun { $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() -> $crate::store_suite::Outcome {
                    let fixture: $crate::store_suite::Fixture = $factory().await;
                    $crate::store_suite::$noun::$case(&*fixture.store).await
                }
            )+ } )+
        }
    };
}
