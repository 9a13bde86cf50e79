//! A vector of floats as the generic loops see it.
#![allow(unsafe_code)]

/// One register of [`WIDTH`](Lanes::WIDTH) floats.
///
/// Every method is unsafe for one reason: the processor must have the
/// instruction set of the implementation. Pointers need no alignment.
pub(crate) trait Lanes: Copy {
    /// Floats in one register.
    const WIDTH: usize;
    /// Rows of a full tile: as many as the registers hold beside 3 columns.
    const ROWS: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// Prefetches a cache line; any address is allowed.
    unsafe fn prefetch(from: *const f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn subtract(self, other: Self) -> Self;
    unsafe fn multiply(self, other: Self) -> Self;
    unsafe fn divide(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    /// `self · by + plus`, rounded once where the processor can.
    unsafe fn multiply_add(self, by: Self, plus: Self) -> Self;
    /// To the nearest whole number.
    unsafe fn round(self) -> Self;
    /// 2ⁿ for whole n in [-126, 127].
    unsafe fn power_of_two(self) -> Self;
    /// The sum over the lanes.
    unsafe fn total(self) -> f32;
    /// The greatest lane.
    unsafe fn greatest(self) -> f32;
}
