//! Random histories: the same calls in the same order give the same answers on SQLite and PostgreSQL.

mod approvals;
mod catalogue;
mod evidence;
mod examples;
mod keys;
mod memories;
mod missions;
mod outbox;
mod runs;
mod sessions;
mod skills;

use std::fmt::Debug;

use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::outbox::{NewMessage, Outbox};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::sample;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use proptest_derive::Arbitrary;

use crate::postgres::database::{migrated, store};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A call of one noun. Its arguments come from small sets, so that calls interact.
trait Call: Arbitrary + Copy {
    /// Returns the store's answer.
    async fn answer(self, store: &dyn Store) -> Done<String>;
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Tenant {
    Acme,
    Rival,
}

impl Tenant {
    fn name(self) -> &'static str {
        match self {
            Self::Acme => "acme",
            Self::Rival => "rival",
        }
    }

    fn id(self) -> Done<TenantId> {
        sample::tenant(self.name())
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum ScopeChoice {
    Global,
    Acme,
}

impl ScopeChoice {
    fn scope(self) -> Done<Scope> {
        Ok(match self {
            Self::Global => Scope::Global,
            Self::Acme => Scope::Tenant(Tenant::Acme.id()?),
        })
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Few(#[proptest(strategy = "0..3u8")] u8);

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Several(#[proptest(strategy = "0..5u8")] u8);

/// Seconds after the start of the samples' day.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Second(#[proptest(strategy = "0..9u8")] u8);

impl Second {
    fn at(self) -> Done<Timestamp> {
        at(self.0)
    }
}

fn at(seconds: u8) -> Done<Timestamp> {
    Ok(sample::at(seconds.into())?)
}

/// Returns a page of two entries, after a time.
fn page(after: Option<Few>) -> Done<PageRequest> {
    let after = after.map(|Few(n)| at(n).map(|at| format!("{}.zzz", at.as_micros())));
    Ok(PageRequest::new(after.transpose()?, 2))
}

/// Returns the messages of a tenant's change.
fn messages(tenant: Tenant) -> Done<Vec<NewMessage>> {
    let mut message = sample::message("changed", 1)?;
    message.tenant = Some(tenant.name().to_owned());
    Ok(vec![message])
}

/// Formats the answer, or the kind and message of the error.
fn told<T: Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        // The engines' texts for violated constraints differ.
        Err(StoreError::Refused { what, detail, .. }) if detail.contains("constraint") => {
            format!("{what} is refused by the schema")
        }
        Err(error) => format!("error {:?}: {error}", std::mem::discriminant(&error)),
    }
}

/// More messages than any history publishes.
const MOST_MESSAGES: usize = 1_000;

/// Executes a history on an empty store of each engine and compares the answers, and finally the published messages.
async fn compare(history: &[impl Call]) -> Done<()> {
    let dir = tempfile::tempdir()?;
    let sqlite = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    let database = migrated().await;
    let postgres = store(&database).await;
    for (n, call) in history.iter().enumerate() {
        let answers = (call.answer(&sqlite).await?, call.answer(&postgres).await?);
        same(&format!("call {n}, {call:?}"), answers)?;
    }
    let messages = (
        told(sqlite.messages(0, MOST_MESSAGES).await),
        told(postgres.messages(0, MOST_MESSAGES).await),
    );
    same("messages", messages)
}

fn same(what: &str, (sqlite, postgres): (String, String)) -> Done<()> {
    match sqlite == postgres {
        true => Ok(()),
        false => Err(format!("{what}\n SQLite: {sqlite}\n PostgreSQL: {postgres}").into()),
    }
}

/// Compares both engines over this many random histories.
fn hold<C: Call>(cases: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..Config::default()
    });
    let histories = proptest::collection::vec(any::<C>(), 40..120);
    runner
        .run(&histories, |history| {
            let compared = runtime.block_on(compare(&history));
            compared.map_err(|error| TestCaseError::fail(error.to_string()))
        })
        .unwrap();
}
