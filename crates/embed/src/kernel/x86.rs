//! AVX-512 and AVX2 forms of the lanes, and the entry points that let the compiler use those instructions.
//! `Kernels::available` detects the processor's support before it returns either table.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::lanes::Lanes;
use super::{InstructionSet, Table, generic};

/// Sixteen floats in a 512-bit register.
#[derive(Clone, Copy)]
struct Wide(__m512);

/// Eight floats in a 256-bit register.
#[derive(Clone, Copy)]
struct Half(__m256);

/// Methods that are one intrinsic each.
macro_rules! intrinsics {
    ($lanes:ident, { $($name:ident($($argument:ident),*) = $intrinsic:ident;)* }) => {
        $(
            #[inline(always)]
            unsafe fn $name(self $(, $argument: $lanes)*) -> $lanes {
                // SAFETY: the caller runs under this instruction set.
                unsafe { $lanes($intrinsic(self.0 $(, $argument.0)*)) }
            }
        )*
    };
}

impl Lanes for Wide {
    const WIDTH: usize = 16;
    const ROWS: usize = 8;

    intrinsics!(Wide, {
        add(other) = _mm512_add_ps;
        subtract(other) = _mm512_sub_ps;
        multiply(other) = _mm512_mul_ps;
        divide(other) = _mm512_div_ps;
        max(other) = _mm512_max_ps;
        min(other) = _mm512_min_ps;
        multiply_add(by, plus) = _mm512_fmadd_ps;
    });

    #[inline(always)]
    unsafe fn zero() -> Wide {
        // SAFETY: the caller runs under AVX-512F.
        unsafe { Wide(_mm512_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Wide {
        // SAFETY: the caller runs under AVX-512F.
        unsafe { Wide(_mm512_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Wide {
        // SAFETY: the caller passes 16 readable floats.
        unsafe { Wide(_mm512_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller passes space for 16 floats.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        // SAFETY: a hint, which never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn round(self) -> Wide {
        // SAFETY: the caller runs under AVX-512F.
        unsafe { Wide(_mm512_roundscale_ps::<0>(self.0)) }
    }
    #[inline(always)]
    unsafe fn power_of_two(self) -> Wide {
        // SAFETY: the caller runs under AVX-512F.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Wide(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
        }
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: the caller runs under AVX-512F.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn greatest(self) -> f32 {
        // SAFETY: the caller runs under AVX-512F.
        unsafe { _mm512_reduce_max_ps(self.0) }
    }
}

impl Lanes for Half {
    const WIDTH: usize = 8;
    const ROWS: usize = 4;

    intrinsics!(Half, {
        add(other) = _mm256_add_ps;
        subtract(other) = _mm256_sub_ps;
        multiply(other) = _mm256_mul_ps;
        divide(other) = _mm256_div_ps;
        max(other) = _mm256_max_ps;
        min(other) = _mm256_min_ps;
        multiply_add(by, plus) = _mm256_fmadd_ps;
    });

    #[inline(always)]
    unsafe fn zero() -> Half {
        // SAFETY: the caller runs under AVX2.
        unsafe { Half(_mm256_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Half {
        // SAFETY: the caller runs under AVX2.
        unsafe { Half(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Half {
        // SAFETY: the caller passes 8 readable floats.
        unsafe { Half(_mm256_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller passes space for 8 floats.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        // SAFETY: a hint, which never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn round(self) -> Half {
        // SAFETY: the caller runs under AVX2.
        unsafe { Half(_mm256_round_ps::<0x08>(self.0)) }
    }
    #[inline(always)]
    unsafe fn power_of_two(self) -> Half {
        // SAFETY: the caller runs under AVX2.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
            Half(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
        }
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        let mut lanes = [0.0; 8];
        // SAFETY: the array holds 8 floats.
        unsafe { self.store(lanes.as_mut_ptr()) };
        lanes.iter().sum()
    }
    #[inline(always)]
    unsafe fn greatest(self) -> f32 {
        let mut lanes = [0.0; 8];
        // SAFETY: the array holds 8 floats.
        unsafe { self.store(lanes.as_mut_ptr()) };
        lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}

/// Entry points of one instruction set: the generic loops, compiled for it.
macro_rules! entry_points {
    ($module:ident, $lanes:ident, $features:literal, $table:ident, $set:ident) => {
        mod $module {
            use super::{generic, $lanes};

            #[target_feature(enable = $features)]
            pub(super) unsafe fn product(p: &generic::Product) {
                // SAFETY: the caller's contract, passed on.
                unsafe { generic::product::<$lanes>(p) }
            }
            #[target_feature(enable = $features)]
            pub(super) unsafe fn weighted_sum(p: &generic::Product) {
                // SAFETY: the caller's contract, passed on.
                unsafe { generic::weighted_sum::<$lanes>(p) }
            }
            #[target_feature(enable = $features)]
            pub(super) unsafe fn gelu(values: *mut f32, count: usize) {
                // SAFETY: the caller's contract, passed on.
                unsafe { generic::gelu::<$lanes>(values, count) }
            }
            #[target_feature(enable = $features)]
            pub(super) unsafe fn layer_norm(n: &generic::Norm) {
                // SAFETY: the caller's contract, passed on.
                unsafe { generic::layer_norm::<$lanes>(n) }
            }
            #[target_feature(enable = $features)]
            pub(super) unsafe fn softmax(row: *mut f32, width: usize) {
                // SAFETY: the caller's contract, passed on.
                unsafe { generic::softmax::<$lanes>(row, width) }
            }
        }

        /// This instruction set's entry points.
        pub(super) static $table: Table = Table {
            set: InstructionSet::$set,
            product: $module::product,
            weighted_sum: $module::weighted_sum,
            gelu: $module::gelu,
            layer_norm: $module::layer_norm,
            softmax: $module::softmax,
        };
    };
}

entry_points!(wide, Wide, "avx512f,avx512dq", AVX512, Avx512);
entry_points!(half, Half, "avx2,fma", AVX2, Avx2);
