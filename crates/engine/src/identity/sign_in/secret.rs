//! The secret of a session, which only its browser has, and the texts that are derived from it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_contract::hex;
use charter_store::console_session::ConsoleSessionHash;
use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::identity::authorization_code::random_text;

/// Characters of a secret: 256 bits in base64url.
const CHARACTERS: usize = 43;

/// A secret of 256 random bits in a browser: the id of a session, or the mark of a started sign-in.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret(String);

impl fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionSecret(…)")
    }
}

impl SessionSecret {
    /// Parses a text that a browser sent; `None` for one that is no secret.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (text.len() == CHARACTERS && text.bytes().all(is_secret)).then(|| Self(text.to_owned()))
    }

    /// Draws a new one from the operating system's randomness.
    pub(super) fn draw() -> Result<Self, EngineError> {
        random_text().map(Self)
    }

    /// Returns the text, for the browser that keeps it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the token that a page of the session sends with each change. The session's id does not follow from it,
    /// and another site's page cannot read it.
    #[must_use]
    pub fn page_token(&self) -> String {
        let digest = Sha256::new()
            .chain_update("charter console token")
            .chain_update(&self.0)
            .finalize();
        URL_SAFE_NO_PAD.encode(digest)
    }

    /// Returns whether a text is the page's token, in a time that does not depend on it.
    #[must_use]
    pub fn has_page_token(&self, text: &str) -> bool {
        let digest = |text: &str| -> [u8; 32] { Sha256::digest(text).into() };
        digest(&self.page_token()) == digest(text)
    }

    /// Returns the hash by which the store knows it.
    pub(super) fn hash(&self) -> ConsoleSessionHash {
        ConsoleSessionHash(Sha256::digest(&self.0).into())
    }

    /// Returns the hash as text.
    pub(super) fn digest(&self) -> String {
        hex::encode(&self.hash().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_of_the_form_of_a_secret_is_looked_up() {
        let secret = SessionSecret::draw().unwrap();
        assert_eq!(SessionSecret::parse(secret.reveal()), Some(secret.clone()));
        let long = format!("{}A", secret.reveal());
        for other in ["", "x", &secret.reveal()[1..], &long, &"ä".repeat(43)] {
            assert_eq!(SessionSecret::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_page_token_belongs_to_one_session_and_is_not_its_id() {
        let (one, other) = (
            SessionSecret::draw().unwrap(),
            SessionSecret::draw().unwrap(),
        );
        assert!(one.has_page_token(&one.page_token()));
        for wrong in [other.page_token().as_str(), one.reveal(), ""] {
            assert!(!one.has_page_token(wrong));
        }
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}
