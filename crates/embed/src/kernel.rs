//! The arithmetic of the model: matrix products over prepacked weights, GELU, layer normalisation, softmax, for the
//! machine's instruction set. Knows numbers and strides only; nothing of BERT, tokens or threads.
//!
//! One generic source (`generic`) is instantiated for AVX-512, AVX2 and plain
//! Rust, so that the three differ in lane width and rounding order alone.

mod buffer;
mod generic;
mod lanes;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use buffer::{Buffer, Floats, LINE_BYTES, MappedFile};
pub(super) use generic::PANEL;

use std::ops::Range;

/// Which instantiation a [`Kernels`] runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionSet {
    /// 16 lanes, fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 8 lanes, fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Plain Rust, 4 lanes for the compiler to vectorise.
    Portable,
}

/// A weight matrix of `depth` × `columns`, laid out for the inner loop: panels
/// of [`PANEL`] columns, each panel row after row, so that one product reads
/// it once, front to back.
pub(super) struct Packed {
    lines: Floats,
    depth: usize,
    panels: usize,
}

impl Packed {
    /// Packs from `at(row, column)`; `columns` must be a multiple of [`PANEL`].
    pub(super) fn from_fn(
        depth: usize,
        columns: usize,
        at: impl Fn(usize, usize) -> f32,
    ) -> Packed {
        assert_eq!(columns % PANEL, 0, "columns fill whole panels");
        let panels = columns / PANEL;
        let mut lines = Buffer::zeroed(depth * columns);
        for (index, row) in lines.as_mut_slice().chunks_exact_mut(PANEL).enumerate() {
            let (panel, depth_row) = (index / depth, index % depth);
            for (offset, value) in row.iter_mut().enumerate() {
                *value = at(depth_row, panel * PANEL + offset);
            }
        }
        Packed {
            lines: Floats::Owned(lines),
            depth,
            panels,
        }
    }

    /// A matrix of `depth` × `columns` that [`Packed::from_fn`] laid out before; `columns` must be a multiple
    /// of [`PANEL`].
    pub(super) fn laid_out(depth: usize, columns: usize, lines: Floats) -> Packed {
        assert_eq!(columns % PANEL, 0, "columns fill whole panels");
        assert_eq!(
            lines.as_slice().len(),
            depth * columns,
            "every cell is there"
        );
        Packed {
            lines,
            depth,
            panels: columns / PANEL,
        }
    }

    /// Returns the matrix in its layout.
    pub(super) fn lines(&self) -> &Floats {
        &self.lines
    }

    /// The block of `panels` × `rows`, as the right side of a product.
    pub(super) fn block(&self, panels: Range<usize>, rows: Range<usize>) -> Block<'_> {
        assert!(panels.end <= self.panels && rows.end <= self.depth);
        let stride = self.depth * PANEL;
        let start = panels.start * stride + rows.start * PANEL;
        Block {
            data: &self.lines.as_slice()[start..],
            panel_stride: stride,
            panels: panels.len(),
            depth: rows.len(),
        }
    }
}

/// A rectangle of a [`Packed`] matrix, or of other data in the same layout.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// Starts at the first row of the first panel.
    pub(super) data: &'a [f32],
    /// Floats from one panel's row to the same row of the next panel.
    pub(super) panel_stride: usize,
    /// Panels of [`PANEL`] columns.
    pub(super) panels: usize,
    /// Rows, the length of the sum.
    pub(super) depth: usize,
}

impl Block<'_> {
    fn floats(&self) -> usize {
        match (self.panels, self.depth) {
            (0, _) | (_, 0) => 0,
            (panels, depth) => (panels - 1) * self.panel_stride + depth * PANEL,
        }
    }
}

/// Rows of floats, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Starts at the first used column of the first row.
    pub(super) data: &'a [f32],
    /// Floats from one row to the next.
    pub(super) stride: usize,
    /// How many rows.
    pub(super) count: usize,
}

/// Where a product is written.
pub(super) struct RowsMut<'a> {
    /// Starts at the first used column of the first row.
    pub(super) data: &'a mut [f32],
    /// Floats from one row to the next.
    pub(super) stride: usize,
}

/// The term that is added to a product before it is stored.
#[derive(Clone, Copy)]
pub(super) enum Addend<'a> {
    /// Nothing: the output is overwritten.
    Nothing,
    /// The same row for every row of the output.
    Bias(&'a [f32]),
    /// The existing output.
    Output,
}

fn span(count: usize, stride: usize, width: usize) -> usize {
    match count {
        0 => 0,
        count => (count - 1) * stride + width,
    }
}

/// The operations, bound to the best instruction set of this machine.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    table: &'static Table,
}

