//! One search: words and vectors of every visible entry, fused, ranked and scored.
//!
//! Filtering comes first. Entries that a caller may not see are neither scored nor counted nor part of any
//! normalisation, so a search returns exactly the same as if only the visible entries existed. Must not decide:
//! thresholds belong to the verdict.

use serde::{Deserialize, Serialize};

use crate::dense::mix;
use crate::layers::{Allowed, Layer, Layers, Scope};
use crate::lexical::{self, LexicalScores, SearchedLayer};
use crate::names::NameMatch;
use crate::query::{EmbeddedQuery, QueryError};
use crate::select::kth_largest;
use crate::settings::{Fusion, RouteSettings, ScoreFeatures, ScoreModel};

/// Most candidates of one search.
pub const MAX_TOP_K: usize = 1000;
/// Entries at the head of a ranking whose examples are compared individually.
const COMPARED_BY_EXAMPLE: usize = 64;
/// The part of a query's cosine with its nearest everyday topic that the score subtracts.
const EVERYDAY_SHARE: f32 = 0.5;
/// The average cosine of a query with its nearest everyday topic, at which the score is unchanged. Fitted on questions
/// with and without an answer.
const EVERYDAY_MEAN: f32 = 0.22;

/// The score of an entry that the query names.
const NAMED_SCORE: f32 = 0.99;
/// Least lead of an entry that the query names, in fused score.
const NAMED_LEAD: f32 = 0.2;

/// One hit, with the values that explain its rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The entry.
    pub id: String,
    /// Its scope.
    pub scope: Scope,
    /// Probability that it is right, 0 to 1: comparable across queries; thresholds apply to it.
    pub score: f32,
    /// The score relative to the best hit of its own scope. Next to a very similar hit of another scope, a hit of low
    /// similarity has a high `score`, but not a high `scope_score`.
    pub scope_score: f32,
    /// Ranking value, 0 to 1 within this query.
    pub fused: f32,
    /// BM25 with the proximity bonus.
    pub lexical: f32,
    /// BM25 as a share of the best possible score, 0 to 1.
    pub coverage: f32,
    /// Cosine with the query, mixed with its best sentence and the nearest example; `None` if only words were compared.
    pub cosine: Option<f32>,
    /// Whether the query names it; named entries come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_match: Option<NameMatch>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedResult {
    /// The hits, best first. If the query asks for several things, likely hits of each clause follow the best of all.
    pub candidates: Vec<Candidate>,
    /// The clauses of the query with their own hits, if it asks for several things.
    pub clauses: Vec<ClauseResult>,
    /// Words that suggest an unknown language.
    pub strange: Vec<String>,
}

/// One clause of a query that asks for several things.
#[derive(Debug, Clone, PartialEq)]
pub struct ClauseResult {
    /// Its text.
    pub text: String,
    /// The hits, best first.
    pub candidates: Vec<Candidate>,
}

/// [`find`] without the clauses.
///
/// # Errors
/// As for [`find`].
pub fn search(
    layers: &Layers,
    query: &EmbeddedQuery,
    allowed: Allowed<'_>,
    settings: &RouteSettings,
    top_k: usize,
) -> Result<Vec<Candidate>, QueryError> {
    find(layers, query, allowed, settings, top_k).map(|found| found.candidates)
}

/// Returns the best `top_k` entries that `allowed` permits, best first; equal ones in order of id.
///
/// Without vectors on either side only words count, and entries without a common word are not hits.
///
/// # Errors
/// [`QueryError::NoCandidates`] if `top_k` is 0 (B000-2), [`QueryError::Model`] if the query and an
/// index were embedded by different models (ruling 4).
pub fn find(
    layers: &Layers,
    query: &EmbeddedQuery,
    allowed: Allowed<'_>,
    settings: &RouteSettings,
    top_k: usize,
) -> Result<RankedResult, QueryError> {
    if top_k == 0 {
        return Err(QueryError::NoCandidates);
    }
    let scores = EntryScores::compute(layers, query, allowed, &settings.fusion)?;
    Ok(scores.found(layers, query, settings, top_k))
}

/// The number of a layer and of an entry in it.
pub(crate) type EntryPosition = (usize, usize);

