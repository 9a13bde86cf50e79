//! Agent skills in the open format, as the Skills extension of the Model Context Protocol serves them
//! (`io.modelcontextprotocol/skills`, <https://github.com/modelcontextprotocol/ext-skills>): the frontmatter of a
//! `SKILL.md`, the digest of every file of its directory, and one file by its path.
//!
//! An imported skill is served byte for byte; one that was written as a document becomes a `SKILL.md` if the format can
//! hold it. Directories omit skills outside the caller's reach. Must not know addresses.

use std::collections::HashSet;
use std::sync::Arc;

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_domain::link_graph::{LayerOf, SkillPosition, SkillsView};
use charter_domain::skill_folder::{
    SKILL_FILE, SkillFile, directory as directory_of, keeps_format, name, skill_md_fields,
    write_skill_md,
};
use charter_store::catalogue::ContentHash;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::AgentSkillService;
use super::index::{Access, Indexes};
use super::{AgentSkillFile, AgentSkillSummary};
use crate::{Caller, EngineError};

/// Maximum files of a skill, including those of skills below it, and their bytes: the amount that every client must
/// accept (the extension's limits). A larger skill is left out.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 << 20;

/// Longest path of a file, including its skill's directory, in bytes.
const MAX_PATH: usize = 4_096;

/// A skill in the open format.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillManifest {
    /// Its id.
    pub skill_id: SkillId,
    /// Its directory among all skills: `sql/migration`.
    pub directory: String,
    /// The frontmatter of its `SKILL.md`, unchanged.
    pub frontmatter: Map<String, Value>,
    /// Whether the frontmatter keeps every rule of the format. Strict clients refuse a whole list because of one skill
    /// that does not.
    pub keeps_format: bool,
    /// Its files by path; `SKILL.md` is among them.
    pub files: Vec<AgentSkillFile>,
    /// The files of skills below it within the caller's reach, by path from its own directory.
    pub below: Vec<AgentSkillFile>,
}

/// A page of manifests.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillManifests {
    /// By id.
    pub entries: Vec<SkillManifest>,
    /// Cursor to the next page; absent on the last one.
    pub next: Option<SkillId>,
}

/// A skill within reach, and those below it in its directory.
struct Directory {
    top: PlacedSkill,
    below: Vec<PlacedSkill>,
}

struct PlacedSkill {
    skill: AgentSkillSummary,
    scope: Scope,
}

/// The files of one skill.
struct SkillFiles {
    files: Vec<AgentSkillFile>,
    /// The generated `SKILL.md`, if it is not stored as a file.
    written: Option<SkillFile>,
}

impl AgentSkillService {
    /// Returns a page of the skills in the caller's reach that the open format can hold. A page may be short or empty
    /// and not be the last.
    ///
    /// # Errors
    /// Errors of storage.
    pub async fn skill_manifests(
        &self,
        caller: &Caller,
        after: Option<&SkillId>,
        limit: usize,
    ) -> Result<SkillManifests, EngineError> {
        let (page, next) = self.skills.read(caller, |indexes, access| {
            let reached = ReachableSkillIndex::new(indexes, access, caller);
            let start = after.map_or(0, |after| reached.from(|id| id > after));
            let end = reached.len().min(start.saturating_add(limit.max(1)));
            let page = (start..end).filter_map(|at| reached.directory(at));
            let page: Vec<Directory> = page.collect();
            let last = page.last().filter(|_| end < reached.len());
            let next = last.map(|last| last.top.skill.skill_id.clone());
            (page, next)
        });
        let mut entries = Vec::with_capacity(page.len());
        for directory in page {
            entries.extend(self.manifest(directory).await?);
        }
        Ok(SkillManifests { entries, next })
    }

