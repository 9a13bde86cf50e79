//! Floats on a cache line's boundary, so that no vector load crosses two lines.
//! Knows nothing of what the floats mean.
#![allow(unsafe_code)]

/// One cache line of floats.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A fixed run of floats that starts on a cache line.
pub(crate) struct Buffer {
    lines: Vec<Line>,
    floats: usize,
}

impl Buffer {
    /// `floats` zeros.
    pub(crate) fn zeroed(floats: usize) -> Buffer {
        Buffer {
            lines: vec![Line([0.0; 16]); floats.div_ceil(16)],
            floats,
        }
    }

    /// All of it.
    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` over 16 floats without padding (its size
        // equals its alignment), and `lines` holds at least `floats` of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.floats) }
    }

    /// All of it, to be written.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_slice`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.floats) }
    }
}
