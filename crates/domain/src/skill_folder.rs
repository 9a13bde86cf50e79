//! Directories of Agent Skills (the open format of <https://agentskills.io/specification>) as skills
//! of the link graph, with every violation of the format at its file and line (B001-9).
//!
//! A directory with a `SKILL.md` is a skill; everything beside it is its files, byte for byte. A
//! directory that only leads to skills is a folder. The id of either is its path with dots
//! (`sql/migration` is `sql.migration`), so ids follow from directories and back. A skill that cannot
//! be read is left out, and an error says why; a rule of the format that Charter can do without is a
//! warning. Must not know file systems, storage or grants.

mod format;
mod frontmatter;
mod layout;

use std::sync::Arc;

use charter_contract::ids::SkillId;
use charter_contract::text::Text;

use crate::cancellation::Cancellation;
use crate::package::{Problem, Problems};
use crate::source::Allowance;

pub use format::{is_skill_name, keeps_format};
pub use frontmatter::{Frontmatter, skill_md_fields, write_skill_md};
pub use layout::check_path;

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Directories of a skill whose content is files, whatever it looks like.
pub const FILE_DIRECTORIES: [&str; 3] = ["scripts", "references", "assets"];

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Its path, with `/`: relative to what was imported, or to its skill's directory.
    pub path: String,
    /// What it holds.
    pub content: Arc<[u8]>,
    /// Whether it may be executed.
    pub executable: bool,
}

/// A skill or folder as its directory says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSkill {
    /// The directory's path with dots.
    pub id: SkillId,
    /// The description; of a directory without `SKILL.md` what it leads to.
    pub summary: Text,
    /// Whether other skills lie below.
    pub is_folder: bool,
    /// The skills directly below.
    pub sub_skills: Vec<SkillId>,
    /// What stands below the frontmatter.
    pub instruction: String,
    /// Everything in the directory that is not another skill's, by path.
    pub files: Vec<SkillFile>,
}

/// What came of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderReading {
    /// Those that can be imported, by id. None where reading all of them takes too much, or was cancelled.
    pub skills: Vec<FolderSkill>,
    /// The directories of the others; an error among the problems says why.
    pub left_out: Vec<String>,
    /// Errors and warnings, by file and place.
    pub problems: Vec<Problem>,
}

/// Reads directories of skills; paths are relative to the directory that holds them. A cancelled reading has a problem
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

/// The directory of a skill, relative to where it is exported: its id with `/` for dots.
#[must_use]
pub fn directory(id: &SkillId) -> String {
    id.as_str().replace('.', "/")
}

/// The name of a skill in the open format: the last part of its id.
#[must_use]
pub fn name(id: &SkillId) -> &str {
    let id = id.as_str();
    id.rsplit_once('.').map_or(id, |(_, name)| name)
}

#[cfg(test)]
mod tests;
