//! B000-16: when a source is fetched, split and embedded again, and when it is not.

use serde_json::{Value, json};

use super::{LENS, ask, first, handbook, library, words_only};
use crate::home::{Api, Home, eventually};
use crate::site::{DIMS, Embeddings, Site};

/// A home that may fetch from a site and whose embeddings server counts.
fn counted(site: &Site, embeddings: &Embeddings) -> Home {
    Home::new()
        .with("CHARTER_MODEL__SOURCE", "remote")
        .with("CHARTER_MODEL__BASE_URL", &embeddings.base())
        .with("CHARTER_MODEL__NAME", "words")
        .with("CHARTER_MODEL__DIMS", &DIMS.to_string())
        .with("CHARTER_LENSES__EGRESS", site.address())
}

/// B000-16: an unchanged hash causes no work; after a change, only new texts are embedded; a start embeds nothing.
#[test]
fn b000_16_only_what_changed_is_embedded_again() {
    let (site, embeddings) = (Site::at("127.0.0.1"), Embeddings::start());
    site.put("/handbook", handbook(&["keys", "locks", "doors"]));
    let home = counted(&site, &embeddings);
    let server = home.serve();
    server.api.register(&library(&site.url("/handbook")));
    let first_time = embeddings.taken();
    assert!(first_time.len() >= 6, "{first_time:?}");
    let reindex = |api: &Api| {
        api.post(&format!("/v1/lenses/{LENS}/reindex"), &json!({}))
            .expect(202);
        eventually("the end of indexing", || {
            let lens = api.get(&format!("/v1/lenses/{LENS}")).expect(200);
            lens["indexing"].is_null().then(|| lens["last"].clone())
        })
    };
    let last = reindex(&server.api);
    assert_eq!(last["outcome"], "unchanged", "{last}");
    assert_eq!(embeddings.taken(), [""; 0]);
    site.put("/handbook", handbook(&["keys", "bolts", "doors"]));
    let last = reindex(&server.api);
    assert_eq!(last["outcome"], "indexed", "{last}");
    let again = embeddings.taken();
    assert_eq!(last["embedded"], again.len());
    assert!(
        !again.is_empty() && again.len() < first_time.len(),
        "{again:#?}"
    );
    assert!(
        again.iter().all(|text| text.contains("bolts")),
        "{again:#?}"
    );
    drop(server);
    let server = home.serve();
    assert_eq!(embeddings.taken(), [""; 0]);
    assert!(first(&ask(&server.api, "bolts")).contains("bolts rule"));
    assert_eq!(embeddings.taken(), ["bolts"]);
}

/// B000-16: a registration shows its progress, and a client that leaves does not end it.
#[test]
fn b000_16_progress_is_visible_and_the_work_goes_on() {
    let (site, embeddings) = (Site::at("127.0.0.1"), Embeddings::start());
    let topics: Vec<String> = (0..150).map(|n| format!("topic{n}")).collect();
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    site.put("/handbook", handbook(&topics));
    let home = counted(&site, &embeddings).with("CHARTER_LIMITS__TIMEOUT_MS", "300");
    let server = home.serve();
    let held = embeddings.hold();
    let package = library(&site.url("/handbook"));
    let late = server.api.post("/v1/packages", &package.bundle());
    let said = late.fails(504, "request_timeout");
    assert!(said.ends_with("the work continues"), "{said}");
    let path = format!("/v1/lenses/{LENS}");
    let stage = eventually("embedding", || {
        let said = server.api.get(&path).fails(503, "unavailable");
        said.contains("embedded 0 of ").then_some(said)
    });
    assert!(
        stage.starts_with("`security.handbook` is being registered: "),
        "{stage}"
    );
    drop(held);
    eventually("the end of the registration", || {
        (server.api.get(&path).status == 200).then_some(())
    });
}

/// Ruling 4: after a change of the model only words are compared until `charter reindex`, which embeds the stored texts
/// and fetches nothing.
#[test]
fn ruling_4_an_index_of_another_model_is_embedded_anew() {
    let (site, embeddings) = (Site::at("127.0.0.1"), Embeddings::start());
    site.put("/handbook", handbook(&["keys", "locks"]));
    let mut home = counted(&site, &embeddings);
    let folder = library(&site.url("/handbook")).write(&home.path("library"));
    assert_eq!(home.run(&["package", "register", &folder]).code, Some(0));
    let first_time = embeddings.taken();
    site.remove("/handbook");
    home.set("CHARTER_MODEL__NAME", "other-words");
    let show = |home: &Home| {
        home.run(&["lens", "show", LENS, "--output", "json"])
            .json(0)
    };
    assert_eq!(show(&home)["index"]["model_changed"], true);
    let ask = ["lens", "ask", "locks", "--output", "json"];
    let answer = home.run(&ask).json(0);
    assert_eq!(answer["passages"][0]["cosine"], Value::Null, "{answer:#}");
    embeddings.taken();
    assert_eq!(home.run(&["reindex"]).code, Some(0));
    let (mut again, mut before) = (embeddings.taken(), first_time);
    again.sort();
    before.sort();
    assert_eq!(again, before);
    assert_eq!(show(&home)["index"]["model"], "other-words/provider");
    assert!(home.run(&ask).json(0)["passages"][0]["cosine"].is_number());
}

