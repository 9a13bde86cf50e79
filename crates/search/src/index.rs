//! The immutable routing index of one scope: words and vectors of its entries.
//!
//! Built from texts and stored vectors; it never embeds, so callers can key vectors by content and
//! model and rebuild an index without embedding again. Must not know tenants, grants or thresholds.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dense::{DenseQuery, DenseRows};
use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{LexicalBuilder, LexicalIndex};
use crate::names::{NameIndex, NameMatch};
use crate::text::{RouteText, VectorRole};

/// Most entries of one index.
pub const MAX_ENTRIES: usize = 1 << 20;
/// Vectors of descriptions and examples that an index keeps one by one; one with more compares centroids alone.
const MAX_EXAMPLE_ROWS: usize = 1 << 16;

/// An entry to index.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteEntry {
    /// Unique within the index.
    pub id: String,
    /// What words are taken from.
    pub text: RouteText,
    /// Vectors of [`embedding_texts`](crate::embedding_texts), in any order; empty where there is no embedder.
    pub vectors: Vec<(VectorRole, Vector)>,
}

/// How much each part of an entry counts. Changing it needs a rebuild, not new vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexSettings {
    /// Words of the name.
    pub name_weight: f32,
    /// Words of the group.
    pub group_weight: f32,
    /// Words of the description.
    pub description_weight: f32,
    /// Words of the parameters.
    pub parameter_weight: f32,
    /// Words of the body.
    pub body_weight: f32,
    /// Words of the examples.
    pub example_weight: f32,
    /// The summary's vector, against 1 for the description's.
    pub summary_vector_weight: f32,
    /// The parameters' vector, against 1 for the description's.
    pub parameter_vector_weight: f32,
    /// Each example's vector, against 1 for the description's: at 1 the row is their centroid.
    pub example_vector_weight: f32,
}

impl Default for IndexSettings {
    fn default() -> Self {
        IndexSettings {
            name_weight: 2.0,
            group_weight: 1.0,
            description_weight: 1.0,
            parameter_weight: 1.0,
            body_weight: 0.5,
            example_weight: 1.0,
            summary_vector_weight: 0.5,
            parameter_vector_weight: 0.3,
            example_vector_weight: 0.5,
        }
    }
}

/// Why an index could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Two entries have one id.
    #[error("two entries have the id `{id}`")]
    DuplicateId {
        /// That id.
        id: String,
    },
    /// More than [`MAX_ENTRIES`].
    #[error("{found} entries; an index holds at most {MAX_ENTRIES}")]
    TooManyEntries {
        /// Entries given.
        found: usize,
    },
    /// An entry has vectors, and the index was given no model.
    #[error("entry `{id}` has vectors, but the index has no embedding model")]
    NoModel {
        /// The entry.
        id: String,
    },
    /// A vector does not fit the index's model.
    #[error("a vector of entry `{id}` does not fit the index")]
    Vector {
        /// The entry.
        id: String,
        /// What is wrong with it.
        source: VectorError,
    },
}

/// An immutable index of one scope's entries, in order of their ids.
#[derive(Debug)]
pub struct RouteIndex {
    ids: Vec<String>,
    positions: FxHashMap<String, u32>,
    with_examples: Vec<bool>,
    /// Examples without case and marks, with the entries that have them.
    examples: FxHashMap<String, Vec<u32>>,
    /// Ids and names, with the entries that have them.
    names: NameIndex,
    lexical: LexicalIndex,
    dense: DenseRows,
    utterances: Utterances,
    model: Option<EmbeddingModel>,
}

/// The vectors of descriptions and examples of the entries that have examples, one by one.
#[derive(Debug, Default)]
pub(crate) struct Utterances {
    rows: DenseRows,
    /// For each entry, where its rows end; they begin where the rows of the entry before end. Empty where none are kept.
    ends: Vec<u32>,
}

impl Utterances {
    /// The cosine of a query with the nearest of an entry's own texts; `None` where they are not kept.
    pub(crate) fn nearest(
        &self,
        entry: usize,
        query: &DenseQuery,
        parts: &[DenseQuery],
        part_weight: f32,
    ) -> Option<f32> {
        let end = *self.ends.get(entry)?;
        let start = entry.checked_sub(1).map_or(0, |before| self.ends[before]);
        let rows: Vec<u32> = (start..end).collect();
        let cosines = self.rows.scan_chosen(&rows, query, parts, part_weight);
        cosines.into_iter().reduce(f32::max)
    }

