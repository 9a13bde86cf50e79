//! Static secrets of the operator: a value, a file or a program that prints one. Files and programs are read at each
//! use, so that a rotated secret takes effect without a restart. Must not know the use of a secret.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use charter_contract::bounds::CREDENTIAL_BYTES;
use charter_contract::charset;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::secret::Secret;

/// Where a static secret comes from.
#[derive(Debug, Clone)]
pub enum StaticSecret {
    /// A value that was read at the start.
    Value(Secret),
    /// A file, without the line end at its end.
    File(PathBuf),
    /// The standard output of the operator's own program, which runs outside the sandbox with the server's environment.
    Command {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// Timeout of one run.
        timeout: Duration,
    },
}

/// Why a static secret cannot be read. For the log: it may name paths of this machine.
#[derive(Debug, thiserror::Error)]
pub enum StaticSecretError {
    /// Reading the file failed.
    #[error("reading the file {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Running the program failed.
    #[error("running {}", program.display())]
    Command {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program failed.
    #[error("{} ended with {status}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// Its end.
        status: ExitStatus,
    },
    /// The program ran too long.
    #[error("{} printed no secret within {} ms", program.display(), limit.as_millis())]
    Late {
        /// The program.
        program: PathBuf,
        /// The limit.
        limit: Duration,
    },
    /// The text is no secret.
    #[error("the secret {0}")]
    Unfit(&'static str),
}

impl StaticSecret {
    /// Default timeout of a program.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// Reads the secret.
    ///
    /// # Errors
    /// [`StaticSecretError`].
    pub async fn read(&self) -> Result<String, StaticSecretError> {
        match self {
            Self::Value(secret) => fit(secret.expose().as_bytes()),
            Self::File(path) => {
                let failed = |source| StaticSecretError::File {
                    path: path.clone(),
                    source,
                };
                let file = File::open(path).await.map_err(failed)?;
                fit(&bounded(file).await.map_err(failed)?)
            }
            Self::Command {
                program,
                arguments,
                timeout,
            } => {
                let printed = tokio::time::timeout(*timeout, printed(program, arguments)).await;
                let printed = printed.map_err(|_| StaticSecretError::Late {
                    program: program.clone(),
                    limit: *timeout,
                })?;
                fit(&printed?)
            }
        }
    }
}

/// Runs a program and returns its standard output. Its standard error is dropped, because it may quote the secret.
async fn printed(program: &Path, arguments: &[String]) -> Result<Vec<u8>, StaticSecretError> {
    let failed = |source| StaticSecretError::Command {
        program: program.to_owned(),
        source,
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let output = match child.stdout.take() {
        Some(stdout) => bounded(stdout).await.map_err(failed)?,
        None => Vec::new(),
    };
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        return Err(StaticSecretError::Failed {
            program: program.to_owned(),
            status,
        });
    }
    Ok(output)
}

/// Reads at most one byte more than a secret may have.
async fn bounded(from: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let most = u64::try_from(CREDENTIAL_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .await?;
    Ok(bytes)
}

/// Checks a secret, and removes the line end at its end.
fn fit(bytes: &[u8]) -> Result<String, StaticSecretError> {
    if bytes.len() > CREDENTIAL_BYTES {
        return Err(StaticSecretError::Unfit("is too large"));
    }
    let text =
        charset::document(bytes, None).map_err(|_| StaticSecretError::Unfit("is not UTF-8"))?;
    let text = text.trim_end_matches(['\r', '\n']);
    match text {
        "" => Err(StaticSecretError::Unfit("is empty")),
        text if text.contains('\0') => Err(StaticSecretError::Unfit("contains a zero byte")),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> StaticSecret {
        StaticSecret::Command {
            program: "/bin/sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            timeout,
        }
    }

    #[tokio::test]
    async fn a_program_prints_the_secret_and_its_failure_is_not_one() {
        let long = StaticSecret::TIMEOUT;
        assert_eq!(shell("echo tok-1", long).read().await.unwrap(), "tok-1");
        let failed = shell("echo tok-1; exit 3", long).read().await;
        assert!(
            matches!(failed, Err(StaticSecretError::Failed { .. })),
            "{failed:?}"
        );
        let empty = shell("true", long).read().await;
        assert!(
            matches!(empty, Err(StaticSecretError::Unfit(_))),
            "{empty:?}"
        );
        let late = shell("sleep 60", Duration::from_millis(50)).read().await;
        assert!(
            matches!(late, Err(StaticSecretError::Late { .. })),
            "{late:?}"
        );
    }

    #[tokio::test]
    async fn a_changed_file_counts_at_the_next_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let secret = StaticSecret::File(path.clone());
        for value in ["one", "two"] {
            std::fs::write(&path, format!("{value}\n")).unwrap();
            assert_eq!(secret.read().await.unwrap(), value);
        }
        std::fs::write(&path, "x".repeat(CREDENTIAL_BYTES + 1)).unwrap();
        assert!(secret.read().await.is_err());
    }
}
