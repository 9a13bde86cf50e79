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

/// Returns the number of references after a step succeeded with one in its output.
fn counted(steps: Vec<Step>, source: ResultSource) -> usize {
    let mut run = Driven::new(steps);
    run.begin("a").unwrap();
    run.command(Command::Succeed {
        step: id("a"),
        output: json!({"mcp_content": [{"type": "image", "digest": DIGEST, "bytes": 3}]}),
        source,
        duration_ms: 1,
        brings: Box::default(),
    })
    .unwrap();
    content_references(run.journal.iter().map(|(event, _)| event)).len()
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
