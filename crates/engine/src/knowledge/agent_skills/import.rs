//! Imports directories of Agent Skills into the graph (B001-9), and reads their files. Valid skills are imported in one
//! transaction; the others are named. Must not know the tools that scripts become.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::catalogue::tool::ToolClass;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{SkillId, ToolId};
use charter_contract::link_graph::AgentSkill;
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_domain::cancellation::Cancellation;
use charter_domain::package::{Problem, ProblemSeverity};
use charter_domain::skill_folder::{self, FolderReading, FolderSkill, SkillFile};
use charter_store::agent_skills::SkillFileEntry;
use charter_store::catalogue::ContentHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::AgentSkillFile;
use super::AgentSkillService;
use super::write::{Act, BatchMode, Draft};
use crate::catalogue::live::Mode;
use crate::ground::checks::WaitingCaller;
use crate::{Caller, EngineError};

/// A file in transfer: text where possible, else base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SentFile {
    /// Its path with `/`, relative to the directory that holds the skills.
    pub path: String,
    /// Its content, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its content, as base64 of RFC 4648.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether it may be executed.
    #[serde(default)]
    pub executable: bool,
}

/// Directories of Agent Skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillsSent {
    /// Every file.
    pub files: Vec<SentFile>,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillImportResult")]
pub struct SkillsImported {
    /// New skills.
    pub created: Vec<SkillId>,
    /// Existing skills that changed.
    pub changed: Vec<SkillId>,
    /// Existing skills that did not change.
    pub unchanged: Vec<SkillId>,
    /// The directories of skills that are left out.
    pub left_out: Vec<String>,
    /// Errors, with the reasons why skills are left out, and warnings.
    pub problems: Vec<Problem>,
    /// Number of embedded summaries.
    pub embedded: usize,
    /// The tools of the skills' scripts.
    pub tools: Vec<SkillTool>,
    /// Scripts that are served and not run.
    pub served_scripts: Vec<SkillScript>,
}

/// A tool that runs a script of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillTool")]
pub struct SkillTool {
    /// Its id.
    pub tool_id: ToolId,
    /// The skill.
    pub skill_id: SkillId,
    /// Path of the script, relative to the skill.
    pub path: String,
    /// Whether it only reads.
    pub tool_class: ToolClass,
}

/// A script of a skill that is not a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillScript")]
pub struct SkillScript {
    /// The skill.
    pub skill_id: SkillId,
    /// Its path, relative to the skill.
    pub path: String,
    /// The reason, with the correction.
    pub reason: String,
}

impl AgentSkillService {
    /// Reads directories of skills that the caller may import.
    ///
    /// # Errors
    /// `permission_denied`.
    pub(crate) async fn read_skills(
        &self,
        caller: &Caller,
        scope: PackageScope,
        sent: SkillsSent,
    ) -> Result<FolderReading, EngineError> {
        self.may_write(caller, scope)?;
        let waiting = WaitingCaller::default();
        let place = self.checks.take(&caller.tenant).await;
        let check = move |cancel: &Cancellation| read(sent, cancel);
        place
            .run("reading skills", waiting.cancellation(), check)
            .await
    }

    /// Writes the valid skills of directories, in one transaction; a dry run only reports the effects.
    ///
    /// # Errors
    /// `permission_denied`; `invalid_document` with every violation, file and line, if no skill can be imported:
    /// nothing is written.
    pub(crate) async fn import_skills(
        self: &Arc<Self>,
        caller: &Caller,
        scope: PackageScope,
        reading: FolderReading,
        mode: Mode,
    ) -> Result<SkillsImported, EngineError> {
        let scope = self.may_write(caller, scope)?;
        let mut imported = SkillsImported {
            created: Vec::new(),
            changed: Vec::new(),
            unchanged: Vec::new(),
            left_out: reading.left_out,
            problems: reading.problems,
            embedded: 0,
            tools: Vec::new(),
            served_scripts: Vec::new(),
        };
        let known = self.store.all_skill_files(&scope).await?;
        let known: HashMap<SkillId, Vec<SkillFileEntry>> = known.into_iter().collect();
        let mut acts = Vec::new();
        for skill in reading.skills {
            let id = skill.id.clone();
            let compared = self.compare(&scope, &skill, known.get(&id));
            if matches!(compared, SkillComparison::Same) {
                imported.unchanged.push(id);
                continue;
            }
            let directory = skill_folder::directory(&skill.id);
            match (self.imported_draft(skill), compared) {
                (Ok(draft), SkillComparison::New) => {
                    imported.created.push(id);
                    acts.push(Act::Put(Box::new(draft)));
                }
                (Ok(draft), SkillComparison::Other | SkillComparison::Same) => {
                    imported.changed.push(id);
                    acts.push(Act::Put(Box::new(draft)));
                }
                (Err(error), _) => {
                    let problem = Problem::of_file(&directory, "limit", error.message);
                    imported.problems.push(problem);
                    imported.left_out.push(directory);
                }
            }
        }
        if acts.is_empty() && imported.unchanged.is_empty() {
            return Err(refusal(&imported.problems));
        }
        imported.problems.sort();
        imported.left_out.sort();
        if mode == Mode::Apply {
            let written = self.write(scope, acts, BatchMode::AllOrNothing).await?;
            for written in written {
                imported.embedded += usize::from(written?.embedded);
            }
        }
        Ok(imported)
    }

