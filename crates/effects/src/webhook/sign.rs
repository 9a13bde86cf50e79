//! Signatures of messages: HMAC-SHA256 over id, time and body, one for each secret, so that a receiver with the old or
//! the new secret can verify. Must not know where messages go.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::MessageId;
use crate::secret::{Secret, SecretSource};

/// Prefix of secrets.
const PREFIX: &str = "whsec_";
/// Shortest and longest secret, in bytes.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A signing secret.
#[derive(Clone)]
pub(super) struct SigningSecret {
    mac: Hmac<Sha256>,
    source: SecretSource,
}

impl SigningSecret {
    /// Reads a secret.
    ///
    /// # Errors
    /// The fault of the secret, without any part of it.
    pub(super) fn read(secret: &Secret) -> Result<Self, &'static str> {
        let encoded = secret.value().strip_prefix(PREFIX);
        let encoded = encoded.ok_or("does not begin with `whsec_`")?;
        let key = STANDARD.decode(encoded);
        let key = key.map_err(|_| "is not `whsec_` and base64")?;
        if !SECRET_BYTES.contains(&key.len()) {
            return Err("does not have 24 to 64 bytes");
        }
        // HMAC takes keys of any length.
        let mac = Hmac::new_from_slice(&key).map_err(|_| "is not a valid HMAC key")?;
        Ok(Self {
            mac,
            source: secret.source().clone(),
        })
    }

    /// Returns its source.
    pub(super) const fn source(&self) -> &SecretSource {
        &self.source
    }

    fn sign(&self, id: &MessageId, timestamp: i64, body: &[u8]) -> String {
        let mut mac = self.mac.clone();
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningSecret(… from {})", self.source)
    }
}

/// Returns the value of `webhook-signature`: a signature for each secret.
pub(super) fn signatures(
    secrets: &[SigningSecret],
    id: &MessageId,
    timestamp: i64,
    body: &[u8],
) -> String {
    let signed = secrets
        .iter()
        .map(|secret| secret.sign(id, timestamp, body));
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(value: &str) -> Secret {
        Secret::new(value, SecretSource::Variable("CRM".to_owned()))
    }

    /// The test vector of the official libraries.
    #[test]
    fn signatures_match_the_official_libraries() {
        let secret = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let secret = SigningSecret::read(&secret).unwrap();
        let id = MessageId("msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned());
        let signed = signatures(&[secret], &id, 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn invalid_secrets_are_refused_and_secrets_are_never_printed() {
        let read =
            |value: &str| SigningSecret::read(&secret(value)).map(|read| format!("{read:?}"));
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        let no_length = Err("does not have 24 to 64 bytes");
        for (value, expected) in [
            (
                "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                Err("does not begin with `whsec_`"),
            ),
            ("whsec_not base64", Err("is not `whsec_` and base64")),
            (&of(23), no_length),
            (&of(65), no_length),
        ] {
            assert_eq!(read(value), expected.map(str::to_owned));
        }
        for bytes in [24, 64] {
            let shown = "SigningSecret(… from environment variable CRM)".to_owned();
            assert_eq!(read(&of(bytes)), Ok(shown));
        }
    }
}
