//! Measures routing over 10,000 entries: building the index, and one search.
//!
//! The catalogue is synthetic, of the size of real skills (a name, a sentence or two, 800 characters
//! of body), its words distributed as in natural text. Embedding is not part of these figures.

#![allow(clippy::unwrap_used, reason = "a benchmark stops at its first failure")]

use std::sync::Arc;

use charter_search::embed::{EmbeddingModel, Quantisation, Vector};
use charter_search::{
    Allowed, EmbeddedQuery, IndexSettings, Layer, Layers, RouteEntry, RouteIndex, RouteQuery,
    RouteSettings, RouteText, Scope, VectorRole, search,
};
use divan::Bencher;

const ENTRIES: usize = 10_000;
const DIMS: usize = 384;
const WORDS: f64 = 20_000.0;

fn main() {
    let index = RouteIndex::build(entries(), Some(model()), &IndexSettings::default()).unwrap();
    eprintln!(
        "{ENTRIES} entries: {} KiB on the heap",
        index.heap_bytes() >> 10
    );
    divan::main();
}

#[divan::bench(sample_count = 20)]
fn build_from_stored_vectors(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(entries).bench_values(|entries| {
        RouteIndex::build(entries, Some(model()), &IndexSettings::default()).unwrap()
    });
}

/// A request of one sentence.
#[divan::bench(sample_count = 500)]
fn search_short(bencher: Bencher<'_, '_>) {
    let query = embedded(&sentence(&mut Numbers(7), 12));
    bench_search(bencher, &query);
}

/// A request of five sentences, too many to be clauses: six vectors against every entry.
#[divan::bench(sample_count = 500)]
fn search_long(bencher: Bencher<'_, '_>) {
    let mut numbers = Numbers(8);
    let text: Vec<String> = (0..5).map(|_| sentence(&mut numbers, 14) + ".").collect();
    bench_search(bencher, &embedded(&text.join(" ")));
}

/// A request of one sentence that asks for two things: three searches in one.
#[divan::bench(sample_count = 500)]
fn search_two_clauses(bencher: Bencher<'_, '_>) {
    let mut numbers = Numbers(7);
    let text = [6, 6]
        .map(|words| sentence(&mut numbers, words))
        .join(", and then ");
    bench_search(bencher, &embedded(&text));
}

/// One sentence, words alone.
#[divan::bench(sample_count = 500)]
fn search_words(bencher: Bencher<'_, '_>) {
    let query = RouteQuery::parse(&sentence(&mut Numbers(7), 12))
        .unwrap()
        .lexical_only();
    bench_search(bencher, &query);
}

fn bench_search(bencher: Bencher<'_, '_>, query: &EmbeddedQuery) {
    let index = RouteIndex::build(entries(), Some(model()), &IndexSettings::default()).unwrap();
    let layers = Layers::new(vec![Layer {
        scope: Scope::Global,
        index: Arc::new(index),
    }]);
    let settings = RouteSettings::default();
    bencher.bench_local(|| search(&layers, query, Allowed::Everything, &settings, 10).unwrap());
}

fn embedded(text: &str) -> EmbeddedQuery {
    let query = RouteQuery::parse(text).unwrap().in_clauses();
    let mut numbers = Numbers(9);
    let vectors: Vec<Vector> = query.texts().map(|_| vector(&mut numbers)).collect();
    query.embedded(&model(), &vectors).unwrap()
}

fn model() -> EmbeddingModel {
    EmbeddingModel {
        name: "random".to_owned(),
        dims: DIMS,
        quantisation: Quantisation::F32,
    }
}

fn entries() -> Vec<RouteEntry> {
    let mut numbers = Numbers(1);
    (0..ENTRIES)
        .map(|at| RouteEntry {
            id: format!("group{}.entry{at}", at % 50),
            text: RouteText {
                name: sentence(&mut numbers, 3),
                description: sentence(&mut numbers, 35),
                body: Some(sentence(&mut numbers, 120)),
                ..RouteText::default()
            },
            vectors: vec![(VectorRole::Description, vector(&mut numbers))],
        })
        .collect()
}

fn vector(numbers: &mut Numbers) -> Vector {
    Vector::new((0..DIMS).map(|_| numbers.next() as f32 - 0.5).collect()).unwrap()
}

/// Words by Zipf's law: the frequency of a word falls with its rank.
fn sentence(numbers: &mut Numbers, words: usize) -> String {
    let word = |numbers: &mut Numbers| format!("word{}", WORDS.powf(numbers.next()) as usize);
    (0..words)
        .map(|_| word(numbers))
        .collect::<Vec<String>>()
        .join(" ")
}

/// Pseudo-random numbers from 0 to 1, equal in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}
