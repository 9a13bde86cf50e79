//! The immutable index of numbered texts: the words of each, and any number of vectors, of which the best counts.
//!
//! A [`RouteIndex`](crate::RouteIndex) holds one beside ids and names, a [`PassageIndex`](crate::PassageIndex) holds
//! one alone. Texts that change one by one are in a [`SlotIndex`](crate::SlotIndex). Must not know ids, settings or
//! callers.

use std::iter::repeat_n;
use std::ops::Range;

use crate::dense::{DenseQuery, DenseRows};
use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{LexicalBuilder, LexicalIndex};

/// Words and vectors of texts, numbered from 0 in the order they were added.
#[derive(Debug)]
pub(crate) struct TextIndex {
    words: LexicalIndex,
    vectors: TextVectors,
    model: Option<EmbeddingModel>,
}

impl TextIndex {
    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.vectors.ends.len()
    }

    /// Returns the words.
    pub(crate) fn words(&self) -> &LexicalIndex {
        &self.words
    }

    /// Returns the vectors.
    pub(crate) fn vectors(&self) -> &TextVectors {
        &self.vectors
    }

    /// Returns the model of the vectors.
    pub(crate) fn model(&self) -> Option<&EmbeddingModel> {
        self.model.as_ref()
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.words.heap_bytes() + self.vectors.heap_bytes()
    }
}

/// Collects texts; [`finish`](TextIndexBuilder::finish) makes the index.
pub(crate) struct TextIndexBuilder {
    words: LexicalBuilder,
    vectors: TextVectors,
    model: Option<EmbeddingModel>,
}

impl TextIndexBuilder {
    /// Creates a builder with a builder for the words, the model of the vectors, and their expected number.
    pub(crate) fn new(
        words: LexicalBuilder,
        model: Option<EmbeddingModel>,
        capacity: usize,
    ) -> Self {
        TextIndexBuilder {
            words,
            vectors: TextVectors::new(model.as_ref().map_or(0, |model| model.dims), capacity),
            model,
        }
    }

    /// Adds the next text: its parts with the numbers of their fields, and its vectors, as for
    /// [`TextVectors::push`]. Without a model no vectors are kept.
    ///
    /// # Errors
    /// [`VectorError::Dims`] for a vector of other dimensions than the model's.
    pub(crate) fn add<'t, 'v>(
        &mut self,
        fields: impl IntoIterator<Item = (u8, &'t str)>,
        vectors: impl IntoIterator<Item = Option<&'v Vector>>,
    ) -> Result<(), VectorError> {
        self.words.add(fields);
        match self.model {
            Some(_) => self.vectors.push(vectors),
            None => self.vectors.push([]),
        }
    }

    /// Returns the index.
    pub(crate) fn finish(self) -> TextIndex {
        TextIndex {
            words: self.words.finish(),
            vectors: self.vectors,
            model: self.model,
        }
    }
}

/// The vectors of texts, any number for each.
#[derive(Debug)]
pub(crate) struct TextVectors {
    rows: DenseRows,
    /// The end of each text's rows; they begin at the end of the text before.
    ends: Vec<u32>,
    /// Whether each text has exactly one row.
    one_each: bool,
}

impl TextVectors {
    /// Creates vectors of `dims` components, without texts; `capacity` is their expected number.
    pub(crate) fn new(dims: usize, capacity: usize) -> Self {
        TextVectors {
            rows: DenseRows::new(dims, capacity),
            ends: Vec::new(),
            one_each: true,
        }
    }

    /// Adds the vectors of the next text; `None` is one without direction, whose cosine with everything is 0.
    ///
    /// # Errors
    /// [`VectorError::Dims`] if a vector has other dimensions.
    pub(crate) fn push<'v>(
        &mut self,
        vectors: impl IntoIterator<Item = Option<&'v Vector>>,
    ) -> Result<(), VectorError> {
        let start = self.ends.last().copied().unwrap_or(0);
        let mut end = start;
        for vector in vectors {
            self.rows.push(vector)?;
            end += 1;
        }
        self.one_each &= end == start + 1;
        self.ends.push(end);
        Ok(())
    }

