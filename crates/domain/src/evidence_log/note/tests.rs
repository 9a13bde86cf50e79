//! Tests besides the shared vectors of notes and keys: error texts, limits, weak keys.

use super::*;

const TEXT: &str = "a text\n";

fn signer(seed: u8) -> Signer {
    Signer::new(KeyName::parse("log").unwrap(), &[seed; 32])
}

#[test]
fn b000_19_the_error_names_the_key_that_did_not_sign() {
    let (own, other) = (signer(7), signer(8));
    let shown = format!("log ({})", own.verifier().id());
    let note = own.sign(TEXT).unwrap();
    let key = own.verifier();
    let altered = note.replace("a text", "A text");
    let forged = key.open(&altered);
    assert_eq!(forged, Err(NoteError::Forged(shown.clone())));
    let foreign = other.sign(TEXT).unwrap();
    let unsigned = key.open(&foreign);
    assert_eq!(unsigned, Err(NoteError::Unsigned(shown)));
}

#[test]
fn b000_19_a_note_that_is_too_large_is_refused() {
    let own = signer(7);
    let note = own.sign(TEXT).unwrap();
    let large = own.sign(&format!("{}\n", "x".repeat(MAX_NOTE))).unwrap();
    assert_eq!(own.verifier().open(&note), Ok(TEXT));
    assert_eq!(
        own.verifier().open(&large),
        Err(NoteError::Malformed("it is too large"))
    );
}

/// A key of small order would accept forged signatures.
#[test]
fn a_weak_key_is_refused() {
    let weak = Hash::sha256(&[b"weak\n", &[ED25519], &[0; 32]]);
    let id: String = weak.0[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let key = STANDARD.encode([&[ED25519][..], &[0; 32]].concat());
    assert!(format!("weak+{id}+{key}").parse::<VerifierKey>().is_err());
}
