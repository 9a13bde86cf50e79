//! Cases of assignments of outside agents.

use charter_contract::ids::{AssignmentId, LeaseId, TaskId, UserId};
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::{AssignmentState, MissionState};
use charter_contract::run_status::RunStatus;
use charter_store::assignment::{
    AssignmentFilter, AssignmentLease, AssignmentOffer, AssignmentRecord, AssignmentVerdict,
};
use charter_store::journal::{Append, NextPhase};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;
use uuid::Uuid;

use super::Outcome;
use super::mission::writer::Writer;
use super::sample::{Made, at, tenant};
use crate::assert_refused;

/// Returns the `n`th assignment of a mission.
///
/// # Errors
/// If the sample is invalid.
pub fn offer(writer: &Writer, n: u128) -> Made<AssignmentOffer> {
    Ok(AssignmentOffer {
        assignment_id: AssignmentId::from_uuid(Uuid::from_u128(n)),
        tenant_id: writer.tenant().clone(),
        mission_id: writer.mission().clone(),
        role: Role::Worker,
        task_id: Some(TaskId::parse("task_worker_01")?),
        turn: 1,
        agents: "[]".to_owned(),
        brief: "{}".to_owned(),
        offered_at: at(1)?,
        expires_at: at(10)?,
    })
}

fn lease(n: u128) -> Made<AssignmentLease> {
    Ok(AssignmentLease {
        lease_id: LeaseId::from_uuid(Uuid::from_u128(n)),
        holder: UserId::parse("scout")?,
        makers: "[]".to_owned(),
    })
}

/// Begins a mission of a tenant and offers its `n`th assignment.
async fn offered(store: &dyn Store, tenant: &str, n: u128) -> Made<(Writer, AssignmentOffer)> {
    let mut writer = Writer::new(tenant, n)?;
    writer.begin(store).await?;
    let offer = offer(&writer, n)?;
    store.offer_assignment(&offer).await?;
    Ok((writer, offer))
}

async fn stored(store: &dyn Store, offer: &AssignmentOffer) -> Made<AssignmentRecord> {
    let found = store.assignment(&offer.tenant_id, &offer.assignment_id);
    found.await?.ok_or_else(|| "it is absent".into())
}

/// All fields are kept, and a repeated offer changes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_an_assignment_is_stored(store: &dyn Store) -> Outcome {
    let (writer, first) = offered(store, "acme", 1).await?;
    let expected = AssignmentRecord {
        offer: first.clone(),
        state: AssignmentState::Offered,
        lease: None,
        submission: None,
        refusal: None,
        submissions: 0,
    };
    assert_eq!(stored(store, &first).await?, expected);
    let repeated = AssignmentOffer {
        brief: "{\"other\":1}".to_owned(),
        expires_at: at(99)?,
        ..first.clone()
    };
    assert_eq!(store.offer_assignment(&repeated).await?, expected);
    let of_planner = AssignmentOffer {
        role: Role::Planner,
        task_id: None,
        ..offer(&writer, 2)?
    };
    store.offer_assignment(&of_planner).await?;
    assert_eq!(stored(store, &of_planner).await?.offer, of_planner);
    let held = lease(1)?;
    let (tenant, id) = (&first.tenant_id, &first.assignment_id);
    assert!(store.claim_assignment(tenant, id, &held, at(2)?).await?);
    let submitted = store.submit_assignment(tenant, id, &held.lease_id, "{\"a\":1}", at(3)?);
    assert!(submitted.await?);
    let expected = AssignmentRecord {
        state: AssignmentState::Submitted,
        lease: Some(held),
        submission: Some("{\"a\":1}".to_owned()),
        submissions: 1,
        ..expected
    };
    assert_eq!(stored(store, &first).await?, expected);
    Ok(())
}

/// Without its mission it is refused.
///
/// # Errors
/// Any error of the store.
pub async fn an_assignment_belongs_to_a_mission(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    let refused = store.offer_assignment(&offer(&writer, 1)?).await;
    assert_refused!(refused, StoreError::Refused { .. });
    Ok(())
}

/// Of concurrent claims one succeeds, and a later one fails.
///
/// # Errors
/// Any error of the store.
pub async fn an_assignment_is_claimed_once(store: &dyn Store) -> Outcome {
    let (_, offer) = offered(store, "acme", 1).await?;
    let (tenant, id) = (&offer.tenant_id, &offer.assignment_id);
    let leases = (1..=4).map(lease).collect::<Made<Vec<_>>>()?;
    let now = at(2)?;
    let claims = leases
        .iter()
        .map(|lease| store.claim_assignment(tenant, id, lease, now));
    let claims = join_all(claims).await;
    let claims = claims.into_iter().collect::<Result<Vec<bool>, _>>()?;
    assert_eq!(claims.iter().filter(|claimed| **claimed).count(), 1);
    assert!(!store.claim_assignment(tenant, id, &lease(9)?, now).await?);
    Ok(())
}

