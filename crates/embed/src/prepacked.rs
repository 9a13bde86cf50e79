//! The weights in the kernels' layout, as one file beside the model's own. Packing 90 MB takes a tenth of a second and
//! as much memory in every process; a mapped file avoids both, and processes share its pages.
//!
//! Format: a header of one cache line, then every float array of [`Bert::parts`] in the machine's byte order, each
//! aligned to a cache line. A file is replaced if it has another format, another length than its header implies, or
//! weights of another source. A new file is written from the model's own files and renamed into place.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use super::bert::Bert;
use super::kernel::{LINE_BYTES, MappedFile, PANEL};
use super::weights::{self, WeightsError};

/// The file's name in the model's directory.
const FILE: &str = "prepacked.f32";
/// Name and version of the format. A cache outlives the program: raise the version with every change of the layout,
/// or of the values that `weights` computes.
const MAGIC: [u8; 8] = *b"charter1";
/// Reads as another number on a machine with the other byte order.
const BYTE_ORDER: u32 = 0x0102_0304;

/// The file that the weights were read from. The time is in whole seconds, because images and archives store no
/// fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Source {
    bytes: u64,
    modified_s: i64,
}

impl Source {
    fn from_directory(directory: &Path) -> io::Result<Source> {
        let metadata = std::fs::metadata(directory.join(weights::WEIGHTS))?;
        Ok(Source {
            bytes: metadata.len(),
            modified_s: whole_seconds(metadata.modified()?),
        })
    }
}

/// The seconds since 1970; 0 for an earlier time.
fn whole_seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// The layout of a file, and the source of its weights.
#[derive(Debug, Clone, Copy)]
struct Header {
    vocabulary: u64,
    epsilon: f32,
    source: Source,
}

impl Header {
    fn to_bytes(self) -> [u8; LINE_BYTES] {
        let mut bytes = [0; LINE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
        bytes[12..16].copy_from_slice(&(PANEL as u32).to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.vocabulary.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.epsilon.to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.source.bytes.to_ne_bytes());
        bytes[40..48].copy_from_slice(&self.source.modified_s.to_ne_bytes());
        bytes
    }

    /// `None` if the bytes are not a header of this format.
    fn from_bytes(bytes: &[u8]) -> Option<Header> {
        let line: &[u8; LINE_BYTES] = bytes.first_chunk()?;
        let header = Header {
            vocabulary: u64::from_ne_bytes(line[16..24].try_into().ok()?),
            epsilon: f32::from_ne_bytes(line[24..28].try_into().ok()?),
            source: Source {
                bytes: u64::from_ne_bytes(line[32..40].try_into().ok()?),
                modified_s: i64::from_ne_bytes(line[40..48].try_into().ok()?),
            },
        };
        (*line == header.to_bytes()).then_some(header)
    }
}

/// Loads the encoder in `directory` from the mapped prepacked file. Without a usable one, reads the model's own files,
/// and writes the prepacked file for the next process; if that fails, logs a warning.
///
/// # Errors
/// As [`weights::load`].
pub(super) fn load(directory: &Path) -> Result<Bert, WeightsError> {
    let path = directory.join(FILE);
    let Ok(source) = Source::from_directory(directory) else {
        return weights::load(directory);
    };
    let epsilon = weights::epsilon(directory)?;
    if let Some(bert) = map(&path, source, epsilon) {
        return Ok(bert);
    }
    let bert = weights::load(directory)?;
    if let Err(error) = write(&path, source, &bert) {
        tracing::warn!(
            path = %path.display(), %error,
            "prepacked weights not written: each process packs the embedding model itself"
        );
    }
    Ok(bert)
}

/// `None` if the file is missing, has another format or length, or weights of another source.
fn map(path: &Path, source: Source, epsilon: f32) -> Option<Bert> {
    let file = MappedFile::open(&File::open(path).ok()?).ok()?;
    let length = file.bytes().len();
    let header = Header::from_bytes(file.bytes())?;
    let vocabulary = usize::try_from(header.vocabulary).ok()?;
    // A row of the vocabulary has many bytes: a larger number means an invalid header.
    if (header.source, header.epsilon) != (source, epsilon) || vocabulary > length {
        return None;
    }
    let mut end = LINE_BYTES;
    let mut next = |count: usize| {
        let start = end.next_multiple_of(LINE_BYTES);
        end = start + count * size_of::<f32>();
        file.floats(start, count).ok_or(())
    };
    let bert = Bert::from_parts(vocabulary, header.epsilon, &mut next).ok()?;
    (end.next_multiple_of(LINE_BYTES) == length).then_some(bert)
}

fn write(path: &Path, source: Source, bert: &Bert) -> io::Result<()> {
    let header = Header {
        vocabulary: bert.vocabulary() as u64,
        epsilon: bert.epsilon,
        source,
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prepacking-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let staging = builder.tempfile_in(directory)?;
    let mut out = BufWriter::new(staging.as_file());
    out.write_all(&header.to_bytes())?;
    for run in bert.parts() {
        let floats = run.as_slice();
        for float in floats {
            out.write_all(&float.to_ne_bytes())?;
        }
        let bytes = size_of_val(floats);
        let padding = bytes.next_multiple_of(LINE_BYTES) - bytes;
        out.write_all(&[0; LINE_BYTES][..padding])?;
    }
    out.flush()?;
    drop(out);
    staging.as_file().sync_all()?;
    staging.persist(path)?;
    Ok(())
}
