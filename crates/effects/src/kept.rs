//! Spools the output of a process or host: small output stays in memory, larger output goes to an unnamed file until
//! there is memory to read it. So a slow call holds no memory while it runs. Must not know where the bytes come from.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::LARGE_OUTPUT;
use charter_contract::json::{self, Extent, JsonFault, JsonLimitExceeded, Meter, Profile};
use serde_json::Value;

use crate::outcome::Failure;
use crate::room::{OutputBudget, OutputBudgetExhausted, OutputSize};

/// Bytes that are read from a file at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Spooled bytes.
#[derive(Debug)]
pub(crate) struct SpooledBytes {
    /// Directory of the file. Without one all bytes stay in memory.
    directory: Option<PathBuf>,
    place: SpoolLocation,
    length: usize,
}

#[derive(Debug)]
enum SpoolLocation {
    Memory(Vec<u8>),
    File(File),
}

/// Why spooled bytes cannot be read as output.
#[derive(Debug)]
pub(crate) enum SpoolReadError {
    /// The bytes are not valid JSON, or exceed a limit of outputs. Invalid JSON comes with its beginning.
    Fault(JsonFault, Vec<u8>),
    /// Memory for the bytes is not available.
    NoRoom(OutputBudgetExhausted),
    /// The bytes cannot be read back.
    Lost(io::Error),
}

impl From<io::Error> for SpoolReadError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl SpoolReadError {
    /// Converts the error to the failure of the call. `refused` describes an answer that is not a valid output.
    pub(crate) fn into_failure(self, refused: impl FnOnce(JsonFault, &[u8]) -> String) -> Failure {
        match self {
            Self::Fault(fault, beginning) => {
                Failure::new(ErrorType::ExecutionError, refused(fault, &beginning)).answered()
            }
            Self::NoRoom(none) => {
                let failure = Failure::new(ErrorType::ResourceError, none.to_string());
                failure.retryable().answered()
            }
            Self::Lost(error) => Failure::system(format!("reading the output: {error}")),
        }
    }
}

impl<T: Into<Vec<u8>>> From<T> for SpooledBytes {
    /// Wraps bytes that are in memory.
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self {
            directory: None,
            length: bytes.len(),
            place: SpoolLocation::Memory(bytes),
        }
    }
}

impl SpooledBytes {
    /// Creates an empty spool, which keeps large output in a file of this directory.
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            place: SpoolLocation::Memory(Vec::new()),
            length: 0,
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let length = self.length + piece.len();
        match (&mut self.place, &self.directory) {
            (SpoolLocation::Memory(bytes), Some(directory)) if length > LARGE_OUTPUT => {
                let mut file = tempfile::tempfile_in(directory)?;
                file.write_all(bytes)?;
                file.write_all(piece)?;
                self.place = SpoolLocation::File(file);
            }
            (SpoolLocation::Memory(bytes), _) => bytes.extend_from_slice(piece),
            (SpoolLocation::File(file), _) => file.write_all(piece)?,
        }
        self.length = length;
        Ok(())
    }

    /// Returns at most `most` bytes from the start.
    pub(crate) fn beginning(&mut self, most: usize) -> io::Result<Vec<u8>> {
        match &mut self.place {
            SpoolLocation::Memory(bytes) => Ok(bytes.iter().take(most).copied().collect()),
            SpoolLocation::File(file) => {
                let mut beginning = Vec::new();
                file.rewind()?;
                let most = u64::try_from(most).unwrap_or(u64::MAX);
                file.take(most).read_to_end(&mut beginning)?;
                Ok(beginning)
            }
        }
    }

    /// Returns all bytes, in memory.
    pub(crate) fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self.place {
            SpoolLocation::Memory(bytes) => Ok(bytes),
            SpoolLocation::File(mut file) => {
                let mut bytes = Vec::with_capacity(self.length);
                file.rewind()?;
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Waits for memory for the bytes and for as much text, then decodes them.
    pub(crate) async fn decoded<T: Send + 'static>(
        self,
        room: &dyn OutputBudget,
        decode: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Result<T, SpoolReadError> {
        let size = OutputSize {
            bytes: self.length,
            memory: self.length,
        };
        set_aside(room, size).await?;
        let work = move |kept: Self| Ok(decode(&kept.into_bytes()?));
        Ok(self.run_off_thread(size.bytes, work).await?)
    }

    /// Waits for memory for the JSON value of the bytes, then parses them.
    pub(crate) async fn into_value(self, room: &dyn OutputBudget) -> Result<Value, SpoolReadError> {
        let bytes = self.length;
        let measure = |mut kept: Self| {
            let extent = kept.extent(Profile::OUTPUT)?;
            Ok((kept, extent))
        };
        let (kept, extent) = self.run_off_thread(bytes, measure).await?;
        let extent = extent.map_err(|much| SpoolReadError::Fault(much.into(), Vec::new()))?;
        let memory = extent.memory;
        set_aside(room, OutputSize { bytes, memory }).await?;
        kept.run_off_thread(bytes.max(memory), Self::decode).await?
    }

    fn decode(self) -> io::Result<Result<Value, SpoolReadError>> {
        let bytes = self.into_bytes()?;
        let value = json::decode(&bytes, Profile::OUTPUT);
        Ok(value.map_err(|fault| {
            let beginning = bytes.get(..CHUNK_BYTES).unwrap_or(&bytes);
            SpoolReadError::Fault(fault, beginning.to_vec())
        }))
    }

    /// Runs work on the bytes or their value; if they are large, on a thread that may block.
    async fn run_off_thread<T: Send + 'static>(
        self,
        size: usize,
        work: impl FnOnce(Self) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        if size <= LARGE_OUTPUT {
            return work(self);
        }
        let working = tokio::task::spawn_blocking(move || work(self));
        working.await.map_err(io::Error::other)?
    }

    fn extent(&mut self, profile: Profile) -> io::Result<Result<Extent, JsonLimitExceeded>> {
        let file = match &mut self.place {
            SpoolLocation::Memory(bytes) => return Ok(json::extent(bytes, profile)),
            SpoolLocation::File(file) => file,
        };
        file.rewind()?;
        let mut meter = Box::new(Meter::new(profile));
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok(Ok(meter.extent()));
            }
            if let Err(much) = meter.feed(&chunk[..count]) {
                return Ok(Err(much));
            }
        }
    }
}

