//! `fs.read`: a file, or some lines of it. Every operation reads whole files with it.

use std::io::{BufRead, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::file_system_operation::{Encoding, FileSystemOperation, LineRange};
use charter_contract::agentic::response::ActionType;
use rustix::fs::Stat;
use serde::Serialize;

use super::super::action::{Content, Digester, answer};
use super::beneath::{EntryLocation, io_fault};
use super::{MAX_FILE_BYTES, Task};
use crate::outcome::{Failure, Success};

/// Most bytes that are scanned to find lines of a larger file: 256 MiB.
const MAX_SCANNED_BYTES: u64 = 256 << 20;
/// Bytes that are read between two checks of the budget.
const CHUNK_BYTES: usize = 256 << 10;

/// Answer of `fs.read`.
#[derive(Debug, Serialize)]
struct ReadResult {
    path: String,
    size: u64,
    /// Hash of the whole file; absent for lines of a file over the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    encoding: Encoding,
    /// Whether the file is not UTF-8 text, or contains NUL. Its content is then base64 only.
    binary: bool,
    content: Option<String>,
    /// The returned lines, counted from one; absent if the file has fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Lines {
    start_line: u64,
    end_line: u64,
}

pub(super) fn run(task: &Task) -> Result<Success, Failure> {
    let operation = &task.operation;
    let place = task.tree.place(&task.path)?;
    let (file, stat) = place.file()?;
    let size = size(&stat);
    let reading = match &operation.range {
        Some(range) if size > MAX_FILE_BYTES => {
            let content = task.lines_of_large(file, &place, range)?;
            text_reading(
                operation,
                &task.path.to_string(),
                size,
                None,
                content,
                Some(range),
            )
        }
        range => {
            let bytes = task.whole(file, &place)?;
            let hash = Content::from_bytes(&bytes);
            task.check_hash(&place, &hash)?;
            let range = range.as_ref();
            let path = task.path.to_string();
            text_reading(operation, &path, hash.size, Some(hash.hash), bytes, range)
        }
    };
    let before = reading.hash.as_ref().map(|hash| Content {
        hash: hash.clone(),
        size: reading.size,
    });
    let action = task.action(ActionType::CommandExecution, before.as_ref(), None)?;
    answer(&reading, &[action])
}

fn text_reading(
    operation: &FileSystemOperation,
    path: &str,
    size: u64,
    hash: Option<String>,
    bytes: Vec<u8>,
    range: Option<&LineRange>,
) -> ReadResult {
    let encoding = operation.encoding.unwrap_or(Encoding::Utf8);
    // Lines of a large file are read without the rest, so they are already cut.
    let (bytes, lines) = match (range, &hash) {
        (None, _) => (bytes, None),
        (Some(range), None) => {
            let lines = counted(range, &bytes);
            (bytes, lines)
        }
        (Some(range), Some(_)) => {
            let cut = cut_lines(&bytes, range).to_vec();
            let lines = counted(range, &cut);
            (cut, lines)
        }
    };
    let text = text_of(&bytes);
    let (binary, content) = match encoding {
        Encoding::Utf8 => (text.is_none(), text.map(str::to_owned)),
        Encoding::Base64 => (text.is_none(), Some(STANDARD.encode(&bytes))),
    };
    ReadResult {
        path: path.to_owned(),
        size,
        hash,
        encoding,
        binary,
        content,
        lines,
    }
}

/// Returns bytes as text, if they are text.
pub(super) fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn cut_lines<'b>(bytes: &'b [u8], range: &LineRange) -> &'b [u8] {
    let skipped = range.start_line.get() - 1;
    let wanted = range.end_line.get() - skipped;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = take(&mut lines, skipped);
    let length: usize = take(&mut lines, wanted);
    &bytes[before..before + length]
}

fn take<'b>(lines: &mut impl Iterator<Item = &'b [u8]>, count: u64) -> usize {
    let mut length = 0;
    for _ in 0..count {
        match lines.next() {
            Some(line) => length += line.len(),
            None => break,
        }
    }
    length
}

fn counted(range: &LineRange, bytes: &[u8]) -> Option<Lines> {
    let count = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    let start_line = range.start_line.get();
    (count > 0).then(|| Lines {
        start_line,
        end_line: start_line + count - 1,
    })
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

impl Task {
    /// Reads a whole file, within the limit; the file may grow during the read.
    pub(super) fn whole(&self, file: impl Read, place: &EntryLocation) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let mut file = file.take(MAX_FILE_BYTES + 1);
        loop {
            self.budget.check()?;
            let read = (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut bytes);
            if read.map_err(|error| io_fault(&place.shown, &error))? == 0 {
                break;
            }
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let message = format!(
                "`{}` is larger than {MAX_FILE_BYTES} bytes; read it by lines with `range`",
                place.shown
            );
            return Err(Failure::new(ErrorType::ResourceError, message));
        }
        Ok(bytes)
    }

    /// Returns the hash of a file of any size.
    pub(super) fn digest(
        &self,
        mut file: impl Read,
        place: &EntryLocation,
    ) -> Result<Content, Failure> {
        let mut digester = Digester::default();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            self.budget.check()?;
            let read = file.read(&mut chunk);
            match read.map_err(|error| io_fault(&place.shown, &error))? {
                0 => return Ok(digester.finish()),
                count => digester.update(&chunk[..count]),
            }
        }
    }

    fn lines_of_large(
        &self,
        file: impl Read,
        place: &EntryLocation,
        range: &LineRange,
    ) -> Result<Vec<u8>, Failure> {
        if self.operation.expected_hash.is_some() {
            let message = format!("`{}` is too large to compare with a hash", place.shown);
            return Err(Failure::new(ErrorType::ResourceError, message));
        }
        let mut reader = BufReader::with_capacity(CHUNK_BYTES, file.take(MAX_SCANNED_BYTES));
        let mut kept = Vec::new();
        let (mut line, mut scanned) = (1, 0);
        while line <= range.end_line.get() {
            self.budget.check()?;
            let piece = reader
                .fill_buf()
                .map_err(|error| io_fault(&place.shown, &error))?;
            if piece.is_empty() {
                break;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(piece.len(), |at| at + 1);
            if line >= range.start_line.get() {
                kept.extend_from_slice(&piece[..length]);
            }
            reader.consume(length);
            scanned += length as u64;
            line += u64::from(end.is_some());
            if kept.len() as u64 > MAX_FILE_BYTES || scanned >= MAX_SCANNED_BYTES {
                let message = format!(
                    "the lines of `{}` are beyond {MAX_SCANNED_BYTES} bytes, or have over {MAX_FILE_BYTES}",
                    place.shown
                );
                return Err(Failure::new(ErrorType::ResourceError, message));
            }
        }
        Ok(kept)
    }
}
