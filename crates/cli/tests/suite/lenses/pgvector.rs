//! B000-16: lenses whose passages PostgreSQL finds with the extension pgvector.

use std::sync::Arc;

use charter_store::lens::{Lenses, NewLensIndex};
use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::Value;

use super::{LENS, ask, first, handbook, library, words_only};
use crate::home::eventually;
use crate::replicas::store_of;
use crate::site::Site;

/// The ranks of an answer's passages, best first; cosines to three places.
fn ranked(answer: &Value) -> Vec<(String, i64, Option<i64>)> {
    let passages = answer["passages"].as_array().unwrap().iter();
    let thousandths = |value: &Value| {
        value
            .as_f64()
            .map(|cosine| (cosine * 1_000.0).round() as i64)
    };
    passages
        .map(|passage| {
            let text = passage["text"].as_str().unwrap().to_owned();
            let lexical = thousandths(&passage["lexical"]).unwrap();
            (text, lexical, thousandths(&passage["cosine"]))
        })
        .collect()
}

/// On PostgreSQL with pgvector, the database holds texts and vectors of passages and finds the nearest. The answers
/// equal those of a process that compares everything itself; matching words find passages that are not near; another
/// replica's index is used as soon as it exists.
#[test]
fn b000_16_passages_are_found_by_pgvector() {
    let site = Site::at("127.0.0.1");
    let topics = [
        "keys", "locks", "doors", "badges", "visitors", "alarms", "cameras", "parking",
    ];
    site.put("/handbook", handbook(&topics));
    let package = library(&site.url("/handbook"));
    let with_model = || words_only(&site).with("CHARTER_MODEL__SOURCE", "local");
    let here = with_model();
    let here = here.serve();
    here.api.register(&package);

    let database = Arc::new(PostgresServer::shared().database());
    database.install_pgvector();
    let (one, two) = (with_model().on(&database), with_model().on(&database));
    let (one, two) = (one.serve(), two.serve());
    one.api.register(&package);
    eventually("the other replica serves the lens", || {
        let shown = two.api.get(&format!("/v1/lenses/{LENS}"));
        (shown.status == 200).then_some(())
    });
    let long = "Somebody lost the card that opens the entrance, and asks at the desk what is to be done. \
                Which rule is there for guests who come without a card and want to be let in?";
    for question in [
        "who may enter the building?",
        "camera rule 17",
        "where do cars stand",
        "badges",
        long,
    ] {
        let expected = ranked(&ask(&here.api, question));
        assert_eq!(ranked(&ask(&one.api, question)), expected, "{question}");
        assert_eq!(ranked(&ask(&two.api, question)), expected, "{question}");
    }

    site.put("/handbook", handbook(&["helicopters"]));
    let again = one.api.post("/v1/packages", &package.bundle()).expect(200);
    assert_eq!(again["lenses"][0]["outcome"], "indexed", "{again:#}");
    let answer = ask(&two.api, "helicopters rule 9");
    assert!(first(&answer).contains("helicopters"), "{answer:#}");
    // No notification of this one reaches the processes.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(replace_texts(&database, "hovercrafts"));
    let answer = ask(&two.api, "helicopters rule 9");
    assert_eq!(first(&answer), "hovercrafts", "{answer:#}");
}

/// Replaces the index by one in which every passage has the same text.
async fn replace_texts(database: &Database, text: &str) {
    let store = store_of(database).await;
    let [found] = &store.lens_indexes().await.unwrap()[..] else {
        panic!("one lens has an index");
    };
    let chunks = store.lens_chunks(&found.scope, found.generation);
    let mut chunks = chunks.await.unwrap();
    for chunk in &mut chunks {
        chunk.text = text.to_owned();
    }
    let index = NewLensIndex {
        lens_id: found.lens_id.clone(),
        body: found.body.clone(),
        chunks,
    };
    let replaced = store.replace_lens_index(&found.scope, index, Some(found.generation));
    replaced.await.unwrap();
}
