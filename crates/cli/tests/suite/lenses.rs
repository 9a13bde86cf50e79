//! B000-16: lenses, from a web site to an answer, and everything that a source can do wrong.

mod pgvector;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, request};
use crate::packages::Package;
use crate::site::{DIMS, Embeddings, Page, Site};

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

/// A home that may fetch from a site and compares words alone.
pub(crate) fn words_only(site: &Site) -> Home {
    Home::new()
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_LENSES__EGRESS", site.address())
}

/// A home that may fetch from a site and embeds by a server that counts.
fn counted(site: &Site, embeddings: &Embeddings) -> Home {
    Home::new()
        .with("CHARTER_MODEL__SOURCE", "remote")
        .with("CHARTER_MODEL__BASE_URL", &embeddings.base())
        .with("CHARTER_MODEL__NAME", "words")
        .with("CHARTER_MODEL__DIMS", &DIMS.to_string())
        .with("CHARTER_LENSES__EGRESS", site.address())
}

fn ask(api: &Api, question: &str) -> Value {
    api.post("/v1/lenses/search", &json!({"query": question}))
        .expect(200)
}

fn first(answer: &Value) -> &str {
    answer["passages"][0]["text"].as_str().unwrap_or_default()
}

/// What the registration of a package says is wrong; nothing of it is there afterwards.
fn refused(server: &Server, package: &Package) -> Vec<String> {
    let refused = server.api.post("/v1/packages", &package.bundle());
    assert_eq!(refused.status, 400, "{:#}", refused.body);
    assert_eq!(server.api.get("/v1/packages").expect(200), json!([]));
    assert_eq!(server.api.get("/v1/lenses").expect(200), json!([]));
    let problems = refused.body["technical_details"]["problems"]
        .as_array()
        .unwrap();
    let said = problems.iter().map(|problem| {
        let text = |field: &str| problem[field].as_str().unwrap().to_owned();
        format!("{}:{} {}", text("file"), problem["line"], text("message"))
    });
    said.collect()
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
    // With a server and without one, the commands say the same.
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
    // It has a word in common with one passage, and no more.
    let answer = ask(&server.api, "how often are keys rotated");
    let score = answer["passages"][0]["score"].as_f64().unwrap();
    assert!(score < 0.5, "{answer:#}");
    let answer = ask(&server.api, "unrelated quantum physics lecture");
    assert_eq!(answer["passages"], json!([]));
}

/// B000-16: the same hash is no work; of a change, only texts that are new are embedded; a start
/// embeds nothing.
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

/// B000-16: how far a registration is can be seen while it goes on, and a client that leaves does not
/// end it.
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
    assert!(said.ends_with("the work goes on"), "{said}");
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

/// Ruling 4: after a change of the model words alone are compared until `charter reindex`, which
/// embeds what is stored and fetches nothing.
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
    assert_eq!(show(&home)["index"]["other_model"], true);
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

/// B000-16: sources that cannot be had fail the registration, with the line that names them.
#[test]
fn b000_16_a_source_that_cannot_be_had_fails_the_registration() {
    let (site, inside) = (Site::at("127.0.0.1"), Site::at("127.0.0.2"));
    inside.put("/", Page::html("<p>secret</p>"));
    site.put("/away", Page::redirect(&inside.url("/")));
    site.put("/huge", Page::html(vec![b'x'; 50 << 20]));
    site.put(
        "/cut.pdf",
        Page::of("application/pdf", "%PDF-1.7\n1 0 obj\n<< /Type /Catalog"),
    );
    site.put(
        "/hollow.pdf",
        Page::of("application/pdf", "%PDF-1.7\ntrailer\n%%EOF\n"),
    );
    site.put("/blob", Page::of("text/plain", b"\xff\x01\x02abc".to_vec()));
    site.put(
        "/charset",
        Page::html(b"<p>caf\xe9 trans&shy;port".to_vec()),
    );
    site.put("/empty", Page::html("<html><script>x()</script></html>"));
    site.put("/image", Page::of("image/png", "x"));
    let home = words_only(&site);
    let server = home.serve();
    let hash = inside.url("/");
    for (path, expected) in [
        ("/gone", "answered 404 Not Found".to_owned()),
        (
            "/away",
            format!(
                "{hash}: 127.0.0.2 is 127.0.0.2, a private or local address that `lenses.egress` does not name"
            ),
        ),
        ("/huge", "holds more than 33554432 bytes".to_owned()),
        (
            "/cut.pdf",
            "the PDF cannot be read: it is cut off: its end mark is missing".to_owned(),
        ),
        ("/hollow.pdf", "the PDF cannot be read: ".to_owned()),
        (
            "/blob",
            "the source is no text: byte 0 is not UTF-8; each place that is not UTF-8 became U+FFFD, \
             and it holds control characters"
                .to_owned(),
        ),
        ("/empty", "the source holds no text".to_owned()),
        (
            "/image",
            "the source is `image/png`; a lens reads HTML, Markdown, text and PDF".to_owned(),
        ),
    ] {
        let said = refused(&server, &library(&site.url(path)));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("lenses/handbook.yaml:8 "),
            "{path}: {said:?}"
        );
        assert!(said[0].contains(&expected), "{path}: {said:?}");
    }
    assert!(!server.log().contains("panicked"));
    // One wrong byte does not hide a page; the lens shows a notice.
    let done = server.api.register(&library(&site.url("/charset")));
    let notices = json!(["byte 6 is not UTF-8; each place that is not UTF-8 became U+FFFD"]);
    assert_eq!(done["lenses"][0]["notices"], notices, "{done:#}");
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["notices"], notices, "{shown:#}");
    assert_eq!(
        first(&ask(&server.api, "transport")),
        "caf\u{fffd} transport"
    );
}