    /// Whether any are kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl RouteIndex {
    /// Builds the index. `model` is what made the entries' vectors, `None` for words alone. An
    /// entry without vectors in an index with a model is found by its words only.
    ///
    /// # Errors
    /// [`BuildError`]; nothing is built.
    pub fn build(
        mut entries: Vec<RouteEntry>,
        model: Option<EmbeddingModel>,
        settings: &IndexSettings,
    ) -> Result<RouteIndex, BuildError> {
        if entries.len() > MAX_ENTRIES {
            return Err(BuildError::TooManyEntries {
                found: entries.len(),
            });
        }
        entries.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(BuildError::DuplicateId {
                id: pair[0].id.clone(),
            });
        }
        let lexical = index_words(&entries, settings);
        let dense = stack_vectors(&entries, model.as_ref(), settings)?;
        let utterances = stack_utterances(&entries, model.as_ref())?;
        let with_examples = entries
            .iter()
            .map(|entry| !entry.text.examples.is_empty())
            .collect();
        let examples = examples_of(&entries);
        let names = names_of(&entries);
        let ids: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        Ok(RouteIndex {
            positions: ids.iter().cloned().zip(0..).collect(),
            ids,
            with_examples,
            examples,
            names,
            lexical,
            dense,
            utterances,
            model,
        })
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of an entry; entries are numbered from 0 in order of their ids.
    pub fn id(&self, entry: usize) -> Option<&str> {
        self.ids.get(entry).map(String::as_str)
    }

    /// The number of an id.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).map(|position| *position as usize)
    }

    /// The entries that have this text as an example, whatever its case and marks.
    pub(crate) fn exemplified_by(&self, text: &str) -> impl Iterator<Item = usize> {
        let entries = self.examples.get(&bare(text)).into_iter().flatten();
        entries.map(|entry| *entry as usize)
    }

    /// The entries that have this name or id (one of [`RouteQuery`](crate::RouteQuery)'s names), and those whose name one edit
    /// makes of it, where it is long enough to tell.
    pub(crate) fn named(&self, name: &str) -> Vec<(usize, NameMatch)> {
        self.names.named(name)
    }

    /// The entries whose name or id a whole text is.
    pub(crate) fn named_by_all_of(&self, text: &str) -> impl Iterator<Item = usize> {
        self.names.named_by_all_of(text)
    }

    /// The model of its vectors.
    pub fn model(&self) -> Option<&EmbeddingModel> {
        self.model.as_ref()
    }

    /// Bytes held on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        let ids: usize = self.ids.iter().map(|id| 2 * id.capacity() + 60).sum();
        let utterances =
            self.utterances.rows.heap_bytes() + self.utterances.ends.capacity() * size_of::<u32>();
        let examples = self.examples.iter();
        let examples: usize = examples
            .map(|(text, entries)| text.capacity() + 60 + 4 * entries.capacity())
            .sum();
        ids + examples
            + self.names.heap_bytes()
            + self.with_examples.len()
            + self.lexical.heap_bytes()
            + self.dense.heap_bytes()
            + utterances
    }

    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }

    pub(crate) fn with_examples(&self) -> &[bool] {
        &self.with_examples
    }

    pub(crate) fn lexical(&self) -> &LexicalIndex {
        &self.lexical
    }

    pub(crate) fn dense(&self) -> &DenseRows {
        &self.dense
    }

    pub(crate) fn utterances(&self) -> &Utterances {
        &self.utterances
    }
}

fn index_words(entries: &[RouteEntry], settings: &IndexSettings) -> LexicalIndex {
    let mut builder = LexicalBuilder::new(vec![
        settings.name_weight,
        settings.group_weight,
        settings.description_weight,
        settings.parameter_weight,
        settings.body_weight,
        settings.example_weight,
    ])
    .keeping_spellings();
    for RouteEntry { text, .. } in entries {
        let single = [
            (0, text.name.as_str()),
            (1, text.group.as_str()),
            (2, text.description.as_str()),
        ];
        let parameters = text
            .parameters
            .iter()
            .map(|parameter| (3, parameter.as_str()));
        let body = text.body.iter().map(|body| (4, body.as_str()));
        let examples = text.examples.iter().map(|example| (5, example.as_str()));
        builder.add(
            single
                .into_iter()
                .chain(parameters)
                .chain(body)
                .chain(examples),
        );
    }
    builder.finish()
}

