//! The package with the tools of one skill: a document for each granted script, the skill's own files, and the program
//! that runs a script on a copy of them. A package has versions, a history and a removal like every other.
//!
//! The files are data below `sources`, so that no file of a skill can be a document of the catalogue.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::hex;
use charter_contract::ids::{PackageName, SkillId};
use charter_contract::package::{PackageBundle, PackageScope};
use charter_contract::package_file;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::scripts::{GrantedScript, SkillScripts};
use super::{FolderSkill, name};
use crate::package::MANIFEST;

/// Prefix of the names of these packages, before the id of the skill.
const PREFIX: &str = "agent-skill.";

/// The program that runs a script. The entry of each tool calls it.
const RUNNER: &str = include_str!("run_script.py");
/// Its path: the directory is the search path of Python's modules.
const RUNNER_PATH: &str = "scripts/charter_skill_script.py";

/// The directory of the skill's files that are text.
const TEXTS: &str = "sources/skill";
/// The directory of the others, in base64, each with [`BINARY_ENDING`].
const BINARIES: &str = "sources/binary";
const BINARY_ENDING: &str = ".base64";

/// The predefined domain of these tools.
const DOMAIN: &str = "platform";

/// Bytes of the digest in a version, in hexadecimal digits.
const VERSION_DIGITS: usize = 16;

/// A package with the tools of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPackage {
    /// Its name.
    pub name: PackageName,
    /// Its version, which is derived from the content.
    pub version: String,
    /// Its files.
    pub bundle: PackageBundle,
}

/// Returns the name of the package with the tools of a skill; `None` if it is too long.
#[must_use]
pub fn script_package_name(skill: &SkillId) -> Option<PackageName> {
    PackageName::parse(&format!("{PREFIX}{skill}")).ok()
}

/// Makes the package of a skill's tools; `None` without any, or if the package cannot have a name.
#[must_use]
pub fn script_package(
    skill: &FolderSkill,
    scripts: &SkillScripts,
    scope: PackageScope,
) -> Option<ScriptPackage> {
    if scripts.tools.is_empty() {
        return None;
    }
    let package = script_package_name(&skill.id)?;
    let mut files = BTreeMap::from([(RUNNER_PATH.to_owned(), RUNNER.to_owned())]);
    for file in &skill.files {
        let (path, content) = stored(&file.path, &file.content);
        files.insert(path, content);
    }
    for tool in &scripts.tools {
        let segment = tool.tool_id.as_str();
        let segment = segment.rsplit_once('.').map_or(segment, |(_, last)| last);
        // A module of the standard library cannot have this name.
        let entry = format!("scripts/run.{segment}.py");
        let document = document(skill, scripts, tool, segment, &entry);
        files.insert(format!("tools/{segment}.json"), pretty(&document));
        files.insert(entry, entry_of(tool));
    }
    let version = format!("1.0.0+{}", digest(&files));
    let manifest = json!({
        "name": package,
        "version": version,
        "title": format!("Scripts of the agent skill {}", skill.id),
        "description": "Made by an import of agent skills.",
        "scope": scope,
    });
    files.insert(MANIFEST.to_owned(), pretty(&manifest));
    Some(ScriptPackage {
        name: package,
        version,
        bundle: PackageBundle { files },
    })
}

/// Returns the path and the content of a skill's file in the package. Content that storage cannot hold as text is in
/// base64.
fn stored(path: &str, content: &[u8]) -> (String, String) {
    match std::str::from_utf8(content) {
        Ok(text) if !text.contains('\0') && !package_file::is_binary(path) => {
            (format!("{TEXTS}/{path}"), text.to_owned())
        }
        Ok(_) | Err(_) => (
            format!("{BINARIES}/{path}{BINARY_ENDING}"),
            STANDARD.encode(content),
        ),
    }
}

/// Returns the program of one tool. A JSON string is a literal of Python, too.
fn entry_of(tool: &GrantedScript) -> String {
    format!(
        "from charter_skill_script import run\n\nrun({}, {})\n",
        Value::from(tool.path.as_str()),
        Value::from(tool.interpreter.as_str())
    )
}

fn document(
    skill: &FolderSkill,
    scripts: &SkillScripts,
    tool: &GrantedScript,
    segment: &str,
    entry: &str,
) -> Value {
    json!({
        "tool_id": tool.tool_id,
        "name": segment,
        "provider": "agent_skills",
        "service": skill.id,
        "tool_class": tool.class,
        "domain": DOMAIN,
        "description": format!(
            "Runs {} of the agent skill {} on a copy of the skill's files. Read the skill's instruction first.",
            tool.path,
            name(&skill.id)
        ),
        "language": "python",
        "input_schema": input_schema(),
        "implementation": {"type": "script", "path": entry},
        "environment": scripts.environment,
        "egress": scripts.egress,
    })
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "arguments": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Arguments of the command line, in order.",
            },
            "stdin": {"type": "string", "description": "Standard input."},
            "files": {
                "type": "array",
                "description": "Files with data to write before the script starts, relative to the skill's directory.",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "text": {"type": "string"},
                        "base64": {"type": "string"},
                    },
                    "required": ["path"],
                    "additionalProperties": false,
                },
            },
        },
        "additionalProperties": false,
    })
}

