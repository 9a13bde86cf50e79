//! The lanes in plain Rust, for processors without a form of their own.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::{InstructionSet, Table, generic};

/// Four floats, for any processor.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; 4]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Plain, with: impl Fn(f32, f32) -> f32) -> Plain {
        Plain(std::array::from_fn(|lane| {
            with(self.0[lane], other.0[lane])
        }))
    }
}

impl Lanes for Plain {
    const WIDTH: usize = 4;
    const ROWS: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Plain {
        Plain([0.0; 4])
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Plain {
        Plain([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Plain {
        // SAFETY: the caller passes four readable floats.
        unsafe { Plain(from.cast::<[f32; 4]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller passes space for four floats.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn prefetch(_from: *const f32) {}
    #[inline(always)]
    unsafe fn add(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn subtract(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn multiply(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn divide(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn max(self, other: Plain) -> Plain {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn min(self, other: Plain) -> Plain {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn multiply_add(self, by: Plain, plus: Plain) -> Plain {
        Plain(std::array::from_fn(|lane| {
            self.0[lane] * by.0[lane] + plus.0[lane]
        }))
    }
    #[inline(always)]
    unsafe fn round(self) -> Plain {
        Plain(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    unsafe fn power_of_two(self) -> Plain {
        Plain(
            self.0
                .map(|n| f32::from_bits(((n as i32 + 127) as u32) << 23)),
        )
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
    }
    #[inline(always)]
    unsafe fn greatest(self) -> f32 {
        self.0.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}

/// The entry points in plain Rust.
pub(super) static PORTABLE: Table = Table {
    set: InstructionSet::Portable,
    product: generic::product::<Plain>,
    weighted_sum: generic::weighted_sum::<Plain>,
    gelu: generic::gelu::<Plain>,
    layer_norm: generic::layer_norm::<Plain>,
    softmax: generic::softmax::<Plain>,
};