fn stack_vectors(
    entries: &[RouteEntry],
    model: Option<&EmbeddingModel>,
    settings: &IndexSettings,
) -> Result<DenseRows, BuildError> {
    let Some(model) = model else {
        return match entries.iter().find(|entry| !entry.vectors.is_empty()) {
            Some(entry) => Err(BuildError::NoModel {
                id: entry.id.clone(),
            }),
            None => Ok(DenseRows::default()),
        };
    };
    let mut rows = DenseRows::new(model.dims, entries.len());
    for entry in entries {
        let pushed = entry_vector(&entry.vectors, model.dims, settings)
            .and_then(|vector| rows.push(vector.as_ref()));
        pushed.map_err(|source| BuildError::Vector {
            id: entry.id.clone(),
            source,
        })?;
    }
    Ok(rows)
}

fn examples_of(entries: &[RouteEntry]) -> FxHashMap<String, Vec<u32>> {
    let mut examples: FxHashMap<String, Vec<u32>> = FxHashMap::default();
    for (entry, position) in entries.iter().zip(0..) {
        for example in &entry.text.examples {
            let of = examples.entry(bare(example)).or_default();
            if of.last() != Some(&position) {
                of.push(position);
            }
        }
    }
    examples
}

/// Ids without the kind that stands before them, names and short names.
fn names_of(entries: &[RouteEntry]) -> NameIndex {
    let written = entries.iter().zip(0..).flat_map(|(entry, position)| {
        let id = entry.id.rsplit(' ').next().unwrap_or(&entry.id);
        let RouteText {
            name, short_name, ..
        } = &entry.text;
        let written = [Some(id), Some(name.as_str()), short_name.as_deref()];
        written
            .into_iter()
            .flatten()
            .map(move |written| (position, written))
    });
    NameIndex::from_names(written)
}