    /// Returns the skill of a directory, in the open format.
    ///
    /// # Errors
    /// `not_found`, also for one that is outside the caller's reach or that the format cannot hold.
    pub async fn skill_manifest(
        &self,
        caller: &Caller,
        directory: &str,
    ) -> Result<SkillManifest, EngineError> {
        let absent = || EngineError::not_found("skill", directory);
        let id = skill_of(directory).ok_or_else(absent)?;
        let found = self.skills.read(caller, |indexes, access| {
            let reached = ReachableSkillIndex::new(indexes, access, caller);
            reached.directory(reached.from(|reached| *reached >= id))
        });
        let manifest = match found.filter(|found| found.top.skill.skill_id == id) {
            Some(directory) => self.manifest(directory).await?,
            None => None,
        };
        manifest.ok_or_else(absent)
    }

    /// Returns a file by its path among all skills (`sql/migration/scripts/run.sh`), from the deepest skill that has
    /// it. A `SKILL.md` exists even if none was imported.
    ///
    /// # Errors
    /// `not_found`, also for a skill outside the caller's reach.
    pub async fn skill_source(
        &self,
        caller: &Caller,
        path: &str,
    ) -> Result<SkillFile, EngineError> {
        let splits = path.rmatch_indices('/').filter(|_| path.len() <= MAX_PATH);
        for (at, _) in splits {
            let (directory, file) = (&path[..at], &path[at + 1..]);
            let placed = skill_of(directory).and_then(|id| self.reached(caller, &id));
            let Some(placed) = placed else { continue };
            match self.held(&placed).await?.written {
                Some(written) if file == SKILL_FILE => return Ok(written),
                Some(_) | None => {}
            }
            let stored = self
                .store
                .skill_file(&placed.scope, &placed.skill.skill_id, file);
            if let Some(stored) = stored.await? {
                return Ok(stored);
            }
        }
        Err(EngineError::not_found("file", path))
    }

    fn reached(&self, caller: &Caller, id: &SkillId) -> Option<PlacedSkill> {
        Some(PlacedSkill {
            skill: self.show_skill(caller, id).ok()?.skill,
            scope: self.scope_of_skill(caller, id).ok()?,
        })
    }

    /// Returns the manifest; `None` if the format or its limits cannot hold the skill.
    async fn manifest(&self, directory: Directory) -> Result<Option<SkillManifest>, EngineError> {
        let top = directory.top;
        let id = top.skill.skill_id.clone();
        let SkillFiles { mut files, written } = self.held(&top).await?;
        let skill_md = match written {
            Some(written) => Some(written),
            None => self.store.skill_file(&top.scope, &id, SKILL_FILE).await?,
        };
        let Some(frontmatter) = frontmatter_of(skill_md).await? else {
            return Ok(None);
        };
        let mut below = Vec::new();
        for nested in &directory.below {
            if files.len() + below.len() > MAX_FILES {
                break;
            }
            let root = directory_below(&id, &nested.skill.skill_id);
            let held = self.held(nested).await?.files.into_iter();
            below.extend(held.map(|file| AgentSkillFile {
                path: format!("{root}/{}", file.path),
                ..file
            }));
        }
        // If two skills have the same path, the deeper skill's file counts.
        let paths: HashSet<&str> = below.iter().map(|file| file.path.as_str()).collect();
        files.retain(|file| !paths.contains(file.path.as_str()));
        let bytes: u64 = files.iter().chain(&below).map(|file| file.bytes).sum();
        let fits = files.len() + below.len() <= MAX_FILES && bytes <= MAX_BYTES;
        Ok(fits.then(|| SkillManifest {
            directory: directory_of(&id),
            keeps_format: keeps_format(&frontmatter, name(&id)),
            skill_id: id,
            frontmatter,
            files,
            below,
        }))
    }

    async fn held(&self, placed: &PlacedSkill) -> Result<SkillFiles, EngineError> {
        let stored = self
            .store
            .skill_files(&placed.scope, &placed.skill.skill_id);
        let stored = stored.await?;
        if !stored.is_empty() {
            return Ok(SkillFiles {
                files: stored.into_iter().map(Into::into).collect(),
                written: None,
            });
        }
        let written = self.written(placed).await?;
        Ok(SkillFiles {
            files: written.iter().map(shown).collect(),
            written,
        })
    }

