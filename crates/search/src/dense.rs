//! Exact vector search: every row against every query vector, in 16-bit fixed point.
//!
//! Unit vectors scaled by 2^15 - 1 keep a cosine to about 5e-6 and never overflow 32-bit sums
//! (Cauchy-Schwarz bounds any partial sum by 2^30). Integer sums do not depend on the order of
//! addition: the same vectors give the same score on every machine and at every vector width, so a
//! verdict can be replayed bit for bit. Half the memory traffic of `f32` and no rescoring pass.
//! Must not know entries, words or models.

use multiversion::multiversion;

use crate::embed::{Vector, VectorError};

/// Rows that are compared with every query vector before the next rows are read.
const BLOCK_ROWS: usize = 16;
/// Chosen rows that are compared with every query vector before the next rows are read.
const CHOSEN_BLOCK: usize = 64;
/// Fewest spare rows when an index has to grow.
const MIN_SPARE_ROWS: usize = 64;
/// Components of a row that are summed in steps of constant length: the dimensions of the built-in model, and a half or
/// a quarter of those of many others.
const STEP: usize = 384;
/// Fixed-point 1.0.
const ONE: f32 = 32767.0;

/// Row-major unit vectors of one model.
#[derive(Debug, Default)]
pub(crate) struct DenseRows {
    dims: usize,
    rows: Vec<i16>,
}

/// A query vector in fixed point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DenseQuery(Vec<i16>);

impl DenseQuery {
    /// Converts a vector.
    pub(crate) fn new(vector: &Vector) -> Self {
        DenseQuery(vector.as_slice().iter().copied().map(fixed).collect())
    }
}

impl DenseRows {
    /// Creates an index without rows, of `dims` components; 0 dims for entries without vectors.
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

    /// Writes a row, adding rows without direction up to it; as [`push`](DenseRows::push) otherwise.
    ///
    /// # Errors
    /// [`VectorError::Dims`]; nothing is written.
    pub(crate) fn set(&mut self, row: usize, vector: Option<&Vector>) -> Result<(), VectorError> {
        let components = match vector {
            Some(vector) if vector.dims() != self.dims => {
                return Err(VectorError::Dims {
                    expected: self.dims,
                    found: vector.dims(),
                });
            }
            Some(vector) => vector.as_slice(),
            None => &[],
        };
        let (from, to) = (row * self.dims, (row + 1) * self.dims);
        if self.rows.len() < to {
            // Grows by an eighth instead of doubling: rows are most of an index's memory.
            let spare = (self.rows.len() / 8).max(MIN_SPARE_ROWS * self.dims);
            if self.rows.capacity() < to {
                self.rows.reserve_exact(to - self.rows.len() + spare);
            }
            self.rows.resize(to, 0);
        }
        let row = &mut self.rows[from..to];
        row.fill(0);
        for (fixed_component, component) in row.iter_mut().zip(components) {
            *fixed_component = fixed(*component);
        }
        Ok(())
    }

    /// Returns for each of these rows, in their order, the cosine with `whole`, or its mix with the best of `parts`, as
    /// [`scan`](DenseRows::scan) does. Other rows are not read; a row beyond the last gives 0.
    pub(crate) fn scan_chosen(
        &self,
        chosen: &[u32],
        whole: &DenseQuery,
        parts: &[DenseQuery],
        part_weight: f32,
    ) -> Vec<f32> {
        if self.dims == 0 {
            return vec![0.0; chosen.len()];
        }
        let mut sums = vec![0; CHOSEN_BLOCK];
        let mut best = vec![0; CHOSEN_BLOCK];
        let mut cosines = Vec::with_capacity(chosen.len());
        for chosen in chosen.chunks(CHOSEN_BLOCK) {
            let wholes = &mut sums[..chosen.len()];
            chosen_dots(&self.rows, self.dims, chosen, &whole.0, wholes);
            let Some((first, rest)) = parts.split_first() else {
                cosines.extend(wholes.iter().map(|sum| to_cosine(*sum)));
                continue;
            };
            let best = &mut best[..chosen.len()];
            chosen_dots(&self.rows, self.dims, chosen, &first.0, best);
            for part in rest {
                let mut next = vec![0; chosen.len()];
                chosen_dots(&self.rows, self.dims, chosen, &part.0, &mut next);
                for (best, next) in best.iter_mut().zip(next) {
                    *best = (*best).max(next);
                }
            }
            let pairs = wholes.iter().zip(best);
            cosines.extend(
                pairs.map(|(whole, best)| mix(to_cosine(*whole), to_cosine(*best), part_weight)),
            );
        }
        cosines
    }

