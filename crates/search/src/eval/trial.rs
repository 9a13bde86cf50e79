//! An evaluation set, indexed and embedded once, for searches under any settings.
//!
//! Must not rank except by the product's own search, and for the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::metrics::{
    DEPTH, EvalReport, Figures, RECALL_DEPTH, SeveralFigures, Sums, VerdictFigures, auroc, trust,
};
use super::read::{EvalSet, LabelledQuery};
use crate::embed::{EmbedError, Embedder, MAX_TEXTS_PER_CALL, Vector};
use crate::index::{BuildError, IndexSettings, RouteEntry, RouteIndex};
use crate::layers::{Allowed, Layer, Layers, Scope};
use crate::query::{EmbeddedQuery, QueryError, RouteQuery};
use crate::rank::{EntryPosition, EntryScores, id};
use crate::settings::{RouteSettings, ScoreFeatures};
use crate::text::{RouteText, embedding_texts};
use crate::verdict::{VerdictKind, decide_found};

/// Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, 2009).
const RRF_K: f32 = 60.0;

/// The entries that a query is ranked against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// The whole catalogue. Queries that no entry *among their own candidates* answers are left out: another entry of
    /// the catalogue may.
    #[default]
    Catalogue,
    /// The query's own candidates, if it has any, as if the caller were granted only those.
    Candidates,
}

/// Options of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EvalOptions {
    /// `Some(n)`: each entry has up to `n` examples, its own first ones, or, if it has none, queries that only it
    /// answers; those are then not evaluated. `None`: entries are unchanged.
    pub examples: Option<usize>,
    /// The entries that queries are ranked against.
    pub offer: Offer,
    /// Index settings.
    pub index: IndexSettings,
}

/// Why a trial failed.
#[derive(Debug, Error)]
pub enum EvalError {
    /// The index could not be built.
    #[error("the catalogue could not be indexed")]
    Build(#[source] BuildError),
    /// A text could not be embedded.
    #[error("a text of the set could not be embedded")]
    Embed(#[source] EmbedError),
    /// A query could not be routed.
    #[error("the query `{query}` could not be routed")]
    Query {
        /// The query.
        query: String,
        /// The cause.
        source: QueryError,
    },
}

/// An evaluation set, ready for searches.
#[derive(Debug)]
pub struct Trial {
    layers: Layers,
    cases: Vec<Case>,
    model: Option<String>,
}

#[derive(Debug)]
struct Case {
    text: String,
    query: EmbeddedQuery,
    relevant: BTreeSet<String>,
    offered: Option<BTreeSet<String>>,
    part: Option<String>,
    requests: Vec<Vec<String>>,
}

/// The observation of a search for one query, from which scores and thresholds are fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Whether the query has an answer.
    pub answerable: bool,
    /// Features of the best hit; `None` without hits.
    pub features: Option<ScoreFeatures>,
    /// For the first ten hits: the distance to the best in fused score, and whether relevant.
    pub hits: Vec<(f32, bool)>,
    /// Number of relevant entries.
    pub relevant: usize,
    /// For each request of a query with several: whether the first five hits answer it.
    #[serde(default)]
    pub requests: Vec<bool>,
    /// Whether each of the first ten hits by reciprocal rank fusion is relevant.
    pub rrf_hits: Vec<bool>,
}

impl Observation {
    /// Returns the lead of the best hit over the next in fused score; infinite if it is the only one.
    pub fn lead(&self) -> f32 {
        self.hits
            .get(1)
            .map_or(f32::INFINITY, |(behind, _)| *behind)
    }

