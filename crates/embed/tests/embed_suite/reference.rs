//! The in-process model against the reference implementation, on committed
//! embeddings (`bench/peers/reference_embeddings.py`). Needs the model's files.

use crate::model;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_search::embed::{Embedder, Vector};
use serde::Deserialize;

/// Least agreement with the reference that is accepted for any text.
const LEAST_COSINE: f32 = 0.99999;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    text: String,
    embedding: String,
}

impl Case {
    fn reference(&self) -> Vector {
        Vector::from_bytes(&STANDARD.decode(&self.embedding).unwrap()).unwrap()
    }
}

fn cases() -> Vec<Case> {
    let text = include_str!("../fixtures/reference_embeddings.json");
    let fixture: Fixture = serde_json::from_str(text).unwrap();
    assert!(fixture.cases.len() >= 40);
    fixture.cases
}

fn assert_all_agree(cases: &[Case], vectors: &[Vector], least: f32) {
    assert_eq!(cases.len(), vectors.len());
    let worse: Vec<(&str, f32)> = cases
        .iter()
        .zip(vectors)
        .map(|(case, vector)| (case.name.as_str(), case.reference().dot(vector)))
        .filter(|(_, cosine)| cosine.partial_cmp(&least) != Some(std::cmp::Ordering::Greater))
        .collect();
    assert_eq!(worse, [], "texts below the agreement of {least}");
}

#[tokio::test]
async fn every_text_alone_agrees_with_the_reference() {
    let embedder = model::load();
    let cases = cases();
    let mut vectors = Vec::new();
    for case in &cases {
        vectors.extend(embedder.embed(vec![case.text.clone()]).await.unwrap());
    }
    assert_all_agree(&cases, &vectors, LEAST_COSINE);
}

#[tokio::test]
async fn a_mixed_batch_agrees_with_the_reference() {
    let embedder = model::load();
    let cases = cases();
    let texts = cases.iter().map(|case| case.text.clone()).collect();
    let vectors = embedder.embed(texts).await.unwrap();
    assert_all_agree(&cases, &vectors, LEAST_COSINE);
}

#[test]
fn embedding_in_the_calling_thread_agrees_with_the_reference() {
    let embedder = model::load();
    let cases = cases();
    let texts: Vec<&str> = cases.iter().map(|case| case.text.as_str()).collect();
    let vectors = embedder.embed_now(&texts).unwrap();
    assert_all_agree(&cases, &vectors, LEAST_COSINE);
}
