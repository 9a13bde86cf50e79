//! A text's embedding: finite, not zero, of unit length. Knows no model and no index.

use thiserror::Error;

/// An embedding: finite, of length 1, so that a dot product is the cosine.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Box<[f32]>);

/// Why numbers or bytes are not a [`Vector`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum VectorError {
    /// There are no numbers.
    #[error("a vector needs at least one dimension")]
    Empty,
    /// A component is NaN or infinite.
    #[error("component {index} of the vector is not a finite number")]
    NotFinite {
        /// Position of the first such component.
        index: usize,
    },
    /// All components are zero (or indistinguishable from it).
    #[error("the vector has no direction: its length is zero")]
    Zero,
    /// The dimensions are not those of the index.
    #[error("the vector has {found} dimensions, the index {expected}")]
    Dims {
        /// Dimensions of the index.
        expected: usize,
        /// Dimensions of the vector.
        found: usize,
    },
    /// The stored bytes are not a row of 4-byte floats.
    #[error("{length} bytes are not a whole number of 32-bit floats")]
    Bytes {
        /// The number of bytes.
        length: usize,
    },
}

impl Vector {
    /// Checks and scales to unit length (B001-2: finite, not zero).
    ///
    /// # Errors
    /// [`VectorError::Empty`], [`VectorError::NotFinite`] or [`VectorError::Zero`].
    pub fn new(mut components: Vec<f32>) -> Result<Vector, VectorError> {
        if components.is_empty() {
            return Err(VectorError::Empty);
        }
        if let Some(index) = components.iter().position(|value| !value.is_finite()) {
            return Err(VectorError::NotFinite { index });
        }
        let squares: f64 = components.iter().map(|&value| square(value)).sum();
        let length = squares.sqrt();
        if length < f64::from(f32::MIN_POSITIVE) {
            return Err(VectorError::Zero);
        }
        for value in &mut components {
            *value = (f64::from(*value) / length) as f32;
        }
        Ok(Vector(components.into_boxed_slice()))
    }

    /// As [`new`](Vector::new), and refuses dimensions that differ from the index's.
    ///
    /// # Errors
    /// Those of [`new`](Vector::new), and [`VectorError::Dims`].
    pub fn with_dims(components: Vec<f32>, dims: usize) -> Result<Vector, VectorError> {
        match components.len() {
            found if found == dims => Vector::new(components),
            found => Err(VectorError::Dims {
                expected: dims,
                found,
            }),
        }
    }

    /// The components; their squares sum to 1.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Returns the number of components.
    pub fn dims(&self) -> usize {
        self.0.len()
    }

    /// The cosine of the angle between the two, from -1 to 1.
    ///
    /// Both must come from one model; vectors of other dimensions have no
    /// angle, and only their common components are compared.
    pub fn dot(&self, other: &Vector) -> f32 {
        debug_assert_eq!(self.dims(), other.dims(), "vectors of two models");
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// Little-endian 32-bit floats, the stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    /// Reads the stored form back, bit for bit when it was made by
    /// [`to_bytes`](Vector::to_bytes).
    ///
    /// # Errors
    /// [`VectorError::Bytes`], or those of [`new`](Vector::new).
    pub fn from_bytes(bytes: &[u8]) -> Result<Vector, VectorError> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(VectorError::Bytes {
                length: bytes.len(),
            });
        }
        let components: Vec<f32> = chunks
            .iter()
            .map(|chunk| f32::from_le_bytes(*chunk))
            .collect();
        let squares: f64 = components.iter().map(|&value| square(value)).sum();
        match (squares - 1.0).abs() < UNIT_TOLERANCE {
            true => Ok(Vector(components.into_boxed_slice())),
            false => Vector::new(components),
        }
    }
}

/// How far the squared length of a stored vector may be from 1 by rounding.
const UNIT_TOLERANCE: f64 = 1e-5;

fn square(value: f32) -> f64 {
    f64::from(value) * f64::from(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b001_2_a_vector_is_finite_not_zero_and_of_unit_length() {
        assert_eq!(Vector::new(vec![]), Err(VectorError::Empty));
        assert_eq!(Vector::new(vec![0.0, 0.0]), Err(VectorError::Zero));
        assert_eq!(
            Vector::new(vec![1.0, f32::NAN]),
            Err(VectorError::NotFinite { index: 1 })
        );
        assert_eq!(
            Vector::new(vec![f32::INFINITY, 1.0]),
            Err(VectorError::NotFinite { index: 0 })
        );
        let vector = Vector::new(vec![3.0, 4.0]).unwrap();
        assert_eq!(vector.as_slice(), [0.6, 0.8]);
        assert_eq!(vector.dot(&vector), 1.0);
    }

    #[test]
    fn b001_2_a_vector_of_other_dims_is_refused() {
        assert_eq!(
            Vector::with_dims(vec![1.0, 0.0], 3),
            Err(VectorError::Dims {
                expected: 3,
                found: 2
            })
        );
    }

    #[test]
    fn great_and_small_components_keep_their_direction() {
        let great = Vector::new(vec![f32::MAX, f32::MAX]).unwrap();
        let small = Vector::new(vec![1e-30, 1e-30]).unwrap();
        assert_eq!(great, small);
    }

    #[test]
    fn stored_bytes_read_back_bit_for_bit() {
        let vector = Vector::new(vec![0.1, -0.2, 0.3, 1e-7]).unwrap();
        assert_eq!(Vector::from_bytes(&vector.to_bytes()), Ok(vector));
        assert_eq!(
            Vector::from_bytes(&[0; 5]),
            Err(VectorError::Bytes { length: 5 })
        );
        assert_eq!(Vector::from_bytes(&[0; 8]), Err(VectorError::Zero));
        assert_eq!(Vector::from_bytes(&[]), Err(VectorError::Empty));
    }
}