    /// Whether the best hit is relevant.
    pub fn is_right(&self) -> bool {
        self.hits.first().is_some_and(|(_, relevant)| *relevant)
    }
}

impl Trial {
    /// Indexes and embeds a set. Without an embedder only words are compared.
    ///
    /// # Errors
    /// [`EvalError`].
    pub async fn prepare(
        set: EvalSet,
        embedder: Option<&dyn Embedder>,
        options: &EvalOptions,
    ) -> Result<Trial, EvalError> {
        let (entries, labelled) = with_examples(set, options);
        let queries = parse_queries(labelled)?;
        let vectors = embed_entries(&entries, embedder).await?;
        let model = embedder.map(|embedder| embedder.model().clone());
        let entries = entries
            .into_iter()
            .map(|(id, text)| RouteEntry {
                vectors: embedding_texts(&text)
                    .into_iter()
                    .filter_map(|(role, text)| Some((role, vectors.get(&text)?.clone())))
                    .collect(),
                id,
                text,
            })
            .collect();
        let index =
            RouteIndex::build(entries, model.clone(), &options.index).map_err(EvalError::Build)?;
        let layers = Layers::new(vec![Layer {
            scope: Scope::Global,
            index: Arc::new(index),
        }]);
        let queries = correct(queries, &layers, embedder);
        let vectors = embed_queries(&queries, embedder).await?;
        let mut cases = Vec::with_capacity(queries.len());
        for (query, labels) in queries {
            let text = query.text().to_owned();
            let found: Vec<Vector> = query
                .texts()
                .filter_map(|text| vectors.get(text).cloned())
                .collect();
            let query = match &model {
                None => query.lexical_only(),
                Some(model) => {
                    query
                        .embedded(model, &found)
                        .map_err(|source| EvalError::Query {
                            query: text.clone(),
                            source,
                        })?
                }
            };
            cases.push(Case {
                text,
                query,
                relevant: labels.relevant.into_iter().collect(),
                offered: (!labels.candidates.is_empty())
                    .then(|| labels.candidates.into_iter().collect()),
                part: labels.part,
                requests: labels.requests,
            });
        }
        Ok(Trial {
            layers,
            cases,
            model: model.map(|model| model.to_string()),
        })
    }

    /// Returns the model that embedded the set.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Searches for every query and compares the results with its labels.
    ///
    /// # Errors
    /// [`EvalError::Query`].
    pub fn evaluate(&self, settings: &RouteSettings) -> Result<EvalReport, EvalError> {
        let mut all = Sums::default();
        let mut rrf = Sums::default();
        let mut parts: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut verdicts = VerdictFigures::default();
        let (mut answered, mut missed) = (Vec::new(), Vec::new());
        let mut scored = Vec::with_capacity(self.cases.len());
        let (mut several, mut complete) = (0, 0);
        for case in &self.cases {
            let scores = self.scores(case, settings)?;
            let seen = self.observe(case, &scores, settings, Comparison::ReciprocalRank);
            let (kind, top) = self.verdict(case, &scores, settings);
            count_verdict(&mut verdicts, &seen, kind);
            scored.push((top, seen.answerable && seen.is_right()));
            if seen.requests.len() > 1 {
                several += 1;
                complete += usize::from(seen.requests.iter().all(|found| *found));
            }
            if seen.answerable {
                let hits: Vec<bool> = seen.hits.iter().map(|(_, relevant)| *relevant).collect();
                all.add(&hits, seen.relevant);
                rrf.add(&seen.rrf_hits, seen.relevant);
                if let Some(part) = &case.part {
                    parts.entry(part).or_default().add(&hits, seen.relevant);
                }
                answered.push(top);
            } else {
                missed.push(top);
            }
        }
        let by_part = parts
            .into_iter()
            .map(|(part, sums)| (part.to_owned(), sums.figures()));
        Ok(EvalReport {
            all: all.figures(),
            misses: missed.len(),
            auroc: auroc(&answered, &missed),
            by_part: by_part.collect::<BTreeMap<String, Figures>>(),
            rrf: rrf.figures(),
            trust: trust(&verdicts, &scored),
            several: SeveralFigures::new(several, complete),
            verdicts,
        })
    }

    /// Returns the observations of searches under `settings`, one for each query.
    ///
    /// # Errors
    /// [`EvalError::Query`].
    pub fn observations(&self, settings: &RouteSettings) -> Result<Vec<Observation>, EvalError> {
        let observe = |case| {
            let scores = self.scores(case, settings)?;
            Ok(self.observe(case, &scores, settings, Comparison::None))
        };
        self.cases.iter().map(observe).collect()
    }

    fn scores(&self, case: &Case, settings: &RouteSettings) -> Result<EntryScores, EvalError> {
        let offers = |_: Scope, id: &str| {
            case.offered
                .as_ref()
                .is_none_or(|offered| offered.contains(id))
        };
        EntryScores::compute(
            &self.layers,
            &case.query,
            Allowed::Where(&offers),
            &settings.fusion,
        )
        .map_err(|source| EvalError::Query {
            query: case.text.clone(),
            source,
        })
    }

