//! Waiting for another run that requested approval of the same call.

use charter_contract::run_status::RunStatus;

use super::*;

fn other() -> RunId {
    RunId::from_uuid(uuid(2))
}

impl Driven {
    /// Waits for the other run because of the call of this step.
    fn await_other(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        let calls = BTreeSet::from([self.run.call_digest(&self.call(step))]);
        self.command(Command::AwaitRun {
            run: other(),
            calls,
        })
    }

    fn end_wait(&mut self, status: RunStatus) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::EndRunWait {
            status: Some(status),
        })
    }

    /// The messages of the rules with which the approval of a step's call is requested.
    fn reasons(&self, step: &str) -> Vec<String> {
        let decision = self.run.naming_earlier_run(&self.call(step), ask());
        let rules = decision.rules().iter();
        let same = rules.filter(|rule| rule.kind == RuleKind::SameCall);
        same.map(|rule| rule.message.clone()).collect()
    }
}

/// A read, and a write that follows it.
fn plan() -> Driven {
    let mut run = Driven::new(vec![
        read("look", &[], AfterFailure::Abort),
        write("a", &["look"]),
    ]);
    run.done("look");
    run
}

#[test]
fn a_run_that_waits_is_paused_and_begins_nothing() {
    let mut run = plan();
    run.await_other("a").unwrap();
    assert_eq!(run.run.status(), RunStatus::Paused);
    assert_eq!(run.next(), wait());
    assert_eq!(run.run.deadline(), None);
    assert!(run.begin_with("a", ask()).is_err());
    let waits = StepWait::list(&run.run, &id("a"));
    assert_eq!(waits, [StepWait::Run { run: other() }]);
    let reason = run.run.awaited_run().unwrap().reason();
    assert!(reason.contains(other().as_str()), "{reason}");
    let by = user("op");
    let refused = IllegalTransition::AwaitsRun(other());
    assert_eq!(run.command(RunOrder::Resume { by }), Err(refused));
}

/// The reads of the plan are outdated after the wait, so they are made again under other keys.
#[test]
fn all_steps_start_again_after_the_wait() {
    let mut run = plan();
    let key = run.run.idempotency_key(&id("look"));
    run.await_other("a").unwrap();
    run.end_wait(RunStatus::Completed).unwrap();
    assert!(run.run.has_restarted());
    assert_eq!(run.next(), start(&["look"]));
    assert_eq!(run.run.outputs().len(), 0);
    assert_ne!(run.run.idempotency_key(&id("look")), key);
    run.done("look");
    let reasons = run.reasons("a");
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains(other().as_str()), "{reasons:?}");
    assert!(reasons[0].contains("ended as completed"), "{reasons:?}");
    run.begin_with("a", ask()).unwrap();
    run.grant("a").unwrap();
    run.begin_with("a", ask()).unwrap();
    run.succeed("a").unwrap();
    assert_eq!(run.outcome(), "completed");
    let again = Run::replay(run.journal.clone()).unwrap();
    assert_eq!(again.state_digest(), run.run.state_digest());
    assert!(StrictReplay::replay(run.journal).unwrap().1.is_none());
}

#[test]
fn another_call_does_not_name_the_run_that_was_waited_for() {
    let mut run = plan();
    run.await_other("a").unwrap();
    run.end_wait(RunStatus::Rejected).unwrap();
    let mut call = run.call("a");
    call.parameters.insert("more".into(), json!(1));
    assert_eq!(run.run.naming_earlier_run(&call, ask()), ask());
    assert_eq!(run.run.naming_earlier_run(&run.call("a"), allow()), allow());
}

/// The results behind an earlier write have had an effect, so they are kept.
#[test]
fn a_run_that_wrote_keeps_its_results() {
    let mut run = Driven::new(vec![
        read("look", &[], AfterFailure::Abort),
        write("a", &["look"]),
        write("b", &["a"]),
    ]);
    run.done("look");
    run.done("a");
    run.await_other("b").unwrap();
    let events = run.end_wait(RunStatus::Failed).unwrap();
    assert!(matches!(
        events[0],
        RunEvent::RunWaitEnded {
            restarts: false,
            ..
        }
    ));
    assert_eq!(run.next(), start(&["b"]));
    assert!(run.reasons("b")[0].contains("ended as failed"));
}

/// The items of a repeated step are added anew.
#[test]
fn a_list_is_computed_again() {
    let mut each = write("w", &["look"]);
    each.action = StepAction::ForEach {
        items: json!([1, 2]),
        max_items: 5,
        concurrency: 1,
        each: Box::new(each.action),
    };
    let mut run = Driven::new(vec![read("look", &[], AfterFailure::Abort), each]);
    let steps = run.run.graph().steps().len();
    run.done("look");
    assert!(run.run.graph().steps().len() > steps);
    let digest = Digest::claimed("a call");
    run.command(Command::AwaitRun {
        run: other(),
        calls: BTreeSet::from([digest]),
    })
    .unwrap();
    run.end_wait(RunStatus::Completed).unwrap();
    assert_eq!(run.run.graph().steps().len(), steps);
    run.done("look");
    assert!(run.run.graph().steps().len() > steps);
}

#[test]
fn a_run_waits_for_another_one_and_only_when_nothing_runs() {
    let mut run = plan();
    let calls = BTreeSet::from([Digest::claimed("a call")]);
    let itself = run.run.id().clone();
    let refused = run.command(Command::AwaitRun { run: itself, calls });
    assert!(matches!(refused, Err(IllegalTransition::NoRunWait(_))));
    let refused = run.end_wait(RunStatus::Completed);
    assert_eq!(refused, Err(IllegalTransition::NoAwaitedRun));
    run.begin("a").unwrap();
    assert!(run.await_other("a").is_err());
}

/// An order to abort ends a wait.
#[test]
fn a_run_that_waits_can_be_aborted() {
    let mut run = plan();
    run.await_other("a").unwrap();
    run.command(RunOrder::Abort {
        by: user("op"),
        reason: "no longer needed".into(),
        roll_back: false,
    })
    .unwrap();
    assert_eq!(run.outcome(), "aborted");
}

/// The digest of a call is equal for another run and another step, and differs by its arguments.
#[test]
fn the_same_call_of_another_step_has_the_same_digest() {
    let run = plan();
    let (call, mut same) = (run.call("a"), run.call("look"));
    same.run_id = other();
    assert_ne!(call.digest(), same.digest());
    assert_eq!(run.run.call_digest(&call), run.run.call_digest(&same));
    same.parameters.insert("more".into(), json!(1));
    assert_ne!(run.run.call_digest(&call), run.run.call_digest(&same));
}