/// The words of a text in lower case, with one space between two.
fn bare(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

/// Description and examples of each entry with examples, row by row; nothing where there are too many.
fn stack_utterances(
    entries: &[RouteEntry],
    model: Option<&EmbeddingModel>,
) -> Result<Utterances, BuildError> {
    let said = |entry: &RouteEntry| {
        let of = |(role, _): &&(VectorRole, Vector)| {
            matches!(role, VectorRole::Description | VectorRole::Example)
        };
        let exemplified = entry
            .vectors
            .iter()
            .any(|(role, _)| *role == VectorRole::Example);
        if exemplified {
            entry.vectors.iter().filter(of).count()
        } else {
            0
        }
    };
    let count: usize = entries.iter().map(said).sum();
    let Some(model) = model.filter(|_| (1..=MAX_EXAMPLE_ROWS).contains(&count)) else {
        return Ok(Utterances::default());
    };
    let mut utterances = Utterances {
        rows: DenseRows::new(model.dims, count),
        ends: Vec::with_capacity(entries.len()),
    };
    let mut end = 0_u32;
    for entry in entries {
        if said(entry) > 0 {
            for (role, vector) in &entry.vectors {
                if matches!(role, VectorRole::Description | VectorRole::Example) {
                    let pushed = utterances.rows.push(Some(vector));
                    pushed.map_err(|source| BuildError::Vector {
                        id: entry.id.clone(),
                        source,
                    })?;
                    end += 1;
                }
            }
        }
        utterances.ends.push(end);
    }
    Ok(utterances)
}

/// One vector for an entry: description, summary and parameters mixed, then the centroid with the examples. `None` if it
/// has none of these.
///
/// # Errors
/// [`VectorError::Dims`] for a vector of other dimensions, [`VectorError::Zero`] if they cancel out.
pub fn entry_vector(
    vectors: &[(VectorRole, Vector)],
    dims: usize,
    settings: &IndexSettings,
) -> Result<Option<Vector>, VectorError> {
    let sum_of = |wanted: VectorRole, weight: f32, sum: &mut [f32]| -> Result<bool, VectorError> {
        let mut any = false;
        for (_, vector) in vectors.iter().filter(|(role, _)| *role == wanted) {
            if vector.dims() != dims {
                return Err(VectorError::Dims {
                    expected: dims,
                    found: vector.dims(),
                });
            }
            any = true;
            for (sum, component) in sum.iter_mut().zip(vector.as_slice()) {
                *sum += weight * component;
            }
        }
        Ok(any)
    };
    let mut sum = vec![0.0; dims];
    let mut described = false;
    for (role, weight) in [
        (VectorRole::Description, 1.0),
        (VectorRole::Summary, settings.summary_vector_weight),
        (VectorRole::Parameters, settings.parameter_vector_weight),
    ] {
        described |= sum_of(role, weight, &mut sum)?;
    }
    if described {
        sum = Vector::new(sum)?.as_slice().to_vec();
    }
    let with_examples = sum_of(
        VectorRole::Example,
        settings.example_vector_weight,
        &mut sum,
    )?;
    if described || with_examples {
        Vector::new(sum).map(Some)
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Quantisation;

    fn model(dims: usize) -> EmbeddingModel {
        EmbeddingModel {
            name: "test".to_owned(),
            dims,
            quantisation: Quantisation::F32,
        }
    }

    fn entry(id: &str, vectors: Vec<(VectorRole, Vector)>) -> RouteEntry {
        RouteEntry {
            id: id.to_owned(),
            text: RouteText::default(),
            vectors,
        }
    }

    #[test]
    fn b001_2_vectors_of_other_dims_or_without_a_model_are_refused() {
        let three = Vector::new(vec![1.0, 0.0, 0.0]).unwrap();
        for role in [
            VectorRole::Description,
            VectorRole::Summary,
            VectorRole::Parameters,
            VectorRole::Example,
        ] {
            let entries = vec![entry("a", vec![(role, three.clone())])];
            let error =
                RouteIndex::build(entries.clone(), Some(model(2)), &IndexSettings::default())
                    .unwrap_err();
            assert!(matches!(error, BuildError::Vector { .. }), "{error}");
            let error = RouteIndex::build(entries, None, &IndexSettings::default()).unwrap_err();
            assert!(matches!(error, BuildError::NoModel { .. }), "{error}");
        }
    }

    #[test]
    fn two_entries_of_one_id_are_refused() {
        let entries = vec![entry("a", vec![]), entry("b", vec![]), entry("a", vec![])];
        let error = RouteIndex::build(entries, None, &IndexSettings::default()).unwrap_err();
        assert_eq!(error.to_string(), "two entries have the id `a`");
    }

    /// `find_open_ports` is the short name of the skill `security.detect_public_ingress`, whose title has other words.
    #[test]
    fn an_entry_is_found_by_its_id_its_name_and_its_short_name() {
        let mut named = entry("skill security.detect_public_ingress", vec![]);
        named.text.name = "Public network access".to_owned();
        named.text.short_name = Some("find_open_ports".to_owned());
        let entries = vec![entry("skill security.other", vec![]), named];
        let index = RouteIndex::build(entries, None, &IndexSettings::default()).unwrap();
        for name in [
            "securitydetectpublicingress",
            "publicnetworkaccess",
            "findopenports",
        ] {
            let found = index.named(name);
            let [(at, NameMatch::Exact)] = found.as_slice() else {
                panic!("{name}: {found:?}");
            };
            assert_eq!(index.id(*at), Some("skill security.detect_public_ingress"));
        }
        assert_eq!(index.named("ingress"), []);
    }

    #[test]
    fn a_row_is_the_mean_of_the_description_and_its_examples_by_what_they_weigh() {
        let x = Vector::new(vec![1.0, 0.0]).unwrap();
        let y = Vector::new(vec![0.0, 1.0]).unwrap();
        let vectors = [(VectorRole::Description, x), (VectorRole::Example, y)];
        for example_vector_weight in [0.5, 1.0] {
            let settings = IndexSettings {
                example_vector_weight,
                ..IndexSettings::default()
            };
            let expected = Vector::new(vec![1.0, example_vector_weight]).map(Some);
            assert_eq!(entry_vector(&vectors, 2, &settings), expected);
        }
    }
}