    fn observe(
        &self,
        case: &Case,
        scores: &EntryScores,
        settings: &RouteSettings,
        comparison: Comparison,
    ) -> Observation {
        let ranked = scores.head(&self.layers, settings, DEPTH);
        let is_relevant = |place: &EntryPosition| case.relevant.contains(id(&self.layers, *place));
        let best = ranked.first().map_or(0.0, |place| scores.fused_at(*place));
        let rrf_hits = match comparison {
            Comparison::None => Vec::new(),
            Comparison::ReciprocalRank => {
                let fused = reciprocal_rank_fusion(scores, &self.layers);
                let ranked = scores.ranked(&self.layers, &fused, DEPTH);
                ranked.iter().map(is_relevant).collect()
            }
        };
        let first: Vec<&str> = ranked
            .iter()
            .take(RECALL_DEPTH)
            .map(|place| id(&self.layers, *place))
            .collect();
        let is_found =
            |request: &Vec<String>| request.iter().any(|id| first.contains(&id.as_str()));
        Observation {
            answerable: !case.relevant.is_empty(),
            features: scores.features(&ranked),
            hits: ranked
                .iter()
                .map(|place| (best - scores.fused_at(*place), is_relevant(place)))
                .collect(),
            relevant: case.relevant.len(),
            requests: case.requests.iter().map(is_found).collect(),
            rrf_hits,
        }
    }

