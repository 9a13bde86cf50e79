//! The format of a backup: a directory with files and a manifest, which describes them and is written last.
//!
//! ```text
//! manifest.json   format, engine, version of the layout, and of each file its size and SHA-256
//! charter.db      SQLite: the database
//! TABLE.copy      PostgreSQL: the rows of a table, in the text form of COPY
//! ```
//!
//! An export of one tenant's data (`tenant`) has the same manifest, and other files.
//!
//! A directory without a manifest is an incomplete backup.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use charter_contract::hex;
use charter_contract::ids::TenantId;
use charter_contract::json::decode_stored;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The file name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// The format version of backups that this build writes and reads. Backups of format 1 have layouts that were never
/// released; their numbers mean others now.
const FORMAT: u32 = 2;

/// Size limit of a manifest; larger files are not manifests.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

const WHAT: &str = "backup";
const READING: &str = "reading the backup";
const WRITING: &str = "writing the backup";

/// Which engine wrote a backup; only the same one reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackupEngine {
    /// A copy of the database file.
    Sqlite,
    /// The rows of every table.
    Postgres,
}

impl std::fmt::Display for BackupEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// The version of Charter that wrote it.
    pub charter: String,
    /// The source engine.
    pub engine: BackupEngine,
    /// The version of the engine's layout.
    pub layout: u32,
    /// The tenant of an export; absent for a backup of all tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The moment whose state it holds.
    pub taken_at: Timestamp,
    /// Its files.
    pub files: Vec<BackupFile>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupFile {
    /// Its name in the directory.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest, in hexadecimal.
    pub sha256: String,
    /// The number of rows, for a table's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl Manifest {
    pub(crate) fn new(
        engine: BackupEngine,
        layout: u32,
        taken_at: Timestamp,
        files: Vec<BackupFile>,
    ) -> Self {
        Self {
            format: FORMAT,
            charter: env!("CARGO_PKG_VERSION").to_owned(),
            engine,
            layout,
            tenant_id: None,
            taken_at,
            files,
        }
    }

    /// Marks it as an export of one tenant's data.
    pub(crate) fn of(self, tenant: &TenantId) -> Self {
        Self {
            tenant_id: Some(tenant.clone()),
            ..self
        }
    }

    /// Reads the manifest of the backup in `dir`, and each file to its end.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] without a complete backup; [`StoreError::Corrupt`] with the file that does not match
    /// the manifest; [`StoreError::Refused`] for an unknown format version.
    pub fn verified(dir: &Path) -> Result<Self, StoreError> {
        let manifest = Self::read(dir)?;
        for file in &manifest.files {
            if Path::new(&file.name).components().count() != 1 || file.name.starts_with('.') {
                return Err(corrupt(
                    dir,
                    MANIFEST,
                    format!("`{}` is not a file name", file.name),
                ));
            }
            let path = dir.join(&file.name);
            let found = File::open(&path).and_then(measure);
            let found = found.map_err(|error| corrupt(dir, &file.name, error.to_string()))?;
            if found != (file.bytes, file.sha256.clone()) {
                let detail = format!(
                    "it has {} bytes with the SHA-256 {}; the manifest has {} and {}",
                    found.0, found.1, file.bytes, file.sha256
                );
                return Err(corrupt(dir, &file.name, detail));
            }
        }
        Ok(manifest)
    }

    fn read(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(MANIFEST);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NotFound {
                    what: WHAT,
                    id: path.display().to_string(),
                });
            }
            opened => opened.map_err(during(READING))?,
        };
        let mut text = String::new();
        let read = file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text);
        read.map_err(during(READING))?;
        let manifest: Self =
            decode_stored(&text).map_err(|error| corrupt(dir, MANIFEST, error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(refused(
                dir,
                format!(
                    "its format is {}; this version of Charter reads {FORMAT}",
                    manifest.format
                ),
            ));
        }
        Ok(manifest)
    }

    /// Writes the manifest, which completes the backup.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(self).map_err(|source| StoreError::Engine {
            doing: WRITING,
            source: Box::new(source),
        })?;
        let partial = dir.join(format!("{MANIFEST}.partial"));
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&partial, dir.join(MANIFEST)))
            .and_then(|()| File::open(dir)?.sync_all())
            .map_err(during(WRITING))
    }

    /// Refuses an export, a backup of another engine, and one of a newer layout.
    pub(crate) fn must_be_for(
        &self,
        dir: &Path,
        engine: BackupEngine,
        newest: u32,
    ) -> Result<(), StoreError> {
        if let Some(tenant) = &self.tenant_id {
            let detail =
                format!("it is an export of the tenant `{tenant}`, which cannot be restored");
            return Err(refused(dir, detail));
        }
        if self.engine != engine {
            let detail = format!(
                "it is a backup of {}, but the configured store is {engine}",
                self.engine
            );
            return Err(refused(dir, detail));
        }
        if self.layout > newest {
            let detail = format!(
                "its layout is {} and this version of Charter restores layouts up to {newest}: restore it with the \
                 version that wrote the data",
                self.layout
            );
            return Err(refused(dir, detail));
        }
        Ok(())
    }
}

