//! References to stored content in a journal.

use super::*;

const DIGEST: &str = "sha256:ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc";

/// A reading step that calls a tool.
fn calling(name: &str, tool: &str) -> Step {
    let mut step = read(name, &[], AfterFailure::Abort);
    let StepAction::Call { tool: called, .. } = &mut step.action else {
        unreachable!("a reading step calls");
    };
    *called = ToolId::parse(tool).unwrap();
    step
}

/// Makes a step succeed with a reference in its output.
fn succeed(run: &mut Driven, step: &str, source: ResultSource) {
    run.begin(step).unwrap();
    run.command(Command::Succeed {
        step: id(step),
        output: json!({"mcp_content": [{"type": "image", "digest": DIGEST, "bytes": 3}]}),
        source,
        duration_ms: 1,
        brings: Box::default(),
    })
    .unwrap();
}

fn count(run: &Driven) -> usize {
    content_references(run.journal.iter().map(|(event, _)| event)).len()
}

/// Returns the number of references after a step succeeded with one in its output.
fn counted(steps: Vec<Step>, source: ResultSource) -> usize {
    let mut run = Driven::new(steps);
    succeed(&mut run, "a", source);
    count(&run)
}

/// Anyone can write a digest into the output of a script or of an executor.
#[test]
fn only_results_of_servers_refer_to_content() {
    let of_server = || vec![calling("a", "mcp.files.read")];
    assert_eq!(counted(of_server(), ResultSource::Fresh), 1);
    assert_eq!(counted(of_server(), ResultSource::Cached), 1);
    let of_another = vec![calling("a", "files.read")];
    assert_eq!(counted(of_another, ResultSource::Fresh), 0);
}

/// Each item of a list is a step of its own, and the step that is repeated only lists their outputs.
#[test]
fn the_results_for_items_of_a_list_refer_to_content_once() {
    for (tool, expected) in [("mcp.files.read", 2), ("files.read", 0)] {
        let each = Step {
            action: StepAction::ForEach {
                items: json!(["one", "two"]),
                max_items: 2,
                concurrency: 2,
                each: Box::new(calling("each", tool).action),
            },
            ..read("each", &["a"], AfterFailure::Abort)
        };
        let mut run = Driven::new(vec![calling("a", "files.list"), each]);
        for step in ["a", "each.1", "each.2"] {
            succeed(&mut run, step, ResultSource::Fresh);
        }
        assert_eq!(
            run.run.steps().state_of(&id("each")),
            Some(&StepState::Succeeded)
        );
        assert_eq!(count(&run), expected, "{tool}");
    }
}
