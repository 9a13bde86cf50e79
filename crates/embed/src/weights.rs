//! Reads a BERT encoder's `config.json` and `model.safetensors` and arranges the weights for the kernels. Knows file
//! formats and tensor names; does no arithmetic beyond folding constants in.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use charter_contract::json::{JsonFault, Profile, decode, decode_stored};
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde::Deserialize;
use thiserror::Error;

use super::bert::{Affine, Bert, Layer, Norm};
use super::kernel::{Buffer, Floats, Packed};
use super::shape::{HEAD, HEADS, HIDDEN, INNER, LAYERS, POSITIONS};

/// Greatest accepted header of a weights file (the format's own limit).
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// Greatest accepted `config.json`.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Location of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsMemory {
    /// In this process's own memory, read from the model's files; nothing is written.
    Private,
    /// In a file of prepacked weights beside the model's own, which processes map and share. The first process writes
    /// it. For directories that this program may write, such as the model cache.
    Shared,
}

/// Why a model's files could not be loaded.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// A file could not be opened or read.
    #[error("reading {file} failed")]
    Read {
        /// The file's name inside the model directory.
        file: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A JSON part is malformed.
    #[error("{file} does not follow the format")]
    Format {
        /// The file's name inside the model directory.
        file: &'static str,
        /// The parser's error.
        source: JsonFault,
    },
    /// The model is of another architecture or size.
    #[error("this embedder runs 6-layer BERT encoders of width 384; {what} differs")]
    Architecture {
        /// The setting that differs, with its value.
        what: String,
    },
    /// A tensor is absent or of another shape or type.
    #[error("tensor {name} is missing or not 32-bit floats of shape {shape:?}")]
    Tensor {
        /// The tensor's name in the file.
        name: String,
        /// The required shape.
        shape: Vec<usize>,
    },
    /// The file ends early or its header is out of bounds.
    #[error("{file} is damaged: {what}")]
    Damaged {
        /// The file's name inside the model directory.
        file: &'static str,
        /// The fault.
        what: &'static str,
    },
}

const CONFIG: &str = "config.json";
/// The file of the weights in a model's directory.
pub(super) const WEIGHTS: &str = "model.safetensors";

