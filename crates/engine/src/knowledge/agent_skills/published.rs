//! Imported skills in the form of public installers: the index of the Agent Skills discovery draft (0.2.0,
//! <https://github.com/cloudflare/agent-skills-discovery-rfc>) and its artifacts.
//!
//! A skill of one file is published as that file, any other as an archive of its directory. As everywhere, the caller
//! gets only skills within reach.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_domain::link_graph::LayerOf;
use charter_domain::skill_folder::{SKILL_FILE, SkillFile, directory, name};
use charter_store::agent_skills::SkillFileEntry;
use charter_store::catalogue::ContentHash;
use flate2::{Compression, GzBuilder};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::AgentSkillService;
use crate::{Caller, EngineError};

/// The schema of the index.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The path of the index and its artifacts.
const ROOT: &str = "/.well-known/agent-skills";

/// The file extension of an archive.
const ARCHIVE: &str = ".tar.gz";

/// The index of published skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PublishedSkillIndex {
    /// The schema of the index.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// The skills, by name.
    pub skills: Vec<PublishedSkill>,
}

/// One published skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PublishedSkill {
    /// Its name in the open format.
    pub name: String,
    /// `skill-md` or `archive`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its purpose and when to use it.
    pub description: String,
    /// The URL of its artifact.
    pub url: String,
    /// `sha256:…` of the artifact.
    pub digest: String,
}

/// A downloadable artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifact {
    /// A `SKILL.md`.
    SkillFile(Vec<u8>),
    /// A directory, as a compressed archive.
    Archive(Vec<u8>),
}

impl AgentSkillService {
    /// Returns the imported skills in the caller's reach. Of several with one name, which would overwrite each other in
    /// an installer, the one with the shortest id is published.
    ///
    /// # Errors
    /// Errors of storage.
    pub async fn published_skills(
        &self,
        caller: &Caller,
    ) -> Result<PublishedSkillIndex, EngineError> {
        let mut files = BTreeMap::new();
        for (layer, scope) in [
            (LayerOf::Own, Scope::Tenant(caller.tenant.clone())),
            (LayerOf::Global, Scope::Global),
        ] {
            let found = self.store.all_skill_files(&scope).await?;
            files.extend(found.into_iter().map(|(id, files)| ((layer, id), files)));
        }
        let mut reached = self.skills.read(caller, |indexes, access| {
            let view = indexes.view(&caller.tenant);
            let places = access.reach.places();
            let skills = places.filter_map(|place| {
                let node = view.node(place)?;
                let files = files.remove(&(place.layer, node.id.clone()))?;
                let published = files.iter().any(|file| file.path == SKILL_FILE);
                published.then(|| {
                    (
                        place.layer,
                        node.id.clone(),
                        node.summary.to_string(),
                        files,
                    )
                })
            });
            skills.collect::<Vec<_>>()
        });
        reached.sort_by_cached_key(|(_, id, ..)| (id.as_str().len(), id.to_string()));
        let mut named = HashSet::new();
        reached.retain(|(_, id, ..)| named.insert(name(id).to_owned()));
        let mut skills = Vec::with_capacity(reached.len());
        for (layer, id, description, files) in reached {
            let scope = match layer {
                LayerOf::Own => Scope::Tenant(caller.tenant.clone()),
                LayerOf::Global => Scope::Global,
            };
            let (kind, file, digest) = match files.as_slice() {
                [one] => ("skill-md", SKILL_FILE.to_owned(), one.content),
                several => {
                    let digest = self.archive_digest(&scope, &id, several).await?;
                    ("archive", format!("{}{ARCHIVE}", name(&id)), digest)
                }
            };
            skills.push(PublishedSkill {
                name: name(&id).to_owned(),
                kind,
                description,
                url: format!("{ROOT}/{id}/{file}"),
                digest: digest.to_string(),
            });
        }
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(PublishedSkillIndex {
            schema: SCHEMA,
            skills,
        })
    }

    /// Returns an artifact of the index: `SKILL.md` or the archive of an imported skill.
    ///
    /// # Errors
    /// `not_found`, also for a skill outside the caller's reach.
    pub async fn published_artifact(
        &self,
        caller: &Caller,
        id: &SkillId,
        file: &str,
    ) -> Result<Artifact, EngineError> {
        let skill_file = self.skill_file(caller, id, SKILL_FILE).await?;
        if file == SKILL_FILE {
            return Ok(Artifact::SkillFile(skill_file.content.to_vec()));
        }
        if file.strip_suffix(ARCHIVE) != Some(name(id)) {
            return Err(EngineError::not_found("file", file));
        }
        let scope = self.scope_of_skill(caller, id)?;
        let entries = self.store.skill_files(&scope, id).await?;
        self.archive(&scope, id, &entries)
            .await
            .map(Artifact::Archive)
    }

    /// Returns the digest of a skill's archive, computed once for the same files.
    async fn archive_digest(
        &self,
        scope: &Scope,
        id: &SkillId,
        entries: &[SkillFileEntry],
    ) -> Result<ContentHash, EngineError> {
        let key = manifest(entries);
        if let Some(known) = self.archive_digests.get(&key) {
            return Ok(known);
        }
        let archive = self.archive(scope, id, entries).await?;
        let digest = ContentHash(Sha256::digest(&archive).into());
        self.archive_digests.insert(key, digest);
        Ok(digest)
    }

    async fn archive(
        &self,
        scope: &Scope,
        id: &SkillId,
        entries: &[SkillFileEntry],
    ) -> Result<Vec<u8>, EngineError> {
        let mut files = Vec::with_capacity(entries.len());
        for entry in entries {
            let file = self.store.skill_file(scope, id, &entry.path).await?;
            files.push(file.ok_or_else(|| EngineError::not_found("skill", id))?);
        }
        let packing = tokio::task::spawn_blocking(move || pack(&files));
        let packed = packing
            .await
            .map_err(|error| EngineError::internal("packing a skill", error))?;
        packed.map_err(|error| {
            let directory = directory(id);
            EngineError::internal("packing a skill", error).with_details(directory.into())
        })
    }
}

/// Hashes the inputs of an archive.
fn manifest(entries: &[SkillFileEntry]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for entry in entries {
        hash.update((entry.path.len() as u64).to_be_bytes());
        hash.update(&entry.path);
        hash.update([u8::from(entry.executable)]);
        hash.update(entry.content.0);
    }
    hash.finalize().into()
}

/// Packs a compressed archive that is the same for the same files: no times, no owners.
fn pack(files: &[SkillFile]) -> std::io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().write(Vec::new(), Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.content.len() as u64);
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        header.set_cksum();
        archive.append_data(&mut header, &file.path, &*file.content)?;
    }
    let mut gzip = archive.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}
