//! The port to generators of candidates, and the generator that is always available. Another asks a model
//! ([`super::CodeAgent`]); both may return the same kinds of documents.

use std::error::Error as StdError;

use async_trait::async_trait;
use charter_contract::catalogue::Document;
use charter_contract::ids::TenantId;
use charter_domain::candidate::{self, Brief, NoFit};

/// Generates a candidate from a brief.
#[async_trait]
pub trait Generator: Send + Sync {
    /// Generates a skill or playbook for a tenant, as the brief demands. The result is checked against the brief before
    /// use, so a generator need not be trusted. Calls are independent, and a repeat may return another document; the
    /// first that is kept stays.
    ///
    /// # Errors
    /// [`GeneratorError::NoFit`] if the boundary holds nothing for the request.
    async fn generate(&self, tenant: &TenantId, brief: &Brief) -> Result<Document, GeneratorError>;
}

/// Why there is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// The boundary holds nothing for the request.
    #[error(transparent)]
    NoFit(#[from] NoFit),
    /// The generator failed.
    #[error("generating a candidate")]
    Failed {
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// Composes registered tools by their contracts: no model, no network, the same answer every time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Composer;

#[async_trait]
impl Generator for Composer {
    async fn generate(&self, _: &TenantId, brief: &Brief) -> Result<Document, GeneratorError> {
        Ok(candidate::compose(brief)?)
    }
}
