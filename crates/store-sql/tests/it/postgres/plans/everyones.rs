//! Calls across tenants: claims, messages, sweeps.

use std::error::Error;
use std::sync::Arc;

use charter_store::evidence_log::EvidenceLog;
use charter_store::journal::{Claim, Journal};
use charter_store::memory::Memories;
use charter_store::notification::{NotificationClaim, Notifications};
use charter_store::outbox::Outbox;
use charter_store::request::{RequestLease, Requests};
use charter_store::session::Sessions;
use charter_store::tag::Tags;
use charter_store::tool_content::ToolContents;
use charter_store::vector::{TextHash, Vectors};
use charter_testkit::store_suite::{Outcome, sample};

use super::watched::RowOwner::{Everyones, EveryonesInAState, TenantsAndSorted};
use super::watched::Watched;
use super::{PAGE, acme};

pub(super) async fn look_at_what_is_everyones(watched: &mut Watched) -> Outcome {
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
    // One run in twenty is claimable; of every tenant no more are read than could be claimed.
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
    let hold = RequestLease {
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
    watched
        .look(
            "requests_of_ended_runs",
            EveryonesInAState,
            store.requests_of_ended_runs(PAGE),
        )
        .await;
    look_at_notifications(watched).await?;
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

async fn look_at_notifications(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let claim = NotificationClaim {
        holder: "me".to_owned(),
        now: sample::at(5)?,
        until: sample::at(35)?,
        message_id: "msg".to_owned(),
        most: 100,
        busy: vec![],
    };
    watched
        .look("claim_message", Everyones, store.claim_message(&claim))
        .await;
    Ok(())
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
        .look(
            "sweep_tool_contents",
            Everyones,
            store.sweep_tool_contents(early),
        )
        .await;
    watched
        .look(
            "sweep_notifications",
            Everyones,
            store.sweep_notifications(early),
        )
        .await;
    watched
        .look("sweep_signatures", Everyones, store.sweep_signatures(early))
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
