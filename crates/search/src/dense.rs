//! Exact vector search: every row against every query vector, in 16-bit fixed point.
//!
//! Unit vectors scaled by 2^15 - 1 keep a cosine to about 5e-6 and never overflow 32-bit sums
//! (Cauchy-Schwarz bounds any partial sum by 2^30). Integer sums do not depend on the order of
//! addition: the same vectors give the same score on every machine and at every vector width, so a
//! verdict can be replayed bit for bit. Half the memory traffic of `f32` and no rescoring pass.
//! Must not know entries, words or models.

use multiversion::multiversion;

use crate::embed::{Vector, VectorError};

/// Rows that are compared with every query vector before the next ones are read.
const BLOCK_ROWS: usize = 16;
/// Fixed-point 1.0.
const ONE: f32 = 32767.0;

/// Row-major unit vectors of one model.
#[derive(Debug, Default)]
pub(crate) struct DenseRows {
    dims: usize,
    rows: Vec<i16>,
}

/// A query vector in the rows' form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DenseQuery(Vec<i16>);

impl DenseQuery {
    /// Converts a vector.
    pub(crate) fn new(vector: &Vector) -> Self {
        DenseQuery(vector.as_slice().iter().copied().map(fixed).collect())
    }
}

impl DenseRows {
    /// No rows yet, of `dims` components; 0 dims for entries without vectors.
    pub(crate) fn new(dims: usize, capacity: usize) -> Self {
        DenseRows {
            dims,
            rows: Vec::with_capacity(dims * capacity),
        }
    }

    /// Appends a row; `None` appends one without direction, whose cosine with everything is 0.
    ///
    /// # Errors
    /// [`VectorError::Dims`] if the vector has other dimensions.
    pub(crate) fn push(&mut self, vector: Option<&Vector>) -> Result<(), VectorError> {
        match vector {
            None => self.rows.resize(self.rows.len() + self.dims, 0),
            Some(vector) if vector.dims() == self.dims => {
                self.rows
                    .extend(vector.as_slice().iter().copied().map(fixed));
            }
            Some(vector) => {
                return Err(VectorError::Dims {
                    expected: self.dims,
                    found: vector.dims(),
                });
            }
        }
        Ok(())
    }

    /// For each visible row: the cosine with `whole`, or its mix with the best of `parts`.
    ///
    /// `part_weight` is the share of the best part, 0 to 1; it does not count without parts.
    /// Invisible rows are not read and give 0.
    pub(crate) fn scan(
        &self,
        visible: &[bool],
        whole: &DenseQuery,
        parts: &[DenseQuery],
        part_weight: f32,
    ) -> Vec<f32> {
        if self.dims == 0 {
            return vec![0.0; visible.len()];
        }
        let mix =
            |whole, best| (1.0 - part_weight) * to_cosine(whole) + part_weight * to_cosine(best);
        let mut cosines = Vec::with_capacity(visible.len());
        // A block of rows stays in the nearest cache while every query vector passes over it.
        let blocks = self
            .rows
            .chunks(BLOCK_ROWS * self.dims)
            .zip(visible.chunks(BLOCK_ROWS));
        for (rows, visible) in blocks {
            let wholes = dots(rows, self.dims, visible, &whole.0);
            let best = parts
                .iter()
                .map(|part| dots(rows, self.dims, visible, &part.0))
                .reduce(|best, next| best.into_iter().zip(next).map(|(a, b)| a.max(b)).collect());
            match best {
                None => cosines.extend(wholes.into_iter().map(to_cosine)),
                Some(best) => cosines.extend(wholes.into_iter().zip(best).map(|(a, b)| mix(a, b))),
            }
        }
        cosines
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<i16>()
    }
}

fn fixed(component: f32) -> i16 {
    // Components of a unit vector are within -1 to 1; the cast saturates.
    (component * ONE).round() as i16
}

fn to_cosine(sum: i32) -> f32 {
    sum as f32 / (ONE * ONE)
}

/// The sum of products of each visible row with `query`, 0 for the others. Compiled once for each
/// vector width; the integers are the same in all of them.
///
/// Plain loops: a closure would carry the wider instructions and could then not be inlined into an
/// iterator's own functions, which lack them.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dots(rows: &[i16], dims: usize, visible: &[bool], query: &[i16]) -> Vec<i32> {
    let mut sums = vec![0; visible.len()];
    for ((row, visible), sum) in rows.chunks_exact(dims).zip(visible).zip(&mut sums) {
        if *visible {
            for (a, b) in row.iter().zip(query) {
                *sum += i32::from(*a) * i32::from(*b);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u32, dims: usize) -> Vector {
        let mut state = seed;
        let components = (0..dims)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        Vector::new(components).unwrap()
    }

    #[test]
    fn fixed_point_cosines_are_those_of_floats_to_five_decimals() {
        let mut rows = DenseRows::new(384, 3);
        let (a, b, query, part) = (
            vector(1, 384),
            vector(2, 384),
            vector(3, 384),
            vector(1, 384),
        );
        rows.push(Some(&a)).unwrap();
        rows.push(None).unwrap();
        rows.push(Some(&b)).unwrap();
        let found = rows.scan(
            &[true, true, false],
            &DenseQuery::new(&query),
            &[DenseQuery::new(&part), DenseQuery::new(&query)],
            0.25,
        );
        assert!(
            (found[0] - (0.75 * a.dot(&query) + 0.25)).abs() < 1e-5,
            "{found:?}"
        );
        assert_eq!(found[1..], [0.0, 0.0]);
    }

    #[test]
    fn vectors_of_another_model_are_refused() {
        let mut rows = DenseRows::new(4, 1);
        assert_eq!(
            rows.push(Some(&vector(1, 5))),
            Err(VectorError::Dims {
                expected: 4,
                found: 5
            })
        );
    }
}
