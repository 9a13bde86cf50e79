//! Registrations of single tools over a real store.

use std::path::Path;

use charter_contract::catalogue::DocumentKind;
use charter_contract::package::PackageScope;
use serde_json::json;

use super::*;
use crate::engine::tests::{NoTools, open as store_in, ports};
use crate::identity::caller::tests::caller;
use crate::{Engine, Mode, Role, Settings};

async fn engine(dir: &Path) -> Arc<Engine> {
    let ports = ports(store_in(dir), Arc::new(NoTools));
    Engine::start(ports, Settings::default()).await.unwrap()
}

fn definition(id: &str) -> ToolDefinition {
    serde_json::from_value(json!({
        "id": id, "name": "Get the weather", "description": "Reads the weather of a city.",
        "parameters": {"city": {"type": "string", "description": "The city", "required": true}},
        "result_schema": {"type": "object"}, "tool_class": "readonly",
    }))
    .unwrap()
}

fn tools_of(engine: &Engine, caller: &Caller) -> Vec<String> {
    let view = engine.live().view(&caller.tenant);
    let ids = view.tenant.documents().filter_map(|(_, document)| {
        let is_tool = document.kind() == DocumentKind::Tool;
        is_tool.then(|| document.id().into_owned())
    });
    ids.collect()
}

#[tokio::test]
async fn b003_4_a_duplicate_tool_id_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path()).await;
    let operator = caller("ann", Role::Admin);
    let tools = engine.tool_registrations();
    let registered = tools.register(&operator, definition("tool-get-weather"));
    let registered = registered.await.unwrap();
    assert_eq!(registered.tool_id.as_str(), "get-weather");
    assert_eq!(registered.version, "0.1.0");
    // The second is the definition id of a built-in tool.
    for taken in ["tool-get-weather", "tool-charter-fs-read"] {
        let refused = tools.register(&operator, definition(taken));
        let refused = refused.await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::AlreadyExists, "{refused}");
    }
    assert_eq!(tools_of(&engine, &operator), ["get-weather"]);
    engine.stop().await;
}

#[tokio::test]
async fn registrations_of_tools_are_versions_that_can_be_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path()).await;
    let operator = caller("ann", Role::Admin);
    let tools = engine.tool_registrations();
    for (id, version) in [("tool-a", "0.1.0"), ("tool-b", "0.2.0")] {
        let registered = tools.register(&operator, definition(id)).await.unwrap();
        assert_eq!(registered.version, version);
    }
    let package = PackageName::parse(TOOLS_PACKAGE).unwrap();
    let back = engine
        .packages()
        .roll_back(&operator, PackageScope::Tenant, &package, "0.1.0");
    back.await.unwrap();
    assert_eq!(tools_of(&engine, &operator), ["a"]);
    let registered = tools.register(&operator, definition("tool-c"));
    assert_eq!(registered.await.unwrap().version, "0.4.0");
    let removed = ToolDefinitionId::parse("tool-a").unwrap();
    tools.remove(&operator, &removed).await.unwrap();
    assert_eq!(tools_of(&engine, &operator), ["c"]);
    let absent = tools.remove(&operator, &removed).await.unwrap_err();
    assert_eq!(absent.code, ErrorCode::NotFound);
    engine.stop().await;
}

#[tokio::test]
async fn a_package_of_that_name_with_other_documents_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path()).await;
    let operator = caller("ann", Role::Admin);
    let manifest = "name: tools\nversion: 1.0.0\ntitle: Ours\n";
    let files = BTreeMap::from([(MANIFEST.to_owned(), manifest.to_owned())]);
    let packages = engine.packages();
    let ours = packages.register(&operator, PackageBundle { files }, Mode::Apply);
    ours.await.unwrap();
    let refused = engine.tool_registrations();
    let refused = refused.register(&operator, definition("tool-a"));
    let refused = refused.await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::IllegalTransition, "{refused}");
    engine.stop().await;
}

#[tokio::test]
async fn a_tool_is_registered_for_one_tenant_by_its_editors() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path()).await;
    let user = caller("bob", Role::User);
    let refused = engine.tool_registrations();
    let refused = refused.register(&user, definition("tool-a"));
    assert_eq!(refused.await.unwrap_err().code, ErrorCode::PermissionDenied);
    let operator = caller("ann", Role::Admin);
    let registered = engine.tool_registrations();
    let registered = registered.register(&operator, definition("tool-a"));
    registered.await.unwrap();
    let mut other = caller("eve", Role::Admin);
    other.tenant = charter_contract::ids::TenantId::parse("other").unwrap();
    let found = engine.tool_search().resolve_callable(&operator, "tool-a");
    assert_eq!(found.unwrap().document().tool_id.as_str(), "a");
    let hidden = engine.tool_search().resolve_callable(&other, "tool-a");
    assert_eq!(hidden.unwrap_err().code, ErrorCode::NotFound);
    engine.stop().await;
}
