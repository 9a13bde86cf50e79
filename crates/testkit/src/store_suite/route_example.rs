//! Cases of route examples.

use charter_contract::ids::{DocumentId, RouteExampleId};
use charter_contract::route_example::{ExampleSource, ExampleStatus, RoutedKind};
use charter_store::page::PageRequest;
use charter_store::route_example::{
    ExampleFilter, ExampleMove, ExampleRoom, OwnerDecision, RouteExampleRecord, Suggested,
};
use charter_store::{Store, StoreError};
use futures_util::future::join_all;
use uuid::Uuid;

use super::Outcome;
use super::sample::{Made, at, message, request, tenant, user};
use crate::assert_refused;

/// Limits that no case reaches.
const ROOM: ExampleRoom = ExampleRoom {
    document: 9,
    tenant: 9,
};

fn id(n: u8) -> RouteExampleId {
    RouteExampleId::from_uuid(Uuid::from_u128(n.into()))
}

/// Returns the `n`th example of a tenant, for the skill `backups.list`, suggested at the `n`th second.
fn suggested(tenant_id: &str, n: u8) -> Made<RouteExampleRecord> {
    Ok(RouteExampleRecord {
        example_id: id(n),
        tenant_id: tenant(tenant_id)?,
        kind: RoutedKind::Skill,
        document: DocumentId::parse("backups.list")?,
        text: format!("Which copies failed, {n}?"),
        words: format!("which copies failed {n}"),
        source: ExampleSource::Thumb,
        request_id: Some(request(n.into())),
        status: ExampleStatus::Suggested,
        suggested_at: at(n.into())?,
        decided: None,
    })
}

fn step(n: u8, from: ExampleStatus, to: ExampleStatus) -> Made<ExampleMove> {
    Ok(ExampleMove {
        example_id: id(n),
        from,
        to,
        decided: OwnerDecision {
            by: user()?,
            at: at(50)?,
        },
    })
}

fn accepted(n: u8) -> Made<ExampleMove> {
    step(n, ExampleStatus::Suggested, ExampleStatus::Accepted)
}

/// All fields are kept, before and after a decision.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_an_example_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut bare = suggested("acme", 2)?;
    bare.kind = RoutedKind::Playbook;
    bare.source = ExampleSource::PromotedCandidate;
    bare.request_id = None;
    for example in [suggested("acme", 1)?, bare] {
        assert_eq!(
            store.suggest_example(&example, ROOM).await?,
            Suggested::Kept
        );
        let found = store.route_example(&acme, &example.example_id).await?;
        assert_eq!(found, Some(example));
    }
    store.move_example(&acme, accepted(1)?, vec![]).await?;
    let found = store.route_example(&acme, &id(1)).await?;
    let found = found.ok_or("the accepted example")?;
    assert_eq!(found.status, ExampleStatus::Accepted);
    assert_eq!(found.decided, Some(accepted(1)?.decided));
    Ok(())
}

/// The words of an example are unique for a document, in any status.
///
/// # Errors
/// Any error of the store.
pub async fn the_same_words_are_kept_once_for_a_document(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let first = suggested("acme", 1)?;
    store.suggest_example(&first, ROOM).await?;
    let again = RouteExampleRecord {
        words: first.words.clone(),
        ..suggested("acme", 2)?
    };
    assert_eq!(store.suggest_example(&again, ROOM).await?, Suggested::Known);
    let rejected = step(1, ExampleStatus::Suggested, ExampleStatus::Rejected)?;
    store.move_example(&acme, rejected, vec![]).await?;
    assert_eq!(store.suggest_example(&again, ROOM).await?, Suggested::Known);
    let elsewhere = RouteExampleRecord {
        document: DocumentId::parse("backups.other")?,
        ..again
    };
    assert_eq!(
        store.suggest_example(&elsewhere, ROOM).await?,
        Suggested::Kept
    );
    Ok(())
}

