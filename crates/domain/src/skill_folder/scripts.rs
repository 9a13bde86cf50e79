//! The scripts of a skill that become its tools, and what the skill declares about them.
//!
//! A tool writes unless `charter-readonly` in the skill's `metadata` names its script. `charter-egress` and
//! `charter-environment` there are the hosts and the variables that the scripts ask for. Must not know packages.

use std::collections::BTreeSet;

use charter_contract::bounds::SKILL_SCRIPTS;
use charter_contract::catalogue::vocabulary::ToolClass;
use charter_contract::charset;
use charter_contract::ids::{SkillId, ToolId};
use serde_json::{Map, Value};

use super::allowed_tools::{AllowedTools, ScriptGrant};
use super::{FolderSkill, SKILL_FILE, SkillFile, skill_md_fields};

/// Prefix of the ids of skills' tools, before the id of the skill.
const PREFIX: &str = "agent_skills.";

/// The directory of a skill's scripts.
const SCRIPTS: &str = "scripts/";

/// Bytes of the beginning of a script that may name its interpreter.
const SHEBANG_BYTES: usize = 200;

/// Interpreters by the ending of a script's name.
const ENDINGS: [(&str, &str); 8] = [
    ("py", "python"),
    ("sh", "bash"),
    ("bash", "bash"),
    ("js", "node"),
    ("mjs", "node"),
    ("cjs", "node"),
    ("rb", "ruby"),
    ("pl", "perl"),
];

/// A script that becomes a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedScript {
    /// Id of the tool.
    pub tool_id: ToolId,
    /// Path of the script, relative to the skill.
    pub path: String,
    /// Program that runs it: `python`, `bash`.
    pub interpreter: String,
    /// Whether it only reads.
    pub class: ToolClass,
}

/// A script that is served and not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedScript {
    /// Path of the script, relative to the skill.
    pub path: String,
    /// The reason, with the correction.
    pub reason: String,
}

/// The scripts of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillScripts {
    /// Those that become tools, by path.
    pub tools: Vec<GrantedScript>,
    /// The others, by path.
    pub served: Vec<ServedScript>,
    /// Hosts that they ask for.
    pub egress: Vec<String>,
    /// Variables that they ask for.
    pub environment: Vec<String>,
}

/// Returns the skill whose script a tool runs; `None` for every other tool.
#[must_use]
pub fn skill_of_tool(tool: &str) -> Option<SkillId> {
    let (skill, _) = tool.strip_prefix(PREFIX)?.rsplit_once('.')?;
    SkillId::parse(skill).ok()
}

/// Returns the scripts of a skill, by path.
#[must_use]
pub fn scripts(skill: &FolderSkill, grant: ScriptGrant) -> SkillScripts {
    let mut found = SkillScripts::default();
    let Some(skill_md) = skill.files.iter().find(|file| file.path == SKILL_FILE) else {
        return found;
    };
    let fields = skill_md_fields(&skill_md.content).unwrap_or_default();
    let allowed = AllowedTools::of(&fields);
    let readonly = declared(&fields, "charter-readonly");
    let mut names = BTreeSet::new();
    for file in &skill.files {
        let Some(interpreter) = interpreter(file) else {
            continue;
        };
        let path = file.path.clone();
        if grant == ScriptGrant::AllowedTools && !allowed.grants(&path, &interpreter) {
            let reason = format!(
                "`allowed-tools` does not grant it: add `Bash({path}:*)`, or allow all scripts of the import"
            );
            found.served.push(ServedScript { path, reason });
            continue;
        }
        if found.tools.len() == SKILL_SCRIPTS {
            let reason =
                format!("a skill has at most {SKILL_SCRIPTS} scripts as tools (SKILL_SCRIPTS)");
            found.served.push(ServedScript { path, reason });
            continue;
        }
        let id = format!("{PREFIX}{}.{}", skill.id, free_name(&path, &mut names));
        match ToolId::parse(&id) {
            Ok(tool_id) => found.tools.push(GrantedScript {
                tool_id,
                class: class(&readonly, &path),
                interpreter,
                path,
            }),
            Err(error) => found.served.push(ServedScript {
                path,
                reason: format!("it cannot have the id of a tool: {error}"),
            }),
        }
    }
    if !found.tools.is_empty() {
        found.egress = declared(&fields, "charter-egress");
        found.environment = declared(&fields, "charter-environment");
    }
    found
}

/// Returns the words of a text in `metadata`.
fn declared(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let text = fields
        .get("metadata")
        .and_then(|metadata| metadata.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn class(readonly: &[String], path: &str) -> ToolClass {
    let is_readonly = readonly
        .iter()
        .any(|entry| entry == "*" || entry.trim_start_matches("./") == path);
    match is_readonly {
        true => ToolClass::Readonly,
        false => ToolClass::Write,
    }
}

/// Returns the program that runs a file; `None` if the file is no script of the skill. A file in a directory below
/// `scripts` may be a module of another one, and is a script only if it is executable or names its interpreter.
fn interpreter(file: &SkillFile) -> Option<String> {
    let name = file.path.strip_prefix(SCRIPTS)?;
    let (directory, name) = match name.rsplit_once('/') {
        Some((directory, name)) => (Some(directory), name),
        None => (None, name),
    };
    if name.starts_with(['.', '_']) {
        return None;
    }
    let shebang = shebang(&file.content);
    if directory.is_some() && !file.executable && shebang.is_none() {
        return None;
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let by_ending = ENDINGS.iter().find(|(known, _)| Some(*known) == ending);
    match by_ending {
        Some((_, interpreter)) => Some((*interpreter).to_owned()),
        None => shebang,
    }
}

/// Returns the program that the first line of a script names, without its version: `python` for
/// `#!/usr/bin/env -S python3 -u`.
fn shebang(content: &[u8]) -> Option<String> {
    let head = &content[..content.len().min(SHEBANG_BYTES)];
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = charset::document(line, None).ok()?;
    let programs = line
        .split_whitespace()
        .filter(|word| !word.starts_with('-') && !word.contains('='));
    let mut names = programs.map(|word| word.rsplit('/').next().unwrap_or(word));
    let name = names.find(|name| *name != "env")?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| name.to_owned())
}

/// Returns the name of a script's tool, which no other script of the skill has.
fn free_name(path: &str, names: &mut BTreeSet<String>) -> String {
    let path = path.strip_prefix(SCRIPTS).unwrap_or(path);
    let stem = match path.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.contains('/') => stem,
        Some(_) | None => path,
    };
    let safe = |text: &str| -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        text.chars()
            .map(|c| if fits(c) { c } else { '-' })
            .collect()
    };
    let mut name = safe(stem);
    if names.contains(&name) {
        name = safe(path);
    }
    let first = name.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{first}-{number}");
        number += 1;
    }
    name
}
