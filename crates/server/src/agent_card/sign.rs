//! Signatures of agent cards (section 8.4): JSON Web Signatures (RFC 7515) by Ed25519 (RFC 8037) over the
//! card's canonical JSON.
//!
//! The protocol asks for the form of RFC 8785. For a card that is what `canonical::text` writes: its keys
//! are ASCII, it has no numbers, and strings are escaped alike. Nor has a card empty texts, lists or
//! objects, of which the protocol and its libraries think differently whether they are signed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_contract::canonical;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The key that signs cards, with the name by which readers find its public half.
pub(super) struct CardKey {
    key: SigningKey,
    id: String,
    /// Where the public half is.
    found_at: String,
}

impl CardKey {
    pub(super) fn new(seed: &[u8; 32], found_at: String) -> Self {
        let key = SigningKey::from_bytes(seed);
        let thumbprint = Sha256::digest(canonical::text(public(&key)));
        Self {
            id: URL_SAFE_NO_PAD.encode(thumbprint),
            key,
            found_at,
        }
    }

    /// An `AgentCardSignature` of a card without signatures.
    pub(super) fn sign(&self, card: &Value) -> Value {
        let header = json!({
            "alg": "EdDSA", "typ": "JOSE", "kid": self.id, "jku": self.found_at,
        });
        let protected = URL_SAFE_NO_PAD.encode(canonical::text(header));
        let payload = URL_SAFE_NO_PAD.encode(canonical::text(card.clone()));
        let signature = self.key.sign(format!("{protected}.{payload}").as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        json!({"protected": protected, "signature": signature})
    }

    /// The public half as a JSON Web Key Set (RFC 7517).
    pub(super) fn key_set(&self) -> Value {
        let mut key = public(&self.key);
        key["kid"] = Value::from(self.id.as_str());
        key["use"] = Value::from("sig");
        key["alg"] = Value::from("EdDSA");
        json!({"keys": [key]})
    }
}

/// The members of the public key that its thumbprint is made of (RFC 7638, RFC 8037).
fn public(key: &SigningKey) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key.verifying_key().to_bytes());
    json!({"crv": "Ed25519", "kty": "OKP", "x": x})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8037 appendices A.1 to A.4: the key, its thumbprint, and a signature by it.
    #[test]
    fn keys_and_signatures_are_those_of_rfc_8037() {
        let seed: [u8; 32] = URL_SAFE_NO_PAD
            .decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
            .unwrap()
            .try_into()
            .unwrap();
        let key = CardKey::new(&seed, "https://charter.example/keys".to_owned());
        assert_eq!(
            key.key_set(),
            json!({"keys": [{
                "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
                "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "use": "sig", "alg": "EdDSA",
            }]})
        );
        let signed = key
            .key
            .sign(b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc");
        assert_eq!(
            URL_SAFE_NO_PAD.encode(signed.to_bytes()),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        );
    }

    #[test]
    fn the_signature_covers_the_header_and_the_sorted_card() {
        let key = CardKey::new(&[7; 32], "https://charter.example/keys".to_owned());
        let card = json!({"name": "Charter", "capabilities": {"streaming": true, "push": false}});
        let signature = key.sign(&card);
        let text = |field: &str| signature[field].as_str().unwrap().to_owned();
        let payload = r#"{"capabilities":{"push":false,"streaming":true},"name":"Charter"}"#;
        let signed = format!("{}.{}", text("protected"), URL_SAFE_NO_PAD.encode(payload));
        let bytes = URL_SAFE_NO_PAD.decode(text("signature")).unwrap();
        let bytes = ed25519_dalek::Signature::from_slice(&bytes).unwrap();
        assert!(key.key.verify(signed.as_bytes(), &bytes).is_ok());
        let header = URL_SAFE_NO_PAD.decode(text("protected")).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(
            (&header["alg"], &header["typ"], &header["jku"]),
            (
                &json!("EdDSA"),
                &json!("JOSE"),
                &json!("https://charter.example/keys")
            )
        );
    }
}