    /// Returns for each visible row the cosine with `whole`, or its mix with the best of `parts`.
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
        let mut cosines = Vec::with_capacity(visible.len());
        // A block of rows stays in the first-level cache while every query vector is compared with it.
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
                Some(best) => {
                    let pairs = wholes.into_iter().zip(best);
                    cosines
                        .extend(pairs.map(|(a, b)| mix(to_cosine(a), to_cosine(b), part_weight)));
                }
            }
        }
        cosines
    }

    /// Returns the cosine of two rows; `None` if one has no direction or does not exist.
    pub(crate) fn cosine(&self, one: usize, other: usize) -> Option<f32> {
        let row = |at: usize| self.rows.get(at * self.dims..(at + 1) * self.dims);
        let components = row(one)?.iter().zip(row(other)?);
        let sum: i32 = components.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        (sum != 0).then(|| to_cosine(sum))
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<i16>()
    }
}

/// Mixes the cosine with the whole query and the cosine with its best part.
pub(crate) fn mix(whole: f32, best: f32, part_weight: f32) -> f32 {
    (1.0 - part_weight) * whole + part_weight * best
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

/// As [`dots`], for chosen rows in any order; rows beyond the last give 0.
///
/// Memory accesses to scattered rows are slow. In steps of a constant length the next rows are prefetched while one is
/// summed; a variable loop end would add branch mispredictions.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn chosen_dots(rows: &[i16], dims: usize, chosen: &[u32], query: &[i16], sums: &mut [i32]) {
    let (query_steps, query_rest) = query.as_chunks::<STEP>();
    for (at, sum) in chosen.iter().zip(sums) {
        let from = *at as usize * dims;
        let row = rows.get(from..from + dims).unwrap_or(&[]);
        let (steps, rest) = row.as_chunks::<STEP>();
        let mut total = 0;
        for (a, b) in steps.iter().zip(query_steps) {
            for (a, b) in a.iter().zip(b) {
                total += i32::from(*a) * i32::from(*b);
            }
        }
        for (a, b) in rest.iter().zip(query_rest) {
            total += i32::from(*a) * i32::from(*b);
        }
        *sum = total;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn chosen_rows_have_the_cosines_of_a_scan() {
        let mut pushed = DenseRows::new(384, 200);
        let mut set = DenseRows::new(384, 0);
        for row in 0..200 {
            let vector = (row % 7 != 3).then(|| vector(row + 10, 384));
            pushed.push(vector.as_ref()).unwrap();
        }
        for row in (0..200).rev() {
            set.set(row, Some(&vector(9, 384))).unwrap();
            let vector = (row % 7 != 3).then(|| vector(row as u32 + 10, 384));
            set.set(row, vector.as_ref()).unwrap();
        }
        let query = DenseQuery::new(&vector(1, 384));
        let parts = [2, 3].map(|seed| DenseQuery::new(&vector(seed, 384)));
        let chosen: Vec<u32> = (0..200).filter(|row| row % 3 == 0).collect();
        for parts in [&parts[..], &[]] {
            let all = pushed.scan(&[true; 200], &query, parts, 0.25);
            let expected: Vec<f32> = chosen.iter().map(|row| all[*row as usize]).collect();
            assert_eq!(set.scan_chosen(&chosen, &query, parts, 0.25), expected);
        }
        assert_eq!(set.scan_chosen(&[999], &query, &[], 0.5), [0.0]);
    }

    proptest! {
        /// Compares with naive sums of products, for models of any size.
        #[test]
        fn chosen_rows_of_any_length_are_summed_exactly(
            dims in 1_usize..1_600,
            chosen in prop::collection::vec(0_u32..9, 0..20),
            seed in 1_u32..1_000,
        ) {
            let vectors: Vec<Vector> = (0..8).map(|row| vector(seed + row, dims)).collect();
            let mut rows = DenseRows::new(dims, 0);
            for (row, vector) in vectors.iter().enumerate() {
                rows.set(row, Some(vector)).unwrap();
            }
            let asked = vector(seed + 99, dims);
            let exact = |row: &u32| {
                let row = vectors.get(*row as usize).map_or(&[][..], Vector::as_slice);
                let pairs = row.iter().zip(asked.as_slice());
                let products = pairs.map(|(a, b)| i32::from(fixed(*a)) * i32::from(fixed(*b)));
                to_cosine(products.sum())
            };
            let expected: Vec<f32> = chosen.iter().map(exact).collect();
            let found = rows.scan_chosen(&chosen, &DenseQuery::new(&asked), &[], 0.5);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn vectors_of_another_model_are_refused() {
        let mut rows = DenseRows::new(4, 1);
        let refused = Err(VectorError::Dims {
            expected: 4,
            found: 5,
        });
        assert_eq!(rows.set(0, Some(&vector(1, 5))), refused);
        assert_eq!(
            rows.push(Some(&vector(1, 5))),
            Err(VectorError::Dims {
                expected: 4,
                found: 5
            })
        );
    }
}