/// A PDF whose objects are packed into 17 MiB of which each two bytes are 128: more than 1 GiB.
fn swollen_pdf() -> Vec<u8> {
    let packed = [129, b' '].repeat(17 << 19);
    let mut file = format!(
        "%PDF-1.5\n1 0 obj\n<< /Type /ObjStm /N 1 /First 4 /Filter /RunLengthDecode /Length {} >>\nstream\n",
        packed.len()
    )
    .into_bytes();
    file.extend(packed);
    file.extend(b"\nendstream\nendobj\n2 0 obj\n<< /Type /Catalog /Pages 3 0 R >>\nendobj\n");
    file.extend(b"trailer << /Root 2 0 R >>\n%%EOF\n");
    file
}

/// B000-16: a source that ends its reader ends nothing else.
#[test]
fn b000_16_a_pdf_that_takes_all_of_its_readers_memory_is_refused() {
    let site = Site::at("127.0.0.1");
    site.put("/swollen.pdf", Page::of("application/pdf", swollen_pdf()));
    site.put("/handbook", handbook(&["keys"]));
    let home = words_only(&site);
    let server = home.serve();
    let said = refused(&server, &library(&site.url("/swollen.pdf")));
    assert!(
        said[0].starts_with(
            "lenses/handbook.yaml:8 the source cannot be read: its reader was ended by signal "
        ),
        "{said:?}"
    );
    server.api.register(&library(&site.url("/handbook")));
    assert!(first(&ask(&server.api, "keys")).contains("keys rule"));
}

/// B000-16: what is built to be dear to read is read, or refused, at a bounded price.
#[test]
fn b000_16_deep_and_swollen_html_is_read_within_bounds() {
    let site = Site::at("127.0.0.1");
    let deep = format!("{}deepest word", "<div><b>".repeat(100_000));
    site.put("/deep", Page::html(deep));
    let attributes: String = (0..100_000)
        .map(|n| format!(" a{n}=\"&amp;&amp;&amp;\""))
        .collect();
    let entities = "&CounterClockwiseContourIntegral;".repeat(500_000);
    site.put(
        "/swollen",
        Page::html(format!("<p{attributes}>{entities} swollen word")),
    );
    let words = "bomb ".repeat(5 << 20);
    site.put("/long", Page::html(format!("<p>{words}")));
    let home = words_only(&site);
    let server = home.serve();
    let said = refused(&server, &library(&site.url("/long")));
    assert_eq!(
        said,
        ["lenses/handbook.yaml:8 the source holds more than 16777216 bytes of text"]
    );
    server.api.register(&library(&site.url("/deep")));
    assert_eq!(first(&ask(&server.api, "deepest")), "deepest word");
    let swollen = library(&site.url("/swollen")).version("1.0.0", "1.0.1");
    server.api.register(&swollen);
    assert!(first(&ask(&server.api, "swollen")).ends_with("swollen word"));
}

/// B000-16: refused on the basic tier, also where the request asks for the advanced one.
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
    let refusal = "lenses are served on the advanced tier";
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
    assert_eq!(said, "the reference library answers on the advanced tier");
    let lowered = request_of(json!({"flow": "knowledge", "tier": "basic"}));
    gold.ask(&lowered).fails(403, "permission_denied");
    gold.ask(&request_of(json!({"flow": "knowledge"})))
        .expect(200);
}

/// B000-16, seed 000 §2.10: both flows of the reference library are answered by quoting.
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
        // The same request again is answered from the record.
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

/// B000-1, B000-16: a tenant's lens hides the global one of the same id, and nobody else's is seen.
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

/// B000-16: an index leaves with its lens, and comes back with the version that is rolled back to.
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