    fn imported_draft(&self, skill: FolderSkill) -> Result<Draft, EngineError> {
        let draft = self.draft(AgentSkill {
            skill_id: skill.id,
            skill_desc_vector: None,
            summary: skill.summary,
            is_folder: skill.is_folder,
            sub_skills: skill.sub_skills,
            instruction: skill.instruction,
        })?;
        Ok(Draft {
            files: Some(skill.files),
            ..draft
        })
    }

    /// Compares a skill with the stored one. Equal files mean an equal instruction, because it is one of them; a
    /// directory without a `SKILL.md` has none.
    fn compare(
        &self,
        scope: &Scope,
        skill: &FolderSkill,
        files: Option<&Vec<SkillFileEntry>>,
    ) -> SkillComparison {
        let same = self.skills.look(|indexes| {
            let node = indexes.scope(scope)?.graph.get(&skill.id)?;
            let children = *node.children == *skill.sub_skills;
            Some(children && node.summary == skill.summary && node.is_folder == skill.is_folder)
        });
        match same {
            None => SkillComparison::New,
            Some(true) if are_same(files.map_or(&[], Vec::as_slice), &skill.files) => {
                SkillComparison::Same
            }
            Some(_) => SkillComparison::Other,
        }
    }

    /// Lists the files of a skill, without reading their contents.
    ///
    /// # Errors
    /// `not_found`, also for a skill outside the caller's reach.
    pub async fn skill_files(
        &self,
        caller: &Caller,
        id: &SkillId,
    ) -> Result<Vec<AgentSkillFile>, EngineError> {
        let scope = self.scope_of_skill(caller, id)?;
        let files = self.store.skill_files(&scope, id).await?;
        Ok(files.into_iter().map(Into::into).collect())
    }

    /// Reads one file of a skill.
    ///
    /// # Errors
    /// `not_found`, also for a skill outside the caller's reach.
    pub async fn skill_file(
        &self,
        caller: &Caller,
        id: &SkillId,
        path: &str,
    ) -> Result<SkillFile, EngineError> {
        let scope = self.scope_of_skill(caller, id)?;
        let file = self.store.skill_file(&scope, id, path).await?;
        file.ok_or_else(|| EngineError::not_found("file", path))
    }
}

enum SkillComparison {
    New,
    Same,
    Other,
}

fn are_same(stored: &[SkillFileEntry], files: &[SkillFile]) -> bool {
    stored.len() == files.len()
        && stored.iter().zip(files).all(|(stored, file)| {
            stored.path == file.path
                && stored.executable == file.executable
                && stored.content == ContentHash(Sha256::digest(&file.content).into())
        })
}

fn read(sent: SkillsSent, cancel: &Cancellation) -> FolderReading {
    let mut undecoded = Vec::new();
    let files = sent.files.into_iter().filter_map(|sent| {
        let path = sent.path.clone();
        content(sent)
            .map_err(|message| undecoded.push(Problem::of_file(&path, "content", message)))
            .ok()
    });
    let files = files.collect();
    let mut reading = skill_folder::read(files, cancel);
    reading.problems.append(&mut undecoded);
    reading.problems.sort();
    reading
}

fn content(sent: SentFile) -> Result<SkillFile, String> {
    let content: Arc<[u8]> = match (sent.text, sent.base64) {
        (Some(text), None) => text.into_bytes().into(),
        (None, Some(text)) => decode(&text).ok_or("`base64` is not base64")?.into(),
        (Some(_), Some(_)) | (None, None) => return Err("give `text` or `base64`".to_owned()),
    };
    Ok(SkillFile {
        path: sent.path,
        content,
        executable: sent.executable,
    })
}

fn decode(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

fn refusal(problems: &[Problem]) -> EngineError {
    let errors = problems
        .iter()
        .filter(|p| p.severity == ProblemSeverity::Error)
        .count();
    let message =
        format!("there is no skill to import, and {errors} error(s); nothing was written");
    let details = serde_json::json!({"problems": problems});
    EngineError::new(ErrorCode::InvalidDocument, message).with_details(details)
}