    /// Whether there are no texts.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns for each text the best cosine of its vectors, each as [`DenseRows::scan`] returns it. Invisible texts
    /// and those without vectors give 0.
    pub(crate) fn cosines(
        &self,
        visible: &[bool],
        whole: &DenseQuery,
        parts: &[DenseQuery],
        part_weight: f32,
    ) -> Vec<f32> {
        if self.one_each {
            return self.rows.scan(visible, whole, parts, part_weight);
        }
        let texts = self.ranges().zip(visible);
        let visible: Vec<bool> = texts
            .flat_map(|(rows, visible)| repeat_n(*visible, rows.len()))
            .collect();
        let cosines = self.rows.scan(&visible, whole, parts, part_weight);
        let best = |rows: Range<usize>| cosines[rows].iter().copied().reduce(f32::max);
        self.ranges()
            .map(|rows| best(rows).unwrap_or(0.0))
            .collect()
    }

    /// Returns the best cosine of one text's vectors; `None` if it has none.
    pub(crate) fn nearest(
        &self,
        text: usize,
        whole: &DenseQuery,
        parts: &[DenseQuery],
        part_weight: f32,
    ) -> Option<f32> {
        let end = *self.ends.get(text)?;
        let start = text.checked_sub(1).map_or(0, |before| self.ends[before]);
        let rows: Vec<u32> = (start..end).collect();
        let cosines = self.rows.scan_chosen(&rows, whole, parts, part_weight);
        cosines.into_iter().reduce(f32::max)
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes() + self.ends.capacity() * size_of::<u32>()
    }

    /// Returns the rows of each text.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let pairs = starts.zip(&self.ends);
        pairs.map(|(start, end)| *start as usize..*end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(components: [f32; 2]) -> Vector {
        Vector::new(components.to_vec()).unwrap()
    }

    #[test]
    fn the_best_vector_of_a_text_counts_and_one_that_is_invisible_is_not_read() {
        let (x, y) = (vector([1.0, 0.0]), vector([0.0, 1.0]));
        let mut vectors = TextVectors::new(2, 0);
        vectors.push([Some(&y), Some(&x)]).unwrap();
        vectors.push([]).unwrap();
        vectors.push([Some(&x)]).unwrap();
        vectors.push([None, Some(&y)]).unwrap();
        let query = DenseQuery::new(&x);
        let cosines = |visible: [bool; 4]| vectors.cosines(&visible, &query, &[], 0.5);
        assert_eq!(cosines([true; 4]), [1.0, 0.0, 1.0, 0.0]);
        assert_eq!(cosines([true, true, false, true]), [1.0, 0.0, 0.0, 0.0]);
        let nearest = [0, 1, 2, 4].map(|text| vectors.nearest(text, &query, &[], 0.5));
        assert_eq!(nearest, [Some(1.0), None, Some(1.0), None]);
    }

    /// With one vector each the rows are scanned as they are.
    #[test]
    fn texts_with_one_vector_each_have_the_cosines_of_their_rows() {
        let texts = [vector([1.0, 0.2]), vector([0.3, 1.0]), vector([0.5, 0.5])];
        let (mut one_each, mut several) = (TextVectors::new(2, 3), TextVectors::new(2, 3));
        for text in &texts {
            one_each.push([Some(text)]).unwrap();
            several.push([Some(text), Some(text)]).unwrap();
        }
        let query = DenseQuery::new(&vector([0.6, 0.8]));
        let part = DenseQuery::new(&vector([0.0, 1.0]));
        let visible = [true, false, true];
        let found = one_each.cosines(&visible, &query, std::slice::from_ref(&part), 0.25);
        assert_eq!(found, several.cosines(&visible, &query, &[part], 0.25));
    }
}
