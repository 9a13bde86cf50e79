//! Small packages: one skill about backups that reads one tool, with the additions of tests.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// The files of a package.
#[derive(Debug, Clone)]
pub(crate) struct Package(BTreeMap<String, String>);

impl Package {
    pub(crate) fn new(name: &str, version: &str, scope: &str) -> Self {
        let manifest =
            format!("name: {name}\nversion: {version}\ntitle: A package\nscope: {scope}\n");
        Self(BTreeMap::from([("package.yaml".to_owned(), manifest)]))
    }

    /// Adds or replaces a file.
    pub(crate) fn with(mut self, path: &str, content: &str) -> Self {
        self.0.insert(path.to_owned(), content.to_owned());
        self
    }

    /// Replaces one passage of a file.
    #[track_caller]
    pub(crate) fn edit(mut self, path: &str, from: &str, to: &str) -> Self {
        let content = self.0.get_mut(path).unwrap();
        assert!(content.contains(from), "{path} has no {from:?}");
        *content = content.replacen(from, to, 1);
        self
    }

    /// Changes the version.
    #[track_caller]
    pub(crate) fn version(self, from: &str, to: &str) -> Self {
        let (from, to) = (format!("version: {from}"), format!("version: {to}"));
        self.edit("package.yaml", &from, &to)
    }

    /// The content of a file.
    pub(crate) fn text(&self, path: &str) -> &str {
        &self.0[path]
    }

    /// Adds a mark to every description, title, display name and message.
    pub(crate) fn marked(mut self, mark: &str) -> Self {
        let documents = self
            .0
            .iter_mut()
            .filter(|(path, _)| path.as_str() != "package.yaml");
        for (path, content) in documents {
            if !path.ends_with(".yaml") {
                continue;
            }
            for field in ["description", "title", "display_name", "message"] {
                *content = content.replace(&format!("{field}: "), &format!("{field}: {mark} "));
            }
        }
        self
    }

    pub(crate) fn bundle(&self) -> Value {
        json!({"files": self.0})
    }

    /// Writes the files into a folder.
    pub(crate) fn write(&self, folder: &Path) -> String {
        for (path, content) in &self.0 {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        folder.to_str().unwrap().to_owned()
    }
}

pub(crate) const SKILL: &str = "reliability.find_stale_backups";
pub(crate) const SKILL_FILE: &str = "skills/stale_backups.yaml";
pub(crate) const TOOL_FILE: &str = "tools/list_backups.yaml";
pub(crate) const SCRIPT_FILE: &str = "scripts/list_backups.py";
pub(crate) const TEMPLATE_FILE: &str = "templates/stale_backup.yaml";
pub(crate) const AGENT_FILE: &str = "agents/recovery.yaml";

/// A question that the skill answers.
pub(crate) const QUESTION: &str = "Which backups have grown stale?";

/// The tenant's package `backups` 1.0.0: skill, tool, script, template, agent.
pub(crate) fn backups() -> Package {
    backups_in("tenant")
}

/// The same package in the global scope.
pub(crate) fn global_backups() -> Package {
    backups_in("global")
}

fn backups_in(scope: &str) -> Package {
    Package::new("backups", "1.0.0", scope)
        .with(SKILL_FILE, STALE_BACKUPS)
        .with(TOOL_FILE, LIST_BACKUPS)
        .with(SCRIPT_FILE, LIST_BACKUPS_SCRIPT)
        .with(TEMPLATE_FILE, STALE_BACKUP_TEMPLATE)
        .with(AGENT_FILE, RECOVERY_AGENT)
}

const STALE_BACKUPS: &str = r#"skill_id: reliability.find_stale_backups
name: find_stale_backups
domain: reliability
display_name: Find stale backups
description: Lists the backups of a vault that are older than a month.
purpose: find backups that have grown stale
capabilities:
  - detect backups older than thirty days
context:
  supported_context_types: [backup_inventory]
output_type: finding
parameters:
  - {name: vault, type: string, required: true, description: the vault to look into, default: main}
execution_plan:
  steps:
    - step_id: step_1
      type: read
      tool_id: vault.list_backups
      cache_ttl_seconds: 0
      parameters: {vault: "${user.vault}"}
analysis:
  findings:
    - rule_id: stale_backup
      from: step_1
      filter: |
        .backups[] | select(.age_days > 30)
        | {severity: "high", resource_type: "aws.backup", resource_id: .id, age_days: .age_days}
  summary: "{{ count }} stale backup(s)."
"#;

const LIST_BACKUPS: &str = r#"tool_id: vault.list_backups
name: list_backups
provider: aws
service: backup
tool_class: readonly
domain: reliability
description: Lists the backups of a vault.
parameters:
  - {name: vault, type: string, required: true, description: the vault}
execution_target: server
language: python
implementation: {type: script, path: scripts/list_backups.py}
evidence:
  type: config_snapshot
  system: aws.backup
  native_id: .parameters.vault
  region: '"eu-west-1"'
"#;

const LIST_BACKUPS_SCRIPT: &str = r#"import json, sys, uuid
call = json.load(sys.stdin)
backups = [{"id": "b-1", "age_days": 40}, {"id": "b-2", "age_days": 3}]
json.dump({"vault": call["parameters"]["vault"], "backups": backups, "once": str(uuid.uuid4())}, sys.stdout)
"#;

const STALE_BACKUP_TEMPLATE: &str = r#"template_id: reliability.stale_backup
output_type: finding
skill_id: reliability.find_stale_backups
structure:
  title: "Stale backup {{resource_id}}"
  summary: "The backup {{resource_id}} is {{age_days}} days old."
"#;

const RECOVERY_AGENT: &str = r#"agent_id: domain.reliability.recovery
name: recovery
display_name: Recovery
agent_type: domain
domain: reliability
capabilities:
  - restore databases and files after a disaster
skill_refs: [reliability.find_stale_backups]
"#;

/// A skill with other words over the backups' tool.
pub(crate) fn skill(id: &str, purpose: &str) -> String {
    let (domain, name) = id.split_once('.').unwrap();
    format!(
        "skill_id: {id}\nname: {name}\ndomain: {domain}\ndisplay_name: {name}\ndescription: {purpose}\n\
         purpose: {purpose}\noutput_type: finding\nexecution_plan:\n  steps:\n    - {{step_id: s1, type: read, \
         tool_id: vault.list_backups, parameters: {{vault: main}}}}\n"
    )
}

/// A guardrail; `rest` is more YAML.
pub(crate) fn guardrail(
    id: &str,
    scope: &str,
    applies_to: &str,
    enforcement: &str,
    rest: &str,
) -> String {
    format!(
        "guardrail_id: {id}\ndomain: reliability\nscope: {scope}\napplies_to: [\"{applies_to}\"]\nrule: A rule.\n\
         enforcement: {enforcement}\nmessage: The message of {id}.\n{rest}\n"
    )
}

/// A template; `rest` is its scope.
pub(crate) fn template(id: &str, rest: &str) -> String {
    format!(
        "template_id: {id}\noutput_type: finding\n{rest}\nstructure: {{title: \"{{{{resource_id}}}}\"}}\n"
    )
}
