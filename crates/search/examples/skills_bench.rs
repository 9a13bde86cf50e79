//! Measures discovery among many skills with precomputed vectors, through a filter: time, exactness, memory.
//!
//! `skills_bench VECTORS QUERIES DIMS SHARE`: two files of little-endian `f32` rows, and the share of the rows that a
//! caller can reach (0.1: every tenth). Writes one line of JSON. `bench/skills.py` creates the files and passes them to
//! the peers too.

use std::time::Instant;

use anyhow::{Context, bail};
use charter_search::embed::{EmbeddingModel, Quantisation, Vector};
use charter_search::{EmbeddedQuery, RouteSettings, SlotIndex, SlotLayer, discover};
use fixedbitset::FixedBitSet;

/// Hits of a search.
const TOP_K: usize = 10;

fn main() -> anyhow::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [vectors, queries, dims, share] = given.as_slice() else {
        bail!("skills_bench VECTORS QUERIES DIMS SHARE");
    };
    let dims: usize = dims.parse().context("DIMS")?;
    let step = (1.0 / share.parse::<f64>().context("SHARE")?).round() as usize;
    let model = EmbeddingModel {
        name: "given".to_owned(),
        dims,
        quantisation: Quantisation::F32,
    };
    let (rows, queries) = (read(vectors, dims)?, read(queries, dims)?);
    let mut index = SlotIndex::new(Some(model.clone()));
    for (slot, row) in rows.iter().enumerate() {
        let text = format!("skill number {slot} of the catalogue");
        index.upsert(slot, &text, Some(row))?;
    }
    let visible: FixedBitSet = (0..rows.len()).step_by(step).collect();
    let layer = SlotLayer {
        index: &index,
        visible: &visible,
    };
    let settings = RouteSettings::default();
    let (mut times, mut found) = (Vec::new(), Vec::new());
    // One query after another, as for the peers; the exact results are computed afterwards.
    for query in &queries {
        let embedded = EmbeddedQuery::of_vector(&model, query)?;
        let started = Instant::now();
        let hits = discover(&[layer], &embedded, &settings, TOP_K)?;
        times.push(started.elapsed());
        found.push(hits);
    }
    let mut right = 0;
    for (query, hits) in queries.iter().zip(&found) {
        let exact = nearest(&rows, &visible, query);
        let is_right = |slot: &&usize| hits.iter().any(|hit| hit.slot == **slot);
        right += exact.iter().filter(is_right).count();
    }
    let written = Instant::now();
    index.upsert(0, "one skill is changed", rows.first())?;
    let write = written.elapsed();
    times.sort_unstable();
    let p50_ms = times[times.len() / 2].as_secs_f64() * 1e3;
    let recall = right as f64 / (queries.len() * TOP_K.min(visible.count_ones(..))) as f64;
    let per_row = index.heap_bytes() as f64 / rows.len() as f64;
    println!(
        "{{\"p50_ms\": {p50_ms:.4}, \"recall_at_10\": {recall:.4}, \"rows\": {}, \"visible\": {}, \"mib_per_100k\": {:.1}, \"put_ms\": {:.4}}}",
        rows.len(),
        visible.count_ones(..),
        per_row * 1e5 / f64::from(1 << 20),
        write.as_secs_f64() * 1e3
    );
    Ok(())
}

fn read(file: &str, dims: usize) -> anyhow::Result<Vec<Vector>> {
    let bytes = std::fs::read(file).with_context(|| format!("reading {file}"))?;
    let rows = bytes.chunks_exact(dims * 4).map(Vector::from_bytes);
    let rows: Vec<Vector> = rows.collect::<Result<_, _>>()?;
    if rows.is_empty() {
        bail!("{file} holds no row of {dims} numbers");
    }
    Ok(rows)
}

/// Returns the nearest visible rows by 32-bit floats, comparing all of them.
fn nearest(rows: &[Vector], visible: &FixedBitSet, query: &Vector) -> Vec<usize> {
    let mut scored: Vec<(f32, usize)> = visible
        .ones()
        .map(|slot| (rows[slot].dot(query), slot))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(TOP_K)
        .map(|(_, slot)| slot)
        .collect()
}
