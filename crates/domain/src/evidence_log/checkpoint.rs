//! Checkpoints: a log's name, size and head, as the text of a signed note (C2SP `tlog-checkpoint`).
//!
//! The text has three lines: the origin, which names both the log and its signing key; the number of leaves; the head
//! in base64. Extension lines are rejected, because none are written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::ids::TenantId;

use super::hash::Hash;
use super::note::{KeyName, NoteError, Signer, VerifierKey};
use super::proof::TreeHead;

/// A log's head and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name.
    pub origin: KeyName,
    /// The size and the root hash.
    pub head: TreeHead,
}

/// The reason for rejecting a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The note is invalid.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The signed text is malformed.
    #[error("the signed text is not a checkpoint: {0}")]
    Text(&'static str),
    /// The signed text belongs to a log of another name than the key.
    #[error("the checkpoint is of the log `{found}`, but the key signs for `{key}`")]
    Origin {
        /// The checkpoint's origin.
        found: String,
        /// The key's name.
        key: String,
    },
}

/// Returns the name of a tenant's log: `<installation>/evidence/<tenant>`.
///
/// # Errors
/// [`NoteError::Name`] for an installation name that is not valid in a key name.
pub fn origin(installation: &str, tenant: &TenantId) -> Result<KeyName, NoteError> {
    KeyName::parse(&format!("{installation}/evidence/{tenant}"))
}

impl Checkpoint {
    /// Signs this checkpoint as a note.
    ///
    /// # Errors
    /// [`NoteError::Malformed`] for an origin that a note cannot contain.
    pub fn sign(&self, signer: &Signer) -> Result<String, NoteError> {
        let root = STANDARD.encode(self.head.root.0);
        signer.sign(&format!("{}\n{}\n{root}\n", self.origin, self.head.size))
    }

    /// Reads the checkpoint of a note, if the key signed it and has the log's name.
    ///
    /// # Errors
    /// [`CheckpointError`]: the reason for rejecting it.
    pub fn open(note: &str, key: &VerifierKey) -> Result<Self, CheckpointError> {
        let checkpoint = Self::parse(key.open(note)?)?;
        if checkpoint.origin != *key.name() {
            return Err(CheckpointError::Origin {
                found: checkpoint.origin.to_string(),
                key: key.name().to_string(),
            });
        }
        Ok(checkpoint)
    }

    fn parse(text: &str) -> Result<Self, CheckpointError> {
        let refused = CheckpointError::Text;
        let text = text
            .strip_suffix('\n')
            .ok_or(refused("its last line does not end"))?;
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(refused("it does not have exactly three lines"));
        };
        let number: u64 = size
            .parse()
            .map_err(|_| refused("its size is not a number"))?;
        if number.to_string() != size {
            return Err(refused("its size is not written in plain decimal digits"));
        }
        let root = STANDARD
            .decode(root)
            .ok()
            .and_then(|root| root.try_into().ok());
        let root = root.ok_or(refused("its hash is not base64 of 32 bytes"))?;
        Ok(Self {
            origin: KeyName::parse(origin)?,
            head: TreeHead {
                size: number,
                root: Hash(root),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(name: &str) -> Signer {
        Signer::new(KeyName::parse(name).unwrap(), &[7; 32])
    }

    #[test]
    fn b000_19_a_checkpoint_reads_back_and_is_bound_to_its_log() {
        let tenant = TenantId::parse("acme").unwrap();
        let checkpoint = Checkpoint {
            origin: origin("charter.example", &tenant).unwrap(),
            head: TreeHead {
                size: 1_000,
                root: Hash::empty(),
            },
        };
        let own = signer("charter.example/evidence/acme");
        let note = checkpoint.sign(&own).unwrap();
        let text =
            "charter.example/evidence/acme\n1000\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n";
        assert_eq!(
            note.strip_prefix(text).map(|rest| rest.lines().count()),
            Some(1)
        );
        assert_eq!(
            Checkpoint::open(&note, own.verifier()),
            Ok(checkpoint.clone())
        );
        let other = signer("charter.example/evidence/other");
        let foreign = checkpoint.sign(&other).unwrap();
        assert_eq!(
            Checkpoint::open(&foreign, other.verifier()),
            Err(CheckpointError::Origin {
                found: "charter.example/evidence/acme".to_owned(),
                key: "charter.example/evidence/other".to_owned(),
            })
        );
        assert_eq!(origin("a b", &tenant), Err(NoteError::Name));
    }
}
