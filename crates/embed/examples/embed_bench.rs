//! Measures the in-process embedder on the texts and in the form of `bench/peers/embed_onnxruntime.py`: prints one line
//! of JSON with the median and shortest time of one 16-token query in milliseconds, and 128-token passages per second
//! in the best of several rounds.
//!
//! `cargo run --release -p charter-embed --example embed_bench -- MODEL_DIR`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use charter_embed::{MiniLm, MiniLmOptions};
use charter_search::embed::Embedder;

/// 14 words of one token each, and the two special tokens.
const QUERY: &str = "which of my security groups are open to the internet on any port now";
/// Words of one token each, repeated up to 126.
const WORDS: &str =
    "the quick brown fox jumps over the lazy dog while seven grey ships carry cold water";
const WARM_UP: Duration = Duration::from_millis(500);
const QUERIES: usize = 400;
const PASSAGES: usize = 16;
const ROUNDS: usize = 24;

fn passage() -> String {
    let words: Vec<&str> = WORDS.split(' ').cycle().take(126).collect();
    words.join(" ")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory: PathBuf = std::env::args_os()
        .nth(1)
        .ok_or("usage: embed_bench MODEL_DIR")?
        .into();
    let resident_before = resident_mib();
    let started = Instant::now();
    let embedder = MiniLm::load(&directory, &MiniLmOptions::default())?;
    let load_ms = started.elapsed().as_secs_f64() * 1e3;
    let resident = resident_mib() - resident_before;
    let passage = passage();
    let tokens = [QUERY, passage.as_str()].map(|text| embedder.count_tokens(text));
    if tokens != [Some(16), Some(128)] {
        return Err(format!("the texts have {tokens:?} tokens, not 16 and 128").into());
    }
    let times = query_times(&embedder).await?;
    let passages128_per_s = passage_rate(&embedder, &passage).await?;
    println!(
        "{}",
        serde_json::json!({
            "engine": format!("charter {}", embedder.model()),
            "query16_p50_ms": times[times.len() / 2],
            "query16_min_ms": times[0],
            "passages128_per_s": passages128_per_s,
            "load_ms": load_ms,
            "model_resident_mib": resident,
            "resident_mib": resident_mib(),
        })
    );
    Ok(())
}

/// Milliseconds of each query, shortest first.
async fn query_times(embedder: &MiniLm) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let warm = Instant::now();
    while warm.elapsed() < WARM_UP {
        embedder.embed(vec![QUERY.to_owned()]).await?;
    }
    let mut times = Vec::with_capacity(QUERIES);
    for _ in 0..QUERIES {
        let started = Instant::now();
        embedder.embed(vec![QUERY.to_owned()]).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The best of several rounds of one call each.
async fn passage_rate(embedder: &MiniLm, passage: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let texts = vec![passage.to_owned(); PASSAGES];
        let started = Instant::now();
        embedder.embed(texts).await?;
        best = best.max(PASSAGES as f64 / started.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Returns the resident memory of this process, zero if the system does not report it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
