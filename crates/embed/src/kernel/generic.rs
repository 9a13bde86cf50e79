//! The loops, written once over an abstract vector of lanes and inlined into
//! each instruction set's entry points. Works on raw pointers that
//! `kernel.rs` has checked; must not be called from anywhere else.
#![allow(unsafe_code)]

use super::lanes::Lanes;

/// Columns of one panel of packed weights: three AVX-512 vectors, six AVX2
/// vectors. Divides 96 (query, key and value of one head), 384 and 1536.
pub(crate) const PANEL: usize = 48;
/// Width of one attention head.
pub(crate) const HEAD: usize = 32;
/// Every in-place operation's length is a multiple of this (the widest vector).
pub(crate) const STEP: usize = 16;
/// The widest output of one product.
pub(crate) const MAX_PRODUCT_COLUMNS: usize = 1536;

/// Rows of the right side that are prefetched: 18 KiB of packed weights, which hides the memory latency. One query
/// takes 15 % fewer cycles with it, 128-token passages as many as before.
const PREFETCH_ROWS: usize = 96;

/// A checked product: see `Kernels::product` for the meaning.
pub(crate) struct Product {
    pub(crate) left: *const f32,
    pub(crate) left_stride: usize,
    pub(crate) rows: usize,
    pub(crate) right: *const f32,
    pub(crate) right_stride: usize,
    pub(crate) panels: usize,
    pub(crate) depth: usize,
    pub(crate) add: *const f32,
    pub(crate) add_stride: usize,
    pub(crate) out: *mut f32,
    pub(crate) out_stride: usize,
}

/// A checked layer normalisation of one row.
pub(crate) struct Norm {
    pub(crate) row: *mut f32,
    pub(crate) width: usize,
    pub(crate) scale: *const f32,
    pub(crate) shift: *const f32,
    pub(crate) epsilon: f32,
}

/// One tile's operands, all at the tile's corner.
#[derive(Clone, Copy)]
struct Tile {
    left: *const f32,
    left_stride: usize,
    right: *const f32,
    right_stride: usize,
    depth: usize,
    add: *const f32,
    add_stride: usize,
    out: *mut f32,
    out_stride: usize,
}

/// `MR` rows × `NV` vectors of output, held in registers over the whole sum.
#[inline(always)]
unsafe fn tile<L: Lanes, const MR: usize, const NV: usize>(t: &Tile) {
    // SAFETY (whole body): the caller passes a tile inside the checked product.
    unsafe {
        let mut sums = [[L::zero(); NV]; MR];
        let mut right = t.right;
        for k in 0..t.depth {
            let mut columns = [L::zero(); NV];
            for (j, column) in columns.iter_mut().enumerate() {
                *column = L::load(right.add(j * L::WIDTH));
                L::prefetch(right.wrapping_add(PREFETCH_ROWS * t.right_stride + j * L::WIDTH));
            }
            for (i, row) in sums.iter_mut().enumerate() {
                let value = L::splat(*t.left.add(i * t.left_stride + k));
                for (sum, column) in row.iter_mut().zip(columns) {
                    *sum = value.multiply_add(column, *sum);
                }
            }
            right = right.add(t.right_stride);
        }
        for (i, row) in sums.iter().enumerate() {
            for (j, sum) in row.iter().enumerate() {
                let add = L::load(t.add.add(i * t.add_stride + j * L::WIDTH));
                sum.add(add)
                    .store(t.out.add(i * t.out_stride + j * L::WIDTH));
            }
        }
    }
}

