//! Floats aligned to a cache line, so that no vector load crosses two lines: in this process's memory, or in a mapped
//! file. Must not know the meaning of the floats.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

/// Bytes of a cache line: every float array in a mapped file starts on one.
pub(crate) const LINE_BYTES: usize = 64;

/// One cache line of floats.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// From this size on, memory is mapped from the system instead of allocated.
const LARGE_BYTES: usize = 1 << 20;

/// A fixed float array that starts on a cache line.
pub(crate) struct Buffer {
    memory: Memory,
    floats: usize,
}

/// At least the bytes of a buffer's floats.
enum Memory {
    Lines(Vec<Line>),
    /// Excluded from forked processes. A program is started by fork and exec, and the time of fork grows with every
    /// page.
    Pages(MmapMut),
}

impl Memory {
    fn zeroed(bytes: usize) -> Self {
        let pages = (bytes >= LARGE_BYTES).then(|| MmapMut::map_anon(bytes));
        if let Some(Ok(pages)) = pages {
            exclude_from_forks(&pages);
            return Self::Pages(pages);
        }
        Self::Lines(vec![Line([0.0; 16]); bytes.div_ceil(LINE_BYTES)])
    }
}

#[cfg(target_os = "linux")]
fn exclude_from_forks(pages: &MmapMut) {
    if let Err(error) = pages.advise(memmap2::Advice::DontFork) {
        tracing::debug!(%error, "the large memory is copied for each started process");
    }
}

/// Only Linux starts programs for tools, and has this advice.
#[cfg(not(target_os = "linux"))]
fn exclude_from_forks(_pages: &MmapMut) {}

impl Buffer {
    /// `floats` zeros.
    pub(crate) fn zeroed(floats: usize) -> Buffer {
        Buffer {
            memory: Memory::zeroed(floats * size_of::<f32>()),
            floats,
        }
    }

    /// Returns all floats.
    pub(crate) fn as_slice(&self) -> &[f32] {
        let first = match &self.memory {
            Memory::Lines(lines) => lines.as_ptr().cast(),
            Memory::Pages(pages) => pages.as_ptr().cast(),
        };
        // SAFETY: the memory has at least the bytes of `floats` floats, all of them written, and starts on a cache
        // line: `Line` is `repr(C)` over 16 floats without padding (its size equals its alignment), and pages are
        // zeroed. Every bit pattern is a float.
        unsafe { std::slice::from_raw_parts(first, self.floats) }
    }

    /// Returns all floats, for writing.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        let first = match &mut self.memory {
            Memory::Lines(lines) => lines.as_mut_ptr().cast(),
            Memory::Pages(pages) => pages.as_mut_ptr().cast(),
        };
        // SAFETY: as in `as_slice`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(first, self.floats) }
    }
}

/// A file mapped into memory, shared with every process that maps it.
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
    /// Inside a file: `count` floats, starting at byte `start`.
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
    /// Returns all floats.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_zeroed_aligned_and_writable_at_each_size() {
        for floats in [0, 1, 17, LARGE_BYTES / 4 - 1, LARGE_BYTES / 4, LARGE_BYTES] {
            let mut buffer = Buffer::zeroed(floats);
            assert_eq!(buffer.as_slice().len(), floats);
            assert!(buffer.as_slice().iter().all(|float| *float == 0.0));
            assert!(buffer.as_slice().as_ptr().addr().is_multiple_of(LINE_BYTES));
            buffer.as_mut_slice().fill(1.5);
            assert!(buffer.as_slice().iter().all(|float| *float == 1.5));
        }
    }

    /// The model's memory does not slow the start of a process.
    #[cfg(target_os = "linux")]
    #[test]
    fn large_buffers_are_left_out_of_forked_processes() {
        let buffer = Buffer::zeroed(LARGE_BYTES);
        let address = buffer.as_slice().as_ptr().addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        let flags = maps.lines().find_map(|line| {
            if let Some((range, _)) = line.split_once(' ')
                && let Some((start, end)) = range.split_once('-')
                && let Ok(start) = usize::from_str_radix(start, 16)
                && let Ok(end) = usize::from_str_radix(end, 16)
            {
                inside = (start..end).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside)
        });
        let flags = flags.unwrap();
        assert!(flags.split_whitespace().any(|flag| flag == "dc"), "{flags}");
    }
}
