//! The field `allowed-tools` of a `SKILL.md`: which scripts of the skill it grants.
//!
//! An entry grants scripts by their path (`scripts/report.py`, `scripts/*`), as a command of a shell
//! (`Bash(scripts/report.py:*)`, `Bash(python3 scripts/report.py *)`), by their interpreter (`Bash(python3:*)`), or all
//! of them (`Bash`, `Bash(*)`). An entry that also restricts the arguments grants nothing, because arguments are not
//! compared. Must not know files, tools or packages.

use serde_json::{Map, Value};

/// The field of the frontmatter.
const FIELD: &str = "allowed-tools";

/// The tool of agents that runs commands.
const SHELL: &str = "Bash";

/// Programs that run the script that follows them.
const INTERPRETERS: [&str; 10] = [
    "python", "python3", "bash", "sh", "zsh", "node", "deno", "bun", "ruby", "perl",
];

/// The scripts that a skill may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptGrant {
    /// Those that `allowed-tools` of the skill grants.
    AllowedTools,
    /// All of them: the importing operator allows it.
    All,
}

/// The entries of `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AllowedTools {
    patterns: Vec<ScriptPattern>,
}

/// The scripts that one entry grants.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ScriptPattern {
    All,
    /// The path of a script, in which `*` is any text.
    Path(String),
    /// The interpreter of scripts.
    Interpreter(String),
}

impl AllowedTools {
    /// Reads the entries of a frontmatter; none without the field.
    pub(super) fn of(fields: &Map<String, Value>) -> Self {
        let entries: Vec<String> = match fields.get(FIELD) {
            Some(Value::String(text)) => entries(text),
            Some(Value::Array(listed)) => listed
                .iter()
                .filter_map(Value::as_str)
                .flat_map(entries)
                .collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Vec::new()
            }
        };
        Self {
            patterns: entries.iter().filter_map(|entry| pattern(entry)).collect(),
        }
    }

    /// Returns whether an entry grants a script, which `interpreter` runs.
    pub(super) fn grants(&self, path: &str, interpreter: &str) -> bool {
        self.patterns.iter().any(|pattern| match pattern {
            ScriptPattern::All => true,
            ScriptPattern::Path(glob) => matches(glob, path),
            ScriptPattern::Interpreter(name) => name.trim_end_matches('3') == interpreter,
        })
    }
}

/// Splits the field at spaces and commas outside of brackets.
fn entries(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c.is_whitespace() || c == ',') {
            entries.push(String::new());
        } else if let Some(entry) = entries.last_mut() {
            entry.push(c);
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// Returns the scripts that an entry grants; `None` for another tool.
fn pattern(entry: &str) -> Option<ScriptPattern> {
    let command = match entry.split_once('(') {
        None if entry == SHELL => return Some(ScriptPattern::All),
        None => {
            return entry
                .contains('/')
                .then(|| ScriptPattern::Path(plain(entry)));
        }
        Some((tool, rest)) if tool == SHELL => rest.strip_suffix(')')?,
        Some(_) => return None,
    };
    // Any text may follow the command.
    let command = command.strip_suffix(":*").unwrap_or(command);
    let mut words: Vec<&str> = command.split_whitespace().collect();
    if words.len() > 1 && words.last() == Some(&"*") {
        words.pop();
    }
    match words.as_slice() {
        ["*"] => Some(ScriptPattern::All),
        [name] if INTERPRETERS.contains(name) => {
            Some(ScriptPattern::Interpreter((*name).to_owned()))
        }
        [path] => Some(ScriptPattern::Path(plain(path))),
        [name, path] if INTERPRETERS.contains(name) => Some(ScriptPattern::Path(plain(path))),
        // Another program, or a command whose arguments are restricted.
        _ => None,
    }
}

/// Returns a path relative to the skill: without `./`, and without a leading variable such as `{baseDir}/`.
fn plain(path: &str) -> String {
    let path = path.trim_matches(['"', '\'']);
    let path = match path.split_once('/') {
        Some((first, rest)) if first == "." || first.starts_with(['$', '{']) => rest,
        Some(_) | None => path,
    };
    path.to_owned()
}

/// Returns whether a glob covers a path; `*` is any text.
fn matches(glob: &str, path: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn granted(field: &Value) -> Vec<&'static str> {
        let fields = json!({"allowed-tools": field});
        let allowed = AllowedTools::of(fields.as_object().unwrap());
        let scripts = [
            ("scripts/a.py", "python"),
            ("scripts/b.sh", "bash"),
            ("scripts/more/c.js", "node"),
        ];
        let granted = scripts
            .into_iter()
            .filter(|(path, by)| allowed.grants(path, by));
        granted.map(|(path, _)| path).collect()
    }

    #[test]
    fn entries_grant_scripts_by_path_command_and_interpreter() {
        let all = ["scripts/a.py", "scripts/b.sh", "scripts/more/c.js"];
        for everything in [
            "Bash",
            "Read, Bash(*)",
            "Bash(*:*)",
            "Bash(scripts/*)",
            "scripts/*",
        ] {
            assert_eq!(granted(&json!(everything)), all, "{everything}");
        }
        for one in [
            "scripts/a.py",
            "./scripts/a.py Read",
            "Bash(scripts/a.py)",
            "Bash(./scripts/a.py:*)",
            "Bash(python3 scripts/a.py:*)",
            "Bash(python {baseDir}/scripts/a.py *)",
            "Bash(python3 \"${CLAUDE_SKILL_DIR}/scripts/a.py\" *)",
            "Bash(python3:*)",
            "Bash(python *)",
            "Bash(scripts/*.py:*)",
        ] {
            assert_eq!(granted(&json!(one)), ["scripts/a.py"], "{one}");
        }
        let listed = json!(["Read", "Bash(bash scripts/b.sh:*)", "Bash(node:*)"]);
        assert_eq!(granted(&listed), ["scripts/b.sh", "scripts/more/c.js"]);
    }

    #[test]
    fn other_tools_and_restricted_arguments_grant_nothing() {
        for nothing in [
            json!(""),
            json!(null),
            json!(7),
            json!("Read Write mcp__github__list"),
            json!("Bash(git:*) Bash(jq *)"),
            json!("Bash(scripts/a.py --safe)"),
            json!("Bash(python scripts/a.py --safe:*)"),
            json!("Bash(other/a.py)"),
            json!("Bash(scripts/a.py"),
            json!("a.py"),
        ] {
            assert_eq!(granted(&nothing), [""; 0], "{nothing}");
        }
        let fields = Map::new();
        assert!(!AllowedTools::of(&fields).grants("scripts/a.py", "python"));
    }

    #[test]
    fn a_star_is_any_text() {
        for (glob, path, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
    }
}
