//! The memory of a run's values: counted from its journal, and bounded for the run's own conclusions.

use charter_contract::json::{memory_of, memory_of_fields};

use super::*;

fn fields(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn succeed_with(run: &mut Driven, step: &str, output: Value) {
    let succeeds = Command::Succeed {
        step: id(step),
        output,
        source: ResultSource::Fresh,
        duration_ms: 1,
        brings: Box::default(),
    };
    run.command(succeeds).unwrap();
}

/// A run with parameters, in which a step receives larger arguments and returns a list.
fn answered() -> (Driven, usize) {
    let arguments = json!({"wanted": ["one", "another"]});
    let output = json!({"found": vec![json!({"id": "b-1"}); 100]});
    let mut run = Driven::new(vec![
        read("first", &[], AfterFailure::Abort),
        read("second", &["first"], AfterFailure::Abort),
    ]);
    let mut call = run.call("first");
    call.parameters = fields(&arguments).clone();
    let beginning = StepStart {
        call,
        decision: allow(),
        now: at(0),
        approval: approval(1),
        expires_at: at(3_600),
    };
    run.command(Command::Begin(Box::new(beginning))).unwrap();
    succeed_with(&mut run, "first", output.clone());
    let given = memory_of_fields(fields(&json!({"bucket": "b-1"})));
    let called = memory_of_fields(fields(&arguments));
    (run, given + called + memory_of(&output))
}

#[test]
fn parameters_arguments_and_outputs_count_and_are_counted_again_from_the_journal() {
    let (run, expected) = answered();
    assert_eq!(run.run.memory(), expected);
    let replayed = Run::replay(run.journal).unwrap();
    assert_eq!(replayed.memory(), expected);
}

#[test]
fn a_run_folded_from_outlines_stands_where_it_stands_and_has_no_outputs() {
    let (mut run, _) = answered();
    run.begin("second").unwrap();
    let outlines = run.journal.iter().map(|(event, at)| (event.outline(), *at));
    let told = Run::replay(outlines).unwrap();
    assert_eq!(told.status(), run.run.status());
    let states =
        |run: &Run| ["first", "second"].map(|step| run.steps().state_of(&id(step)).cloned());
    assert_eq!(states(&told), states(&run.run));
    assert_eq!(
        told.outputs(),
        &BTreeMap::from([(id("first"), Value::Null)])
    );
    assert!(told.memory() < run.run.memory());
}

/// A conclusion copies the values that it refers to.
#[test]
fn a_conclusion_beyond_what_a_run_may_have_fails_its_step() {
    let concluded = |mebibytes: usize| {
        let mut says = read("says", &["first"], AfterFailure::Abort);
        says.action = StepAction::Conclude {
            output: json!({"said": "${first.text}"}),
        };
        let mut run = Driven::new(vec![read("first", &[], AfterFailure::Abort), says]);
        run.begin("first").unwrap();
        succeed_with(
            &mut run,
            "first",
            json!({"text": "x".repeat(mebibytes << 20)}),
        );
        run
    };
    assert_eq!(concluded(20).state("says"), "succeeded");
    let refused = concluded(33);
    let Some(StepState::Failed { failure }) = refused.run.steps().state_of(&id("says")) else {
        panic!("{:?}", refused.run.steps().state_of(&id("says")));
    };
    assert!(
        failure
            .message
            .contains("the filled-in values take more than"),
        "{failure:?}"
    );
    assert_eq!(refused.outcome(), "failed");
}
