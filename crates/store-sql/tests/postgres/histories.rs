//! Random histories: the same calls in the same order give the same answers on SQLite and PostgreSQL.

mod kept;

use std::fmt::Debug;

use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::evidence::EvidenceFilter;
use charter_store::journal::{After, Append, Claim, EventHash, Wait};
use charter_store::lease::{Fence, Lease};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::sample;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::database::{migrated, store};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One call. Numbers name things of a small world, so that calls meet.
#[derive(Debug, Clone)]
enum Call {
    CreateRun {
        run: u8,
        tenant: bool,
    },
    Append {
        run: u8,
        expected: u8,
        fence: u8,
        then: u8,
        release: bool,
    },
    Park {
        run: u8,
        fence: u8,
        until: Option<u8>,
    },
    Acquire {
        run: u8,
        holder: bool,
        now: u8,
        lasts: u8,
    },
    Renew {
        run: u8,
        holder: bool,
        until: u8,
    },
    Release {
        run: u8,
        holder: bool,
        fence: u8,
    },
    Runs {
        tenant: bool,
        after: Option<u8>,
    },
    Claim {
        worker: u8,
        now: u8,
    },
    Events {
        run: u8,
        after: u8,
    },
    SweepRuns {
        before: u8,
    },
    Register {
        global: bool,
        package: bool,
        documents: u8,
        expected: u8,
    },
    Unregister {
        global: bool,
        package: bool,
        expected: u8,
    },
    Load,
    History {
        global: bool,
        package: bool,
    },
    PutEvidence {
        tenant: bool,
        record: u8,
        at: u8,
    },
    Attach {
        tenant: bool,
        record: u8,
        finding: u8,
    },
    Find {
        tenant: bool,
        finding: Option<u8>,
        from: u8,
        limit: u8,
    },
    RemovePayloads {
        before: u8,
    },
    Publish {
        topics: u8,
        at: u8,
    },
    Messages {
        after: u8,
        limit: u8,
    },
    SweepMessages {
        before: u8,
    },
}

fn flag() -> impl Strategy<Value = bool> {
    any::<bool>()
}

fn few() -> std::ops::Range<u8> {
    0..3
}

fn some() -> std::ops::Range<u8> {
    0..5
}

fn time() -> std::ops::Range<u8> {
    0..9
}

fn run_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (few(), flag()).prop_map(|(run, tenant)| Call::CreateRun { run, tenant }),
        (few(), 1..4u8, few(), 0..4u8, flag()).prop_map(|(run, expected, fence, then, release)| {
            Call::Append {
                run,
                expected,
                fence,
                then,
                release,
            }
        }),
        (few(), few(), proptest::option::of(time())).prop_map(|(run, fence, until)| Call::Park {
            run,
            fence,
            until
        }),
        (few(), flag(), time(), few()).prop_map(|(run, holder, now, lasts)| Call::Acquire {
            run,
            holder,
            now,
            lasts
        }),
        (few(), flag(), time()).prop_map(|(run, holder, until)| Call::Renew { run, holder, until }),
        (few(), flag(), few()).prop_map(|(run, holder, fence)| Call::Release {
            run,
            holder,
            fence
        }),
        (flag(), proptest::option::of(few()))
            .prop_map(|(tenant, after)| Call::Runs { tenant, after }),
        (0..3_u8, time()).prop_map(|(worker, now)| Call::Claim { worker, now }),
        (few(), few()).prop_map(|(run, after)| Call::Events { run, after }),
        time().prop_map(|before| Call::SweepRuns { before }),
    ]
}

fn other_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (flag(), flag(), 0..8u8, some()).prop_map(|(global, package, documents, expected)| {
            Call::Register {
                global,
                package,
                documents,
                expected,
            }
        }),
        (flag(), flag(), some()).prop_map(|(global, package, expected)| Call::Unregister {
            global,
            package,
            expected
        }),
        Just(Call::Load),
        (flag(), flag()).prop_map(|(global, package)| Call::History { global, package }),
        (flag(), some(), time()).prop_map(|(tenant, record, at)| Call::PutEvidence {
            tenant,
            record,
            at
        }),
        (flag(), some(), few()).prop_map(|(tenant, record, finding)| Call::Attach {
            tenant,
            record,
            finding
        }),
        (flag(), proptest::option::of(few()), time(), 1..4u8).prop_map(
            |(tenant, finding, from, limit)| Call::Find {
                tenant,
                finding,
                from,
                limit
            }
        ),
        time().prop_map(|before| Call::RemovePayloads { before }),
        (few(), time()).prop_map(|(topics, at)| Call::Publish { topics, at }),
        (some(), 1..9u8).prop_map(|(after, limit)| Call::Messages { after, limit }),
        time().prop_map(|before| Call::SweepMessages { before }),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![run_call(), other_call()]
}

