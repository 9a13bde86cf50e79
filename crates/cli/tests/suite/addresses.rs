//! Addresses: the methods of each, and slashes at the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::home::Api;
use crate::shared::Tenants;

/// The HTTP methods of the requests.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
];

/// Words that operations use with POST and that are also ids of skills, to which the other methods belong.
const NAMES_OF_SKILLS: [&str; 4] = [
    "/v1/agent-skills/bulk",
    "/v1/agent-skills/import",
    "/v1/agent-skills/lint",
    "/v1/agent-skills/search",
];

/// Addresses that the document does not describe.
const UNDESCRIBED: [(&str, &[&str]); 8] = [
    ("/", &["GET"]),
    ("/console", &["GET"]),
    ("/reference", &["GET"]),
    ("/healthz", &["GET"]),
    ("/readyz", &["GET"]),
    ("/metrics", &["GET"]),
    ("/a2a/v1/tasks/x/pushNotificationConfigs", &["GET", "POST"]),
    (
        "/a2a/v1/tasks/x/pushNotificationConfigs/x",
        &["GET", "DELETE"],
    ),
];

/// Every address with a value for each parameter of its path, and its methods.
fn addresses(api: &Api) -> BTreeMap<String, BTreeSet<String>> {
    let document = api.get("/v1/openapi.json").expect(200);
    let described = document["paths"].as_object().unwrap().iter();
    let described = described.map(|(template, item)| {
        let parts = template.split('/');
        let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
        let methods = item.as_object().unwrap().keys();
        let methods: BTreeSet<String> = methods.map(|method| method.to_uppercase()).collect();
        (parts.collect::<Vec<_>>().join("/"), methods)
    });
    let others = UNDESCRIBED.iter().map(|(path, methods)| {
        let methods = methods.iter().map(|method| (*method).to_owned());
        ((*path).to_owned(), methods.collect())
    });
    let mut found: BTreeMap<_, _> = described.chain(others).collect();
    for (path, methods) in &mut found {
        if NAMES_OF_SKILLS.contains(&path.as_str()) {
            methods.extend(["GET", "PUT", "DELETE"].map(str::to_owned));
        }
        if methods.contains("GET") {
            methods.insert("HEAD".to_owned());
        }
    }
    found
}

#[test]
fn a_wrong_method_lists_the_allowed_methods() {
    let server = Tenants::one();
    let addresses = addresses(&server.api);
    assert!(addresses.len() > 100, "{}", addresses.len());
    for (path, methods) in &addresses {
        for method in METHODS.iter().filter(|method| !methods.contains(**method)) {
            let (status, allowed, body) = server.api.refusal(method, path);
            let said = format!("{method} {path}: {body:#}");
            assert_eq!(status, 405, "{said}");
            let allowed: BTreeSet<String> = allowed.split(", ").map(str::to_owned).collect();
            assert_eq!(&allowed, methods, "{said}");
            if *method == "HEAD" {
                continue;
            }
            let changes = ["POST", "PUT", "PATCH", "DELETE"].contains(method);
            let code = match path.as_str() {
                "/v1/evidence/x" if changes => "immutable",
                _ => "method_not_allowed",
            };
            assert_eq!(body["error_code"], code, "{said}");
            let named = body["technical_details"]["allow"].as_array().unwrap();
            let named: BTreeSet<String> = named.iter().map(text).collect();
            assert_eq!(&named, methods, "{said}");
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn the_message_of_a_wrong_method_says_what_to_send() {
    let server = Tenants::one();
    let message = |method, path| {
        let (_, _, body) = server.api.refusal(method, path);
        text(&body["user_message"])
    };
    assert_eq!(
        message("PUT", "/v1/packages/validate"),
        "`/v1/packages/validate` does not support PUT; POST this address"
    );
    assert_eq!(
        message("DELETE", "/v1/keys"),
        "`/v1/keys` does not support DELETE; GET or POST this address"
    );
    assert_eq!(
        message("PATCH", "/v1/evidence/ev_1"),
        "evidence is never changed or deleted; GET this address"
    );
}

/// There is no redirect, which would lose the body of a POST.
#[test]
fn an_address_with_slashes_at_its_end_is_the_one_without() {
    let server = Tenants::one();
    let api = &server.api;
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let tasks = |path| {
        let call = br#"{"jsonrpc": "2.0", "id": 7, "method": "ListTasks"}"#;
        api.call_plainly("POST", path, &headers, call.to_vec())
    };
    let (with, without) = (tasks("/a2a/"), tasks("/a2a"));
    assert_eq!((with.status, &with.body), (200, &without.body));
    assert_eq!(with.body["id"], 7);
    let found = api.post("/v1/memories/search//", &json!({"limit": 1}));
    assert_eq!(found.expect(200), json!([]));
    let runs = api.get("/v1/runs/?limit=1").expect(200);
    assert_eq!(runs["entries"], json!([]));
    assert_eq!(api.get("/healthz/").expect(200)["status"], "ok");
    api.get("/v1/nothing/").fails(404, "not_found");
}
