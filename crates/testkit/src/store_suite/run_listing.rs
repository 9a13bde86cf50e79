//! Cases of listings of runs by what they are.

use charter_contract::ids::RunId;
use charter_contract::run_status::RunStatus;
use charter_store::Store;
use charter_store::journal::{After, Append, RunFilter, RunPhase, Standing};
use charter_store::page::PageRequest;

use super::Outcome;
use super::sample::{Made, at, new_run, run, second_append, tenant};

/// The runs that fit, through pages of one, by their number.
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

/// By where they stand, by what started them, by a text in their titles and by time, alone and together.
///
/// # Errors
/// As the store's.
pub async fn runs_are_listed_that_fit(store: &dyn Store) -> Outcome {
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
            record.status = "awaiting_approval".to_owned();
            record.phase = RunPhase::Waiting;
        }
        store.create_run(&record, events, vec![], vec![]).await?;
    }
    let completes = Append {
        status: "completed".to_owned(),
        ..second_append(1, After::Ends, &["{}"])?
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
        (stand(Standing::Open), &[5, 4, 3, 2]),
        (stand(Standing::Ended), &[1]),
        (stand(Standing::At(RunStatus::AwaitingApproval)), &[5]),
        (stand(Standing::At(RunStatus::Completed)), &[1]),
        (stand(Standing::At(RunStatus::Failed)), &[]),
        (begin(&["skill"]), &[5, 4, 1]),
        (begin(&["mission", "playbook"]), &[3, 2]),
        (named("FIND_"), &[5, 4, 1]),
        (
            RunFilter {
                created_from: Some(at(2)?),
                created_until: Some(at(5)?),
                standing: Some(Standing::Open),
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
