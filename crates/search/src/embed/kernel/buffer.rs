//! Floats on a cache line's boundary, so that no vector load crosses two lines: in
//! this process's memory, or in a mapped file. Knows nothing of what the floats mean.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::Mmap;

/// Bytes of a cache line: every run of floats in a mapped file starts on one.
pub(crate) const LINE_BYTES: usize = 64;

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

/// A file in memory, shared with every process that maps it.
#[derive(Clone)]
pub(crate) struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps a file that is replaced by renaming only, never written in place.
    ///
    /// # Errors
    /// When the system cannot map it.
    pub(crate) fn open(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the map is read only, and the caller's file keeps its length and content for as
        // long as it exists: its writers rename a finished file into place.
        let map = unsafe { Mmap::map(file)? };
        Ok(MappedFile(Arc::new(map)))
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// `count` floats from byte `start` on; `None` unless they lie in the file and start on a cache line.
    pub(crate) fn floats(&self, start: usize, count: usize) -> Option<Floats> {
        let end = start.checked_add(count.checked_mul(size_of::<f32>())?)?;
        let is_inside = end <= self.0.len() && start.is_multiple_of(LINE_BYTES);
        is_inside.then(|| Floats::Mapped {
            file: self.clone(),
            start,
            count,
        })
    }
}

/// Floats that are only read.
pub(crate) enum Floats {
    /// In this process's memory.
    Owned(Buffer),
    /// Inside a file: `count` floats from byte `start` on.
    Mapped {
        /// The file.
        file: MappedFile,
        /// The first byte, a multiple of [`LINE_BYTES`].
        start: usize,
        /// How many floats.
        count: usize,
    },
}

impl Floats {
    /// All of them.
    pub(crate) fn as_slice(&self) -> &[f32] {
        match self {
            Floats::Owned(buffer) => buffer.as_slice(),
            Floats::Mapped { file, start, count } => {
                let bytes = &file.0[*start..*start + *count * size_of::<f32>()];
                // SAFETY: the map starts on a page and `start` is a multiple of a cache line, so the
                // floats are aligned; the slice above has exactly their bytes; every bit pattern is a float.
                unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), *count) }
            }
        }
    }
}