/// B000-16: what a dry run would fetch is not fetched, and said so; the same version again looks at
/// the source again.
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
        json!([{"lens_id": LENS, "outcome": "not_fetched"}])
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

/// B000-16: indexing again by command, with and without a server, and on a schedule; a failure
/// leaves the index that was there.
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

/// B000-16: a folder of the package is one lens, and each passage says which file it is from.
#[test]
fn b000_16_a_folder_of_the_package_is_one_lens() {
    let site = Site::at("127.0.0.1");
    let server_home = words_only(&site);
    let server = server_home.serve();
    let missing = Package::new("library", "1.0.0", "tenant")
        .with(LENS_FILE, &lens(LENS, "file", "sources/books"));
    let said = refused(&server, &missing);
    assert_eq!(
        said,
        ["lenses/handbook.yaml:8 the package has no file or folder `sources/books`"]
    );
    let package = missing
        .with("sources/books/a.md", "# Keys\n\nRotate keys.\n")
        .with("sources/books/b/c.html", "<h1>Doors</h1><p>Close doors.")
        .with("sources/other.md", "Nothing about books.");
    let done = server.api.register(&package);
    assert_eq!(done["lenses"][0]["chunks"], 2);
    let answer = ask(&server.api, "doors");
    assert_eq!(
        answer["passages"].as_array().unwrap().len(),
        1,
        "{answer:#}"
    );
    let score = answer["passages"][0]["score"].as_f64().unwrap();
    assert!(score > 0.5, "the only passage answers: {answer:#}");
    let position = &answer["passages"][0]["position"];
    assert_eq!(
        (&position["file"], &position["headings"]),
        (&json!("sources/books/b/c.html"), &json!(["Doors"]))
    );
    // A file that cannot be read is left out by name; where none can, nothing comes into force.
    let package = package
        .with("sources/books/empty.md", " \n")
        .version("1.0.0", "1.0.1");
    let done = server.api.register(&package);
    let left_out =
        json!([{"file": "sources/books/empty.md", "reason": "the source holds no text"}]);
    assert_eq!(done["lenses"][0]["left_out"], left_out);
    assert_eq!(done["lenses"][0]["chunks"], 2);
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["left_out"], left_out);
    let broken = package
        .clone()
        .with("sources/books/a.md", " \n")
        .with("sources/books/b/c.html", "<h1></h1>")
        .version("1.0.1", "1.0.2");
    let refused = server.api.post("/v1/packages", &broken.bundle());
    let problem = &refused.body["technical_details"]["problems"][0];
    assert_eq!(
        problem["message"],
        "sources/books/empty.md: the source holds no text"
    );
    assert!(first(&ask(&server.api, "keys")).contains("Rotate keys"));

    check_pdf_of_a_folder(&server_home, &server, &package);
}

/// A PDF is sent as it lies in the directory. What of it cannot be read is named, and the rest is found.
#[track_caller]
fn check_pdf_of_a_folder(home: &Home, server: &Server, package: &Package) {
    let package = package.clone().version("1.0.1", "1.0.2");
    let folder = package.write(&home.path("library"));
    let file = home.path("library").join("sources/books/d.pdf");
    std::fs::write(file, pdf_with_a_bad_page()).unwrap();
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{}", registered.err);
    let notice = "sources/books/d.pdf: page 2 is not read whole: a stream is missing or damaged";
    assert!(registered.out.contains(notice), "{}", registered.out);
    let shown = server.api.get(&format!("/v1/lenses/{LENS}")).expect(200);
    assert_eq!(shown["index"]["notices"], json!([notice]));
    let answer = ask(&server.api, "ceilings");
    assert!(first(&answer).contains("Paint ceilings"), "{answer:#}");
    assert_eq!(
        answer["passages"][0]["position"]["file"],
        "sources/books/d.pdf"
    );
    let no_pdf = package
        .version("1.0.2", "1.0.3")
        .with("sources/books/d.pdf", "text");
    let refused = server.api.post("/v1/packages", &no_pdf.bundle());
    let problem = &refused.body["technical_details"]["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["message"]),
        (
            &json!("sources/books/d.pdf"),
            &json!("its bytes are no PDF: they do not begin with `%PDF-`")
        )
    );
}

/// A PDF of two pages, of which one can be read.
fn pdf_with_a_bad_page() -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let content = "BT /F 12 Tf 72 700 Td (Paint ceilings white.) Tj ET";
    for (number, object) in (1..).zip([
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources << /Font << /F 7 0 R >> >> >>",
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>",
        "<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>",
        &format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Length 4 /Filter /FlateDecode >>\nstream\n\u{1}\u{2}\u{3}\u{4}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]) {
        file.extend(format!("{number} 0 obj\n{object}\nendobj\n").bytes());
    }
    file.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    file
}

/// Questions that cannot be asked are refused with what is wrong.
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
