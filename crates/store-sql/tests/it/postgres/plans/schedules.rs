//! Schedules with their occurrences, and console sessions.

use std::sync::Arc;

use charter_contract::ids::ScheduleId;
use charter_store::console_session::{ConsoleSessionHash, ConsoleSessions};
use charter_store::schedule::Schedules;
use charter_testkit::store_suite::{Outcome, sample};

use super::watched::RowOwner::{Everyones, Tenants};
use super::watched::Watched;
use super::{PAGE, acme, page, user};

pub(super) async fn look_at_schedules(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, schedule) = (acme(), ScheduleId::parse("s7")?);
    watched
        .look("schedule", Tenants, store.schedule(&acme, &schedule))
        .await;
    let boss = user("u7");
    for (name, user) in [("schedules", None), ("schedules of a user", Some(&boss))] {
        watched
            .look(name, Tenants, store.schedules(&acme, user, &page()))
            .await;
    }
    watched
        .look(
            "occurrence",
            Tenants,
            store.occurrence(&acme, &schedule, "o140"),
        )
        .await;
    watched
        .look(
            "occurrences",
            Tenants,
            store.occurrences(&acme, &schedule, &page()),
        )
        .await;
    watched
        .look(
            "waiting_occurrences",
            Tenants,
            store.waiting_occurrences(&acme, &schedule, PAGE),
        )
        .await;
    watched
        .look(
            "started_occurrences",
            Tenants,
            store.started_occurrences(&acme, &schedule, PAGE),
        )
        .await;
    watched
        .look(
            "last_reported",
            Tenants,
            store.last_reported(&acme, &schedule),
        )
        .await;
    let early = sample::at(-90_000)?;
    watched
        .look(
            "sweep_occurrences",
            Everyones,
            store.sweep_occurrences(early),
        )
        .await;
    let hash = ConsoleSessionHash([0; 32]);
    watched
        .look("console_session", Everyones, store.console_session(&hash))
        .await;
    watched
        .look(
            "sweep_console_sessions",
            Everyones,
            store.sweep_console_sessions(early),
        )
        .await;
    Ok(())
}
