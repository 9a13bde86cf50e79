//! How documents come into force, and which of them a request is routed to: packages, the tools of skills' scripts,
//! routing, the examples that people confirm, the search for tools, and the indexes of all texts.

pub(crate) mod indexing;
pub(crate) mod packages;
pub(crate) mod pins;
pub(crate) mod route_examples;
pub(crate) mod routing;
pub(crate) mod skill_scripts;
pub(crate) mod tool_search;
pub(crate) mod tools;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use charter_contract::time::Timestamp;
    use charter_effects::{Imports, NoModels, NoSources};
    use charter_store::SharedStore;
    use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
    use charter_testkit::clock::SimulatedClock;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::packages::{PackageService, RoutingTests};
    use super::routing::RoutingService;
    use crate::catalogue::live::{CatalogueService, TextVectors};
    use crate::ground::checks::CheckSlots;
    use crate::ground::core_ports::{BackgroundTasks, CorePorts};
    use crate::ground::ids::RandomIds;
    use crate::ground::peers::Peers;
    use crate::knowledge::lenses::LensService;
    use crate::knowledge::look_up::LookUpService;
    use crate::{Caller, LensSettings, Purpose};

    /// Without the use cases above them, packages are listed and requests are routed.
    #[tokio::test]
    async fn packages_and_routing_need_no_use_cases_above_them() {
        let dir = tempfile::tempdir().unwrap();
        let store: SharedStore =
            Arc::new(SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap());
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let ports = CorePorts {
            store: Arc::clone(&store),
            clock: Arc::new(clock),
            ids: Arc::new(RandomIds),
        };
        let background = BackgroundTasks {
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let vectors = Arc::new(TextVectors::new(Arc::clone(&store), None));
        let catalogue = Arc::new(CatalogueService::new(
            ports.clone(),
            Arc::clone(&vectors),
            Imports::none(),
            Duration::from_secs(30),
            background.shutdown.clone(),
            background.tasks.clone(),
        ));
        catalogue.reload_catalogue().await.unwrap();
        let peers = Peers::new(
            Arc::clone(&store),
            Arc::clone(&ports.clock),
            Arc::clone(&ports.ids),
            "worker".to_owned(),
        );
        let lenses = Arc::new(LensService::new(
            ports.clone(),
            background.clone(),
            Arc::clone(&catalogue),
            Arc::clone(&vectors),
            Arc::new(peers),
            Arc::new(NoSources),
            LensSettings::default(),
        ));
        let look_up = LookUpService::new(Arc::clone(&catalogue), Arc::clone(&lenses));
        let routing = Arc::new(RoutingService::new(
            store,
            Arc::clone(&ports.ids),
            Arc::clone(&catalogue),
            Arc::clone(&vectors),
            Arc::new(NoModels),
            Arc::new(look_up),
        ));
        let tests = RoutingTests {
            routing: Arc::clone(&routing),
            candidates: 5,
            broad_skills: 3,
        };
        let (tasks, checks) = (background.tasks, CheckSlots::default());
        let packages = PackageService::new(ports, tasks, catalogue, vectors, lenses, checks, tests);
        let local = Caller::local().unwrap();
        assert!(packages.list(&local).await.unwrap().is_empty());
        let routed = routing.route(&local, Purpose::Skills, "restart the relay", 5);
        assert!(routed.await.unwrap().candidates.is_empty());
    }
}