/// From the end of the pass, it is neither claimed nor submitted.
///
/// # Errors
/// Any error of the store.
pub async fn a_lease_ends_with_the_pass(store: &dyn Store) -> Outcome {
    let (_, offer) = offered(store, "acme", 1).await?;
    let (tenant, id, held) = (&offer.tenant_id, &offer.assignment_id, lease(1)?);
    assert!(!store.claim_assignment(tenant, id, &held, at(10)?).await?);
    assert!(store.claim_assignment(tenant, id, &held, at(9)?).await?);
    let late = store.submit_assignment(tenant, id, &held.lease_id, "{}", at(10)?);
    assert!(!late.await?);
    let other = lease(2)?;
    let stolen = store.submit_assignment(tenant, id, &other.lease_id, "{}", at(9)?);
    assert!(!stolen.await?);
    let in_time = store.submit_assignment(tenant, id, &held.lease_id, "{}", at(9)?);
    assert!(in_time.await?);
    Ok(())
}

/// Only its holder releases it; then another agent may claim it.
///
/// # Errors
/// Any error of the store.
pub async fn a_released_assignment_is_offered_again(store: &dyn Store) -> Outcome {
    let (_, offer) = offered(store, "acme", 1).await?;
    let (tenant, id, held) = (&offer.tenant_id, &offer.assignment_id, lease(1)?);
    assert!(store.claim_assignment(tenant, id, &held, at(2)?).await?);
    let other = lease(2)?;
    assert!(
        !store
            .release_assignment(tenant, id, &other.lease_id)
            .await?
    );
    assert!(store.release_assignment(tenant, id, &held.lease_id).await?);
    assert_eq!(stored(store, &offer).await?.lease, None);
    assert!(store.claim_assignment(tenant, id, &other, at(3)?).await?);
    Ok(())
}

/// A refusal is kept until the next submission, and only a submitted result is judged.
///
/// # Errors
/// Any error of the store.
pub async fn a_refused_result_is_submitted_again(store: &dyn Store) -> Outcome {
    let (_, offer) = offered(store, "acme", 1).await?;
    let (tenant, id, held) = (&offer.tenant_id, &offer.assignment_id, lease(1)?);
    store.claim_assignment(tenant, id, &held, at(2)?).await?;
    let refusal = AssignmentVerdict::Refused("[\"why\"]".to_owned());
    assert!(!store.judge_assignment(tenant, id, 1, &refusal).await?);
    let lease_id = &held.lease_id;
    assert!(
        store
            .submit_assignment(tenant, id, lease_id, "{}", at(3)?)
            .await?
    );
    assert!(
        !store
            .submit_assignment(tenant, id, lease_id, "{}", at(3)?)
            .await?
    );
    assert!(store.judge_assignment(tenant, id, 1, &refusal).await?);
    let found = stored(store, &offer).await?;
    assert_eq!(found.state, AssignmentState::Claimed);
    assert_eq!(found.refusal.as_deref(), Some("[\"why\"]"));
    assert!(
        store
            .submit_assignment(tenant, id, lease_id, "{}", at(4)?)
            .await?
    );
    assert_eq!(stored(store, &offer).await?.refusal, None);
    let accepted = AssignmentVerdict::Accepted;
    assert!(!store.judge_assignment(tenant, id, 2, &accepted).await?);
    assert!(store.judge_assignment(tenant, id, 1, &accepted).await?);
    let found = stored(store, &offer).await?;
    assert_eq!(
        (found.state, found.submissions),
        (AssignmentState::Accepted, 2)
    );
    assert!(
        !store
            .judge_assignment(tenant, id, 1, &AssignmentVerdict::Closed)
            .await?
    );
    Ok(())
}

