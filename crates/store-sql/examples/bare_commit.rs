//! The lower bound for `bench/steps.py`: one row for each step, committed separately with the durability of the store,
//! and nothing else. It must know nothing of Charter.
//!
//! `cargo run --release -p charter-store-sql --example bare_commit -- DIR` reads scenarios from standard input and
//! answers each with its figures. There is one connection, so runs execute in sequence for every requested concurrency.

use std::path::PathBuf;
use std::time::Instant;

use rusqlite::Connection;
use serde::Deserialize;

type Failure = Box<dyn std::error::Error>;

#[derive(Deserialize)]
struct Scenario {
    runs: u32,
    steps: u32,
}

fn main() -> Result<(), Failure> {
    let directory: PathBuf = std::env::args_os()
        .nth(1)
        .ok_or("usage: bare_commit DIR")?
        .into();
    let connection = Connection::open(directory.join("bare.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE step (step_key INTEGER PRIMARY KEY, run INTEGER, step INTEGER) STRICT",
    )?;
    for line in std::io::stdin().lines() {
        let scenario: Scenario = serde_json::from_str(&line?)?;
        let (started, mut times_ms) = (Instant::now(), Vec::new());
        for run in 0..scenario.runs {
            times_ms.push(take(&connection, run, scenario.steps)?);
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{}",
            serde_json::json!({"seconds": seconds, "times_ms": times_ms})
        );
    }
    Ok(())
}

/// Commits a row for each step; returns the total time in milliseconds.
fn take(connection: &Connection, run: u32, steps: u32) -> Result<f64, Failure> {
    let mut insert = connection.prepare_cached("INSERT INTO step (run, step) VALUES (?1, ?2)")?;
    let started = Instant::now();
    for step in 0..steps {
        insert.execute([run, step])?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
