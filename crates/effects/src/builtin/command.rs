//! `command.run`: the arguments and the answer of a call of a granted program. Must not know how a process is confined.

use std::path::PathBuf;

use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::action::{Action, Content, answer, answered};
use super::parameters::{self, input};
use crate::builtin_grants::{BuiltinGrants, RootAccess};
use crate::call::ToolCall;
use crate::outcome::{Failure, Success};

/// Most arguments of one call.
const MAX_ARGUMENTS: usize = 1_000;
/// Most bytes of all arguments: 128 KiB, the kernel's own bound on one.
const MAX_ARGUMENT_BYTES: usize = 128 << 10;

/// Parameters of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    command: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    input: String,
    root: Option<String>,
}

/// A program to run, as granted.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) input: String,
    /// Working directory with its access; a private folder when absent.
    pub(crate) root: Option<(String, PathBuf, RootAccess)>,
    given: Vec<String>,
}

/// The exit code and output of a program.
pub(crate) struct CommandResult {
    pub(crate) exit_code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Command {
    pub(crate) fn parse(call: &ToolCall, grants: &BuiltinGrants) -> Result<Self, Failure> {
        let given: Parameters = parameters::typed(Builtin::CommandRun, &call.parameters)?;
        let bytes: usize = given.arguments.iter().map(String::len).sum();
        if given.arguments.len() > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES {
            let message =
                format!("more than {MAX_ARGUMENTS} arguments, or over {MAX_ARGUMENT_BYTES} bytes");
            return Err(input(message));
        }
        if given
            .arguments
            .iter()
            .any(|argument| argument.contains('\0'))
        {
            return Err(input("an argument contains NUL".to_owned()));
        }
        let granted = grants.command(&given.command)?;
        let root = match &given.root {
            None => None,
            Some(name) => {
                let (name, root) = grants.root(Some(name), RootAccess::Read)?;
                Some((name.to_owned(), root.path.clone(), root.access))
            }
        };
        let arguments = granted.arguments.iter().chain(&given.arguments);
        Ok(Self {
            arguments: arguments.cloned().collect(),
            name: given.command,
            program: granted.program.clone(),
            input: given.input,
            given: given.arguments,
            root,
        })
    }

    /// Describes the command that would run.
    pub(crate) fn preview(&self) -> Result<Success, Failure> {
        let preview = json!({ "dry_run": true, "command": self.name, "arguments": self.given });
        answer(&preview, &[])
    }

    pub(crate) fn answer(&self, ended: CommandResult) -> Result<Success, Failure> {
        let details = json!({
            "operation": Builtin::CommandRun, "command": self.name, "arguments": self.given,
            "root": self.root.as_ref().map(|(name, ..)| name), "exit_code": ended.exit_code,
            "after": Content::from_bytes(&ended.stdout),
        });
        let stdout = String::from_utf8(ended.stdout)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let result = Map::from_iter([
            ("exit_code".to_owned(), Value::from(ended.exit_code)),
            ("stdout".to_owned(), Value::String(stdout)),
            ("stderr".to_owned(), Value::String(ended.stderr)),
        ]);
        answered(
            result,
            &[Action::new(ActionType::CommandExecution, &details)?],
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use charter_contract::agentic::error::ErrorType;
    use serde_json::{Map, Value};

    use super::*;
    use crate::builtin_grants::{BuiltinTool, CommandGrant, Root};
    use crate::call::{DryRun, Limits, Target, ToolImplementation};
    use crate::room::UnlimitedOutput;

    /// Returns a call without parameters.
    pub(in super::super) fn call() -> ToolCall {
        let tool = BuiltinTool {
            name: Builtin::CommandRun,
            grants: Arc::default(),
        };
        ToolCall {
            tool_id: Builtin::CommandRun.tool_id(),
            implementation: ToolImplementation::Builtin(tool),
            target: Target::Here,
            parameters: Map::new(),
            dry_run: DryRun::No,
            limits: Limits::default(),
            environment: Vec::new(),
            egress: Vec::new(),
            readable: Vec::new(),
            idempotency_key: "key".to_owned(),
            room: Arc::new(UnlimitedOutput),
        }
    }

    fn parsed(given: &Value) -> Result<Command, (ErrorType, String)> {
        let grants = BuiltinGrants {
            roots: BTreeMap::from([(
                "work".to_owned(),
                Root {
                    path: "/srv/work".into(),
                    access: RootAccess::Read,
                },
            )]),
            commands: BTreeMap::from([(
                "list".to_owned(),
                CommandGrant {
                    program: "/bin/ls".into(),
                    arguments: vec!["--".to_owned()],
                },
            )]),
            ..BuiltinGrants::default()
        };
        let call = ToolCall {
            parameters: given.as_object().unwrap().clone(),
            ..call()
        };
        Command::parse(&call, &grants).map_err(|failure| (failure.kind, failure.message))
    }

    #[test]
    fn b003_only_granted_programs_and_roots_are_used() {
        let command = parsed(&json!({"command": "list", "arguments": ["$(id)", "-l"]})).unwrap();
        assert_eq!(command.arguments, ["--", "$(id)", "-l"]);
        let refused = [
            (
                json!({"command": "rm"}),
                "the command `rm` is not granted; these are: `list`",
            ),
            (
                json!({"command": "/bin/ls"}),
                "the command `/bin/ls` is not granted; these are: `list`",
            ),
            (
                json!({"command": "list", "root": "etc"}),
                "the root `etc` is not granted; these are: `work`",
            ),
        ];
        for (given, message) in refused {
            let (kind, said) = parsed(&given).unwrap_err();
            assert_eq!((kind, said.as_str()), (ErrorType::PermissionError, message));
        }
        let wrong = [
            json!({"command": "list", "arguments": ["a\0b"]}),
            json!({"command": "list", "arguments": vec!["a"; MAX_ARGUMENTS + 1]}),
            json!({"command": "list", "arguments": ["a".repeat(MAX_ARGUMENT_BYTES + 1)]}),
            json!({"command": "list", "arguments": [1]}),
        ];
        for given in wrong {
            assert_eq!(parsed(&given).unwrap_err().0, ErrorType::InputError);
        }
    }
}