/// Every part of every entry's score, by layer and entry.
pub(crate) struct EntryScores {
    visible: Vec<Vec<bool>>,
    lexical: LexicalScores,
    cosines: Option<Vec<Vec<f32>>>,
    /// Ranking value; meaningless where invisible.
    pub(crate) fused: Vec<Vec<f32>>,
    /// The part of the score's cosine that depends on everyday topics. It does not affect the ranking.
    everyday: f32,
    /// Entries that the query names, in order of fused score.
    named: Vec<(EntryPosition, NameMatch)>,
    /// The scores for each clause, if the query asks for several things.
    clauses: Vec<EntryScores>,
}

impl EntryScores {
    /// Scores every visible entry.
    pub(crate) fn compute(
        layers: &Layers,
        query: &EmbeddedQuery,
        allowed: Allowed<'_>,
        fusion: &Fusion,
    ) -> Result<Self, QueryError> {
        let layers_list = layers.as_slice();
        let models = layers_list.iter().filter_map(|layer| layer.index.model());
        query.check_models(models)?;
        let visible = layers.visible(allowed);
        let searched: Vec<SearchedLayer<'_>> = layers_list
            .iter()
            .zip(&visible)
            .map(|(layer, visible)| SearchedLayer {
                index: layer.index.lexical(),
                visible,
            })
            .collect();
        let lexical = lexical::score(&searched, &query.terms, fusion.proximity_weight);
        let cosines = cosines(layers_list, query, &visible, fusion.sentence_weight);
        let words = Range::over(&lexical.scores, &visible);
        let share = match cosines {
            Some(_) => fusion.lexical_share(words.most, exemplified(layers_list, &visible)),
            None => 1.0,
        };
        let fused = fuse(&lexical.scores, &words, cosines.as_deref(), &visible, share);
        let mut scores = EntryScores {
            visible,
            lexical,
            cosines,
            fused,
            everyday: query
                .everyday
                .map_or(0.0, |nearest| EVERYDAY_SHARE * (EVERYDAY_MEAN - nearest)),
            named: Vec::new(),
            clauses: Vec::new(),
        };
        if scores.raise_by_examples(layers, query, fusion) {
            let EntryScores {
                visible,
                lexical,
                cosines,
                ..
            } = &scores;
            scores.fused = fuse(&lexical.scores, &words, cosines.as_deref(), visible, share);
        }
        scores.named = scores.named_by(layers, query);
        let clauses = query.clauses.iter();
        let clauses = clauses.map(|clause| EntryScores::compute(layers, clause, allowed, fusion));
        scores.clauses = clauses.collect::<Result<_, _>>()?;
        Ok(scores)
    }

    /// Returns the entries that a query names, best first.
    fn named_by(&self, layers: &Layers, query: &EmbeddedQuery) -> Vec<(EntryPosition, NameMatch)> {
        let mut named: Vec<(EntryPosition, NameMatch)> = Vec::new();
        for (at, layer) in layers.as_slice().iter().enumerate() {
            let entries = query.names.iter().flat_map(|name| layer.index.named(name));
            let seen = entries.filter(|(entry, _)| self.visible[at][*entry]);
            named.extend(seen.map(|(entry, named)| ((at, entry), named)));
        }
        // A name without an error is not another name with an error.
        if named.iter().any(|(_, named)| *named == NameMatch::Exact) {
            named.retain(|(_, named)| *named == NameMatch::Exact);
        }
        let fused = |(layer, entry): EntryPosition| self.fused[layer][entry];
        named.sort_unstable_by(|(a, _), (b, _)| {
            let by_id = || id(layers, *a).cmp(id(layers, *b));
            fused(*b).total_cmp(&fused(*a)).then_with(by_id)
        });
        named.dedup();
        named
    }

    /// Returns the first `count` hits: named entries, the best of all, the best of each clause if it is likely, the
    /// others.
    pub(crate) fn head(
        &self,
        layers: &Layers,
        settings: &RouteSettings,
        count: usize,
    ) -> Vec<EntryPosition> {
        let ranked = self.ranked(layers, &self.fused, count);
        if self.named.is_empty() && self.clauses.is_empty() {
            return ranked;
        }
        let clauses = self.clauses.iter();
        let asked = clauses.filter_map(|clause| clause.likely_best(layers, settings));
        let best = ranked.first().copied();
        let named = self.named.iter().map(|(place, _)| *place);
        let first = named.chain(best).chain(asked);
        let mut head: Vec<EntryPosition> = Vec::with_capacity(count.min(MAX_TOP_K));
        for place in first.chain(ranked) {
            if head.len() < count && !head.contains(&place) {
                head.push(place);
            }
        }
        head
    }

