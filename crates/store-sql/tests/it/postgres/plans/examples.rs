//! Route examples.

use std::sync::Arc;

use charter_contract::ids::{DocumentId, RouteExampleId};
use charter_contract::route_example::{ExampleStatus, RoutedKind};
use charter_store::StoreError;
use charter_store::route_example::{ExampleFilter, ExampleMove, OwnerDecision, RouteExamples};
use charter_testkit::store_suite::{Outcome, sample};
use uuid::Uuid;

use super::watched::RowOwner::{EveryonesInAState, Tenants};
use super::watched::Watched;
use super::{N, acme, page, user};

pub(super) async fn look_at_route_examples(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, document) = (acme(), DocumentId::parse("d7")?);
    let example = |n: u128| RouteExampleId::from_uuid(Uuid::from_u128(n));
    watched
        .look(
            "route_example",
            Tenants,
            store.route_example(&acme, &example(N)),
        )
        .await;
    let waiting = Some(ExampleStatus::Suggested);
    for (name, status, document) in [
        ("route_examples", None, None),
        ("route_examples that wait", waiting, None),
        ("route_examples of a document", None, Some(&document)),
    ] {
        let filter = ExampleFilter { status, document };
        watched
            .look(name, Tenants, store.route_examples(&acme, filter, &page()))
            .await;
    }
    let open = store.open_examples(&acme, RoutedKind::Skill, &document);
    watched.look("open_examples", Tenants, open).await;
    let step = ExampleMove {
        example_id: example(watched.open),
        from: ExampleStatus::Suggested,
        to: ExampleStatus::Rejected,
        decided: OwnerDecision {
            by: user("boss"),
            at: sample::at(5)?,
        },
    };
    // The second call is refused after an identical look-up.
    let moved = async { Ok::<_, StoreError>(store.move_example(&acme, step, vec![]).await.ok()) };
    watched.look("move_example", Tenants, moved).await;
    let accepted = store.accepted_examples();
    watched
        .look("accepted_examples", EveryonesInAState, accepted)
        .await;
    Ok(())
}