fn tenant(first: bool) -> &'static str {
    if first { "acme" } else { "rival" }
}

fn scope(global: bool) -> Done<Scope> {
    Ok(match global {
        true => Scope::Global,
        false => Scope::Tenant(sample::tenant("acme")?),
    })
}

fn package(first: bool) -> &'static str {
    if first { "one" } else { "two" }
}

fn lease(run: u8, holder: bool, fence: u8) -> Done<Lease> {
    Ok(Lease {
        resource: sample::run(run.into()).to_string(),
        holder: holder.to_string(),
        fence: Fence(fence.into()),
        expires_at: sample::at(0)?,
    })
}

/// What a caller is told: the answer, or which error with what it says.
fn told<T: Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        // Each engine has its own words for a constraint of the schema.
        Err(StoreError::Refused { what, detail, .. }) if detail.contains("constraint") => {
            format!("{what} is refused by the schema")
        }
        Err(error) => format!("error {:?}: {error}", std::mem::discriminant(&error)),
    }
}

/// The hash after the last of a run's events, as far as a caller knows.
async fn last_hash(store: &dyn Store, run: u8) -> Done<EventHash> {
    let events = store.events(&sample::run(run.into()), 0, 100).await?;
    Ok(events
        .last()
        .map_or(charter_store::journal::GENESIS, |event| event.hash))
}

async fn append(
    store: &dyn Store,
    (run, expected, fence): (u8, u8, u8),
    then: u8,
    release: bool,
) -> Done<Append> {
    let then = match then {
        0 => After::Ends,
        1 => After::Waits(Wait {
            until: Some(sample::at(4)?),
            approvals: vec![],
        }),
        _ => After::Runs,
    };
    let previous = last_hash(store, run).await?;
    Ok(Append {
        run_id: sample::run(run.into()),
        expected: expected.into(),
        fence: Fence(fence.into()),
        events: sample::events(previous, expected.into(), &["{\"n\": 1.0}", "{}"])?,
        release,
        messages: vec![sample::message("appended", 3)?],
        ..sample::second_append(run.into(), then, &["{}"])?
    })
}

/// What one engine answers. Each of these knows the calls of its noun and leaves the others.
async fn answer(store: &dyn Store, call: &Call) -> Done<String> {
    let told = [
        of_runs(store, call).await?,
        of_leases(store, call).await?,
        of_catalogue(store, call).await?,
        of_evidence(store, call).await?,
        of_outbox(store, call).await?,
    ];
    Ok(told.into_iter().flatten().collect())
}

fn at(seconds: u8) -> Done<Timestamp> {
    Ok(sample::at(seconds.into())?)
}

async fn of_runs(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::CreateRun { run, tenant: first } => {
            let (run, events) = sample::new_run(tenant(first), run.into(), run.into())?;
            let mut message = sample::message("created", 2)?;
            message.tenant = Some(run.tenant_id.to_string());
            let messages = vec![message];
            told(store.create_run(&run, events, vec![], messages).await)
        }
        Call::Append {
            run,
            expected,
            fence,
            then,
            release,
        } => {
            let append = append(store, (run, expected, fence), then, release).await?;
            told(store.append(append).await)
        }
        Call::Park { run, fence, until } => {
            let until = until.map(at).transpose()?;
            let wait = Wait {
                until,
                approvals: vec![],
            };
            told(
                store
                    .park(&sample::run(run.into()), Fence(fence.into()), wait)
                    .await,
            )
        }
        Call::Runs {
            tenant: first,
            after,
        } => {
            let after = after.map(|n| at(n).map(|at| format!("{}.z", at.as_micros())));
            let page = PageRequest::new(after.transpose()?, 2);
            told(store.runs(&sample::tenant(tenant(first))?, &page).await)
        }
        Call::Claim { worker, now } => {
            let claim = Claim {
                holder: format!("w{worker}"),
                now: at(now)?,
                until: at(now + 3)?,
                limit: 2,
            };
            told(store.claim_runs(&claim).await)
        }
        Call::Events { run, after } => told(
            store
                .events(&sample::run(run.into()), after.into(), 2)
                .await,
        ),
        Call::SweepRuns { before } => told(store.sweep_runs(at(before)?, 1).await),
        _ => return Ok(None),
    }))
}

async fn of_leases(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Acquire {
            run,
            holder,
            now,
            lasts,
        } => {
            let run = sample::run(run.into());
            let (holder, until) = (holder.to_string(), at(now + lasts)?);
            told(store.acquire(run.as_str(), &holder, at(now)?, until).await)
        }
        Call::Renew { run, holder, until } => {
            let runs = [0, 1, run].map(|run| sample::run(run.into()).to_string());
            told(store.renew(&holder.to_string(), &runs, at(until)?).await)
        }
        Call::Release { run, holder, fence } => {
            told(store.release(&lease(run, holder, fence)?).await)
        }
        _ => return Ok(None),
    }))
}