/// Creates the directory of a new backup, with access for this user only.
pub(crate) fn create(dir: &Path) -> Result<(), StoreError> {
    let mut making = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut making, 0o700);
    match making.create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(StoreError::AlreadyExists {
                what: "directory",
                id: dir.display().to_string(),
            })
        }
        made => made.map_err(during("creating the directory of the backup")),
    }
}

/// A file of a backup during its creation: computes its size and digest.
pub(crate) struct Writing {
    file: io::BufWriter<File>,
    name: String,
    bytes: u64,
    digest: Sha256,
}

impl Writing {
    pub(crate) fn create(dir: &Path, name: String) -> Result<Self, StoreError> {
        let file = File::create_new(dir.join(&name)).map_err(during(WRITING))?;
        Ok(Self {
            file: io::BufWriter::new(file),
            name,
            bytes: 0,
            digest: Sha256::new(),
        })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(during(WRITING))?;
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        Ok(())
    }

    /// Finishes the file, which is durable when this returns.
    pub(crate) fn end(self, rows: u64) -> Result<BackupFile, StoreError> {
        let file = self
            .file
            .into_inner()
            .map_err(|error| during(WRITING)(error.into_error()))?;
        file.sync_all().map_err(during(WRITING))?;
        Ok(BackupFile {
            name: self.name,
            bytes: self.bytes,
            sha256: hex::encode(&self.digest.finalize()),
            rows: Some(rows),
        })
    }
}

/// Describes an existing file as part of a backup.
pub(crate) fn described(dir: &Path, name: &str) -> Result<BackupFile, StoreError> {
    let measured = File::open(dir.join(name)).and_then(|file| {
        file.sync_all()?;
        measure(file)
    });
    let (bytes, sha256) = measured.map_err(during(READING))?;
    Ok(BackupFile {
        name: name.to_owned(),
        bytes,
        sha256,
        rows: None,
    })
}

/// Returns size and SHA-256 of a file.
fn measure(file: File) -> io::Result<(u64, String)> {
    let mut digest = Sha256::new();
    let mut file = BufReader::new(file);
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, hex::encode(&digest.finalize())));
        }
        bytes += read as u64;
        digest.update(&buffer[..read]);
    }
}

pub(crate) fn during(doing: &'static str) -> impl Fn(io::Error) -> StoreError {
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full {
            doing,
            source: Box::new(error),
        },
        _ => StoreError::Engine {
            doing,
            source: Box::new(error),
        },
    }
}

pub(crate) fn refused(dir: &Path, detail: String) -> StoreError {
    StoreError::Refused {
        what: WHAT,
        id: dir.display().to_string(),
        detail,
    }
}

pub(crate) fn corrupt(dir: &Path, file: &str, detail: String) -> StoreError {
    StoreError::Corrupt {
        what: "file of the backup",
        id: dir.join(file).display().to_string(),
        detail,
    }
}
