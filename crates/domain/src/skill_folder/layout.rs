//! Determines which directories are skills and which are folders, and the owner of each file.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{
    FILE_NAME_BYTES, SKILL_FILE_BYTES, SKILL_FILES, SKILL_IMPORT_BYTES, SKILL_LEVELS,
};
use charter_contract::ids::SkillId;
use charter_contract::text::Text;

use super::format::MAX_DESCRIPTION;
use super::frontmatter::Frontmatter;
use super::{FILE_DIRECTORIES, FolderSkill, SKILL_FILE, SkillFile};
use crate::package::{Problem, Problems};
use crate::source::Allowance;

/// The maximum length of a path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// The maximum length of the summary of a directory without `SKILL.md`, in characters: that of a description.
const MAX_FOLDER_SUMMARY: usize = MAX_DESCRIPTION;

/// Checks that a path cannot lead elsewhere and is valid on every system.
///
/// # Errors
/// The problem, as text.
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
            return Err("a name contains a control character or a backslash".to_owned());
        }
    }
    Ok(())
}

/// The contents of the directories.
#[derive(Default)]
pub(super) struct FolderContents {
    /// The skills, by id.
    pub(super) skills: Vec<FolderSkill>,
    /// The directories of skills that were left out.
    pub(super) left_out: BTreeSet<String>,
}

/// Returns the skills and folders of the files.
pub(super) fn skills(
    files: Vec<SkillFile>,
    problems: &mut Problems,
    allowance: &Allowance<'_>,
) -> FolderContents {
    let mut found = FolderContents::default();
    let Some(files) = admitted(files, problems, &mut found.left_out) else {
        return found;
    };
    let nodes = nodes(&files);
    let mut owned: BTreeMap<&str, Vec<SkillFile>> = BTreeMap::new();
    let mut strays = Strays::default();
    for (path, file) in &files {
        let Some(owner) = owner(path, &nodes) else {
            strays.add(path, problems, &mut found.left_out);
            continue;
        };
        let mut file = file.clone();
        file.path.drain(..=owner.len());
        owned.entry(owner).or_default().push(file);
    }
    strays.report(problems);
    if nodes.is_empty() {
        let message = format!("there is no {SKILL_FILE} in any directory");
        problems.push(Problem::of_file(SKILL_FILE, "required", message));
    }
    let ids = ids(&nodes, problems, &mut found.left_out);
    let mut read: BTreeMap<&str, Frontmatter> = BTreeMap::new();
    for (directory, files) in &owned {
        // The file that exhausted the allowance is reported already, and nothing is imported.
        if allowance.is_over() {
            break;
        }
        match own(directory, files, problems, allowance) {
            Own::None => {}
            Own::Read(frontmatter) => {
                read.insert(*directory, frontmatter);
            }
            Own::Refused => {
                found.left_out.insert((*directory).to_owned());
            }
        }
    }
    if allowance.is_cancelled() {
        problems.push(Problem::cancelled(SKILL_FILE));
    }
    if !allowance.is_over() {
        found.skills = assembled(&ids, read, owned);
    }
    found
}

/// The `SKILL.md` of a directory.
enum Own {
    /// It is missing: the directory is a folder.
    None,
    Read(Frontmatter),
    /// It is invalid, which is reported.
    Refused,
}

fn own(
    directory: &str,
    files: &[SkillFile],
    problems: &mut Problems,
    allowance: &Allowance<'_>,
) -> Own {
    let Some(file) = files.iter().find(|file| file.path == SKILL_FILE) else {
        return Own::None;
    };
    let path = format!("{directory}/{SKILL_FILE}");
    let name = file_name(directory);
    match Frontmatter::read(&path, &file.content, name, problems, allowance) {
        Some(frontmatter) => Own::Read(frontmatter),
        None => Own::Refused,
    }
}

