//! The immutable routing index of one scope: words and vectors of its entries.
//!
//! Built from texts and stored vectors; it never embeds, so callers can key vectors by content and model and rebuild an
//! index without embedding again. Must not know tenants, grants or thresholds.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{LexicalBuilder, LexicalIndex};
use crate::names::{NameIndex, NameMatch};
use crate::text::{RouteText, VectorRole};
use crate::text_index::{TextIndex, TextIndexBuilder, TextVectors};

/// Most entries of one index.
pub const MAX_ENTRIES: usize = 1 << 20;
/// Most vectors of descriptions and examples that an index keeps individually; with more it compares centroids only.
const MAX_EXAMPLE_ROWS: usize = 1 << 16;

/// An entry to index.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteEntry {
    /// Unique within the index.
    pub id: String,
    /// The source of its words.
    pub text: RouteText,
    /// Vectors of [`embedding_texts`](crate::embedding_texts), in any order; empty without an embedder.
    pub vectors: Vec<(VectorRole, Vector)>,
}

/// Weights of an entry's parts. Changing them needs a rebuild, not new vectors.
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
    /// Weight of the summary's vector, relative to 1 for the description's.
    pub summary_vector_weight: f32,
    /// Weight of the parameters' vector, relative to 1 for the description's.
    pub parameter_vector_weight: f32,
    /// Weight of each example's vector, relative to 1 for the description's: at 1 the row is their centroid.
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
        /// The id.
        id: String,
    },
    /// More than [`MAX_ENTRIES`].
    #[error("{found} entries; an index has at most {MAX_ENTRIES}")]
    TooManyEntries {
        /// The number of entries.
        found: usize,
    },
    /// An entry has vectors, but the index has no model.
    #[error("entry `{id}` has vectors, but the index has no embedding model")]
    NoModel {
        /// The entry.
        id: String,
    },
    /// A vector does not match the index's model.
    #[error("a vector of entry `{id}` does not match the index")]
    Vector {
        /// The entry.
        id: String,
        /// The fault.
        source: VectorError,
    },
}

/// An immutable index of one scope's entries, in order of their ids.
#[derive(Debug)]
pub struct RouteIndex {
    ids: Vec<String>,
    positions: FxHashMap<String, u32>,
    with_examples: Vec<bool>,
    /// Normalised examples, without case and marks, with their entries.
    examples: FxHashMap<String, Vec<u32>>,
    /// Ids and names, with their entries.
    names: NameIndex,
    /// The words of each entry, and one vector.
    texts: TextIndex,
    /// The vectors of the description and of each example, for entries with examples.
    utterances: TextVectors,
}

impl RouteIndex {
    /// Builds the index. `model` is the model of the entries' vectors, `None` for words alone. An entry without vectors
    /// in an index with a model is found by its words only.
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
        let utterances = stack_utterances(&entries, model.as_ref())?;
        let texts = index_texts(&entries, model, settings)?;
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
            texts,
            utterances,
        })
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the id of an entry; entries are numbered from 0 in order of their ids.
    pub fn id(&self, entry: usize) -> Option<&str> {
        self.ids.get(entry).map(String::as_str)
    }

    /// Returns the number of an id.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).map(|position| *position as usize)
    }

    /// Returns the entries with this text as an example, ignoring case and marks.
    pub(crate) fn exemplified_by(&self, text: &str) -> impl Iterator<Item = usize> {
        let entries = self.examples.get(&bare(text)).into_iter().flatten();
        entries.map(|entry| *entry as usize)
    }

    /// Returns the entries with this name or id (one of [`RouteQuery`](crate::RouteQuery)'s names), and those whose
    /// name is one edit away, if it is long enough for that.
    pub(crate) fn named(&self, name: &str) -> Vec<(usize, NameMatch)> {
        self.names.named(name)
    }

    /// Returns the entries whose name or id is the whole text.
    pub(crate) fn named_by_all_of(&self, text: &str) -> impl Iterator<Item = usize> {
        self.names.named_by_all_of(text)
    }

    /// Returns the model of its vectors.
    pub fn model(&self) -> Option<&EmbeddingModel> {
        self.texts.model()
    }

    /// Returns the approximate number of bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let ids: usize = self.ids.iter().map(|id| 2 * id.capacity() + 60).sum();
        let examples = self.examples.iter();
        let examples: usize = examples
            .map(|(text, entries)| text.capacity() + 60 + 4 * entries.capacity())
            .sum();
        ids + examples
            + self.names.heap_bytes()
            + self.with_examples.len()
            + self.texts.heap_bytes()
            + self.utterances.heap_bytes()
    }

    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }

    pub(crate) fn with_examples(&self) -> &[bool] {
        &self.with_examples
    }

    pub(crate) fn lexical(&self) -> &LexicalIndex {
        self.texts.words()
    }

    pub(crate) fn vectors(&self) -> &TextVectors {
        self.texts.vectors()
    }

    pub(crate) fn utterances(&self) -> &TextVectors {
        &self.utterances
    }
}