    /// Returns the verdict and the best hit's score, 0 without hits.
    fn verdict(
        &self,
        case: &Case,
        scores: &EntryScores,
        settings: &RouteSettings,
    ) -> (VerdictKind, f32) {
        let found = scores.found(&self.layers, &case.query, settings, DEPTH);
        let top = found.candidates.first();
        let top = top.map_or(0.0, |candidate| candidate.score);
        (decide_found(found, &settings.thresholds, None).kind, top)
    }
}

#[derive(Clone, Copy)]
enum Comparison {
    None,
    ReciprocalRank,
}

fn count_verdict(verdicts: &mut VerdictFigures, seen: &Observation, kind: VerdictKind) {
    let among_five = seen
        .hits
        .iter()
        .take(RECALL_DEPTH)
        .any(|(_, relevant)| *relevant);
    match (seen.answerable, kind) {
        (true, VerdictKind::Narrow) => {
            verdicts.narrow += 1;
            verdicts.narrow_right += usize::from(seen.is_right());
        }
        (true, VerdictKind::Broad) => {
            verdicts.broad += 1;
            verdicts.broad_right += usize::from(among_five);
        }
        (true, VerdictKind::Miss) => verdicts.false_miss += 1,
        (false, VerdictKind::Narrow) => verdicts.false_narrow += 1,
        (false, VerdictKind::Broad) => verdicts.false_broad += 1,
        (false, VerdictKind::Miss) => verdicts.true_miss += 1,
    }
}

/// Reciprocal ranks of the two rankings, summed; an entry without a common word has no lexical rank.
fn reciprocal_rank_fusion(scores: &EntryScores, layers: &Layers) -> Vec<Vec<f32>> {
    let lexical = scores.lexical();
    let mut fused: Vec<Vec<f32>> = lexical.iter().map(|layer| vec![0.0; layer.len()]).collect();
    let rankings = [Some(lexical), scores.cosines()];
    for (at, values) in rankings.into_iter().flatten().enumerate() {
        let ranked = scores.ranked(layers, values, usize::MAX);
        for (rank, (layer, entry)) in ranked.into_iter().enumerate() {
            if at > 0 || lexical[layer][entry] > 0.0 {
                fused[layer][entry] += 1.0 / (RRF_K + 1.0 + rank as f32);
            }
        }
    }
    fused
}

type Entries = Vec<(String, RouteText)>;

/// Gives entries their examples and removes queries that became examples from the set.
fn with_examples(set: EvalSet, options: &EvalOptions) -> (Entries, Vec<LabelledQuery>) {
    let EvalSet {
        entries,
        mut queries,
        out_of_scope,
    } = set;
    let mut entries: Entries = entries
        .into_iter()
        .map(|entry| (entry.id, entry.text))
        .collect();
    if let Some(count) = options.examples {
        let lacking: BTreeSet<&str> = entries
            .iter()
            .filter(|(_, text)| text.examples.is_empty())
            .map(|(id, _)| id.as_str())
            .collect();
        let mut lent = lend_queries(&mut queries, &lacking, count);
        for (id, text) in &mut entries {
            text.examples.truncate(count);
            text.examples.extend(lent.remove(id).unwrap_or_default());
        }
    }
    match options.offer {
        Offer::Catalogue => {
            queries.retain(|query| !query.relevant.is_empty() || query.candidates.is_empty());
            queries
                .iter_mut()
                .for_each(|query| query.candidates.clear());
        }
        Offer::Candidates => {}
    }
    queries.extend(out_of_scope.into_iter().map(|query| LabelledQuery {
        query,
        relevant: Vec::new(),
        part: None,
        candidates: Vec::new(),
        requests: Vec::new(),
    }));
    (entries, queries)
}

/// Takes up to `count` queries, and at most half, of each entry that is their only answer. The choice depends only on
/// their texts.
fn lend_queries(
    queries: &mut Vec<LabelledQuery>,
    lacking: &BTreeSet<&str>,
    count: usize,
) -> BTreeMap<String, Vec<String>> {
    let mut by_entry: BTreeMap<String, Vec<([u8; 32], usize)>> = BTreeMap::new();
    for (at, query) in queries.iter().enumerate() {
        if let [only] = query.relevant.as_slice()
            && lacking.contains(only.as_str())
        {
            let digest = Sha256::digest(query.query.as_bytes()).into();
            by_entry.entry(only.clone()).or_default().push((digest, at));
        }
    }
    let mut taken = BTreeSet::new();
    let mut lent = BTreeMap::new();
    for (entry, mut own) in by_entry {
        own.sort_unstable();
        own.truncate(count.min(own.len() / 2));
        let texts = own
            .iter()
            .map(|(_, at)| queries[*at].query.clone())
            .collect();
        taken.extend(own.into_iter().map(|(_, at)| at));
        lent.insert(entry, texts);
    }
    let mut at = 0;
    queries.retain(|_| {
        at += 1;
        !taken.contains(&(at - 1))
    });
    lent
}

fn parse_queries(
    labelled: Vec<LabelledQuery>,
) -> Result<Vec<(RouteQuery, LabelledQuery)>, EvalError> {
    let parse = |labels: LabelledQuery| match RouteQuery::parse(&labels.query) {
        Ok(query) => Ok((query.in_clauses(), labels)),
        Err(source) => Err(EvalError::Query {
            query: labels.query,
            source,
        }),
    };
    labelled.into_iter().map(parse).collect()
}

/// Corrects the spelling of every query, with the entries that may answer it.
fn correct(
    queries: Vec<(RouteQuery, LabelledQuery)>,
    layers: &Layers,
    embedder: Option<&dyn Embedder>,
) -> Vec<(RouteQuery, LabelledQuery)> {
    let Some(embedder) = embedder else {
        return queries;
    };
    let corrected = queries.into_iter().map(|(query, labels)| {
        let offered: BTreeSet<&str> = labels.candidates.iter().map(String::as_str).collect();
        let offers = |_: Scope, id: &str| offered.is_empty() || offered.contains(id);
        let query = query.corrected(layers, Allowed::Where(&offers), embedder);
        (query, labels)
    });
    corrected.collect()
}

/// Returns a vector for every text of the entries; none without an embedder.
async fn embed_entries(
    entries: &[(String, RouteText)],
    embedder: Option<&dyn Embedder>,
) -> Result<FxHashMap<String, Vector>, EvalError> {
    let texts = entries.iter().flat_map(|(_, text)| embedding_texts(text));
    embed_all(
        texts.map(|(_, text)| text).collect(),
        embedder,
        VectorUse::Found,
    )
    .await
}

/// Returns a vector for every text of the queries; none without an embedder.
async fn embed_queries(
    queries: &[(RouteQuery, LabelledQuery)],
    embedder: Option<&dyn Embedder>,
) -> Result<FxHashMap<String, Vector>, EvalError> {
    let texts = queries
        .iter()
        .flat_map(|(query, _)| query.texts().map(str::to_owned));
    embed_all(texts.collect(), embedder, VectorUse::LookedFor).await
}

/// The role of a text; models may embed queries and documents differently.
#[derive(Clone, Copy)]
enum VectorUse {
    LookedFor,
    Found,
}

async fn embed_all(
    texts: BTreeSet<String>,
    embedder: Option<&dyn Embedder>,
    of: VectorUse,
) -> Result<FxHashMap<String, Vector>, EvalError> {
    let Some(embedder) = embedder else {
        return Ok(FxHashMap::default());
    };
    let texts: Vec<String> = texts.into_iter().collect();
    let mut vectors = FxHashMap::default();
    for batch in texts.chunks(MAX_TEXTS_PER_CALL) {
        let embedded = match of {
            VectorUse::LookedFor => embedder.embed_queries(batch.to_vec()).await,
            VectorUse::Found => embedder.embed(batch.to_vec()).await,
        };
        let embedded = embedded.map_err(EvalError::Embed)?;
        vectors.extend(batch.iter().cloned().zip(embedded));
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests;