/// Returns a document as text; JSON is YAML, too.
fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Returns a part of the digest of all files, as a label of a version.
fn digest(files: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    for (path, content) in files {
        for part in [path, content] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
    }
    hex::encode(&hash.finalize())[..VERSION_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use charter_contract::text::Text;

    use super::super::{ScriptGrant, SkillFile, scripts};
    use super::*;
    use crate::cancellation::Cancellation;

    fn file(path: &str, content: &[u8]) -> SkillFile {
        SkillFile {
            path: path.to_owned(),
            content: content.into(),
            executable: false,
        }
    }

    fn skill(fields: &str, files: &[(&str, &[u8])]) -> FolderSkill {
        let skill_md = format!("---\nname: pdf\ndescription: d\n{fields}---\nRun it.\n");
        let mut files: Vec<SkillFile> = files
            .iter()
            .map(|(path, content)| file(path, content))
            .collect();
        files.push(file("SKILL.md", skill_md.as_bytes()));
        FolderSkill {
            id: SkillId::parse("office.pdf").unwrap(),
            summary: Text::parse("d").unwrap(),
            is_folder: false,
            sub_skills: Vec::new(),
            instruction: "Run it.\n".to_owned(),
            files,
        }
    }

    const FILES: [(&str, &[u8]); 9] = [
        ("scripts/report.py", b"print(1)"),
        ("scripts/report.sh", b"echo 1"),
        ("scripts/show", b"#!/usr/bin/env -S python3 -u\nprint(1)"),
        ("scripts/data.json", b"{}"),
        ("scripts/_shared.py", b""),
        ("scripts/lib/module.py", b""),
        ("scripts/lib/main.py", b"#!/usr/bin/python3\n"),
        ("references/a.md", b"# A"),
        ("assets/logo.png", b"\x89PNG\0"),
    ];

    fn shown(skill: &FolderSkill, grant: ScriptGrant) -> Vec<(String, &'static str)> {
        let found = scripts(skill, grant);
        let tools = found.tools.iter();
        let tools = tools.map(|tool| (tool.tool_id.to_string(), tool.class.as_str()));
        tools.collect()
    }

    #[test]
    fn scripts_are_tools_that_write_unless_declared_readonly() {
        let fields = "allowed-tools: Bash\nmetadata:\n  charter-readonly: scripts/show, ./scripts/report.sh\n";
        assert_eq!(
            shown(&skill(fields, &FILES), ScriptGrant::AllowedTools),
            [
                ("agent_skills.office.pdf.report".to_owned(), "write"),
                ("agent_skills.office.pdf.report-sh".to_owned(), "readonly"),
                ("agent_skills.office.pdf.show".to_owned(), "readonly"),
                ("agent_skills.office.pdf.lib-main".to_owned(), "write"),
            ]
        );
    }

    #[test]
    fn scripts_without_a_grant_are_served_with_the_correction() {
        let skill = skill("allowed-tools: Bash(scripts/report.py:*)\n", &FILES);
        let found = scripts(&skill, ScriptGrant::AllowedTools);
        let served: Vec<&str> = found.served.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(found.tools.len(), 1);
        assert_eq!(
            served,
            ["scripts/report.sh", "scripts/show", "scripts/lib/main.py"]
        );
        let reason = &found.served[0].reason;
        assert!(reason.contains("`Bash(scripts/report.sh:*)`"), "{reason}");
        assert_eq!(shown(&skill, ScriptGrant::All).len(), 4);
    }

    #[test]
    fn a_skill_without_a_grant_has_no_package() {
        let skill = skill("", &FILES);
        let found = scripts(&skill, ScriptGrant::AllowedTools);
        assert_eq!(script_package(&skill, &found, PackageScope::Tenant), None);
    }

    #[test]
    fn the_package_has_the_files_of_the_skill_as_data() {
        let fields = "allowed-tools: Bash\nmetadata: {charter-egress: api.example.com}\n";
        let hostile: &[(&str, &[u8])] = &[
            ("scripts/run.py", b"print(1)"),
            ("tools/own.json", b"{}"),
            ("package.yaml", b"name: other"),
            ("assets/a.pdf", b"%PDF-1.4 text"),
            ("assets/nul.txt", b"a\0b"),
        ];
        let skill = skill(fields, hostile);
        let found = scripts(&skill, ScriptGrant::AllowedTools);
        let package = script_package(&skill, &found, PackageScope::Tenant).unwrap();
        let paths: Vec<&str> = package.bundle.files.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "package.yaml",
                "scripts/charter_skill_script.py",
                "scripts/run.run.py",
                "sources/binary/assets/a.pdf.base64",
                "sources/binary/assets/nul.txt.base64",
                "sources/skill/SKILL.md",
                "sources/skill/package.yaml",
                "sources/skill/scripts/run.py",
                "sources/skill/tools/own.json",
                "tools/run.json",
            ]
        );
        let reading = crate::package::read(package.bundle.clone(), &Cancellation::default());
        assert_eq!(reading.problems, []);
        let read = reading.package.unwrap();
        let tool = read.documents[0].value.as_tool().unwrap();
        assert_eq!(tool.tool_id.as_str(), "agent_skills.office.pdf.run");
        assert_eq!(tool.egress[0].as_str(), "api.example.com");
        assert_eq!(
            super::super::skill_of_tool(tool.tool_id.as_str()),
            Some(skill.id)
        );
        assert!(read.manifest.value.name.as_str() == "agent-skill.office.pdf");
    }

    #[test]
    fn the_version_follows_the_content() {
        let version = |content: &[u8]| {
            let skill = skill("allowed-tools: Bash\n", &[("scripts/run.py", content)]);
            let found = scripts(&skill, ScriptGrant::AllowedTools);
            let package = script_package(&skill, &found, PackageScope::Tenant);
            package.unwrap().version
        };
        assert_eq!(version(b"print(1)"), version(b"print(1)"));
        assert_ne!(version(b"print(1)"), version(b"print(2)"));
        assert!(
            charter_contract::text::Version::parse(&version(b"")).is_ok(),
            "{}",
            version(b"")
        );
    }
}
