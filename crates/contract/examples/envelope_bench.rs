//! Measures how many mission envelopes are parsed and validated per second, from bytes. Prints one line of JSON:
//! `{"per_second": …}`. Build it with `--release`.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::validate::parse;

/// The seed's own example (002 §4.2).
const ENVELOPE: &[u8] = include_bytes!("../tests/seeds/mission_envelope.json");

/// Length of one measurement and number of measurements; the best one is reported.
const ROUND: Duration = Duration::from_millis(500);
const ROUNDS: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut count = 0_u32;
        while start.elapsed() < ROUND {
            for _ in 0..1_000 {
                parse::<MissionEnvelope>(black_box(ENVELOPE))
                    .map(black_box)
                    .map_err(|found| format!("the example is refused: {found:?}"))?;
            }
            count += 1_000;
        }
        best = best.max(f64::from(count) / start.elapsed().as_secs_f64());
    }
    println!("{}", serde_json::json!({ "per_second": best.round() }));
    Ok(())
}