/// Indexes the words of each entry, and its vector.
fn index_texts(
    entries: &[RouteEntry],
    model: Option<EmbeddingModel>,
    settings: &IndexSettings,
) -> Result<TextIndex, BuildError> {
    let with_vectors = entries.iter().find(|entry| !entry.vectors.is_empty());
    if let (None, Some(entry)) = (&model, with_vectors) {
        return Err(BuildError::NoModel {
            id: entry.id.clone(),
        });
    }
    let words = LexicalBuilder::new(vec![
        settings.name_weight,
        settings.group_weight,
        settings.description_weight,
        settings.parameter_weight,
        settings.body_weight,
        settings.example_weight,
    ])
    .keeping_spellings();
    let dims = model.as_ref().map(|model| model.dims);
    let mut texts = TextIndexBuilder::new(words, model, entries.len());
    for entry in entries {
        let refused = |source| BuildError::Vector {
            id: entry.id.clone(),
            source,
        };
        let vector = match dims {
            Some(dims) => entry_vector(&entry.vectors, dims, settings).map_err(refused)?,
            None => None,
        };
        texts
            .add(fields_of(&entry.text), [vector.as_ref()])
            .map_err(refused)?;
    }
    Ok(texts.finish())
}

/// Returns the parts of an entry's text with the numbers of their fields.
fn fields_of(text: &RouteText) -> impl Iterator<Item = (u8, &str)> {
    let single = [
        (0, text.name.as_str()),
        (1, text.group.as_str()),
        (2, text.description.as_str()),
    ];
    let parameters = text.parameters.iter();
    let parameters = parameters.map(|parameter| (3, parameter.as_str()));
    let body = text.body.iter().map(|body| (4, body.as_str()));
    let examples = text.examples.iter().map(|example| (5, example.as_str()));
    let parts = single.into_iter().chain(parameters);
    parts.chain(body).chain(examples)
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

/// Indexes ids without their kind prefix, names and short names.
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

/// Returns the words of a text in lower case, with single spaces.
fn bare(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

/// Collects description and examples of each entry with examples; none if there are too many.
fn stack_utterances(
    entries: &[RouteEntry],
    model: Option<&EmbeddingModel>,
) -> Result<TextVectors, BuildError> {
    let count: usize = entries
        .iter()
        .map(|entry| utterances_of(entry).count())
        .sum();
    let Some(model) = model.filter(|_| (1..=MAX_EXAMPLE_ROWS).contains(&count)) else {
        return Ok(TextVectors::new(0, 0));
    };
    let mut utterances = TextVectors::new(model.dims, count);
    for entry in entries {
        let pushed = utterances.push(utterances_of(entry).map(Some));
        pushed.map_err(|source| BuildError::Vector {
            id: entry.id.clone(),
            source,
        })?;
    }
    Ok(utterances)
}

/// Returns the vectors of an entry's description and examples; none without examples.
fn utterances_of(entry: &RouteEntry) -> impl Iterator<Item = &Vector> {
    let vectors = entry.vectors.iter();
    let exemplified = vectors
        .clone()
        .any(|(role, _)| *role == VectorRole::Example);
    let own = vectors.filter(move |(role, _)| {
        exemplified && matches!(role, VectorRole::Description | VectorRole::Example)
    });
    own.map(|(_, vector)| vector)
}

/// Returns one vector for an entry: description, summary and parameters mixed, then the centroid with the examples.
/// `None` if it has none of these.
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
