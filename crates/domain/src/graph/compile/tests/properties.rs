//! Properties of every plan that compiles: it ends, replays, and starts only the steps that it should.

use proptest::prelude::*;

use super::*;

/// A plan of up to six steps with random dependencies, conditions and handling.
fn drawn(bytes: &[u8]) -> (Value, Value) {
    let mut bytes = bytes.iter().copied().chain(std::iter::repeat(0));
    let mut below = |bound: u8| bytes.next().unwrap_or_default() % bound;
    let count = 1 + below(6);
    let mut steps = Vec::new();
    for number in 1..=count {
        let mut step = reads(number, json!({}));
        let mut dependencies = Vec::new();
        for earlier in 1..number {
            let name = format!("step-{earlier:03}");
            match below(6) {
                1 => dependencies.push(name),
                2 => step["parameters"]["of"] = json!(format!("${{{name}.of}}")),
                3 => {
                    let expression = format!(r#"steps["{name}"].state == "succeeded""#);
                    step["condition"] = json!({"type": "expression", "expression": expression});
                }
                4 if step["parameters"]["of"].is_null() => {
                    step["condition"] = json!({"type": "step_failure", "step_id": name});
                }
                _ => {}
            }
        }
        step["dependencies"] = json!(dependencies);
        if below(3) == 1 {
            step["retry"] = json!({"max_attempts": 1});
        }
        steps.push(step);
    }
    let words = ["abort_plan", "continue_plan"];
    let handling = words[usize::from(below(2))];
    (
        json!(steps),
        json!({"error_handling": {"on_step_failure": handling}}),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn b003_5_every_plan_that_compiles_ends_and_replays(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        failing in prop::collection::vec(any::<bool>(), 24),
    ) {
        let (steps, more) = drawn(&bytes);
        let written = plan(PLAN, steps.clone(), more);
        // A step that waits for a failure and refers to the failed step's output is rejected.
        let Ok(graph) = compiled(&written, &[]) else { return Ok(()) };
        let mut answers = failing.into_iter();
        let ended = drive(graph, json!({}), |step| match answers.next() {
            Some(true) => Err(ErrorKind::ExecutionError),
            Some(false) | None => succeeds(step),
        });
        let states = ended.states();
        for step in steps.as_array().unwrap() {
            let state = states[step["id"].as_str().unwrap()];
            prop_assert!(["succeeded", "failed", "skipped", "cancelled"].contains(&state));
            let handles = step["condition"]["step_id"].as_str();
            for needed in step["dependencies"].as_array().unwrap() {
                let needed = needed.as_str().unwrap();
                if state == "succeeded" && handles != Some(needed) {
                    prop_assert_eq!(states[needed], "succeeded");
                }
            }
            if let Some(target) = handles.filter(|_| state == "succeeded") {
                prop_assert_eq!(states[target], "failed");
            }
        }
    }
}