/// Builds skills and folders with their children. A directory whose own skill is left out is a folder if it contains
/// others.
fn assembled(
    ids: &BTreeMap<&str, SkillId>,
    mut read: BTreeMap<&str, Frontmatter>,
    mut owned: BTreeMap<&str, Vec<SkillFile>>,
) -> Vec<FolderSkill> {
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut skills = Vec::new();
    // In reverse order, children come before their parents.
    for (directory, id) in ids.iter().rev().map(|(directory, id)| (*directory, id)) {
        let mut children = below.remove(directory).unwrap_or_default();
        children.reverse();
        let files = owned.remove(directory).unwrap_or_default();
        let has_own = files.iter().any(|file| file.path == SKILL_FILE);
        let (summary, instruction, files) = match read.remove(directory) {
            Some(own) => (Some(own.description), own.body, files),
            None if children.is_empty() => continue,
            None if has_own => (
                folder_summary(directory, &children),
                String::new(),
                Vec::new(),
            ),
            None => (folder_summary(directory, &children), String::new(), files),
        };
        let Some(summary) = summary else { continue };
        let sub_skills = children.iter().filter_map(|child| ids.get(child).cloned());
        skills.push(FolderSkill {
            id: id.clone(),
            summary,
            is_folder: !children.is_empty(),
            sub_skills: sub_skills.collect(),
            instruction,
            files,
        });
        if let Some(above) = parent(directory) {
            below.entry(above).or_default().push(directory);
        }
    }
    skills.sort_by(|a, b| a.id.cmp(&b.id));
    skills
}

/// Returns the files by path, without invalid ones, which are reported; `None` if all files exceed a limit.
fn admitted(
    files: Vec<SkillFile>,
    problems: &mut Problems,
    left_out: &mut BTreeSet<String>,
) -> Option<BTreeMap<String, SkillFile>> {
    let (mut admitted, mut bytes) = (BTreeMap::new(), 0_usize);
    for file in files {
        let path = file.path.clone();
        bytes = bytes.saturating_add(file.content.len());
        if admitted.len() >= SKILL_FILES || bytes > SKILL_IMPORT_BYTES {
            let message = format!(
                "more than {SKILL_FILES} files or {SKILL_IMPORT_BYTES} bytes \
                 (SKILL_FILES, SKILL_IMPORT_BYTES)"
            );
            let problem = Problem::of_file(&path, "too_large", message);
            problems.push(problem.suggest("import the directories one by one"));
            return None;
        }
        let wrong = if let Err(message) = check_path(&path) {
            Some(("path", message))
        } else if file.content.len() > SKILL_FILE_BYTES {
            let found = file.content.len();
            let message = format!("the file has {found} bytes; the limit is {SKILL_FILE_BYTES}");
            Some(("too_large", message))
        } else if admitted.contains_key(&path) {
            Some(("unique", "the path is duplicated".to_owned()))
        } else {
            None
        };
        match wrong {
            None => {
                admitted.insert(path, file);
            }
            Some((keyword, message)) => leave(&path, keyword, &message, problems, left_out),
        }
    }
    let inside_files: Vec<(String, String)> = admitted
        .keys()
        .filter_map(|path| {
            let mut above = std::iter::successors(parent(path), |path| parent(path));
            let file = above.find(|above| admitted.contains_key(*above))?;
            Some((path.clone(), file.to_owned()))
        })
        .collect();
    for (path, file) in inside_files {
        admitted.remove(&path);
        let message = format!("`{file}` is a file and cannot contain others");
        leave(&path, "path", &message, problems, left_out);
    }
    Some(admitted)
}

/// Leaves out a file. Without its `SKILL.md`, a skill is left out too.
fn leave(
    path: &str,
    keyword: &str,
    message: &str,
    problems: &mut Problems,
    left_out: &mut BTreeSet<String>,
) {
    let problem = Problem::of_file(path, keyword, format!("{message}; skipped"));
    match (file_name(path), parent(path)) {
        (SKILL_FILE, Some(directory)) => {
            left_out.insert(directory.to_owned());
            problems.push(problem);
        }
        (_, Some(_) | None) => problems.push(problem.warning()),
    }
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Returns the directories with a `SKILL.md`, and those that lead to them. The contents of a skill's file directories
/// are files, even if they look like skills.
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

/// Returns the nearest directory above a file that is a skill or folder.
fn owner<'n>(path: &str, nodes: &'n BTreeSet<String>) -> Option<&'n str> {
    let above = std::iter::successors(parent(path), |path| parent(path));
    let mut above = above.filter_map(|path| nodes.get(path));
    above.next().map(String::as_str)
}

