//! Loads stored skills into the indexes in memory, and embeds summaries without vectors. A summary's vector is mixed
//! with those of its quoted trigger phrases, like the vector of a package's skill.

use std::collections::{BTreeSet, HashMap};

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::text::Text;
use charter_domain::link_graph::SkillNode;
use charter_search::embed::{EmbeddingModel, MAX_TEXTS_PER_CALL, Vector};
use charter_search::{IndexSettings, VectorRole, entry_vector, trigger_phrases};
use charter_store::agent_skills::{
    SkillRecord, SkillVector, SkillsLoaded, SkillsModel, VectorOrigin,
};
use charter_store::vector::TextHash;

use super::AgentSkillService;
use super::index::{Indexes, KeptVectors, NewVector};
use crate::EngineError;
use crate::catalogue::live::text_hash;
use crate::ground::settings::SkillVectors;

/// Vectors of summaries, by their text.
pub(super) type BySummary = HashMap<String, Vector>;

impl AgentSkillService {
    /// Serves the stored skills. Embeds summaries without a vector of the model.
    ///
    /// # Errors
    /// `model_mismatch` if another model made the index (B001-2): `reindex` repairs it.
    pub(crate) async fn load_skills(&self) -> Result<(), EngineError> {
        let loaded = self.store.load_skills().await?;
        let model = self.vectors.embedder().map(|embedder| embedder.model());
        if let (Some(stored), Some(model)) = (&loaded.model, model)
            && *stored != stored_form(model)
        {
            let message = format!(
                "the index of skills was built by the model {} with {} dimensions, but the model in use is {model} \
                 with {}; run `charter reindex`",
                stored.name, stored.dims, model.dims
            );
            return Err(EngineError::new(ErrorCode::ModelMismatch, message));
        }
        self.serve_skills(loaded).await.map(|_| ())
    }

    /// Serves the skills that another process wrote.
    ///
    /// # Errors
    /// As for [`AgentSkillService::load_skills`].
    pub(crate) async fn follow_skills(&self) -> Result<(), EngineError> {
        let _one_at_a_time = self.skills.writing.lock().await;
        if self.store.skills_revision().await? > self.skills.revision() {
            self.load_skills().await?;
            self.mirror.wake();
        }
        Ok(())
    }

    /// Embeds summaries without a vector of the current model, and serves the result; returns how many. Replaces
    /// vectors that were supplied for another model.
    pub(crate) async fn reindex_skills(&self) -> Result<usize, EngineError> {
        let mut loaded = self.store.load_skills().await?;
        let model = self
            .vectors
            .embedder()
            .map(|embedder| stored_form(embedder.model()));
        if model.is_some() && loaded.model != model {
            for skill in &mut loaded.skills {
                skill.vector = None;
            }
        }
        self.serve_skills(loaded).await
    }

    /// Returns whether this process stores vectors of skills: it need not if a search node has them.
    pub(super) fn kept_vectors(&self) -> KeptVectors {
        match (self.skill_index(), self.kept) {
            (Some(_), SkillVectors::Elsewhere) => KeptVectors::Elsewhere,
            (Some(_), SkillVectors::AlsoHere) | (None, _) => KeptVectors::Here,
        }
    }

    async fn serve_skills(&self, mut loaded: SkillsLoaded) -> Result<usize, EngineError> {
        let mut embedded = 0;
        if let Some(embedder) = self.vectors.embedder() {
            let missing = without_vector(&loaded.skills);
            let fresh = self.embed_summaries(missing).await?;
            if !fresh.is_empty() {
                let vectors = fill(&mut loaded.skills, &fresh);
                embedded = vectors.len();
                let model = stored_form(embedder.model());
                tracing::info!(skills = embedded, "embedded the summaries of skills");
                loaded.revision = self
                    .store
                    .index_skills(&model, loaded.revision, vectors, self.clock.now())
                    .await?;
                loaded.model = Some(model);
            }
        }
        let model = self
            .vectors
            .embedder()
            .map(|embedder| embedder.model().clone());
        let kept = self.kept_vectors();
        let building = tokio::task::spawn_blocking(move || indexes(loaded, model, kept));
        let indexes = building
            .await
            .map_err(|error| EngineError::internal("indexing skills", error))??;
        self.skills.change(|state| *state = indexes);
        Ok(embedded)
    }