    /// Generates the `SKILL.md` of a skill that was written as a document. A folder without an instruction has none.
    async fn written(&self, placed: &PlacedSkill) -> Result<Option<SkillFile>, EngineError> {
        let skill = &placed.skill;
        let instruction = self.store.skill_instruction(&placed.scope, &skill.skill_id);
        let Some(instruction) = instruction.await? else {
            return Ok(None);
        };
        if skill.is_folder && instruction.is_empty() {
            return Ok(None);
        }
        let text = write_skill_md(name(&skill.skill_id), &skill.summary, &instruction);
        Ok(text.map(|text| SkillFile {
            path: SKILL_FILE.to_owned(),
            content: Arc::from(text.into_bytes()),
            executable: false,
        }))
    }
}

/// Reads the fields of a `SKILL.md`, off the async threads.
async fn frontmatter_of(
    skill_md: Option<SkillFile>,
) -> Result<Option<Map<String, Value>>, EngineError> {
    let Some(file) = skill_md else {
        return Ok(None);
    };
    let reading = tokio::task::spawn_blocking(move || skill_md_fields(&file.content));
    reading
        .await
        .map_err(|error| EngineError::internal("reading a SKILL.md", error))
}

/// The skills within a caller's reach, by id.
struct ReachableSkillIndex<'r> {
    view: SkillsView<'r>,
    places: &'r [SkillPosition],
    caller: &'r Caller,
}

impl<'r> ReachableSkillIndex<'r> {
    fn new(indexes: &'r Indexes, access: &'r Access, caller: &'r Caller) -> Self {
        let view = indexes.view(&caller.tenant);
        Self {
            places: access.by_id(&view),
            view,
            caller,
        }
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the position of the first id for which `is_later` holds.
    fn from(&self, is_later: impl Fn(&SkillId) -> bool) -> usize {
        let before = |place: &SkillPosition| {
            self.view
                .node(*place)
                .is_some_and(|node| !is_later(&node.id))
        };
        self.places.partition_point(before)
    }

    fn directory(&self, at: usize) -> Option<Directory> {
        let top = self.placed(at)?;
        let prefix = format!("{}.", top.skill.skill_id);
        let first = self.from(|id| id.as_str() >= prefix.as_str());
        let below = (first..self.len()).map_while(|at| self.placed(at));
        let below = below.take_while(|nested| nested.skill.skill_id.as_str().starts_with(&prefix));
        // One more than the limit shows that there are too many.
        let below = below.take(MAX_FILES + 1).collect();
        Some(Directory { top, below })
    }

    fn placed(&self, at: usize) -> Option<PlacedSkill> {
        let place = self.places.get(at)?;
        Some(PlacedSkill {
            skill: self.view.node(*place)?.into(),
            scope: match place.layer {
                LayerOf::Own => Scope::Tenant(self.caller.tenant.clone()),
                LayerOf::Global => Scope::Global,
            },
        })
    }
}

/// Returns the skill of a directory; a name with a dot in it is no directory.
fn skill_of(directory: &str) -> Option<SkillId> {
    if directory.contains('.') {
        return None;
    }
    SkillId::parse(&directory.replace('/', ".")).ok()
}

/// Returns the path of a nested skill from the directory of one above it.
fn directory_below(top: &SkillId, nested: &SkillId) -> String {
    let (top, mut nested) = (directory_of(top), directory_of(nested));
    nested.drain(..(top.len() + 1).min(nested.len()));
    nested
}

fn shown(file: &SkillFile) -> AgentSkillFile {
    AgentSkillFile {
        path: file.path.clone(),
        digest: ContentHash(Sha256::digest(&file.content).into()).to_string(),
        bytes: file.content.len() as u64,
        executable: file.executable,
    }
}
