//! Reads the log of a server, and judges the plan of each statement.

use std::collections::HashSet;
use std::sync::Arc;

use charter_store_sql::postgres::PostgresStore;
use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::Value;

use crate::postgres::database::{options, raw};

/// Most rows that one step of a plan may read for a page.
const MOST_ROWS: f64 = 300.0;

/// Number of rows of a table from which a full scan is a fault.
const MANY: f32 = 1_000.0;

/// The statement without a tenant with which each read of messages begins.
const UNNUMBERED: &str = "SELECT EXISTS (SELECT FROM outbox WHERE message_id IS NULL)";

/// The index of leases, which have no tenant. Each append enters it.
const LEASES: &str = "lease_pkey";

/// The owner of a call's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOwner {
    /// One tenant: the tenant leads every index access.
    Tenants,
    /// One tenant; a generic plan reads all rows of the tenant and sorts them.
    TenantsAndSorted,
    /// All tenants, or the owner of a unique key.
    Everyones,
    /// All tenants, and the call deliberately reads all rows in a state.
    EveryonesInAState,
}

use RowOwner::{Everyones, Tenants, TenantsAndSorted};

/// A server whose log is read, with the faults found.
pub(super) struct Watched {
    server: &'static PostgresServer,
    pub(super) store: Arc<PostgresStore>,
    /// The number of the rows that calls change.
    pub(super) open: u128,
    pub(super) many: HashSet<String>,
    seen: usize,
    pub(super) faults: Vec<String>,
}

impl Watched {
    pub(super) async fn over(
        database: &Database,
        server: &'static PostgresServer,
        open: u128,
    ) -> Self {
        let client = raw(database).await;
        let sql = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND reltuples >= $1
                   AND relnamespace = 'public'::regnamespace";
        let many = client.query(sql, &[&MANY]).await.unwrap();
        let store = PostgresStore::connect(&options(database)).await.unwrap();
        Self {
            server,
            store: Arc::new(store),
            open,
            many: many.iter().map(|row| row.get(0)).collect(),
            seen: server.log().len(),
            faults: Vec::new(),
        }
    }

    /// Executes a call and checks the plans of its statements.
    pub(super) async fn look<T, E: std::fmt::Debug>(
        &mut self,
        name: &str,
        whose: RowOwner,
        call: impl Future<Output = Result<T, E>>,
    ) {
        call.await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let log = self.server.log();
        let plans = plans(&log[self.seen..]);
        self.seen = log.len();
        let mut scans = 0;
        for plan in &plans {
            let text = plan["Query Text"].as_str().unwrap();
            let whose = match text == UNNUMBERED {
                true => Everyones,
                false => whose,
            };
            let mut faults = Vec::new();
            scans += self.judge(&plan["Plan"], whose, &mut faults);
            let said = faults
                .iter()
                .map(|fault| format!("{name}: {fault}\n  {text}"));
            self.faults.extend(said);
        }
        assert!(scans > 0, "{name}: no plan of a look-up was logged");
    }

    /// Judges a plan's steps; returns how many read a table or an index.
    fn judge(&self, step: &Value, whose: RowOwner, faults: &mut Vec<String>) -> usize {
        let kind = step["Node Type"].as_str().unwrap();
        let number = |name: &str| step[name].as_f64().unwrap_or(0.0);
        let read = number("Actual Rows")
            + number("Rows Removed by Filter")
            + number("Rows Removed by Index Recheck");
        let read = read * number("Actual Loops");
        let table = step["Relation Name"].as_str().unwrap_or("");
        let many = self.many.contains(table);
        if many && kind == "Seq Scan" && read > 1.0 {
            faults.push(format!("all of {table} is read, {read} rows"));
        } else if many && read > MOST_ROWS && matches!(whose, Tenants | Everyones) {
            faults.push(format!("{kind} reads {read} rows of {table}"));
        }
        let condition = step["Index Cond"].as_str().unwrap_or("");
        let by_index = kind.contains("Index");
        let of_tenant = matches!(whose, Tenants | TenantsAndSorted);
        let named = condition.contains("tenant_id")
            || condition.contains("scope")
            || step["Index Name"].as_str() == Some(LEASES);
        if by_index && of_tenant && !named && (many || table.is_empty()) {
            faults.push(format!(
                "{} is entered by `{condition}`",
                step["Index Name"]
            ));
        }
        let steps = step["Plans"].as_array().into_iter().flatten();
        let below: usize = steps.map(|step| self.judge(step, whose, faults)).sum();
        below + usize::from(by_index || !table.is_empty())
    }
}

/// Extracts the plans from a piece of the log: JSON, each line after a tab.
fn plans(log: &str) -> Vec<Value> {
    let pieces = log.split(" plan:\n").skip(1);
    let plans = pieces.map(|piece| {
        let lines = piece.lines().take_while(|line| line.starts_with('\t'));
        let plan: String = lines.map(|line| format!("{}\n", &line[1..])).collect();
        serde_json::from_str(&plan).unwrap_or_else(|error| panic!("{error}: {plan}"))
    });
    plans.collect()
}