/// All rows of one strip of `NV` vectors.
#[inline(always)]
unsafe fn strip<L: Lanes, const NV: usize>(mut t: Tile, rows: usize) {
    let mut left = rows;
    // SAFETY (whole body): rows are consumed from `rows` down, never past it.
    unsafe {
        while left > 0 {
            let taken = match (L::ROWS, left) {
                (8, 8..) => {
                    tile::<L, 8, NV>(&t);
                    8
                }
                (_, 7) if L::ROWS == 8 => {
                    tile::<L, 7, NV>(&t);
                    7
                }
                (_, 6) if L::ROWS == 8 => {
                    tile::<L, 6, NV>(&t);
                    6
                }
                (_, 5) if L::ROWS == 8 => {
                    tile::<L, 5, NV>(&t);
                    5
                }
                (_, 4..) => {
                    tile::<L, 4, NV>(&t);
                    4
                }
                (_, 3) => {
                    tile::<L, 3, NV>(&t);
                    3
                }
                (_, 2) => {
                    tile::<L, 2, NV>(&t);
                    2
                }
                (_, _) => {
                    tile::<L, 1, NV>(&t);
                    1
                }
            };
            t.left = t.left.add(taken * t.left_stride);
            t.add = t.add.add(taken * t.add_stride);
            t.out = t.out.add(taken * t.out_stride);
            left -= taken;
        }
    }
}

/// The product over packed panels.
#[inline(always)]
pub(crate) unsafe fn product<L: Lanes>(p: &Product) {
    let strip_width = 3 * L::WIDTH;
    for panel in 0..p.panels {
        let mut inside = 0;
        while inside < PANEL {
            let column = panel * PANEL + inside;
            // SAFETY: panel and column are inside the checked block.
            unsafe {
                let t = Tile {
                    left: p.left,
                    left_stride: p.left_stride,
                    right: p.right.add(panel * p.right_stride + inside),
                    right_stride: PANEL,
                    depth: p.depth,
                    add: p.add.add(column),
                    add_stride: p.add_stride,
                    out: p.out.add(column),
                    out_stride: p.out_stride,
                };
                strip::<L, 3>(t, p.rows);
            }
            inside += strip_width;
        }
    }
}

/// The product with one head's values, row-major, [`HEAD`] columns.
#[inline(always)]
pub(crate) unsafe fn weighted_sum<L: Lanes>(p: &Product) {
    let mut column = 0;
    while column < HEAD {
        // SAFETY: `column` stays below the checked width.
        unsafe {
            let t = Tile {
                left: p.left,
                left_stride: p.left_stride,
                right: p.right.add(column),
                right_stride: p.right_stride,
                depth: p.depth,
                add: p.add.add(column),
                add_stride: p.add_stride,
                out: p.out.add(column),
                out_stride: p.out_stride,
            };
            strip::<L, 2>(t, p.rows);
        }
        column += 2 * L::WIDTH;
    }
}

/// Numerator of the rational approximation of erf on [-4, 4], in x², from the
/// highest power (the single-precision coefficients that Eigen and XLA use).
const ERF_NUMERATOR: [f32; 7] = [
    -2.726_142_3e-10,
    2.770_681_4e-8,
    -2.101_024e-6,
    -5.692_506_4e-5,
    -7.349_906_3e-4,
    -2.954_6e-3,
    -1.609_603_3e-2,
];
/// Denominator of the same.
const ERF_DENOMINATOR: [f32; 5] = [
    -1.456_607_2e-5,
    -2.133_740_6e-4,
    -1.682_827e-3,
    -7.373_329e-3,
    -1.426_473_9e-2,
];
const ERF_LIMIT: f32 = 4.0;

#[inline(always)]
unsafe fn polynomial<L: Lanes>(x: L, coefficients: &[f32]) -> L {
    // SAFETY: register arithmetic under the caller's instruction set.
    unsafe {
        let mut sum = L::splat(coefficients[0]);
        for coefficient in &coefficients[1..] {
            sum = sum.multiply_add(x, L::splat(*coefficient));
        }
        sum
    }
}

#[inline(always)]
unsafe fn erf<L: Lanes>(x: L) -> L {
    // SAFETY: register arithmetic under the caller's instruction set.
    unsafe {
        let x = x.max(L::splat(-ERF_LIMIT)).min(L::splat(ERF_LIMIT));
        let square = x.multiply(x);
        let numerator = x.multiply(polynomial(square, &ERF_NUMERATOR));
        numerator.divide(polynomial(square, &ERF_DENOMINATOR))
    }
}