/// The settings of `config.json` that change the computation.
#[derive(Debug, Deserialize)]
struct Config {
    model_type: String,
    hidden_act: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    layer_norm_eps: f32,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Config {
    fn read(directory: &Path) -> Result<Config, WeightsError> {
        let read = |source| WeightsError::Read {
            file: CONFIG,
            source,
        };
        let file = File::open(directory.join(CONFIG)).map_err(read)?;
        let mut text = String::new();
        file.take(MAX_CONFIG_BYTES)
            .read_to_string(&mut text)
            .map_err(read)?;
        let config: Config = decode_stored(&text).map_err(|source| WeightsError::Format {
            file: CONFIG,
            source,
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), WeightsError> {
        let numbers = [
            ("hidden_size", self.hidden_size, HIDDEN),
            ("intermediate_size", self.intermediate_size, INNER),
            ("num_attention_heads", self.num_attention_heads, HEADS),
            ("num_hidden_layers", self.num_hidden_layers, LAYERS),
        ];
        for (name, found, expected) in numbers {
            if found != expected {
                return Err(WeightsError::Architecture {
                    what: format!("{name} {found}"),
                });
            }
        }
        let words = [
            ("model_type", &self.model_type, "bert"),
            ("hidden_act", &self.hidden_act, "gelu"),
            (
                "position_embedding_type",
                &self.position_embedding_type,
                "absolute",
            ),
        ];
        for (name, found, expected) in words {
            if found != expected {
                return Err(WeightsError::Architecture {
                    what: format!("{name} {found:?}"),
                });
            }
        }
        Ok(())
    }
}

/// Location of one tensor in the file.
struct TensorLocation {
    dtype: Dtype,
    shape: Vec<usize>,
    start: u64,
}

/// An open weights file and its index.
struct Tensors {
    file: File,
    places: HashMap<String, TensorLocation>,
}

impl Tensors {
    fn open(directory: &Path) -> Result<Tensors, WeightsError> {
        let read = |source| WeightsError::Read {
            file: WEIGHTS,
            source,
        };
        let mut file = File::open(directory.join(WEIGHTS)).map_err(read)?;
        let total = file.metadata().map_err(read)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(read)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER_BYTES || length > total {
            return Err(WeightsError::Damaged {
                file: WEIGHTS,
                what: "its header is longer than the file or the format allows",
            });
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(read)?;
        let metadata: Metadata =
            decode(&header, Profile::OPERATOR).map_err(|source| WeightsError::Format {
                file: WEIGHTS,
                source,
            })?;
        let body = 8 + length;
        if metadata.data_len() as u64 + body != total {
            return Err(WeightsError::Damaged {
                file: WEIGHTS,
                what: "its length differs from its header",
            });
        }
        let places = metadata
            .tensors()
            .into_iter()
            .map(|(name, info)| {
                let place = TensorLocation {
                    dtype: info.dtype,
                    shape: info.shape.clone(),
                    start: body + info.data_offsets.0 as u64,
                };
                (name, place)
            })
            .collect();
        Ok(Tensors { file, places })
    }

    /// One tensor's floats, row-major.
    fn read(&self, name: &str, shape: &[usize]) -> Result<Buffer, WeightsError> {
        let place = self
            .places
            .get(name)
            .filter(|place| place.dtype == Dtype::F32 && place.shape == shape)
            .ok_or_else(|| WeightsError::Tensor {
                name: name.to_owned(),
                shape: shape.to_vec(),
            })?;
        let mut floats = Buffer::zeroed(shape.iter().product());
        let mut bytes = vec![0; size_of_val(floats.as_slice())];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place.start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| WeightsError::Read {
                file: WEIGHTS,
                source,
            })?;
        let (chunks, _) = bytes.as_chunks::<4>();
        for (float, chunk) in floats.as_mut_slice().iter_mut().zip(chunks) {
            *float = f32::from_le_bytes(*chunk);
        }
        Ok(floats)
    }

    fn run(&self, name: &str, shape: &[usize]) -> Result<Floats, WeightsError> {
        Ok(Floats::Owned(self.read(name, shape)?))
    }

    fn norm(&self, prefix: &str) -> Result<Norm, WeightsError> {
        Ok(Norm {
            scale: self.run(&format!("{prefix}.weight"), &[HIDDEN])?,
            shift: self.run(&format!("{prefix}.bias"), &[HIDDEN])?,
        })
    }

    /// A linear layer: the file holds `[output][input]`, the kernels want
    /// panels of outputs.
    fn affine(&self, prefix: &str, inputs: usize, outputs: usize) -> Result<Affine, WeightsError> {
        let weights = self.read(&format!("{prefix}.weight"), &[outputs, inputs])?;
        let weights = weights.as_slice();
        Ok(Affine {
            weights: Packed::from_fn(inputs, outputs, |input, output| {
                weights[output * inputs + input]
            }),
            bias: self.run(&format!("{prefix}.bias"), &[outputs])?,
        })
    }

    /// Query, key and value as one layer whose outputs are ordered head by
    /// head (query, key, value of head 0, then of head 1, …). The attention's
    /// 1/√width is folded into the query.
    fn query_key_value(&self, prefix: &str) -> Result<Affine, WeightsError> {
        let scale = 1.0 / (HEAD as f32).sqrt();
        let mut weights = Vec::with_capacity(3);
        let mut biases = Vec::with_capacity(3);
        for (name, factor) in [("query", scale), ("key", 1.0), ("value", 1.0)] {
            let mut weight = self.read(&format!("{prefix}.{name}.weight"), &[HIDDEN, HIDDEN])?;
            let mut bias = self.read(&format!("{prefix}.{name}.bias"), &[HIDDEN])?;
            let values = weight.as_mut_slice().iter_mut();
            values
                .chain(bias.as_mut_slice())
                .for_each(|value| *value *= factor);
            weights.push(weight);
            biases.push(bias);
        }
        let place = |output: usize| {
            let (head, inside) = (output / (3 * HEAD), output % (3 * HEAD));
            (inside / HEAD, head * HEAD + inside % HEAD)
        };
        let weights: Vec<&[f32]> = weights.iter().map(Buffer::as_slice).collect();
        let mut bias = Buffer::zeroed(3 * HIDDEN);
        for (output, value) in bias.as_mut_slice().iter_mut().enumerate() {
            let (part, row) = place(output);
            *value = biases[part].as_slice()[row];
        }
        Ok(Affine {
            weights: Packed::from_fn(HIDDEN, 3 * HIDDEN, |input, output| {
                let (part, row) = place(output);
                weights[part][row * HIDDEN + input]
            }),
            bias: Floats::Owned(bias),
        })
    }

    fn layer(&self, index: usize) -> Result<Layer, WeightsError> {
        let prefix = format!("encoder.layer.{index}");
        Ok(Layer {
            query_key_value: self.query_key_value(&format!("{prefix}.attention.self"))?,
            attention_out: self.affine(
                &format!("{prefix}.attention.output.dense"),
                HIDDEN,
                HIDDEN,
            )?,
            attention_norm: self.norm(&format!("{prefix}.attention.output.LayerNorm"))?,
            up: self.affine(&format!("{prefix}.intermediate.dense"), HIDDEN, INNER)?,
            down: self.affine(&format!("{prefix}.output.dense"), INNER, HIDDEN)?,
            down_norm: self.norm(&format!("{prefix}.output.LayerNorm"))?,
        })
    }

    fn vocabulary(&self) -> usize {
        self.places
            .get(WORDS)
            .and_then(|place| place.shape.first().copied())
            .unwrap_or(0)
    }

    /// Positions with the one token type of single sentences added in.
    fn positions(&self) -> Result<Floats, WeightsError> {
        let types = self.read("embeddings.token_type_embeddings.weight", &[2, HIDDEN])?;
        let rows = self.read(
            "embeddings.position_embeddings.weight",
            &[POSITIONS, HIDDEN],
        )?;
        let types = types.as_slice();
        let mut sums = rows;
        for (index, sum) in sums.as_mut_slice().iter_mut().enumerate() {
            *sum += types[index % HIDDEN];
        }
        Ok(Floats::Owned(sums))
    }
}

const WORDS: &str = "embeddings.word_embeddings.weight";

/// The ε of the layer normalisations, from a configuration of the architecture that this embedder runs.
///
/// # Errors
/// [`WeightsError::Read`], [`WeightsError::Format`] or [`WeightsError::Architecture`].
pub(super) fn epsilon(directory: &Path) -> Result<f32, WeightsError> {
    Ok(Config::read(directory)?.layer_norm_eps)
}

/// Loads the encoder in `directory`.
///
/// # Errors
/// Any [`WeightsError`]; nothing is kept of a partly read model.
pub(super) fn load(directory: &Path) -> Result<Bert, WeightsError> {
    let epsilon = epsilon(directory)?;
    let tensors = Tensors::open(directory)?;
    let words = tensors.run(WORDS, &[tensors.vocabulary(), HIDDEN])?;
    let layers = (0..LAYERS)
        .map(|index| tensors.layer(index))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Bert {
        words,
        positions: tensors.positions()?,
        embedding_norm: tensors.norm("embeddings.LayerNorm")?,
        epsilon,
        layers,
    })
}
