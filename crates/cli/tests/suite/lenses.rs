//! B000-16: lenses, from a web site to an answer.

mod indexing;
mod pgvector;
mod runbooks;
mod sources;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, request};
use crate::packages::Package;
use crate::site::{Page, Site};

pub(crate) const LENS: &str = "security.handbook";
pub(crate) const LENS_FILE: &str = "lenses/handbook.yaml";

/// A lens document that refers to `source`.
pub(crate) fn lens(id: &str, kind: &str, source: &str) -> String {
    format!(
        "lens_id: {id}\ndomain: security\ncontent_type: policy\ntitle: Handbook\n\
         description: What to do.\nsource:\n  type: {kind}\n  ref: {source}\ntags: [handbook]\n"
    )
}

pub(crate) fn library(source: &str) -> Package {
    library_in("tenant", source)
}

fn library_in(scope: &str, source: &str) -> Package {
    Package::new("library", "1.0.0", scope).with(LENS_FILE, &lens(LENS, "url", source))
}

/// A page with a section of some 300 words about each topic.
pub(crate) fn handbook(topics: &[&str]) -> Page {
    let sections = topics.iter().map(|topic| {
        let words: String = (0..60)
            .map(|n| format!("{topic} rule {n} applies here. "))
            .collect();
        format!("<h2>About {topic}</h2><p>{words}</p>")
    });
    Page::html(format!("<h1>Handbook</h1>{}", sections.collect::<String>()))
}

/// A home that may fetch from a site and compares only words.
pub(crate) fn words_only(site: &Site) -> Home {
    Home::new()
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_LENSES__EGRESS", site.address())
}

fn ask(api: &Api, question: &str) -> Value {
    api.post("/v1/lenses/search", &json!({"query": question}))
        .expect(200)
}

fn first(answer: &Value) -> &str {
    answer["passages"][0]["text"].as_str().unwrap_or_default()
}

/// B000-16
#[test]
fn b000_16_registration_fetches_indexes_and_answers_with_places_and_sources() {
    let site = Site::at("127.0.0.1");
    site.put("/handbook", handbook(&["keys", "locks", "doors"]));
    let home = words_only(&site).with("CHARTER_MODEL__SOURCE", "local");
    let server = home.serve();
    let done = server.api.register(&library(&site.url("/handbook")));
    assert_eq!(done["lenses"][0]["outcome"], "indexed", "{done:#}");
    let answer = ask(&server.api, "which rules apply to locks?");
    let passage = &answer["passages"][0];
    assert!(first(&answer).contains("locks rule"), "{answer:#}");
    assert_eq!(
        passage["source"],
        json!({"type": "url", "ref": site.url("/handbook")})
    );
    assert_eq!(
        passage["position"]["headings"],
        json!(["Handbook", "About locks"])
    );
    check_scores(&server, passage["score"].as_f64().unwrap());
    let length = passage["position"]["end"].as_u64().unwrap()
        - passage["position"]["start"].as_u64().unwrap();
    assert_eq!(length, first(&answer).len() as u64);
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["content_hash"], passage["content_hash"]);
    assert_eq!(shown["index"]["chunks"], done["lenses"][0]["chunks"]);
    assert_eq!(shown["index"]["model"], "all-MiniLM-L6-v2/f32");
    // The commands print the same with and without a server.
    let question = [
        "lens",
        "ask",
        "which rules apply to locks?",
        "--top-k",
        "1",
        "--output",
        "json",
    ];
    let asked = home.run(&question).json(0);
    drop(server);
    assert_eq!(home.run(&question).json(0), asked);
    assert_eq!(first(&asked), first(&answer));
    let listed = home.run(&["lens", "list", "--output", "json"]).json(0);
    assert_eq!(listed[0]["lens_id"], LENS);
}

/// A score is high for a passage that answers, `best` among them, and low for one that does not.
#[track_caller]
fn check_scores(server: &Server, best: f64) {
    let arguments = json!({"question": "which rules apply to locks?", "limit": 1});
    let call = json!({"name": "ask_lens", "arguments": arguments});
    let told = server
        .api
        .mcp(&json!({}), "tools/call", Some("ask_lens"), call);
    let score = &told["result"]["structuredContent"]["passages"][0]["score"];
    let score = score.as_f64().unwrap();
    assert!(best > 0.8 && (score - best).abs() < 1e-6, "{best} {told:#}");
    // It shares only a word with one passage.
    let answer = ask(&server.api, "how often are keys rotated");
    let score = answer["passages"][0]["score"].as_f64().unwrap();
    assert!(score < 0.5, "{answer:#}");
    let answer = ask(&server.api, "unrelated quantum physics lecture");
    assert_eq!(answer["passages"], json!([]));
}

