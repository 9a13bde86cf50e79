//! Imports directories of Agent Skills (the open format of <https://agentskills.io/specification>) as skills of the
//! link graph, and reports every violation of the format with its file and line (B001-9).
//!
//! A directory with a `SKILL.md` is a skill; everything else in it is its files, byte for byte. A directory that only
//! contains skills is a folder. The id of both is the path with dots (`sql/migration` is `sql.migration`), so ids and
//! directories determine each other. A skill that cannot be read is left out with an error. The violation of a rule
//! that Charter does not depend on is a warning. The scripts that a skill grants become its tools. Must not know file
//! systems, storage or grants of callers.

mod allowed_tools;
mod format;
mod frontmatter;
mod layout;
mod script_package;
mod scripts;

use std::sync::Arc;

use charter_contract::ids::SkillId;
use charter_contract::text::Text;

use crate::cancellation::Cancellation;
use crate::package::{Problem, Problems};
use crate::source::Allowance;

pub use allowed_tools::ScriptGrant;
pub use format::{is_skill_name, keeps_format};
pub use frontmatter::{Frontmatter, skill_md_fields, write_skill_md};
pub use layout::check_path;
pub use script_package::{ScriptPackage, script_package, script_package_name};
pub use scripts::{GrantedScript, ServedScript, SkillScripts, scripts, skill_of_tool};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Directories of a skill that contain only files, even if they look like skills.
pub const FILE_DIRECTORIES: [&str; 3] = ["scripts", "references", "assets"];

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The path, with `/`: relative to the import, or to the skill's directory.
    pub path: String,
    /// The contents.
    pub content: Arc<[u8]>,
    /// Whether it is executable.
    pub executable: bool,
}

/// A skill or folder in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSkill {
    /// The directory's path with dots.
    pub id: SkillId,
    /// The description; for a directory without `SKILL.md`, a summary of its skills.
    pub summary: Text,
    /// Whether there are other skills below it.
    pub is_folder: bool,
    /// The skills directly below.
    pub sub_skills: Vec<SkillId>,
    /// The text after the frontmatter.
    pub instruction: String,
    /// All files in the directory that do not belong to another skill, by path.
    pub files: Vec<SkillFile>,
}

/// The result of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderReading {
    /// The skills that can be imported, by id. Empty if reading all of them exceeds a limit, or was cancelled.
    pub skills: Vec<FolderSkill>,
    /// The directories of the other skills, each with an error among the problems.
    pub left_out: Vec<String>,
    /// Errors and warnings, by file and position.
    pub problems: Vec<Problem>,
}

/// Reads directories of skills; paths are relative to the directory that contains them. A cancelled run has a problem
/// and no skills.
#[must_use]
pub fn read(files: Vec<SkillFile>, cancel: &Cancellation) -> FolderReading {
    let mut problems = Problems::default();
    let found = layout::skills(files, &mut problems, &Allowance::new(cancel));
    let layout::FolderContents { skills, left_out } = found;
    FolderReading {
        skills,
        left_out: left_out.into_iter().collect(),
        problems: problems.sorted(SKILL_FILE),
    }
}

/// Returns the directory of a skill, relative to the export: its id with `/` instead of dots.
#[must_use]
pub fn directory(id: &SkillId) -> String {
    id.as_str().replace('.', "/")
}

/// Returns the name of a skill in the open format: the last part of its id.
#[must_use]
pub fn name(id: &SkillId) -> &str {
    let id = id.as_str();
    id.rsplit_once('.').map_or(id, |(_, name)| name)
}

#[cfg(test)]
mod tests;
