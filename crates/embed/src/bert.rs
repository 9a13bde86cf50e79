//! The forward pass of a 6-layer BERT encoder over several texts laid end to
//! end, with no padding, and mean pooling. Knows token ids, not text; reads no
//! file and starts no thread.

mod parts;

use super::kernel::{Addend, Block, Buffer, Floats, Kernels, PANEL, Packed, Rows, RowsMut};
use super::shape::{HEAD, HEADS, HIDDEN, INNER};
use super::team::{Broken, Sum, Team};
use super::tokens::Batch;

/// Query, key and value of one head, side by side.
const HEAD_STATE: usize = 3 * HEAD;
/// Inner columns computed before they are folded into the sum: the slice of activations stays in the second-level
/// cache.
const INNER_PANELS_AT_ONCE: usize = 8;
const INNER_AT_ONCE: usize = INNER_PANELS_AT_ONCE * PANEL;
/// Query rows whose scores are computed at once: they stay in the first-level
/// cache.
const QUERY_ROWS: usize = 32;

/// Scale and shift of a layer normalisation.
pub(super) struct Norm {
    pub(super) scale: Floats,
    pub(super) shift: Floats,
}

impl Norm {
    fn apply(&self, kernels: Kernels, state: &mut [f32], epsilon: f32) {
        kernels.layer_norm(state, self.scale.as_slice(), self.shift.as_slice(), epsilon);
    }
}

/// A linear layer.
pub(super) struct Affine {
    pub(super) weights: Packed,
    pub(super) bias: Floats,
}

/// One encoder layer.
pub(super) struct Layer {
    /// Outputs head by head: query, key, value.
    pub(super) query_key_value: Affine,
    pub(super) attention_out: Affine,
    pub(super) attention_norm: Norm,
    pub(super) up: Affine,
    pub(super) down: Affine,
    pub(super) down_norm: Norm,
}

/// The whole encoder.
pub(super) struct Bert {
    /// One row for each id of the vocabulary.
    pub(super) words: Floats,
    /// One row for each position, the token type added in.
    pub(super) positions: Floats,
    pub(super) embedding_norm: Norm,
    pub(super) epsilon: f32,
    pub(super) layers: Vec<Layer>,
}

/// One thread's working memory; grows to the largest batch it has seen.
pub(super) struct Scratch {
    rows: usize,
    states: Buffer,
    head: Buffer,
    keys: Buffer,
    scores: Buffer,
    context: Buffer,
    inner: Buffer,
}

impl Scratch {
    /// Memory for batches of up to `rows` tokens.
    pub(super) fn new(rows: usize) -> Scratch {
        let padded = rows.next_multiple_of(PANEL);
        Scratch {
            rows,
            states: Buffer::zeroed(rows * HIDDEN),
            head: Buffer::zeroed(rows * HEAD_STATE),
            keys: Buffer::zeroed(HEAD * padded),
            scores: Buffer::zeroed(QUERY_ROWS * padded),
            context: Buffer::zeroed(rows * HIDDEN),
            inner: Buffer::zeroed(rows * INNER_AT_ONCE),
        }
    }

    fn reserve(&mut self, rows: usize) {
        if rows > self.rows {
            *self = Scratch::new(rows);
        }
    }
}

/// One member's view of a pass.
pub(super) struct TeamMember<'a> {
    /// The team.
    pub(super) team: &'a Team,
    /// This member's number in it.
    pub(super) rank: usize,
}