    /// Returns the best entry, if its score is nearer to the narrow threshold than to the floor.
    fn likely_best(&self, layers: &Layers, settings: &RouteSettings) -> Option<EntryPosition> {
        let best = self.ranked(layers, &self.fused, 1);
        let candidates = self.candidates(layers, &best, settings);
        let is_likely = candidates.first()?.score
            >= f32::midpoint(settings.thresholds.floor, settings.thresholds.narrow);
        best.first().copied().filter(|_| is_likely)
    }

    /// The result of a search.
    pub(crate) fn found(
        &self,
        layers: &Layers,
        query: &EmbeddedQuery,
        settings: &RouteSettings,
        top_k: usize,
    ) -> RankedResult {
        let candidates = |scores: &EntryScores| {
            let ranked = scores.head(layers, settings, top_k.min(MAX_TOP_K));
            scores.candidates(layers, &ranked, settings)
        };
        let clauses = query.clauses.iter().zip(&self.clauses);
        RankedResult {
            candidates: candidates(self),
            clauses: clauses
                .map(|(clause, scores)| ClauseResult {
                    text: clause.text.clone(),
                    candidates: candidates(scores),
                })
                .collect(),
            strange: query.strange.clone(),
        }
    }

    /// Mixes the nearest example into the cosines at the head of the ranking; returns whether any changed.
    fn raise_by_examples(
        &mut self,
        layers: &Layers,
        query: &EmbeddedQuery,
        fusion: &Fusion,
    ) -> bool {
        let layers_list = layers.as_slice();
        let kept = layers_list
            .iter()
            .any(|layer| !layer.index.utterances().is_empty());
        let Some(texts) = query.dense.as_ref().filter(|_| kept) else {
            return false;
        };
        let head = self.ranked(layers, &self.fused, COMPARED_BY_EXAMPLE);
        let Some(cosines) = self.cosines.as_mut() else {
            return false;
        };
        let mut changed = false;
        for (layer, entry) in head {
            let utterances = layers_list[layer].index.utterances();
            let nearest = utterances.nearest(
                entry,
                &texts.whole,
                &texts.sentences,
                fusion.sentence_weight,
            );
            let Some(nearest) = nearest else { continue };
            let own = &mut cosines[layer][entry];
            let mixed = mix(*own, nearest, fusion.example_share);
            changed |= mixed > *own;
            *own = own.max(mixed);
        }
        changed
    }

    /// Returns the ranking by words alone, for comparisons.
    pub(crate) fn lexical(&self) -> &[Vec<f32>] {
        &self.lexical.scores
    }

    /// Returns the ranking by vectors alone, for comparisons.
    pub(crate) fn cosines(&self) -> Option<&[Vec<f32>]> {
        self.cosines.as_deref()
    }

    /// Returns up to `count` hits by `values`, highest first, equal ones in order of id, then of layer.
    pub(crate) fn ranked(
        &self,
        layers: &Layers,
        values: &[Vec<f32>],
        count: usize,
    ) -> Vec<EntryPosition> {
        let hits = || {
            self.visible
                .iter()
                .enumerate()
                .flat_map(move |(layer, visible)| {
                    let seen = visible.iter().enumerate().filter(|(_, visible)| **visible);
                    seen.map(move |(entry, _)| (layer, entry))
                        .filter(|place| self.is_hit(*place))
                })
        };
        let value = |(layer, entry): EntryPosition| values[layer][entry];
        let least = match count {
            usize::MAX => None,
            count => kth_largest(hits().map(value), count),
        };
        let mut found: Vec<EntryPosition> = match least {
            None => hits().collect(),
            Some(least) => hits().filter(|place| value(*place) >= least).collect(),
        };
        found.sort_unstable_by(|a, b| {
            let by_id = || id(layers, *a).cmp(id(layers, *b));
            value(*b).total_cmp(&value(*a)).then_with(by_id)
        });
        found.truncate(count);
        found
    }

    fn is_hit(&self, (layer, entry): EntryPosition) -> bool {
        self.cosines.is_some() || self.lexical.scores[layer][entry] > 0.0
    }

