//! Tests of the summary of a run's changes and undone steps.

use super::*;

impl Driven {
    /// Lets a step succeed with an output.
    fn answers(&mut self, step: &str, output: Value) {
        self.begin(step).unwrap();
        self.command(Command::Succeed {
            step: id(step),
            output,
            source: ResultSource::Fresh,
            duration_ms: 1,
            brings: Box::default(),
        })
        .unwrap();
    }

    /// Returns each change as its step, the state before and after, and whether it was reversed.
    fn changes(&self) -> Vec<Value> {
        let account = RunAccount::new(&self.run);
        let shown = account
            .changes
            .iter()
            .map(|change| json!([change.step, change.before, change.after, change.reversed]));
        shown.collect()
    }

    /// Returns each undone step with its reason.
    fn undone(&self) -> Vec<Value> {
        let account = RunAccount::new(&self.run);
        let shown = account.undone.iter();
        shown.map(|step| json!([step.step, step.why])).collect()
    }
}

/// The state before and after a change comes from the step that has it.
#[test]
fn a_change_has_the_state_before_and_after_it() {
    let steps = || {
        vec![
            read("look", &[], AfterFailure::Abort),
            write("w", &["look"]),
            read("check", &["w"], AfterFailure::Abort),
        ]
    };
    let own = json!({"before": {"open": true}, "after": {"open": false}, "calls": 1});
    let named = json!({"group_before": [1], "port_before": 22, "group_after": []});
    for (looked, written, checked, states) in [
        // The write has both.
        (
            json!({"x": 1}),
            own,
            json!({}),
            [json!({"open": true}), json!({"open": false})],
        ),
        (
            json!({}),
            named,
            json!({}),
            [json!({"group": [1], "port": 22}), json!({"group": []})],
        ),
        // The steps around it have them.
        (
            json!({"group_before": 1}),
            json!("done"),
            json!({"after": 2}),
            [json!({"group": 1}), json!(2)],
        ),
        // No step has them: the data that the write was based on, and its output.
        (
            json!({"id": "sg-1"}),
            json!({"ok": true}),
            json!([]),
            [json!({"id": "sg-1"}), json!({"ok": true})],
        ),
        (
            json!(null),
            json!(null),
            json!(1),
            [json!(null), json!(null)],
        ),
    ] {
        let mut run = Driven::new(steps());
        run.answers("look", looked);
        run.answers("w", written);
        run.answers("check", checked);
        let [before, after] = states;
        assert_eq!(run.changes(), [json!(["w", before, after, false])]);
        assert_eq!(run.undone(), Vec::<Value>::new());
    }
}

/// Steps that failed, that therefore did not begin, or that were reversed are all undone.
#[test]
fn what_was_not_done_is_named_with_its_reason() {
    let mut run = Driven::new(vec![
        write("a", &[]),
        reversal("undo", "a"),
        write("b", &["a"]),
        write("c", &["a"]),
    ]);
    run.done("a");
    run.begin("b").unwrap();
    run.fail("b").unwrap();
    run.done("undo");
    assert_eq!(run.outcome(), "rolled_back");
    assert_eq!(run.changes(), [json!(["a", null, {"of": "a"}, true])]);
    assert_eq!(
        run.undone(),
        [
            json!(["a", "reversed"]),
            json!(["b", "failed"]),
            json!(["c", "not_begun"])
        ]
    );
}

/// A write whose reversal failed remains in effect, and is reported.
#[test]
fn a_write_whose_reversal_failed_stands() {
    let mut run = Driven::new(vec![
        write("a", &[]),
        reversal("undo", "a"),
        write("b", &["a"]),
    ]);
    run.done("a");
    run.begin("b").unwrap();
    run.fail("b").unwrap();
    run.begin("undo").unwrap();
    run.fail("undo").unwrap();
    assert_eq!(run.outcome(), "rollback_failed");
    let account = RunAccount::new(&run.run);
    assert_eq!(account.undone[0].why, UndoneReason::ReversalFailed);
    assert_eq!(
        account.undone[0].detail,
        "it was executed, and its reversal failed: it broke"
    );
}

/// A dry run changes nothing, regardless of its tools' outputs.
#[test]
fn a_dry_run_leaves_every_write_undone() {
    let parts = GraphParts {
        steps: vec![write("a", &[])],
        ..GraphParts::default()
    };
    let mut run = Driven::opening(parts, RunPrerequisites::default(), true);
    run.answers("a", json!({"would": "delete"}));
    assert_eq!(run.changes(), Vec::<Value>::new());
    assert_eq!(run.undone(), [json!(["a", "dry_run"])]);
    let account = RunAccount::new(&run.run);
    assert_eq!(json!(account.undone[0].would), json!({"would": "delete"}));
}