/// The offer of the next turn is held by the agent of the turn before.
///
/// # Errors
/// Any error of the store.
pub async fn the_lease_continues_in_the_next_turn(store: &dyn Store) -> Outcome {
    let (_, first) = offered(store, "acme", 1).await?;
    let (tenant, id, held) = (&first.tenant_id, &first.assignment_id, lease(1)?);
    store.claim_assignment(tenant, id, &held, at(2)?).await?;
    store
        .submit_assignment(tenant, id, &held.lease_id, "{}", at(3)?)
        .await?;
    let second = AssignmentOffer {
        turn: 2,
        brief: "{\"calls\":1}".to_owned(),
        ..first.clone()
    };
    // The turn before is not accepted yet.
    assert_eq!(store.offer_assignment(&second).await?.offer.turn, 1);
    store
        .judge_assignment(tenant, id, 1, &AssignmentVerdict::Accepted)
        .await?;
    let found = store.offer_assignment(&second).await?;
    assert_eq!((&found.offer.brief, found.offer.turn), (&second.brief, 2));
    assert_eq!(
        (found.state, found.submissions),
        (AssignmentState::Claimed, 0)
    );
    assert_eq!((found.lease, found.submission), (Some(held), None));
    Ok(())
}

/// The append that ends the mission closes them.
///
/// # Errors
/// Any error of the store.
pub async fn assignments_are_closed_with_their_mission(store: &dyn Store) -> Outcome {
    let (writer, offer) = offered(store, "acme", 1).await?;
    let (tenant, id, held) = (&offer.tenant_id, &offer.assignment_id, lease(1)?);
    store.claim_assignment(tenant, id, &held, at(2)?).await?;
    let end = Append {
        then: NextPhase::Ends,
        status: RunStatus::Completed,
        mission_state: Some(MissionState::Completed),
        ..writer.append(vec![])?
    };
    store.append(end).await?;
    assert_eq!(stored(store, &offer).await?.state, AssignmentState::Closed);
    let late = store.submit_assignment(tenant, id, &held.lease_id, "{}", at(3)?);
    assert!(!late.await?);
    Ok(())
}

/// They are listed by mission, and those that can be claimed alone.
///
/// # Errors
/// Any error of the store.
pub async fn assignments_are_listed_newest_first(store: &dyn Store) -> Outcome {
    let mut offers = Vec::new();
    for n in 1..=3 {
        let mut writer = Writer::new("acme", n)?;
        writer.begin(store).await?;
        let offer = AssignmentOffer {
            offered_at: at(n.try_into()?)?,
            ..offer(&writer, n)?
        };
        store.offer_assignment(&offer).await?;
        offers.push(offer);
    }
    let (acme, now) = (tenant("acme")?, at(5)?);
    let held = lease(1)?;
    store
        .claim_assignment(&acme, &offers[1].assignment_id, &held, now)
        .await?;
    let ids = |page: &charter_store::page::Page<AssignmentRecord>| {
        let entries = page.entries.iter();
        let ids = entries.map(|found| found.offer.assignment_id.clone());
        ids.collect::<Vec<_>>()
    };
    let at_of = |n: usize| offers[n].assignment_id.clone();
    let all = AssignmentFilter::default();
    let first = store
        .assignments(&acme, all, &PageRequest::new(None, 2))
        .await?;
    assert_eq!(ids(&first), [at_of(2), at_of(1)]);
    let next = PageRequest::new(first.next, 2);
    let rest = store.assignments(&acme, all, &next).await?;
    assert_eq!((ids(&rest), rest.next.clone()), (vec![at_of(0)], None));
    let page = PageRequest::new(None, 9);
    let open = AssignmentFilter {
        open_at: Some(now),
        ..all
    };
    let found = store.assignments(&acme, open, &page).await?;
    assert_eq!(ids(&found), [at_of(2), at_of(0)]);
    let expired = AssignmentFilter {
        open_at: Some(at(10)?),
        ..all
    };
    let found = store.assignments(&acme, expired, &page).await?;
    assert!(ids(&found).is_empty());
    let of_one = AssignmentFilter {
        mission: Some(&offers[1].mission_id),
        ..all
    };
    let found = store.assignments(&acme, of_one, &page).await?;
    assert_eq!(ids(&found), [at_of(1)]);
    Ok(())
}

/// Another tenant sees and changes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (_, offer) = offered(store, "acme", 1).await?;
    let (other, id, held) = (tenant("other")?, &offer.assignment_id, lease(1)?);
    assert_eq!(store.assignment(&other, id).await?, None);
    assert!(!store.claim_assignment(&other, id, &held, at(2)?).await?);
    let page = PageRequest::new(None, 9);
    let found = store
        .assignments(&other, AssignmentFilter::default(), &page)
        .await?;
    assert!(found.entries.is_empty());
    assert_eq!(stored(store, &offer).await?.state, AssignmentState::Offered);
    Ok(())
}