impl Bert {
    /// Ids that the vocabulary holds.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.as_slice().len() / HIDDEN
    }

    /// Runs this member's share of the pass. Afterwards every member's scratch
    /// holds the final states.
    ///
    /// # Errors
    /// [`Broken`] when another member panicked.
    pub(super) fn encode(
        &self,
        kernels: Kernels,
        seat: &TeamMember,
        batch: &Batch,
        scratch: &mut Scratch,
    ) -> Result<(), Broken> {
        scratch.reserve(batch.rows());
        self.embed(kernels, batch, scratch);
        for layer in &self.layers {
            seat.team.write(Sum::Attention, seat.rank, |sum| {
                layer.attend(kernels, seat, batch, scratch, sum);
            });
            self.absorb(
                kernels,
                seat,
                Sum::Attention,
                &layer.attention_norm,
                scratch,
            )?;
            seat.team.write(Sum::Inner, seat.rank, |sum| {
                layer.feed_forward(kernels, seat, batch.rows(), scratch, sum);
            });
            self.absorb(kernels, seat, Sum::Inner, &layer.down_norm, scratch)?;
        }
        Ok(())
    }

    /// The mean state of each text, in the batch's order.
    pub(super) fn pool(batch: &Batch, scratch: &Scratch) -> Vec<Vec<f32>> {
        let states = scratch.states.as_slice();
        let pool = |span: &std::ops::Range<usize>| {
            let mut mean = vec![0.0; HIDDEN];
            for state in states[span.start * HIDDEN..span.end * HIDDEN].chunks_exact(HIDDEN) {
                add(&mut mean, state);
            }
            let share = 1.0 / span.len() as f32;
            mean.iter_mut().for_each(|value| *value *= share);
            mean
        };
        batch.spans().iter().map(pool).collect()
    }

    fn embed(&self, kernels: Kernels, batch: &Batch, scratch: &mut Scratch) {
        let (words, positions) = (self.words.as_slice(), self.positions.as_slice());
        for span in batch.spans() {
            for (position, row) in span.clone().enumerate() {
                let word = batch.ids()[row] as usize * HIDDEN;
                let state = &mut scratch.states.as_mut_slice()[row * HIDDEN..][..HIDDEN];
                state.copy_from_slice(&words[word..word + HIDDEN]);
                add(state, &positions[position * HIDDEN..][..HIDDEN]);
                self.embedding_norm.apply(kernels, state, self.epsilon);
            }
        }
    }

    /// Waits for the team, adds all partial sums to the states, normalises.
    fn absorb(
        &self,
        kernels: Kernels,
        seat: &TeamMember,
        sum: Sum,
        norm: &Norm,
        scratch: &mut Scratch,
    ) -> Result<(), Broken> {
        seat.team.meet()?;
        let states = scratch.states.as_mut_slice();
        let mut used = 0;
        seat.team.read(sum, |partial| {
            used = partial.len();
            add(&mut states[..used], partial);
        });
        for state in states[..used].chunks_exact_mut(HIDDEN) {
            norm.apply(kernels, state, self.epsilon);
        }
        Ok(())
    }
}

impl Layer {
    /// This member's heads, projected back: its part of the attention's sum.
    fn attend(
        &self,
        kernels: Kernels,
        seat: &TeamMember,
        batch: &Batch,
        scratch: &mut Scratch,
        sum: &mut [f32],
    ) {
        let heads = seat.team.share(seat.rank, HEADS);
        let width = heads.len() * HEAD;
        for (index, head) in heads.clone().enumerate() {
            let panels = HEAD_STATE / PANEL;
            kernels.product(
                rows(scratch.states.as_slice(), HIDDEN, batch.rows()),
                self.query_key_value
                    .weights
                    .block(head * panels..(head + 1) * panels, 0..HIDDEN),
                Addend::Bias(&self.query_key_value.bias.as_slice()[head * HEAD_STATE..]),
                rows_mut(scratch.head.as_mut_slice(), HEAD_STATE),
            );
            for span in batch.spans() {
                attend_within(kernels, span.clone(), index * HEAD, width, scratch);
            }
        }
        kernels.product(
            rows(scratch.context.as_slice(), width, batch.rows()),
            self.attention_out
                .weights
                .block(0..HIDDEN / PANEL, heads.start * HEAD..heads.end * HEAD),
            first_adds(seat.rank, self.attention_out.bias.as_slice()),
            rows_mut(sum, HIDDEN),
        );
    }