    /// Returns the hits at `ranked`, in that order.
    pub(crate) fn candidates(
        &self,
        layers: &Layers,
        ranked: &[EntryPosition],
        settings: &RouteSettings,
    ) -> Vec<Candidate> {
        let Some(best) = self.best_hit(ranked) else {
            return Vec::new();
        };
        let scope_of = |(layer, _): EntryPosition| layers.as_slice()[layer].scope;
        let best_in = |scope: Scope| {
            let hits = ranked.iter().copied();
            let hits = hits.filter(|place| scope_of(*place) == scope);
            self.best_hit(&hits.collect::<Vec<_>>()).unwrap_or(best)
        };
        let (best_own, best_global) = (best_in(Scope::Tenant), best_in(Scope::Global));
        let model = match self.cosines {
            Some(_) => &settings.score,
            None => &settings.words_only_score,
        };
        ranked
            .iter()
            .map(|place| {
                let scope = scope_of(*place);
                let best_in_scope = match scope {
                    Scope::Tenant => &best_own,
                    Scope::Global => &best_global,
                };
                Candidate {
                    id: id(layers, *place).to_owned(),
                    scope,
                    score: self.score(*place, &best, model),
                    scope_score: self.score(*place, best_in_scope, model),
                    name_match: self.name(place),
                    fused: self.fused_at(*place),
                    lexical: self.lexical.scores[place.0][place.1],
                    coverage: self.lexical.coverage[place.0][place.1],
                    cosine: self
                        .cosines
                        .as_ref()
                        .map(|cosines| cosines[place.0][place.1]),
                }
            })
            .collect()
    }

    /// Returns the score of a hit, relative to the best one.
    fn score(&self, place: EntryPosition, best: &BestHit, model: &ScoreModel) -> f32 {
        let behind = (best.fused - self.fused_at(place)).max(0.0);
        let score = model.score(&best.features, behind);
        match self.name(&place) {
            Some(_) => score.max(NAMED_SCORE),
            None => score,
        }
    }

    /// Returns the best of the ranking; `None` without hits.
    fn best_hit(&self, ranked: &[EntryPosition]) -> Option<BestHit> {
        Some(BestHit {
            features: self.features(ranked)?,
            fused: self.best(ranked),
        })
    }

    /// Returns the input of the score model, from the best of the ranking; `None` without hits.
    pub(crate) fn features(&self, ranked: &[EntryPosition]) -> Option<ScoreFeatures> {
        let (layer, entry) = *ranked
            .iter()
            .find(|place| self.name(place).is_none())
            .or(ranked.first())?;
        let cosine = self.cosines.as_ref().map(|cosines| cosines[layer][entry]);
        Some(ScoreFeatures {
            cosine: cosine.map_or(0.0, |cosine| cosine + self.everyday),
            coverage: self.lexical.coverage[layer][entry],
        })
    }

    /// Returns the ranking value of an entry; named entries lead.
    pub(crate) fn fused_at(&self, place: EntryPosition) -> f32 {
        let (layer, entry) = place;
        let fused = self.fused[layer][entry];
        match self.name(&place) {
            Some(_) => 1.0,
            None if self.named.is_empty() => fused,
            None => (1.0 - NAMED_LEAD) * fused,
        }
    }

    /// Returns the highest fused score of an entry that the query does not name.
    fn best(&self, ranked: &[EntryPosition]) -> f32 {
        let unnamed = ranked.iter().filter(|place| self.name(place).is_none());
        let fused = unnamed.map(|place| self.fused_at(*place));
        fused.reduce(f32::max).unwrap_or(1.0)
    }

    /// Returns how the query names an entry, if it does.
    fn name(&self, place: &EntryPosition) -> Option<NameMatch> {
        let named = self.named.iter().find(|(named, _)| named == place);
        named.map(|(_, named)| *named)
    }
}

/// The best hit of a ranking. All scores of the ranking depend on it.
#[derive(Debug, Clone, Copy)]
struct BestHit {
    /// Its features.
    features: ScoreFeatures,
    /// The highest fused score of an entry that the query does not name.
    fused: f32,
}

/// Returns the id at a position.
pub(crate) fn id(layers: &Layers, (layer, entry): EntryPosition) -> &str {
    &layers.as_slice()[layer].index.ids()[entry]
}

/// `None` if the query or every index is without vectors.
fn cosines(
    layers: &[Layer],
    query: &EmbeddedQuery,
    visible: &[Vec<bool>],
    sentence_weight: f32,
) -> Option<Vec<Vec<f32>>> {
    let texts = query.dense.as_ref()?;
    if layers.iter().all(|layer| layer.index.model().is_none()) {
        return None;
    }
    let scan = |(layer, visible): (&Layer, &Vec<bool>)| {
        let vectors = layer.index.vectors();
        let mut cosines = vectors.cosines(visible, &texts.whole, &texts.sentences, sentence_weight);
        if let Some(typed) = &texts.typed {
            let as_typed = vectors.cosines(visible, typed, &[], sentence_weight);
            for (cosine, as_typed) in cosines.iter_mut().zip(as_typed) {
                *cosine = cosine.max(as_typed);
            }
        }
        cosines
    };
    Some(layers.iter().zip(visible).map(scan).collect())
}

