//! Which directories are skills, which are folders, and whose each file is.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{
    FILE_NAME_BYTES, SKILL_FILE_BYTES, SKILL_FILES, SKILL_IMPORT_BYTES, SKILL_LEVELS,
};
use charter_contract::ids::SkillId;
use charter_contract::text::Text;

use super::frontmatter::{self, Frontmatter};
use super::{FILE_DIRECTORIES, FolderSkill, SKILL_FILE, SkillFile};
use crate::package::{Problem, Problems};
use crate::source::Allowance;

/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// Longest summary of a directory without `SKILL.md`, in characters: a description's.
const MAX_FOLDER_SUMMARY: usize = frontmatter::MAX_DESCRIPTION;

/// Why a path could lead elsewhere, or could not be written back everywhere.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_path(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("the path is longer than {MAX_PATH_BYTES} bytes"));
    }
    if path.split('/').count() > SKILL_LEVELS {
        return Err(format!(
            "the path is deeper than {SKILL_LEVELS} directories"
        ));
    }
    for name in path.split('/') {
        if name.is_empty() || name == "." || name == ".." {
            return Err("the path is not plain and relative".to_owned());
        }
        if name.len() > FILE_NAME_BYTES {
            return Err(format!("a name is longer than {FILE_NAME_BYTES} bytes"));
        }
        if name.chars().any(|c| c.is_control() || c == '\\') {
            return Err("a name holds a control character or a backslash".to_owned());
        }
    }
    Ok(())
}

/// The skills and folders of the files.
pub(super) fn skills(
    files: Vec<SkillFile>,
    problems: &mut Problems,
    allowance: &Allowance<'_>,
) -> Vec<FolderSkill> {
    let files = admitted(files, problems);
    let nodes = nodes(&files);
    let mut owned: BTreeMap<&str, Vec<SkillFile>> = BTreeMap::new();
    for (path, file) in &files {
        let Some(owner) = owner(path, &nodes) else {
            problems.push(stray(path));
            continue;
        };
        let mut file = file.clone();
        file.path.drain(..=owner.len());
        owned.entry(owner).or_default().push(file);
    }
    if nodes.is_empty() {
        let message = format!("there is no {SKILL_FILE} in any directory");
        problems.push(Problem::of_file(SKILL_FILE, "required", message));
    }
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in &nodes {
        if let Some(above) = parent(node) {
            below.entry(above).or_default().push(node);
        }
    }
    let mut skills = Vec::new();
    for directory in &nodes {
        // The file that used up the allowance has a problem already.
        if allowance.is_over() || problems.is_full() {
            break;
        }
        let files = owned.remove(directory.as_str()).unwrap_or_default();
        let children = below.remove(directory.as_str()).unwrap_or_default();
        skills.extend(skill(directory, files, &children, problems, allowance));
    }
    if allowance.is_cancelled() {
        problems.push(Problem::cancelled(SKILL_FILE));
    }
    skills
}