/// x · Φ(x), in place.
#[inline(always)]
pub(crate) unsafe fn gelu<L: Lanes>(values: *mut f32, count: usize) {
    let mut at = 0;
    while at < count {
        // SAFETY: `count` is a multiple of the lane width.
        unsafe {
            let x = L::load(values.add(at));
            let erf = erf(x.multiply(L::splat(std::f32::consts::FRAC_1_SQRT_2)));
            let half = x.multiply(L::splat(0.5));
            half.multiply_add(erf, half).store(values.add(at));
        }
        at += L::WIDTH;
    }
}

/// Layer normalisation of one row, in place.
#[inline(always)]
pub(crate) unsafe fn layer_norm<L: Lanes>(n: &Norm) {
    // SAFETY (whole body): `width` is a multiple of the lane width.
    unsafe {
        let mut sum = L::zero();
        let mut at = 0;
        while at < n.width {
            sum = sum.add(L::load(n.row.add(at)));
            at += L::WIDTH;
        }
        let mean = L::splat(sum.total() / n.width as f32);
        let mut squares = L::zero();
        at = 0;
        while at < n.width {
            let distance = L::load(n.row.add(at)).subtract(mean);
            squares = distance.multiply_add(distance, squares);
            at += L::WIDTH;
        }
        let variance = squares.total() / n.width as f32;
        let inverse = L::splat(1.0 / (variance + n.epsilon).sqrt());
        at = 0;
        while at < n.width {
            let distance = L::load(n.row.add(at)).subtract(mean);
            let scale = L::load(n.scale.add(at)).multiply(inverse);
            let value = distance.multiply_add(scale, L::load(n.shift.add(at)));
            value.store(n.row.add(at));
            at += L::WIDTH;
        }
    }
}

/// Taylor-like coefficients of eʳ on [-ln 2 / 2, ln 2 / 2] from r⁷ down, the
/// minimax set of the Cephes library, then 1/2, 1 and 1.
const EXP: [f32; 8] = [
    1.987_569_1e-4,
    1.398_199_9e-3,
    8.333_452e-3,
    4.166_579_6e-2,
    1.666_666_5e-1,
    0.5,
    1.0,
    1.0,
];
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Below this eˣ is zero for our purpose (and 2ⁿ would leave the normal range).
const EXP_FLOOR: f32 = -87.0;

/// eˣ for x ≤ 0; exactly zero at minus infinity is not promised, about 1e-38 is.
#[inline(always)]
unsafe fn exp<L: Lanes>(x: L) -> L {
    // SAFETY: register arithmetic under the caller's instruction set.
    unsafe {
        let x = x.max(L::splat(EXP_FLOOR));
        let power = x.multiply(L::splat(std::f32::consts::LOG2_E)).round();
        let rest = power.multiply_add(L::splat(-LN2_HIGH), x);
        let rest = power.multiply_add(L::splat(-LN2_LOW), rest);
        polynomial(rest, &EXP).multiply(power.power_of_two())
    }
}

/// Softmax of one row, in place.
#[inline(always)]
pub(crate) unsafe fn softmax<L: Lanes>(row: *mut f32, width: usize) {
    // SAFETY (whole body): `width` is a multiple of the lane width.
    unsafe {
        let mut greatest = L::splat(f32::NEG_INFINITY);
        let mut at = 0;
        while at < width {
            greatest = greatest.max(L::load(row.add(at)));
            at += L::WIDTH;
        }
        let greatest = L::splat(greatest.greatest());
        let mut sum = L::zero();
        at = 0;
        while at < width {
            let value = exp(L::load(row.add(at)).subtract(greatest));
            value.store(row.add(at));
            sum = sum.add(value);
            at += L::WIDTH;
        }
        let inverse = L::splat(1.0 / sum.total());
        at = 0;
        while at < width {
            L::load(row.add(at)).multiply(inverse).store(row.add(at));
            at += L::WIDTH;
        }
    }
}