/// Files that belong to no skill.
#[derive(Default)]
struct Strays {
    /// The number of files per top-level directory.
    directories: BTreeMap<String, usize>,
}

impl Strays {
    fn add(&mut self, path: &str, problems: &mut Problems, left_out: &mut BTreeSet<String>) {
        let name = file_name(path);
        if name == SKILL_FILE {
            let message = format!("{SKILL_FILE} must be in a directory with the skill's name");
            return problems.push(Problem::of_file(path, "layout", message));
        }
        if name.eq_ignore_ascii_case(SKILL_FILE) {
            let message = format!("the file must be named {SKILL_FILE}");
            problems.push(Problem::of_file(path, "layout", message));
            left_out.extend(parent(path).map(str::to_owned));
            return;
        }
        match path.split_once('/') {
            Some((top, _)) => *self.directories.entry(top.to_owned()).or_default() += 1,
            None => {
                let message = "the file belongs to no skill; skipped";
                problems.push(Problem::of_file(path, "layout", message).warning());
            }
        }
    }

    fn report(self, problems: &mut Problems) {
        for (directory, count) in self.directories {
            let message = format!("no skill found here: {count} file(s) skipped");
            problems.push(Problem::of_file(&directory, "layout", message).warning());
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns the ids of directories. A name that is not valid in an id, such as `.curated`, is converted. A directory
/// whose id is already used is left out with everything below it.
fn ids<'n>(
    nodes: &'n BTreeSet<String>,
    problems: &mut Problems,
    left_out: &mut BTreeSet<String>,
) -> BTreeMap<&'n str, SkillId> {
    let mut ids: BTreeMap<&str, SkillId> = BTreeMap::new();
    let mut taken: BTreeMap<SkillId, &str> = BTreeMap::new();
    for directory in nodes {
        let name = file_name(directory);
        let above = parent(directory);
        let part = id_part(name, above.is_none());
        let whole = match above.map(|above| ids.get(above)) {
            None => part.clone(),
            Some(Some(above)) => format!("{above}.{part}"),
            // A directory above it was left out and reported.
            Some(None) => {
                left_out.insert(directory.clone());
                continue;
            }
        };
        let refused = match SkillId::parse(&whole) {
            Err(_) => format!(
                "`{whole}` cannot be an id: letters, digits, `-` and `_`, at most 200 in all"
            ),
            Ok(id) => match taken.get(&id) {
                Some(other) => format!("`{other}` already has the id `{id}`"),
                None => {
                    if part != name {
                        let message = format!("in ids the directory `{name}` becomes `{part}`");
                        problems.push(Problem::of_file(directory, "name", message).warning());
                    }
                    taken.insert(id.clone(), directory);
                    ids.insert(directory, id);
                    continue;
                }
            },
        };
        problems.push(Problem::of_file(directory, "name", refused));
        left_out.insert(directory.clone());
    }
    ids
}

/// Converts a directory's name to a part of an id. A dot in it could give two directories the same id.
fn id_part(name: &str, begins: bool) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_one = name.chars().all(fits);
    if is_one && (!begins || name.starts_with(|c: char| c.is_ascii_alphanumeric())) {
        return name.to_owned();
    }
    let bare = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let part: String = bare
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect();
    if part.is_empty() {
        "skills".to_owned()
    } else {
        part
    }
}

fn folder_summary(directory: &str, children: &[&str]) -> Option<Text> {
    let names: Vec<&str> = children.iter().map(|child| file_name(child)).collect();
    let summary = format!("{}: {}", file_name(directory), names.join(", "));
    let summary: String = summary.chars().take(MAX_FOLDER_SUMMARY).collect();
    Text::parse(&summary).ok()
}
