//! The scripts in a playbook: the parts of a run that their sources read, and invalid placeholders (rulings 13 and 31).
//! Values reach a script as data, never as source. Must not know how a script is executed.

mod python;

use charter_contract::catalogue::playbook::PlaybookScript;
use charter_contract::catalogue::vocabulary::Language;
use charter_contract::placeholder::{Placeholder, Segment, segments_of_source};

pub use python::PythonSource;

/// A script's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSource {
    /// An unmodified source, which reads its input and has no placeholders.
    Plain,
    /// Python in the document, with placeholders converted to variables.
    Python(PythonSource),
}

/// An invalid placeholder, or a syntax error of the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {message}")]
pub struct ScriptFault {
    /// The line, from 1.
    pub line: usize,
    /// The problem, with a correction.
    pub message: String,
}

impl ScriptFault {
    fn at(source: &str, at: usize, message: String) -> Self {
        Self {
            line: 1 + source[..at].matches('\n').count(),
            message,
        }
    }
}

/// Parses the source of a script. A script in a file of the package reads its input.
///
/// # Errors
/// Every invalid placeholder.
pub fn read(script: &PlaybookScript) -> Result<ScriptSource, Vec<ScriptFault>> {
    let Some(body) = &script.body else {
        return Ok(ScriptSource::Plain);
    };
    match script.language {
        Language::Python => python::read(body.as_str()).map(ScriptSource::Python),
        Language::Bash => read_bash(body.as_str()),
        // These languages have no scripts.
        Language::Http | Language::Builtin | Language::Mcp => Ok(ScriptSource::Plain),
    }
}

/// Returns whether a Python source has a `return` statement outside of functions.
#[must_use]
pub fn python_returns(source: &str) -> bool {
    python::returns(source)
}

/// A shell has variables of the form `${name}`, but without dots.
fn read_bash(source: &str) -> Result<ScriptSource, Vec<ScriptFault>> {
    let parts = segments_of_source(source)
        .map_err(|error| vec![ScriptFault::at(source, 0, error.to_string())])?;
    let faults = parts.iter().filter_map(|(at, part)| {
        let Segment::Placeholder(placeholder) = part else {
            return None;
        };
        if let Placeholder::Step { path: "", .. } = placeholder {
            return None;
        }
        let message = format!(
            "`{placeholder}` is not allowed in a shell script: values come on its standard input as JSON, never as \
             source; read `.parameters` there"
        );
        Some(ScriptFault::at(source, at.start, message))
    });
    let faults: Vec<ScriptFault> = faults.collect();
    if faults.is_empty() {
        Ok(ScriptSource::Plain)
    } else {
        Err(faults)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bash(body: &str) -> Result<ScriptSource, Vec<ScriptFault>> {
        let script = json!({"step_id": "sweep", "language": "bash", "body": body});
        read(&serde_json::from_value(script).unwrap())
    }

    /// A shell's own variables are not placeholders; a placeholder is an error with its line.
    #[test]
    fn ruling_31_a_shell_script_has_no_placeholders() {
        let own = "echo ${HOME} ${x:-y} $${A.b}\n";
        assert_eq!(bash(own), Ok(ScriptSource::Plain));
        let faults = bash("cd /\nrm ${user.path}\nls ${look.files.0}\n").unwrap_err();
        let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3]);
        let message = faults[0].to_string();
        assert!(
            message.starts_with("line 2 of the script: `${user.path}` "),
            "{message}"
        );
    }
}