    /// Embeds summaries; returns none without an embedder.
    pub(super) async fn embed_summaries(
        &self,
        summaries: BTreeSet<String>,
    ) -> Result<BySummary, EngineError> {
        let mut vectors = BySummary::with_capacity(summaries.len());
        let Some(embedder) = self.vectors.embedder() else {
            return Ok(vectors);
        };
        let texts: Vec<(String, SummaryTexts)> = summaries
            .into_iter()
            .map(|summary| {
                let texts = summary_texts(&summary);
                (summary, texts)
            })
            .collect();
        let all: Vec<String> = texts
            .iter()
            .flat_map(|(_, texts)| texts.iter().map(|(_, text)| text.clone()))
            .collect();
        let mut made = Vec::with_capacity(all.len());
        for batch in all.chunks(MAX_TEXTS_PER_CALL) {
            made.extend(embedder.embed(batch.to_vec()).await.map_err(|error| {
                let message = "the summaries could not be embedded";
                EngineError::new(ErrorCode::Unavailable, message).caused_by(error)
            })?);
        }
        let mut made = made.into_iter();
        for (summary, texts) in texts {
            let roles = texts.into_iter().map(|(role, _)| role);
            let parts: Vec<(VectorRole, Vector)> = roles.zip(made.by_ref()).collect();
            let vector = mixed(parts, embedder.model().dims)?;
            vectors.extend(vector.map(|vector| (summary, vector)));
        }
        Ok(vectors)
    }
}

/// The texts behind a summary's vector.
type SummaryTexts = Vec<(VectorRole, String)>;

/// Returns a summary, and its quoted trigger phrases.
fn summary_texts(summary: &str) -> SummaryTexts {
    let phrases = trigger_phrases(summary).into_iter();
    let phrases = phrases.map(|phrase| (VectorRole::Example, phrase));
    let own = (VectorRole::Description, summary.to_owned());
    std::iter::once(own).chain(phrases).collect()
}

/// Mixes several vectors into one; a single one stays unchanged.
fn mixed(mut parts: Vec<(VectorRole, Vector)>, dims: usize) -> Result<Option<Vector>, EngineError> {
    if parts.len() == 1 {
        return Ok(parts.pop().map(|(_, vector)| vector));
    }
    entry_vector(&parts, dims, &IndexSettings::default())
        .map_err(|error| EngineError::internal("mixing the vectors of a summary", error))
}

/// Returns a model as stored with the index.
pub(super) fn stored_form(model: &EmbeddingModel) -> SkillsModel {
    SkillsModel {
        name: model.to_string(),
        dims: model.dims,
    }
}

/// Returns a vector as stored.
pub(super) fn stored_vector(summary: &str, vector: &Vector, origin: VectorOrigin) -> SkillVector {
    SkillVector {
        origin,
        summary: source_hash(summary, origin),
        bytes: vector.to_bytes(),
    }
}

/// Hashes the texts behind a vector. A vector of a summary alone, from before phrases counted, is recomputed.
fn source_hash(summary: &str, origin: VectorOrigin) -> TextHash {
    match origin {
        VectorOrigin::Supplied => text_hash(summary),
        VectorOrigin::Embedded => {
            let texts = summary_texts(summary).into_iter().map(|(_, text)| text);
            text_hash(&texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Returns whether a stored vector matches the skill's present summary.
fn is_current(skill: &SkillRecord) -> bool {
    let vector = skill.vector.as_ref();
    vector.is_some_and(|vector| vector.summary == source_hash(&skill.summary, vector.origin))
}

fn without_vector(skills: &[SkillRecord]) -> BTreeSet<String> {
    let missing = skills.iter().filter(|skill| !is_current(skill));
    missing.map(|skill| skill.summary.clone()).collect()
}

fn fill(skills: &mut [SkillRecord], fresh: &BySummary) -> Vec<(Scope, SkillId, SkillVector)> {
    let missing = skills.iter_mut().filter(|skill| !is_current(skill));
    let filled = missing.filter_map(|skill| {
        let vector = fresh.get(&skill.summary)?;
        let vector = stored_vector(&skill.summary, vector, VectorOrigin::Embedded);
        skill.vector = Some(vector.clone());
        Some((skill.scope.clone(), skill.id.clone(), vector))
    });
    filled.collect()
}

fn indexes(
    loaded: SkillsLoaded,
    model: Option<EmbeddingModel>,
    kept: KeptVectors,
) -> Result<Indexes, EngineError> {
    let damaged = |error| EngineError::internal("reading a stored skill", error);
    let with_vectors = model.is_some();
    let mut indexes = Indexes::new(model, kept);
    indexes.revision = loaded.revision;
    indexes.model_is_stored = loaded.model.is_some();
    for skill in loaded.skills {
        let vector = match &skill.vector {
            Some(stored) if with_vectors => {
                let vector = Vector::from_bytes(&stored.bytes);
                let vector = vector
                    .map_err(|error| EngineError::internal("reading a stored vector", error))?;
                NewVector::This(vector, stored.origin)
            }
            Some(_) | None => NewVector::None,
        };
        let node = SkillNode {
            id: skill.id,
            summary: Text::parse(&skill.summary).map_err(|error| damaged(error.to_string()))?,
            is_folder: skill.is_folder,
            children: skill.sub_skills.into(),
        };
        let scope = indexes.scope_mut(&skill.scope);
        let put = scope.upsert(node, vector, skill.has_files.into());
        put.map_err(|error| damaged(error.to_string()))?;
    }
    Ok(indexes)
}