/// Only suggested examples count against the limits.
///
/// # Errors
/// Any error of the store.
pub async fn suggestions_are_bounded_in_number(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let room = ExampleRoom {
        document: 2,
        tenant: 3,
    };
    let of = |n: u8, document: &str| -> Made<RouteExampleRecord> {
        Ok(RouteExampleRecord {
            document: DocumentId::parse(document)?,
            ..suggested("acme", n)?
        })
    };
    for (n, document, became) in [
        (1, "a.a", Suggested::Kept),
        (2, "a.a", Suggested::Kept),
        (3, "a.a", Suggested::DocumentFull),
        (4, "a.b", Suggested::Kept),
        (5, "a.b", Suggested::TenantFull),
    ] {
        let example = of(n, document)?;
        assert_eq!(store.suggest_example(&example, room).await?, became, "{n}");
    }
    store.move_example(&acme, accepted(1)?, vec![]).await?;
    let next = of(3, "a.a")?;
    assert_eq!(store.suggest_example(&next, room).await?, Suggested::Kept);
    let other = suggested("other", 1)?;
    assert_eq!(store.suggest_example(&other, room).await?, Suggested::Kept);
    Ok(())
}

/// Concurrent suggestions do not exceed the limits.
///
/// # Errors
/// Any error of the store.
pub async fn concurrent_suggestions_are_bounded_in_number(store: &dyn Store) -> Outcome {
    let room = ExampleRoom {
        document: 3,
        tenant: 9,
    };
    let examples: Result<Vec<_>, _> = (1..=8).map(|n| suggested("acme", n)).collect();
    let examples = examples?;
    let calls = examples
        .iter()
        .map(|example| store.suggest_example(example, room));
    let became: Result<Vec<_>, _> = join_all(calls).await.into_iter().collect();
    let kept = became?.into_iter().filter(|one| *one == Suggested::Kept);
    assert_eq!(kept.count(), room.document);
    Ok(())
}

/// Another tenant's example is not found and cannot be decided.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let other = tenant("other")?;
    let example = suggested("acme", 1)?;
    store.suggest_example(&example, ROOM).await?;
    assert_eq!(store.route_example(&other, &id(1)).await?, None);
    let page = PageRequest::new(None, 10);
    let listed = store.route_examples(&other, ExampleFilter::default(), &page);
    assert_eq!(listed.await?.entries, Vec::new());
    let open = store.open_examples(&other, example.kind, &example.document);
    assert_eq!(open.await?, Vec::new());
    let refused = store.move_example(&other, accepted(1)?, vec![]).await;
    assert_refused!(refused, StoreError::NotFound { .. });
    Ok(())
}