/// One instantiation's entry points. All take raw pointers; the methods of
/// [`Kernels`] check every length first.
struct Table {
    set: InstructionSet,
    product: unsafe fn(&generic::Product),
    weighted_sum: unsafe fn(&generic::Product),
    gelu: unsafe fn(*mut f32, usize),
    layer_norm: unsafe fn(&generic::Norm),
    softmax: unsafe fn(*mut f32, usize),
}

#[allow(unsafe_code)]
impl Kernels {
    /// Detects the best instruction set of the processor.
    pub(super) fn detect() -> Kernels {
        Self::available()[0]
    }

    /// Returns every instantiation that this machine can run, best first.
    pub(super) fn available() -> Vec<Kernels> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                found.push(Kernels {
                    table: &x86::AVX512,
                });
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(Kernels { table: &x86::AVX2 });
            }
        }
        found.push(Kernels {
            table: &portable::PORTABLE,
        });
        found
    }

    /// Returns its instruction set.
    pub(super) fn set(self) -> InstructionSet {
        self.table.set
    }

    /// `out = addend + left × right`, [`PANEL`] columns for each panel.
    pub(super) fn product(self, left: Rows, right: Block, addend: Addend, out: RowsMut) {
        let columns = right.panels * PANEL;
        let request = checked(left, right, addend, out, columns);
        // SAFETY: `checked` asserted that every row and panel named lies within its slice, and the table was chosen for
        // this processor.
        unsafe { (self.table.product)(&request) }
    }

    /// `out = left × right` where `right` is one row-major matrix of
    /// [`HEAD`](generic::HEAD) columns (the values of one attention head).
    pub(super) fn weighted_sum(self, left: Rows, depth: usize, right: Rows, out: RowsMut) {
        assert!(
            right.count >= depth && right.data.len() >= span(depth, right.stride, generic::HEAD)
        );
        let block = Block {
            data: &[],
            panel_stride: right.stride,
            panels: 0,
            depth,
        };
        let mut request = checked(left, block, Addend::Nothing, out, generic::HEAD);
        request.right = right.data.as_ptr();
        // SAFETY: the right side was asserted above, the rest by `checked`.
        unsafe { (self.table.weighted_sum)(&request) }
    }

    /// Gaussian error linear unit, the exact (erf) form, in place.
    pub(super) fn gelu(self, values: &mut [f32]) {
        assert_eq!(values.len() % generic::STEP, 0);
        // SAFETY: the length is a multiple of every lane width.
        unsafe { (self.table.gelu)(values.as_mut_ptr(), values.len()) }
    }

    /// `x = scale · (x − mean) / √(variance + ε) + shift` for one row.
    pub(super) fn layer_norm(self, row: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) {
        assert!(row.len().is_multiple_of(generic::STEP));
        assert!(scale.len() == row.len() && shift.len() == row.len());
        let request = generic::Norm {
            row: row.as_mut_ptr(),
            width: row.len(),
            scale: scale.as_ptr(),
            shift: shift.as_ptr(),
            epsilon,
        };
        // SAFETY: three slices of one length, a multiple of every lane width.
        unsafe { (self.table.layer_norm)(&request) }
    }

    /// Softmax of one row, in place. Pad with `f32::NEG_INFINITY` to a
    /// multiple of [`STEP`](generic::STEP); padding becomes zero.
    pub(super) fn softmax(self, row: &mut [f32]) {
        assert_eq!(row.len() % generic::STEP, 0);
        // SAFETY: the length is a multiple of every lane width.
        unsafe { (self.table.softmax)(row.as_mut_ptr(), row.len()) }
    }
}

/// Asserts that the whole product lies inside its slices.
fn checked(
    left: Rows,
    right: Block,
    addend: Addend,
    RowsMut { data, stride }: RowsMut,
    columns: usize,
) -> generic::Product {
    static ZEROS: [f32; generic::MAX_PRODUCT_COLUMNS] = [0.0; generic::MAX_PRODUCT_COLUMNS];
    assert!(columns <= generic::MAX_PRODUCT_COLUMNS && columns <= stride);
    assert!(left.data.len() >= span(left.count, left.stride, right.depth));
    assert!(right.data.len() >= right.floats());
    assert!(data.len() >= span(left.count, stride, columns));
    let out = data.as_mut_ptr();
    let (add, add_stride) = match addend {
        Addend::Nothing => (ZEROS.as_ptr(), 0),
        Addend::Bias(bias) => {
            assert!(bias.len() >= columns);
            (bias.as_ptr(), 0)
        }
        Addend::Output => (out.cast_const(), stride),
    };
    generic::Product {
        left: left.data.as_ptr(),
        left_stride: left.stride,
        rows: left.count,
        right: right.data.as_ptr(),
        right_stride: right.panel_stride,
        panels: right.panels,
        depth: right.depth,
        add,
        add_stride,
        out,
        out_stride: stride,
    }
}

#[cfg(test)]
mod tests;