    /// This member's inner columns, projected back: its part of the sum.
    fn feed_forward(
        &self,
        kernels: Kernels,
        seat: &TeamMember,
        count: usize,
        scratch: &mut Scratch,
        sum: &mut [f32],
    ) {
        let mine = seat.team.share(seat.rank, INNER / PANEL);
        let mut addend = first_adds(seat.rank, self.down.bias.as_slice());
        for start in mine.clone().step_by(INNER_PANELS_AT_ONCE) {
            let panels = start..mine.end.min(start + INNER_PANELS_AT_ONCE);
            let columns = panels.start * PANEL..panels.end * PANEL;
            let width = columns.len();
            let inner = &mut scratch.inner.as_mut_slice()[..count * width];
            kernels.product(
                rows(scratch.states.as_slice(), HIDDEN, count),
                self.up.weights.block(panels, 0..HIDDEN),
                Addend::Bias(&self.up.bias.as_slice()[columns.clone()]),
                rows_mut(inner, width),
            );
            kernels.gelu(inner);
            kernels.product(
                rows(inner, width, count),
                self.down.weights.block(0..HIDDEN / PANEL, columns),
                addend,
                rows_mut(sum, HIDDEN),
            );
            addend = Addend::Output;
        }
    }
}

/// Attention of one head within one text: from `scratch.head` into the columns
/// at `column` of `scratch.context`, whose rows are `width` wide.
fn attend_within(
    kernels: Kernels,
    span: std::ops::Range<usize>,
    column: usize,
    width: usize,
    scratch: &mut Scratch,
) {
    let length = span.len();
    let padded = length.next_multiple_of(PANEL);
    let head = &scratch.head.as_slice()[span.start * HEAD_STATE..span.end * HEAD_STATE];
    transpose_keys(head, scratch.keys.as_mut_slice());
    for first in (0..length).step_by(QUERY_ROWS) {
        let count = QUERY_ROWS.min(length - first);
        let scores = &mut scratch.scores.as_mut_slice()[..count * padded];
        kernels.product(
            rows(&head[first * HEAD_STATE..], HEAD_STATE, count),
            Block {
                data: scratch.keys.as_slice(),
                panel_stride: HEAD * PANEL,
                panels: padded / PANEL,
                depth: HEAD,
            },
            Addend::Nothing,
            rows_mut(scores, padded),
        );
        for row in scores.chunks_exact_mut(padded) {
            row[length..].fill(f32::NEG_INFINITY);
            kernels.softmax(row);
        }
        let context = (span.start + first) * width + column;
        kernels.weighted_sum(
            rows(scores, padded, count),
            length,
            rows(&head[2 * HEAD..], HEAD_STATE, length),
            rows_mut(&mut scratch.context.as_mut_slice()[context..], width),
        );
    }
}

/// Lays one head's keys out as panels: depth is the head's width, the columns
/// are the tokens. Columns past the last token keep old numbers; the caller
/// masks their scores.
fn transpose_keys(head: &[f32], keys: &mut [f32]) {
    for (token, state) in head.chunks_exact(HEAD_STATE).enumerate() {
        let panel = &mut keys[token / PANEL * HEAD * PANEL..][..HEAD * PANEL];
        for (depth, value) in state[HEAD..2 * HEAD].iter().enumerate() {
            panel[depth * PANEL + token % PANEL] = *value;
        }
    }
}

/// The bias belongs to the sum once: the first member adds it.
fn first_adds(rank: usize, bias: &[f32]) -> Addend<'_> {
    match rank {
        0 => Addend::Bias(bias),
        _ => Addend::Nothing,
    }
}

fn rows(data: &[f32], stride: usize, count: usize) -> Rows<'_> {
    Rows {
        data,
        stride,
        count,
    }
}

fn rows_mut(data: &mut [f32], stride: usize) -> RowsMut<'_> {
    RowsMut { data, stride }
}

fn add(into: &mut [f32], from: &[f32]) {
    for (sum, value) in into.iter_mut().zip(from) {
        *sum += value;
    }
}