/// Reserves memory for a large output.
pub(crate) async fn set_aside(
    room: &dyn OutputBudget,
    size: OutputSize,
) -> Result<(), SpoolReadError> {
    if size.bytes.max(size.memory) <= LARGE_OUTPUT {
        return Ok(());
    }
    room.set_aside(size).await.map_err(SpoolReadError::NoRoom)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use charter_contract::bounds::JSON_MEMORY;
    use serde_json::json;

    use super::*;

    /// Records the reserved sizes; refuses sizes over a bound.
    #[derive(Debug)]
    struct SpoolWriter {
        most: usize,
        reserved: Mutex<Vec<OutputSize>>,
    }

    impl SpoolWriter {
        fn new(most: usize) -> Self {
            Self {
                most,
                reserved: Mutex::default(),
            }
        }
    }

    #[async_trait]
    impl OutputBudget for SpoolWriter {
        async fn set_aside(&self, size: OutputSize) -> Result<(), OutputBudgetExhausted> {
            self.reserved.lock().unwrap().push(size);
            if size.memory > self.most {
                return Err(OutputBudgetExhausted("full".to_owned()));
            }
            Ok(())
        }
    }

    fn spooled(text: &str, directory: Option<&std::path::Path>) -> SpooledBytes {
        let mut kept = SpooledBytes::new(directory.map(std::path::Path::to_owned));
        for piece in text.as_bytes().chunks(100_000) {
            kept.push(piece).unwrap();
        }
        assert_eq!(kept.len(), text.len());
        kept
    }

    #[tokio::test]
    async fn small_output_stays_in_memory_and_large_output_spools_to_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let small = "x".repeat(LARGE_OUTPUT);
        let large = "x".repeat(LARGE_OUTPUT + 1);
        for (text, given, in_file) in [
            (&small, Some(directory.path()), false),
            (&large, Some(directory.path()), true),
            (&large, None, false),
        ] {
            let mut kept = spooled(text, given);
            assert_eq!(matches!(kept.place, SpoolLocation::File(_)), in_file);
            assert_eq!(kept.beginning(3).unwrap(), b"xxx");
            assert_eq!(kept.into_bytes().unwrap(), text.as_bytes());
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    /// Memory is reserved before a large value is built; a small text may parse to a large value.
    #[tokio::test]
    async fn memory_is_reserved_before_a_large_value_is_built() {
        let directory = tempfile::tempdir().unwrap();
        let text = json!(["x".repeat(3 << 20), "é\n"]).to_string();
        let many = format!("[{}0]", "0,".repeat(100_000));
        for (text, least) in [(&text, 3 << 20), (&many, 7 << 20)] {
            let room = SpoolWriter::new(usize::MAX);
            let value = spooled(text, Some(directory.path()))
                .into_value(&room)
                .await;
            assert_eq!(value.unwrap().to_string(), *text);
            let reserved = room.reserved.lock().unwrap().clone();
            assert_eq!(reserved.len(), 1);
            assert_eq!(reserved[0].bytes, text.len());
            assert!(reserved[0].memory >= least, "{reserved:?}");
            let full = SpoolWriter::new(least - 1);
            let refused = spooled(text, Some(directory.path()))
                .into_value(&full)
                .await;
            assert!(
                matches!(refused, Err(SpoolReadError::NoRoom(_))),
                "{refused:?}"
            );
        }
        let room = SpoolWriter::new(0);
        let value = spooled("[1]", Some(directory.path()))
            .into_value(&room)
            .await;
        assert_eq!(value.unwrap(), json!([1]));
        assert!(room.reserved.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn oversized_or_invalid_json_is_refused_before_memory_is_reserved() {
        let directory = tempfile::tempdir().unwrap();
        let heavy = format!("[{}[]]", "[],".repeat(2_000_000));
        let room = SpoolWriter::new(0);
        let refused = spooled(&heavy, Some(directory.path()))
            .into_value(&room)
            .await;
        let much = JsonLimitExceeded::Memory { limit: JSON_MEMORY };
        match refused {
            Err(SpoolReadError::Fault(JsonFault::TooMuch(found), _)) => assert_eq!(found, much),
            other => panic!("{other:?}"),
        }
        let refused = spooled("nothing", Some(directory.path()))
            .into_value(&room)
            .await;
        match refused {
            Err(SpoolReadError::Fault(JsonFault::Form(_), beginning)) => {
                assert_eq!(beginning, b"nothing");
            }
            other => panic!("{other:?}"),
        }
        assert!(room.reserved.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_text_is_read_when_memory_is_available() {
        let directory = tempfile::tempdir().unwrap();
        let text = "é".repeat(1 << 20);
        let room = SpoolWriter::new(usize::MAX);
        let kept = spooled(&text, Some(directory.path()));
        let read = kept.decoded(&room, <[u8]>::to_vec).await;
        assert!(read.unwrap() == text.as_bytes());
        assert_eq!(room.reserved.lock().unwrap().len(), 1);
    }
}
