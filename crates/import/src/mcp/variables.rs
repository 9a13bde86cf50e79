//! Placeholders in the configurations of MCP clients: `${env:NAME}` and `${input:id}` of VS Code and Cursor, `${NAME}` and
//! `${NAME:-default}` of Claude, and the folders of both. Must not know the environment: the caller names the folders.

/// The value of a variable or header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A value as it is written.
    Literal(String),
    /// The value of a variable, alone.
    Variable(String),
    /// A value that the client asks its user for.
    Input(String),
    /// A text with variables in it, as it is written.
    Mixed(String),
}

/// The folders that placeholders name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placeholders {
    /// The folder of the project, if it is known.
    pub workspace: Option<String>,
    /// The home of the user, if it is known.
    pub home: Option<String>,
}

/// A part of a text.
enum Part<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

impl Placeholders {
    /// Reads the value of a variable or header.
    pub(super) fn setting(&self, text: &str) -> Setting {
        let filled = self.filled(text);
        let found = parts(&filled);
        match found.as_slice() {
            [Part::Placeholder(name)] => match name.strip_prefix("input:") {
                Some(id) => Setting::Input(id.to_owned()),
                None => Setting::Variable(name.strip_prefix("env:").unwrap_or(name).to_owned()),
            },
            parts if parts.iter().all(|part| matches!(part, Part::Text(_))) => {
                Setting::Literal(filled.clone())
            }
            _ => Setting::Mixed(filled.clone()),
        }
    }

    /// Reads a text in which Charter fills in no variables.
    ///
    /// # Errors
    /// When a variable remains, with its name.
    pub(super) fn plain(&self, text: &str, field: &str) -> Result<String, String> {
        let filled = self.filled(text);
        let remaining = parts(&filled).into_iter().find_map(|part| match part {
            Part::Text(_) => None,
            Part::Placeholder(name) => Some(name.to_owned()),
        });
        match remaining {
            None => Ok(filled),
            Some(name) => Err(format!(
                "its `{field}` contains `${{{name}}}`, which Charter does not fill in there: write the value, or let \
                 the program read it from its environment"
            )),
        }
    }

    /// Fills in folders and defaults; other placeholders stay.
    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Placeholder(name) => match self.value(name) {
                    Some(value) => filled.push_str(value),
                    None => filled.push_str(&format!("${{{name}}}")),
                },
            }
        }
        filled
    }

    fn value<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        match name {
            "workspaceFolder" | "CLAUDE_PROJECT_DIR" => self.workspace.as_deref(),
            "userHome" | "HOME" | "env:HOME" => self.home.as_deref(),
            "/" | "pathSeparator" => Some("/"),
            _ => name.split_once(":-").map(|(_, default)| default),
        }
    }
}

/// Splits a text at its placeholders.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, placeholder) = rest.split_at(start);
        let Some(end) = placeholder.find('}') else {
            break;
        };
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(Part::Placeholder(&placeholder[2..end]));
        rest = &placeholder[end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_alone_is_a_variable_and_folders_are_filled_in() {
        let known = Placeholders {
            workspace: Some("/work/project".to_owned()),
            home: Some("/home/ada".to_owned()),
        };
        let text = str::to_owned;
        for (written, setting) in [
            ("fast", Setting::Literal(text("fast"))),
            ("", Setting::Literal(String::new())),
            ("${env:TOKEN}", Setting::Variable(text("TOKEN"))),
            ("${TOKEN}", Setting::Variable(text("TOKEN"))),
            ("${input:api-key}", Setting::Input(text("api-key"))),
            ("Bearer ${TOKEN}", Setting::Mixed(text("Bearer ${TOKEN}"))),
            ("${MODE:-slow}", Setting::Literal(text("slow"))),
            (
                "${workspaceFolder}/a:${userHome}",
                Setting::Literal(text("/work/project/a:/home/ada")),
            ),
            ("cost: ${ 5", Setting::Literal(text("cost: ${ 5"))),
        ] {
            assert_eq!(known.setting(written), setting, "{written}");
        }
        assert_eq!(
            known.plain("${userHome}/x", "args"),
            Ok(text("/home/ada/x"))
        );
        assert_eq!(
            known.plain("--key=${input:key}", "args").unwrap_err(),
            "its `args` contains `${input:key}`, which Charter does not fill in there: write the value, or let the \
             program read it from its environment"
        );
        let unknown = Placeholders::default();
        assert!(unknown.plain("${workspaceFolder}", "args").is_err());
    }
}