/// B000-16: refused on the basic tier, even if the request asks for the advanced one.
#[test]
fn b000_16_the_basic_tier_is_refused() {
    let site = Site::at("127.0.0.1");
    site.put("/handbook", handbook(&["keys"]));
    let keys = [
        ("plain", "acme", "ann", "operator"),
        ("gold", "acme", "bob", "operator\"\ntier = \"advanced"),
    ];
    let home = Home::with_keys(&keys)
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_LENSES__EGRESS", site.address());
    let server = home.serve();
    let (plain, gold) = (server.key("plain"), server.key("gold"));
    gold.register(&library(&site.url("/handbook")));
    let refusal = "lenses need the advanced tier";
    let asked = json!({"query": "keys"});
    for answer in [
        plain.get("/v1/lenses"),
        plain.get(&format!("/v1/lenses/{LENS}")),
        plain.post("/v1/lenses/search", &asked),
        plain.post(&format!("/v1/lenses/{LENS}/search"), &asked),
        plain.post(&format!("/v1/lenses/{LENS}/reindex"), &json!({})),
    ] {
        assert_eq!(answer.fails(403, "permission_denied"), refusal);
    }
    let request_of = |metadata: Value| {
        let mut asked = request("which rules apply to keys?");
        asked["metadata"] = metadata;
        asked
    };
    let raised = request_of(json!({"flow": "rag_search", "tier": "advanced"}));
    let said = plain.ask(&raised).fails(403, "permission_denied");
    assert_eq!(said, "the request asks for a higher tier than the caller's");
    let said = plain
        .ask(&request_of(json!({"flow": "knowledge"})))
        .fails(403, "permission_denied");
    assert_eq!(said, "the reference library needs the advanced tier");
    let lowered = request_of(json!({"flow": "knowledge", "tier": "basic"}));
    gold.ask(&lowered).fails(403, "permission_denied");
    gold.ask(&request_of(json!({"flow": "knowledge"})))
        .expect(200);
}

/// B000-16, seed 000 §2.10: both flows of the reference library are answered by quotations.
#[test]
fn b000_16_requests_to_the_library_are_answered_with_passages() {
    let site = Site::at("127.0.0.1");
    site.put("/handbook", handbook(&["keys", "locks"]));
    let home = words_only(&site);
    let server = home.serve();
    server.api.register(&library(&site.url("/handbook")));
    for flow in ["rag_search", "knowledge"] {
        let mut asked = request("which rules apply to locks?");
        asked["metadata"] = json!({
            "flow": flow, "rag_params": {"lens_ids": [LENS], "domain": "security", "top_k": 1},
        });
        let answer = server.api.ask(&asked).expect(200);
        let metadata = &answer["metadata"];
        assert_eq!(
            (&metadata["flow"], &metadata["extractive"]),
            (&json!(flow), &json!(true))
        );
        let passages = metadata["passages"].as_array().unwrap();
        assert_eq!(passages.len(), 1, "{answer:#}");
        let content = answer["content"].as_str().unwrap();
        let cited = format!(
            "[1] Handbook › Handbook › About locks ({})",
            site.url("/handbook")
        );
        assert!(content.contains(&cited), "{content}");
        assert!(content.contains(passages[0]["text"].as_str().unwrap()));
        assert_eq!(answer["actions"][0]["action_type"], "search");
        // The repeated request is answered from the record.
        assert_eq!(server.api.ask(&asked).expect(200), answer);
    }
    let mut nothing = request("zebra crossing");
    nothing["metadata"] = json!({"flow": "knowledge"});
    server.api.ask(&nothing).fails(404, "no_match");
    let mut unknown = request("locks");
    unknown["metadata"] =
        json!({"flow": "rag_search", "rag_params": {"lens_ids": ["security.none"]}});
    server.api.ask(&unknown).fails(404, "not_found");
}

/// B000-1, B000-16: a tenant's lens hides the global one of the same id, and other tenants' lenses are invisible.
#[test]
fn b000_16_lenses_of_a_tenant_lie_over_the_global_ones() {
    let site = Site::at("127.0.0.1");
    site.put("/all", handbook(&["keys"]));
    site.put("/own", handbook(&["badges"]));
    let gold = |role: &str| format!("{role}\"\ntier = \"advanced");
    let (admin, operator) = (gold("admin"), gold("operator"));
    let keys = [
        ("root-key", "root", "root", admin.as_str()),
        ("acme-key", "acme", "ann", operator.as_str()),
        ("umbra-key", "umbra", "uma", operator.as_str()),
    ];
    let home = Home::with_keys(&keys)
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_LENSES__EGRESS", site.address());
    let server = home.serve();
    let [root, acme, umbra] = keys.map(|(key, ..)| server.key(key));
    root.register(&library_in("global", &site.url("/all")));
    acme.register(&library(&site.url("/own")));
    assert!(first(&ask(&acme, "rule")).contains("badges"));
    assert_eq!(ask(&acme, "keys")["passages"], json!([]));
    assert!(first(&ask(&umbra, "rule")).contains("keys"));
    assert_eq!(ask(&umbra, "badges")["passages"], json!([]));
    let path = format!("/v1/lenses/{LENS}/reindex");
    umbra
        .post(&path, &json!({}))
        .fails(403, "permission_denied");
    acme.call("DELETE", "/v1/packages/library", &[], Vec::new())
        .expect(204);
    assert!(first(&ask(&acme, "rule")).contains("keys"));
}

/// Invalid searches are refused with their faults.
#[test]
fn b000_2_questions_to_lenses_are_checked() {
    let site = Site::at("127.0.0.1");
    let home = words_only(&site);
    let server = home.serve();
    for (asked, code) in [
        (json!({"query": " "}), "invalid_request"),
        (json!({"query": "keys", "top_k": 0}), "invalid_request"),
        (json!({"query": "keys", "top_k": 51}), "invalid_request"),
        (json!({"query": "keys", "lens": "x"}), "invalid_request"),
    ] {
        server
            .api
            .post("/v1/lenses/search", &asked)
            .fails(400, code);
    }
    let nowhere = server
        .api
        .post("/v1/lenses/security.none/search", &json!({"query": "keys"}));
    nowhere.fails(404, "not_found");
}