/// The files by path, those that cannot be taken left out and reported.
fn admitted(files: Vec<SkillFile>, problems: &mut Problems) -> BTreeMap<String, SkillFile> {
    let (mut admitted, mut bytes) = (BTreeMap::new(), 0_usize);
    for file in files {
        let path = file.path.clone();
        bytes = bytes.saturating_add(file.content.len());
        if admitted.len() >= SKILL_FILES || bytes > SKILL_IMPORT_BYTES {
            let message = format!(
                "more than {SKILL_FILES} files or {SKILL_IMPORT_BYTES} bytes \
                 (SKILL_FILES, SKILL_IMPORT_BYTES)"
            );
            problems.push(Problem::of_file(&path, "too_large", message));
            break;
        }
        if let Err(message) = check_path(&path) {
            problems.push(Problem::of_file(&path, "path", message));
        } else if file.content.len() > SKILL_FILE_BYTES {
            let message = format!(
                "the file has {} bytes; the limit is {SKILL_FILE_BYTES}",
                file.content.len()
            );
            problems.push(Problem::of_file(&path, "too_large", message));
        } else if admitted.insert(path.clone(), file).is_some() {
            let message = "the path stands twice";
            problems.push(Problem::of_file(&path, "unique", message));
        }
    }
    for path in admitted.keys() {
        let above = std::iter::successors(parent(path), |path| parent(path));
        for file in above.filter(|above| admitted.contains_key(*above)) {
            let message = format!("`{file}` is a file and cannot hold others");
            problems.push(Problem::of_file(path, "path", message));
        }
    }
    admitted
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Directories with a `SKILL.md`, and those that lead to them. What lies in the file directories of
/// a skill is files, also when it looks like a skill.
fn nodes(files: &BTreeMap<String, SkillFile>) -> BTreeSet<String> {
    let with_file = files.keys().filter(|path| file_name(path) == SKILL_FILE);
    let candidates: BTreeSet<&str> = with_file.filter_map(|path| parent(path)).collect();
    let is_file = |directory: &str| {
        let above = std::iter::successors(Some(directory), |path| parent(path));
        let mut pairs = above.filter_map(|path| Some((parent(path)?, file_name(path))));
        pairs.any(|(above, name)| candidates.contains(above) && FILE_DIRECTORIES.contains(&name))
    };
    let skills = candidates.iter().filter(|directory| !is_file(directory));
    skills
        .flat_map(|directory| std::iter::successors(Some(*directory), |path| parent(path)))
        .map(str::to_owned)
        .collect()
}

/// The nearest directory above a file that is a skill or folder.
fn owner<'n>(path: &str, nodes: &'n BTreeSet<String>) -> Option<&'n str> {
    let above = std::iter::successors(parent(path), |path| parent(path));
    let mut above = above.filter_map(|path| nodes.get(path));
    above.next().map(String::as_str)
}

fn stray(path: &str) -> Problem {
    if path == SKILL_FILE {
        let message = format!("{SKILL_FILE} must stand in a directory that has the skill's name");
        return Problem::of_file(path, "layout", message);
    }
    let near = file_name(path).eq_ignore_ascii_case(SKILL_FILE);
    if near && file_name(path) != SKILL_FILE {
        let message = format!("the file must be called {SKILL_FILE}");
        return Problem::of_file(path, "layout", message);
    }
    let message = "the file belongs to no skill and is left out";
    Problem::of_file(path, "layout", message).warning()
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The skill or folder of a directory; `None` when something is wrong with it, which is reported.
fn skill(
    directory: &str,
    files: Vec<SkillFile>,
    children: &[&str],
    problems: &mut Problems,
    allowance: &Allowance<'_>,
) -> Option<FolderSkill> {
    let id = id(directory, problems);
    let skill_file = files.iter().find(|file| file.path == SKILL_FILE);
    let (summary, instruction) = match skill_file {
        Some(file) => {
            let path = format!("{directory}/{SKILL_FILE}");
            let name = file_name(directory);
            let read = Frontmatter::read(&path, &file.content, name, problems, allowance)?;
            (read.description, read.body)
        }
        None => (folder_summary(directory, children)?, String::new()),
    };
    let sub_skills = children
        .iter()
        .filter_map(|child| SkillId::parse(&child.replace('/', ".")).ok());
    let sub_skills: Vec<SkillId> = sub_skills.collect();
    Some(FolderSkill {
        id: id?,
        summary,
        is_folder: !sub_skills.is_empty(),
        sub_skills,
        instruction,
        files,
    })
}

/// The id of a directory. A dot in a name would make two directories one id.
fn id(directory: &str, problems: &mut Problems) -> Option<SkillId> {
    let name = file_name(directory);
    let id = SkillId::parse(&directory.replace('/', "."));
    match id {
        Ok(id) if !name.contains('.') => Some(id),
        Ok(_) | Err(_) => {
            let message = format!(
                "the directory `{name}` cannot be part of an id: letters, digits, `-` and `_`, at most 200 in all"
            );
            problems.push(Problem::of_file(directory, "name", message));
            None
        }
    }
}

fn folder_summary(directory: &str, children: &[&str]) -> Option<Text> {
    let names: Vec<&str> = children.iter().map(|child| file_name(child)).collect();
    let summary = format!("{}: {}", file_name(directory), names.join(", "));
    let summary: String = summary.chars().take(MAX_FOLDER_SUMMARY).collect();
    Text::parse(&summary).ok()
}
