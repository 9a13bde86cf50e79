//! The order of the encoder's float arrays in a prepacked file. Knows no file.

use super::{Affine, Bert, Layer, Norm};
use crate::kernel::{Floats, Packed};
use crate::shape::{HIDDEN, INNER, LAYERS, POSITIONS};

impl Bert {
    /// Builds an encoder from float arrays that `next` returns in sequence; `next` receives the length of each.
    ///
    /// # Errors
    /// The first one that `next` returns.
    pub(crate) fn from_parts<E>(
        vocabulary: usize,
        epsilon: f32,
        next: &mut impl FnMut(usize) -> Result<Floats, E>,
    ) -> Result<Bert, E> {
        Ok(Bert {
            words: next(vocabulary * HIDDEN)?,
            positions: next(POSITIONS * HIDDEN)?,
            embedding_norm: Norm::from_parts(next)?,
            epsilon,
            layers: (0..LAYERS)
                .map(|_| Layer::from_parts(next))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns every float array, in the order in which [`Bert::from_parts`] requests them.
    pub(crate) fn parts(&self) -> Vec<&Floats> {
        let mut parts = vec![&self.words, &self.positions];
        parts.extend(self.embedding_norm.parts());
        parts.extend(self.layers.iter().flat_map(Layer::parts));
        parts
    }
}

impl Layer {
    fn from_parts<E>(next: &mut impl FnMut(usize) -> Result<Floats, E>) -> Result<Layer, E> {
        Ok(Layer {
            query_key_value: Affine::from_parts(HIDDEN, 3 * HIDDEN, next)?,
            attention_out: Affine::from_parts(HIDDEN, HIDDEN, next)?,
            attention_norm: Norm::from_parts(next)?,
            up: Affine::from_parts(HIDDEN, INNER, next)?,
            down: Affine::from_parts(INNER, HIDDEN, next)?,
            down_norm: Norm::from_parts(next)?,
        })
    }

    fn parts(&self) -> Vec<&Floats> {
        let runs = [
            self.query_key_value.parts(),
            self.attention_out.parts(),
            self.attention_norm.parts(),
            self.up.parts(),
            self.down.parts(),
            self.down_norm.parts(),
        ];
        runs.into_iter().flatten().collect()
    }
}

impl Affine {
    fn from_parts<E>(
        inputs: usize,
        outputs: usize,
        next: &mut impl FnMut(usize) -> Result<Floats, E>,
    ) -> Result<Affine, E> {
        Ok(Affine {
            weights: Packed::laid_out(inputs, outputs, next(inputs * outputs)?),
            bias: next(outputs)?,
        })
    }

    fn parts(&self) -> [&Floats; 2] {
        [self.weights.lines(), &self.bias]
    }
}

impl Norm {
    fn from_parts<E>(next: &mut impl FnMut(usize) -> Result<Floats, E>) -> Result<Norm, E> {
        Ok(Norm {
            scale: next(HIDDEN)?,
            shift: next(HIDDEN)?,
        })
    }

    fn parts(&self) -> [&Floats; 2] {
        [&self.scale, &self.shift]
    }
}
