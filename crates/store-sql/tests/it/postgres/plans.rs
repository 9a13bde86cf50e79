//! The query plans of PostgreSQL. The statements are the engine's own: the server logs the plan of each executed
//! statement, and the test reads the log. They run as Charter's role, behind row-level security, over tables of twenty
//! thousand rows of forty tenants; once with the server's own planning, and once with generic plans.

mod everyones;
mod examples;
mod kept;
mod runs;
mod schedules;
mod watched;

use charter_contract::ids::{TenantId, UserId};
use charter_store::page::PageRequest;
use charter_testkit::postgres_server::PostgresServer;
use charter_testkit::store_suite::Outcome;

use self::watched::Watched;
use crate::postgres::database::raw;
use crate::postgres::filled::{self, ACME};

const PAGE: usize = 50;

fn page() -> PageRequest {
    PageRequest::new(None, PAGE)
}

/// The `n`th row of every table belongs to `acme`.
const N: u128 = 4_000;
/// Other rows, one for each way of planning, in a state in which calls can change them.
const OPEN: [u128; 2] = [3_200, 2_400];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_look_up_enters_an_index_by_its_tenant() -> Outcome {
    let server = PostgresServer::mortal();
    let database = server.database();
    filled::fill(&database).await?;
    let superuser = raw(&database).await;
    let mut faults = Vec::new();
    for (mode, open) in ["auto", "force_generic_plan"].into_iter().zip(OPEN) {
        let name = database.name();
        let settings = format!(
            "ALTER DATABASE {name} SET session_preload_libraries = 'auto_explain';
             ALTER DATABASE {name} SET auto_explain.log_min_duration = 0;
             ALTER DATABASE {name} SET auto_explain.log_format = json;
             ALTER DATABASE {name} SET auto_explain.log_analyze = on;
             ALTER DATABASE {name} SET auto_explain.log_nested_statements = on;
             ALTER DATABASE {name} SET auto_explain.log_parameter_max_length = 0;
             ALTER DATABASE {name} SET plan_cache_mode = {mode}"
        );
        superuser.batch_execute(&settings).await?;
        let mut watched = Watched::over(&database, server, open).await;
        assert!(watched.many.len() > 20, "{:?}", watched.many);
        runs::look_at_requests(&mut watched).await?;
        runs::look_at_runs(&mut watched).await?;
        runs::look_at_approvals_and_keys(&mut watched).await?;
        examples::look_at_route_examples(&mut watched).await?;
        kept::look_at_evidence(&mut watched).await?;
        kept::look_at_memories_and_skills(&mut watched).await?;
        kept::look_at_missions(&mut watched).await?;
        schedules::look_at_schedules(&mut watched).await?;
        everyones::look_at_what_is_everyones(&mut watched).await?;
        faults.extend(
            watched
                .faults
                .into_iter()
                .map(|fault| format!("[{mode}] {fault}")),
        );
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    Ok(())
}

fn acme() -> TenantId {
    TenantId::parse(ACME).unwrap()
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}
