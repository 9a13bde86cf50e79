//! The port to whatever generates candidates, and the generator that is always there. Another asks a
//! model ([`super::CodeAgent`]); what it may return is the same.

use std::error::Error as StdError;

use async_trait::async_trait;
use charter_contract::catalogue::Document;
use charter_contract::ids::TenantId;
use charter_domain::candidate::{self, Brief, NoFit};

/// Makes a candidate of a brief.
#[async_trait]
pub trait Generator: Send + Sync {
    /// A skill or playbook for a tenant, as the brief wants it. It is checked against the brief before anybody sees
    /// it, so a generator need not be trusted. Nothing is remembered between calls, and a repeat may
    /// give another document; the first that is kept stays.
    ///
    /// # Errors
    /// [`GeneratorError::NoFit`] when the boundary holds nothing for the request.
    async fn generate(&self, tenant: &TenantId, brief: &Brief) -> Result<Document, GeneratorError>;
}

/// Why there is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// The boundary holds nothing for the request.
    #[error(transparent)]
    NoFit(#[from] NoFit),
    /// The generator could not do its work.
    #[error("generating a candidate")]
    Failed {
        /// Why.
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