/// Pages of all examples, and of those with a status or document.
///
/// # Errors
/// Any error of the store.
pub async fn examples_are_listed_newest_first(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let document = DocumentId::parse("backups.other")?;
    for n in 1..=5 {
        let mut example = suggested("acme", n)?;
        if n == 2 {
            example.document = document.clone();
        }
        store.suggest_example(&example, ROOM).await?;
    }
    store.move_example(&acme, accepted(3)?, vec![]).await?;
    let waiting = ExampleFilter {
        status: Some(ExampleStatus::Suggested),
        document: None,
    };
    let of_document = ExampleFilter {
        status: None,
        document: Some(&document),
    };
    for (filter, expected) in [
        (ExampleFilter::default(), vec![5, 4, 3, 2, 1]),
        (waiting, vec![5, 4, 2, 1]),
        (of_document, vec![2]),
    ] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = PageRequest::new(after, 2);
            let page = store.route_examples(&acme, filter, &page).await?;
            found.extend(page.entries.into_iter().map(|one| one.example_id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let expected: Vec<RouteExampleId> = expected.into_iter().map(id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let made_up = PageRequest::new(Some("nothing".to_owned()), 2);
    let refused = store.route_examples(&acme, ExampleFilter::default(), &made_up);
    assert_refused!(refused.await, StoreError::Refused { .. });
    Ok(())
}

/// Accepting and withdrawing increment the catalogue's revision, rejecting does not. Each writes its messages.
///
/// # Errors
/// Any error of the store.
pub async fn a_move_raises_the_revision_where_routing_changes(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for n in 1..=2 {
        store.suggest_example(&suggested("acme", n)?, ROOM).await?;
    }
    let before = store.revision().await?.0;
    for (step, raised) in [
        (accepted(1)?, 1),
        (
            step(1, ExampleStatus::Accepted, ExampleStatus::Withdrawn)?,
            2,
        ),
        (
            step(2, ExampleStatus::Suggested, ExampleStatus::Rejected)?,
            2,
        ),
    ] {
        let event = message(&format!("route_example.{}", step.to), 50)?;
        store.move_example(&acme, step, vec![event]).await?;
        assert_eq!(store.revision().await?.0, before + raised);
    }
    let events = store.messages(0, 10).await?.into_iter();
    let topics: Vec<String> = events.map(|event| event.message.topic).collect();
    let expected = [
        "route_example.accepted",
        "route_example.withdrawn",
        "route_example.rejected",
    ];
    assert_eq!(topics, expected);
    Ok(())
}

/// A transition from another status is refused and changes neither the revision nor the outbox.
///
/// # Errors
/// Any error of the store.
pub async fn an_example_is_decided_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    store.suggest_example(&suggested("acme", 1)?, ROOM).await?;
    store.move_example(&acme, accepted(1)?, vec![]).await?;
    let revision = store.revision().await?;
    let events = vec![message("route_example.accepted", 50)?];
    let refused = store.move_example(&acme, accepted(1)?, events).await;
    assert_refused!(
        refused,
        StoreError::Refused { detail, .. } if detail.contains("accepted")
    );
    // The schema refuses a transition back to `suggested`.
    let back = step(1, ExampleStatus::Accepted, ExampleStatus::Suggested)?;
    assert!(store.move_example(&acme, back, vec![]).await.is_err());
    let unknown = store.move_example(&acme, accepted(9)?, vec![]).await;
    assert_refused!(unknown, StoreError::NotFound { .. });
    assert_eq!(store.revision().await?, revision);
    assert_eq!(store.messages(0, 10).await?, Vec::new());
    Ok(())
}

/// Lists the accepted examples of all tenants in order, and the open ones of a document.
///
/// # Errors
/// Any error of the store.
pub async fn accepted_examples_are_those_in_force(store: &dyn Store) -> Outcome {
    for tenant_id in ["zeta", "acme"] {
        for n in 1..=3 {
            store
                .suggest_example(&suggested(tenant_id, n)?, ROOM)
                .await?;
        }
        let tenant = tenant(tenant_id)?;
        for n in [3, 1] {
            store.move_example(&tenant, accepted(n)?, vec![]).await?;
        }
    }
    let acme = tenant("acme")?;
    let withdrawn = step(3, ExampleStatus::Accepted, ExampleStatus::Withdrawn)?;
    store.move_example(&acme, withdrawn, vec![]).await?;
    let in_force = store.accepted_examples().await?.into_iter();
    let in_force: Vec<_> = in_force
        .map(|one| (one.tenant_id.to_string(), one.example_id))
        .collect();
    let expected = [("acme", 1), ("zeta", 1), ("zeta", 3)];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(tenant, n)| (tenant.to_owned(), id(n)))
        .collect();
    assert_eq!(in_force, expected);
    let document = DocumentId::parse("backups.list")?;
    let open = store.open_examples(&acme, RoutedKind::Skill, &document);
    let open: Vec<_> = open.await?.into_iter().map(|one| one.example_id).collect();
    assert_eq!(open, [id(1), id(2)]);
    Ok(())
}
