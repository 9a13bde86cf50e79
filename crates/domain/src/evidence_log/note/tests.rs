use super::*;

/// Example of the Go implementation (golang.org/x/mod/sumdb/note), which C2SP describes.
const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const SEED: &str = "gQoUAtUUbI2E8kQzMPVAgOv5juF9nHT2JS/F1ccoMXM=";
const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
const SIGNATURE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

fn signer() -> Signer {
    let seed = STANDARD.decode(SEED).unwrap();
    Signer::new(
        KeyName::parse("PeterNeumann").unwrap(),
        &seed.try_into().unwrap(),
    )
}

/// B000-19: the notes are those of other implementations, byte for byte.
#[test]
fn b000_19_notes_are_those_of_the_reference() {
    let note = format!("{TEXT}\n{SIGNATURE}");
    assert_eq!(signer().sign(TEXT).unwrap(), note);
    let key: VerifierKey = KEY.parse().unwrap();
    assert_eq!((&key, key.to_string().as_str()), (signer().verifier(), KEY));
    assert_eq!(key.open(&note), Ok(TEXT));
    // Signatures by others are no matter.
    let other = Signer::new(KeyName::parse("other").unwrap(), &[7; 32]);
    let line = other.sign(TEXT).unwrap().split_off(TEXT.len() + 1);
    assert_eq!(key.open(&format!("{TEXT}\n{line}{SIGNATURE}")), Ok(TEXT));
    let foreign = format!("{TEXT}\n{line}");
    let alone = key.open(&foreign);
    assert_eq!(
        alone,
        Err(NoteError::Unsigned("PeterNeumann (c74f20a3)".to_owned()))
    );
}

#[test]
fn b000_19_a_changed_note_is_refused() {
    let key: VerifierKey = KEY.parse().unwrap();
    let note = format!("{TEXT}\n{SIGNATURE}");
    let forged = Err(NoteError::Forged("PeterNeumann (c74f20a3)".to_owned()));
    assert_eq!(key.open(&note.replace("answer", "Answer")), forged);
    let malformed = [
        note.replace("\n\n", "\n"),
        note.trim_end().to_owned(),
        note.replace('\u{2014}', "-"),
        note.replace("nAM=", "nAM"),
        note.replace("x08g", "x0 8g"),
        note.replace(" is the", "\tis the"),
        format!("{TEXT}\n"),
        format!("{note}\n"),
        format!("{TEXT}\n{}", SIGNATURE.repeat(17)),
        format!("{TEXT}\n\u{2014} PeterNeumann x08goA==\n{SIGNATURE}")
            .replace("x08goA==", "x08gow=="),
        "x".repeat(MAX_NOTE + 1),
        String::new(),
    ];
    for note in malformed {
        let opened = key.open(&note);
        assert!(
            matches!(opened, Err(NoteError::Malformed(_))),
            "{note:?}: {opened:?}"
        );
    }
}

#[test]
fn a_verifier_key_is_read_strictly() {
    for broken in [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        "PeterNeuman+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T",
        " PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ] {
        assert!(broken.parse::<VerifierKey>().is_err(), "{broken}");
    }
    // A key of small order would accept forged signatures.
    let weak = Hash::sha256(&[b"weak\n", &[ED25519], &[0; 32]]);
    let id: String = weak.0[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let key = STANDARD.encode([&[ED25519][..], &[0; 32]].concat());
    assert!(format!("weak+{id}+{key}").parse::<VerifierKey>().is_err());
}