async fn of_catalogue(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Register {
            global,
            package: first,
            documents,
            expected,
        } => {
            let ids = ["a", "B", "é"].iter().enumerate();
            let chosen = ids.filter(|(n, _)| documents & (1 << n) != 0);
            let documents = chosen
                .map(|(_, id)| sample::skill(id, package(first)))
                .collect();
            let registration = sample::registration(
                &scope(global)?,
                package(first),
                "1.0.0",
                expected.into(),
                documents,
            )?;
            told(store.register(registration).await)
        }
        Call::Unregister {
            global,
            package: first,
            expected,
        } => {
            let package = charter_contract::ids::PackageName::parse(package(first))?;
            let expected = charter_store::catalogue::CatalogueRevision(expected.into());
            let (scope, user) = (scope(global)?, sample::user()?);
            told(
                store
                    .unregister(&scope, &package, expected, &user, at(5)?)
                    .await,
            )
        }
        Call::Load => told(store.load().await),
        Call::History {
            global,
            package: first,
        } => {
            let package = charter_contract::ids::PackageName::parse(package(first))?;
            let scope = scope(global)?;
            let history = told(store.package_history(&scope, &package).await);
            history + &told(store.packages(&scope).await)
        }
        _ => return Ok(None),
    }))
}

async fn of_evidence(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::PutEvidence {
            tenant: first,
            record,
            at: when,
        } => {
            let records = [sample::evidence(tenant(first), record.into(), at(when)?)?];
            let tenant = sample::tenant(tenant(first))?;
            let put = told(store.put_evidence(&tenant, &records).await);
            put + &told(store.log_size(&tenant).await)
        }
        Call::Attach {
            tenant: first,
            record,
            finding,
        } => {
            let name = tenant(first);
            let record = sample::evidence(name, record.into(), at(0)?)?.id;
            let finding = sample::finding(&format!("f{finding}"))?;
            let tenant = sample::tenant(name)?;
            let attached = store
                .attach_evidence(&tenant, &record, &finding, at(3)?)
                .await;
            told(attached) + &told(store.log_size(&tenant).await)
        }
        Call::Find {
            tenant: first,
            finding,
            from,
            limit,
        } => {
            let finding = finding.map(|n| sample::finding(&format!("f{n}")));
            let filter = EvidenceFilter {
                attached_to: finding.transpose()?,
                captured_from: Some(at(from)?),
                ..EvidenceFilter::default()
            };
            let page = PageRequest::new(None, limit.into());
            told(
                store
                    .find_evidence(&sample::tenant(tenant(first))?, &filter, &page)
                    .await,
            )
        }
        Call::RemovePayloads { before } => {
            told(store.remove_payloads(at(before)?, at(9)?, 1).await)
        }
        _ => return Ok(None),
    }))
}

async fn of_outbox(store: &dyn Store, call: &Call) -> Done<Option<String>> {
    Ok(Some(match *call {
        Call::Publish { topics, at: when } => {
            let topics = (0..topics).map(|n| sample::message(&n.to_string(), when.into()));
            told(store.publish(topics.collect::<Result<_, _>>()?).await)
        }
        Call::Messages { after, limit } => {
            let read = told(store.messages(after.into(), limit.into()).await);
            read + &told(store.last_message().await)
        }
        Call::SweepMessages { before } => told(store.sweep_messages(at(before)?).await),
        _ => return Ok(None),
    }))
}

/// Makes the calls of a history on an empty store of each engine and compares what they answer.
async fn compare<C: Debug>(
    history: &[C],
    answer: impl AsyncFn(&dyn Store, &C) -> Done<String>,
) -> Done<()> {
    let dir = tempfile::tempdir()?;
    let sqlite = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    let database = migrated().await;
    let postgres = store(&database).await;
    for (n, call) in history.iter().enumerate() {
        let expected = answer(&sqlite, call).await?;
        let found = answer(&postgres, call).await?;
        if expected != found {
            return Err(
                format!("call {n}, {call:?}\n SQLite: {expected}\n PostgreSQL: {found}").into(),
            );
        }
    }
    Ok(())
}

/// Holds both engines to the same answers, over random histories of such calls.
fn hold<C: Debug + Clone>(
    calls: impl Strategy<Value = C>,
    answer: &impl AsyncFn(&dyn Store, &C) -> Done<String>,
) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 16,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..Config::default()
    });
    let histories = proptest::collection::vec(calls, 40..120);
    runner
        .run(&histories, |history| {
            let compared = runtime.block_on(compare(&history, answer));
            compared.map_err(|error| TestCaseError::fail(error.to_string()))
        })
        .unwrap();
}

#[test]
fn the_same_history_has_the_same_answers_on_both_engines() {
    hold(call(), &answer);
}
