//! Cases of filtered listings of runs.

use charter_contract::catalogue::evidence::Attachment;
use charter_contract::ids::{EvidenceRunId, RunId, UserId};
use charter_contract::run_status::RunStatus;
use charter_store::Store;
use charter_store::evidence::EvidenceFilter;
use charter_store::journal::{Append, NextPhase, RunFilter, RunPhase, RunStatusFilter};
use charter_store::page::PageRequest;

use super::Outcome;
use super::sample::{self, Made, at, new_run, run, second_append, tenant, user};

/// Returns the matching runs by number, through pages of one.
async fn fitting(store: &dyn Store, filter: &RunFilter) -> Made<Vec<RunId>> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store
            .runs(&tenant("acme")?, filter, &PageRequest::new(after, 1))
            .await?;
        seen.extend(page.entries.into_iter().map(|run| run.run_id));
        after = page.next;
        if after.is_none() {
            return Ok(seen);
        }
    }
}

/// The user is stored, and filters runs alone and with a status. Records that a run produces have its user too, even
/// after the run is swept.
///
/// # Errors
/// Any error of the store.
pub async fn a_run_keeps_its_user(store: &dyn Store) -> Outcome {
    let (acme, page) = (tenant("acme")?, PageRequest::new(None, 9));
    let ann = UserId::parse("ann")?;
    let mut evidence = Vec::new();
    for (n, user_id) in [
        (1, Some(&ann)),
        (2, Some(&user()?)),
        (3, None),
        (4, Some(&ann)),
    ] {
        let (mut record, events) = new_run("acme", n.into(), i64::from(n))?;
        record.user_id = user_id.cloned();
        store.create_run(&record, events, vec![], vec![]).await?;
        let found = store.run(&acme, &run(n.into())).await?;
        assert_eq!(found, Some(record));
        let mut proof = sample::evidence("acme", n, at(i64::from(n))?)?;
        proof.attached_to = vec![Attachment {
            run_id: Some(EvidenceRunId::parse(run(n.into()).as_str())?),
            ..Attachment::default()
        }];
        store
            .put_evidence(&acme, std::slice::from_ref(&proof))
            .await?;
        evidence.push((proof.id, user_id.cloned()));
    }
    store
        .append(second_append(4, NextPhase::Ends, &["{}"])?)
        .await?;
    for (standing, expected) in [
        (None, vec![run(4), run(1)]),
        (Some(RunStatusFilter::Open), vec![run(1)]),
        (Some(RunStatusFilter::Ended), vec![run(4)]),
    ] {
        let filter = RunFilter {
            user_id: Some(ann.clone()),
            standing,
            ..RunFilter::default()
        };
        assert_eq!(fitting(store, &filter).await?, expected, "{filter:?}");
    }
    store.sweep_runs(at(9_000)?, 9).await?;
    for (id, user_id) in &evidence {
        assert_eq!(store.evidence_user(&acme, id).await?, *user_id);
        assert_eq!(store.evidence_user(&tenant("umbra")?, id).await?, None);
    }
    let filter = EvidenceFilter {
        user_id: Some(ann),
        ..EvidenceFilter::default()
    };
    let found = store.find_evidence(&acme, &filter, &page).await?.entries;
    let found: Vec<_> = found.into_iter().map(|record| record.id).collect();
    assert_eq!(found, [evidence[0].0.clone(), evidence[3].0.clone()]);
    Ok(())
}

/// Runs are filtered by status, origin, title text and time, alone and combined.
///
/// # Errors
/// Any error of the store.
pub async fn only_matching_runs_are_listed(store: &dyn Store) -> Outcome {
    for (n, title) in [
        (1, "skill aws.find_buckets"),
        (2, "playbook aws.close_port"),
        (3, "mission aws.brief"),
        (4, "skill crm.Find_leads"),
        (5, "skill aws.find_keys"),
    ] {
        let (mut record, events) = new_run("acme", n, i64::try_from(n)?)?;
        record.title = title.to_owned();
        if n == 5 {
            record.status = RunStatus::AwaitingApproval;
            record.phase = RunPhase::Waiting;
        }
        store.create_run(&record, events, vec![], vec![]).await?;
    }
    let completes = Append {
        status: RunStatus::Completed,
        ..second_append(1, NextPhase::Ends, &["{}"])?
    };
    store.append(completes).await?;
    let (other, events) = new_run("umbra", 6, 0)?;
    store.create_run(&other, events, vec![], vec![]).await?;
    let all = RunFilter::default();
    let stand = |standing| RunFilter {
        standing: Some(standing),
        ..RunFilter::default()
    };
    let begin = |words: &[&str]| RunFilter {
        begins: words.iter().map(|word| format!("{word} ")).collect(),
        ..RunFilter::default()
    };
    let named = |title: &str| RunFilter {
        title: Some(title.to_owned()),
        ..RunFilter::default()
    };
    let cases: [(RunFilter, &[u128]); 10] = [
        (all.clone(), &[5, 4, 3, 2, 1]),
        (stand(RunStatusFilter::Open), &[5, 4, 3, 2]),
        (stand(RunStatusFilter::Ended), &[1]),
        (
            stand(RunStatusFilter::At(RunStatus::AwaitingApproval)),
            &[5],
        ),
        (stand(RunStatusFilter::At(RunStatus::Completed)), &[1]),
        (stand(RunStatusFilter::At(RunStatus::Failed)), &[]),
        (begin(&["skill"]), &[5, 4, 1]),
        (begin(&["mission", "playbook"]), &[3, 2]),
        (named("FIND_"), &[5, 4, 1]),
        (
            RunFilter {
                created_from: Some(at(2)?),
                created_until: Some(at(5)?),
                standing: Some(RunStatusFilter::Open),
                ..named("aws")
            },
            &[3, 2],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|n| run(*n)).collect();
        assert_eq!(fitting(store, &filter).await?, expected, "{filter:?}");
    }
    Ok(())
}
