//! Entries in other languages among English ones, with the built-in model, which was trained on English.

use std::sync::Arc;

use charter_embed::MiniLm;
use charter_search::embed::Embedder;
use charter_search::{
    Allowed, IndexSettings, Layer, Layers, RouteEntry, RouteIndex, RouteQuery, RouteSettings,
    RouteText, Scope, Verdict, VerdictKind, decide, embedding_texts, search,
};

use crate::model;

/// Entries by id; the prefix is the language.
const ENTRIES: [(&str, &str); 7] = [
    ("en.hosts", "Lists virtual machines that are running"),
    ("en.invoices", "Finds invoices that customers have not paid"),
    ("en.buckets", "Finds storage buckets that anyone can read"),
    ("de.rooms", "Zeigt freie Besprechungsräume im Bürogebäude"),
    (
        "de.travel",
        "Berechnet die Reisekosten der Mitarbeiter eines Monats",
    ),
    ("zh.leave", "查询员工剩余的年假天数"),
    ("zh.rooms", "预订会议室"),
];

async fn catalogue(embedder: &MiniLm) -> Layers {
    let mut entries = Vec::new();
    for (id, description) in ENTRIES {
        let text = RouteText {
            description: description.to_owned(),
            embedded: Some(description.to_owned()),
            ..RouteText::default()
        };
        let (roles, texts): (Vec<_>, Vec<_>) = embedding_texts(&text).into_iter().unzip();
        let vectors = embedder.embed(texts).await.unwrap();
        entries.push(RouteEntry {
            id: id.to_owned(),
            text,
            vectors: roles.into_iter().zip(vectors).collect(),
        });
    }
    let settings = IndexSettings::default();
    let index = RouteIndex::build(entries, Some(embedder.model().clone()), &settings).unwrap();
    Layers::new(vec![Layer {
        scope: Scope::Global,
        index: Arc::new(index),
    }])
}

async fn verdict(embedder: &MiniLm, layers: &Layers, text: &str) -> Verdict {
    let query = RouteQuery::parse(text).unwrap();
    let query = query.corrected(layers, Allowed::Everything, embedder);
    let texts = query.texts().map(str::to_owned).collect();
    let vectors = embedder.embed_queries(texts).await.unwrap();
    let query = query.embedded(embedder.model(), &vectors).unwrap();
    let settings = RouteSettings::default();
    let found = search(
        layers,
        &query,
        Allowed::Everything,
        &settings,
        ENTRIES.len(),
    )
    .unwrap();
    decide(found, &settings.thresholds, None)
}

#[tokio::test]
async fn entries_in_other_languages_attract_no_english_query() {
    let embedder = model::load();
    let layers = catalogue(&embedder).await;
    for (text, expected) in [
        ("which machines are up right now", "en.hosts"),
        ("show me servers", "en.hosts"),
        ("unpaid bills of last month", "en.invoices"),
        ("overdue payments", "en.invoices"),
        ("who can read our storage from outside", "en.buckets"),
        ("open S3 data", "en.buckets"),
    ] {
        let verdict = verdict(&embedder, &layers, text).await;
        let first = verdict.candidates.iter().chain(&verdict.dropped).next();
        assert_eq!(first.unwrap().id, expected, "{text}");
    }
    for text in [
        "what should I cook tonight",
        "tell me a story about dragons",
        "how tall is Mount Everest",
        "reset my password",
        "play some music",
    ] {
        let verdict = verdict(&embedder, &layers, text).await;
        assert_eq!(
            verdict.kind,
            VerdictKind::Miss,
            "{text}: {}",
            verdict.reason
        );
    }
    // Its meaning is near every text in another language.
    let verdict = verdict(&embedder, &layers, "translate this text").await;
    assert_ne!(verdict.kind, VerdictKind::Narrow, "{}", verdict.reason);
}