/// Share of the visible entries that have examples.
fn exemplified(layers: &[Layer], visible: &[Vec<bool>]) -> f32 {
    let mut seen = 0usize;
    let mut exemplified = 0usize;
    for (layer, visible) in layers.iter().zip(visible) {
        for (visible, with_examples) in visible.iter().zip(layer.index.with_examples()) {
            seen += usize::from(*visible);
            exemplified += usize::from(*visible && *with_examples);
        }
    }
    exemplified as f32 / seen.max(1) as f32
}

/// Returns the convex sum of both sides, each normalised to 0..1 over the visible entries of all layers.
pub(crate) fn fuse(
    lexical: &[Vec<f32>],
    words: &Range,
    cosines: Option<&[Vec<f32>]>,
    visible: &[Vec<bool>],
    lexical_share: f32,
) -> Vec<Vec<f32>> {
    let vectors = cosines.map(|cosines| (cosines, Range::over(cosines, visible)));
    lexical
        .iter()
        .enumerate()
        .map(|(layer, scores)| {
            let fused = scores.iter().enumerate().map(|(entry, score)| {
                let dense = vectors
                    .as_ref()
                    .map_or(0.0, |(cosines, range)| range.place(cosines[layer][entry]));
                lexical_share * words.place(*score) + (1.0 - lexical_share) * dense
            });
            fused.collect()
        })
        .collect()
}

/// Values that are compared in parallel.
const LANES: usize = 16;

/// Least and greatest visible value.
#[derive(Debug)]
pub(crate) struct Range {
    least: f32,
    pub(crate) most: f32,
    width: f32,
}

impl Range {
    pub(crate) fn over(values: &[Vec<f32>], visible: &[Vec<bool>]) -> Self {
        let layers = values.iter().zip(visible);
        Self::from_values(layers.flat_map(|(values, visible)| {
            let pairs = values.iter().zip(visible);
            pairs
                .filter(|(_, visible)| **visible)
                .map(|(value, _)| *value)
        }))
    }

    /// Computes the range of these values.
    pub(crate) fn from_values(values: impl Iterator<Item = f32>) -> Self {
        let mut least = f32::INFINITY;
        let mut most = f32::NEG_INFINITY;
        for value in values {
            // Not `f32::min`, which checks for NaN each time.
            if value < least {
                least = value;
            }
            if value > most {
                most = value;
            }
        }
        Range {
            least,
            most,
            width: most - least,
        }
    }

    /// Computes the range of these values, several at a time.
    pub(crate) fn of_all(values: &[f32]) -> Self {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut least = [f32::INFINITY; LANES];
        let mut most = [f32::NEG_INFINITY; LANES];
        for block in blocks {
            for ((value, least), most) in block.iter().zip(&mut least).zip(&mut most) {
                *least = if *value < *least { *value } else { *least };
                *most = if *value > *most { *value } else { *most };
            }
        }
        let ends = least.into_iter().chain(most);
        let seen = ends.filter(|end| end.is_finite());
        Self::from_values(seen.chain(rest.iter().copied()))
    }

    /// Computes the range of the values of all lists, several at a time.
    pub(crate) fn of_lists(lists: &[Vec<f32>]) -> Self {
        let ranges = lists.iter().map(|values| Self::of_all(values));
        let ends = ranges.flat_map(|range| [range.least, range.most]);
        // An empty list has no ends.
        Self::from_values(ends.filter(|end| end.is_finite()))
    }

    /// Extends the range down to at least this value.
    pub(crate) fn down_to(self, least: f32) -> Self {
        let least = self.least.min(least);
        Range {
            least,
            width: self.most - least,
            ..self
        }
    }

    /// The greatest value.
    pub(crate) fn most(&self) -> f32 {
        self.most
    }

    /// Returns the position of a value in the range, 0 to 1; 0 if all are equal.
    pub(crate) fn place(&self, value: f32) -> f32 {
        if self.width > f32::EPSILON {
            (value - self.least) / self.width
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests;