/// B000-16: an index is removed with its lens, and restored by a rollback of its package.
#[test]
fn b000_16_rollback_and_removal_keep_index_and_lens_together() {
    let site = Site::at("127.0.0.1");
    site.put("/old", handbook(&["keys"]));
    site.put("/new", handbook(&["badges"]));
    let home = words_only(&site);
    let server = home.serve();
    let api = &server.api;
    api.register(&library(&site.url("/old")));
    api.register(&library(&site.url("/new")).version("1.0.0", "2.0.0"));
    assert!(first(&ask(api, "rule")).contains("badges"));
    let back = "/v1/packages/library/rollback?version=1.0.0";
    site.remove("/old");
    let failed = api.post(back, &json!({}));
    assert_eq!(failed.status, 400, "{:#}", failed.body);
    assert!(first(&ask(api, "rule")).contains("badges"));
    site.put("/old", handbook(&["keys"]));
    let done = api.post(back, &json!({})).expect(200);
    assert_eq!(done["lenses"][0]["outcome"], "indexed");
    assert!(first(&ask(api, "rule")).contains("keys"));
    api.call("DELETE", "/v1/packages/library", &[], Vec::new())
        .expect(204);
    assert_eq!(ask(api, "rule")["passages"], json!([]));
    api.get(&format!("/v1/lenses/{LENS}"))
        .fails(404, "not_found");
    drop(server);
    let left = home.run(&["lens", "list", "--output", "json"]).json(0);
    assert_eq!(left, json!([]));
}

/// B000-16: a dry run reports what it would fetch, and fetches nothing; registering the same version again checks the
/// source again.
#[test]
fn b000_16_registering_again_looks_at_the_source_again() {
    let site = Site::at("127.0.0.1");
    let home = words_only(&site);
    let server = home.serve();
    let package = library(&site.url("/handbook"));
    let dry = server
        .api
        .post("/v1/packages?dry_run=true", &package.bundle())
        .expect(200);
    assert_eq!(
        dry["lenses"],
        json!([{"lens_id": LENS, "outcome": "fetch_failed"}])
    );
    site.put("/handbook", handbook(&["keys"]).with("etag", "\"v1\""));
    server.api.register(&package);
    let again = server
        .api
        .post("/v1/packages", &package.bundle())
        .expect(200);
    assert_eq!(again["lenses"][0]["outcome"], "unchanged", "{again:#}");
    site.put("/handbook", handbook(&["badges"]).with("etag", "\"v2\""));
    let again = server
        .api
        .post("/v1/packages", &package.bundle())
        .expect(200);
    assert_eq!(again["lenses"][0]["outcome"], "indexed", "{again:#}");
    assert!(first(&ask(&server.api, "rule")).contains("badges"));
}

/// B000-16: reindexing by command, with and without a server, and on a schedule; a failure keeps the existing index.
#[test]
fn b000_16_lenses_are_indexed_again_by_command_and_on_a_schedule() {
    let site = Site::at("127.0.0.1");
    site.put("/handbook", handbook(&["keys"]));
    let mut home = words_only(&site);
    let folder = library(&site.url("/handbook")).write(&home.path("library"));
    let registered = home.run(&["package", "register", &folder]);
    assert!(
        registered
            .out
            .contains("lens security.handbook: indexed, 1 passage(s)"),
        "{registered:?}"
    );
    site.put("/handbook", handbook(&["badges"]));
    let done = home.run(&["lens", "reindex", "--output", "json"]).json(0);
    assert_eq!(done[0]["last"]["outcome"], "indexed", "{done:#}");
    site.remove("/handbook");
    let failed = home
        .run(&["lens", "reindex", LENS, "--output", "json"])
        .json(1);
    let said = failed[0]["last"]["failed"].as_str().unwrap();
    assert!(said.ends_with("answered 404 Not Found"), "{said}");
    home.set("CHARTER_LENSES__REFRESH_S", "1");
    let server = home.serve();
    assert!(first(&ask(&server.api, "rule")).contains("badges"));
    site.put("/handbook", handbook(&["doors"]));
    eventually("the scheduled look at the source", || {
        first(&ask(&server.api, "rule"))
            .contains("doors")
            .then_some(())
    });
}
